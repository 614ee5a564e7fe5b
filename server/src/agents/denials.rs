//! How agents tell that an edit was not allowed: in a tool's answer, in a log, in what a command printed.
//!
//! These are their words and no judgement: what they come to is decided where it is known whether anything was changed.

/// Why a tool for edits failed, where the person's own settings forbid it. Not every program lists these at its end.
pub(super) fn reads_as_denial(text: &str) -> bool {
    let text = text.to_lowercase();
    // A tool that is forbidden altogether is not offered, so to a model that asks for it all the same there is none.
    let forbidden = [
        "permission",
        "no such tool available",
        "is disabled for this session",
        "call unavailable tool",
        "rule which prevents you",
        "denied by policy",
    ];
    forbidden.iter().any(|words| text.contains(words))
        || (text.starts_with("tool \"") && text.contains("\" not found"))
}

/// What Codex logs of patches that it did not even try. It tells of them nowhere else: its standard output holds no item
/// for them, and its exit code is 0.
pub(super) fn in_codex_log(stderr: &str) -> Vec<String> {
    let mut denied = Vec::new();
    // A hook's refusal is followed by the whole patch.
    let mut patch = false;
    for line in stderr.lines() {
        if let Some((_, why)) = line.split_once("patch rejected: ") {
            denied.push(format!("a file ({})", why.trim()));
            patch = false;
        } else if line.contains("blocked by PreToolUse hook") {
            patch = line.contains("*** Begin Patch");
        } else if patch {
            let named = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
            denied.extend(named.iter().find_map(|start| line.strip_prefix(start)).map(str::to_owned));
            patch = !line.starts_with("*** End Patch");
        }
    }
    denied
}

/// The line in which a failed command says that it must not write in the workspace.
pub(super) fn in_output(output: &str, workspace: &str) -> Option<String> {
    let denies = |line: &&str| {
        let names_only_here = line
            .split(|char: char| char.is_whitespace() || matches!(char, '\'' | '"' | '(' | ')' | ','))
            .filter(|word| word.starts_with('/'))
            .all(|path| path.trim_end_matches(':').starts_with(workspace));
        (line.contains("Read-only file system") || line.contains("Permission denied")) && names_only_here
    };
    output.lines().find(denies).map(|line| format!("a file ({})", line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_tells_of_refused_patches_in_its_log_only() {
        let log = "WARNING: proceeding\n\
            2026-11-30T20:07:43Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; rejected by user approval settings\n\
            2026-11-30T20:08:18Z ERROR codex_core::tools::router: error=Command blocked by PreToolUse hook: no edits. Command: *** Begin Patch\n\
            *** Update File: /repo/calc.py\n@@\n-one\n+two\n*** Add File: new.py\n+x\n*** End Patch\n\
            *** Update File: not/of/a/patch.py\n\
            2026-11-30T20:08:19Z ERROR codex_core::tools::router: error=Command blocked by PreToolUse hook: no. Command: git push\n\
            *** Update File: nor/this.py\n\
            2026-11-30T20:08:20Z ERROR codex_core::tools::router: error=apply_patch verification failed: no such lines\n";
        assert_eq!(
            in_codex_log(log),
            [
                "a file (writing outside of the project; rejected by user approval settings)",
                "/repo/calc.py",
                "new.py"
            ]
        );
    }

    #[test]
    fn a_command_that_must_not_write_here_is_told_from_one_that_must_not_write_elsewhere() {
        for (output, denied) in [
            ("OSError: [Errno 30] Read-only file system: '/repo/calc.py'\n", true),
            ("sed: couldn't open temporary file ./sedXyz: Read-only file system", true),
            ("bash: line 1: calc.py: Permission denied", true),
            ("OSError: [Errno 30] Read-only file system: '/home/me/.cache/pip'\n", false),
            ("touch: cannot touch '/etc/x': Permission denied", false),
            ("1 failed, 2 passed", false),
            ("", false),
        ] {
            assert_eq!(in_output(output, "/repo").is_some(), denied, "{output}");
        }
    }
}
