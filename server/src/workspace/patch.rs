//! Unified diffs of changes, for briefs, questions and reports.
//!
//! Owns the text form, which `git apply` reads back. Never decides which changes belong into it.

use std::io::Write as _;

use super::hunks::{Hunk, hunks, is_binary, lines};
use super::object::FileState;
use super::observe::Change;
use super::path::RepoPath;
use super::{Checkpoint, Result, Workspace};

const CONTEXT: usize = 3;

impl Workspace {
    /// Unified diff between the checkpoint and the present state of `paths`. Bytes that are no UTF-8 are replaced; see
    /// [`Workspace::diff_bytes`].
    pub fn diff(&self, since: &Checkpoint, paths: &[RepoPath]) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.diff_bytes(since, paths)?).into_owned())
    }

    /// The same, exactly.
    pub fn diff_bytes(&self, since: &Checkpoint, paths: &[RepoPath]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for (path, before) in self.states_at(since, paths)? {
            let after = self.present(&path)?;
            self.write_diff(&mut out, &path, before.as_ref(), after.as_ref())?;
        }
        Ok(out)
    }

    /// Unified diff of recorded changes.
    pub fn diff_changes(&self, changes: &[Change]) -> Result<String> {
        let mut out = Vec::new();
        for change in changes {
            self.write_diff(&mut out, &change.path, change.before.as_ref(), change.after.as_ref())?;
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    fn write_diff(
        &self,
        out: &mut Vec<u8>,
        path: &RepoPath,
        before: Option<&FileState>,
        after: Option<&FileState>,
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        // A change of type is a deletion and an addition, as git writes it.
        if let (Some(old), Some(new)) = (before, after)
            && old.kind.is_file() != new.kind.is_file()
        {
            self.write_diff(out, path, before, None)?;
            return self.write_diff(out, path, None, after);
        }
        let mode = |state: &FileState| format!("{:06o}", state.kind.git_mode());
        let mut head = format!("diff --git {} {}\n", quoted("a/", path), quoted("b/", path));
        match (before, after) {
            (None, Some(new)) => head += &format!("new file mode {}\n", mode(new)),
            (Some(old), None) => head += &format!("deleted file mode {}\n", mode(old)),
            (Some(old), Some(new)) if old.kind != new.kind => {
                head += &format!("old mode {}\nnew mode {}\n", mode(old), mode(new));
            }
            _ => {}
        }
        out.extend_from_slice(head.as_bytes());
        let content = |state: Option<&FileState>| -> Result<Option<Vec<u8>>> {
            match state {
                None => Ok(Some(Vec::new())),
                Some(state) if state.stored => Ok(Some(self.store.read(state.content)?)),
                Some(_) => Ok(None),
            }
        };
        let name = |prefix: &str, state: Option<&FileState>| match state {
            Some(_) => quoted(prefix, path),
            None => "/dev/null".to_owned(),
        };
        let (old_name, new_name) = (name("a/", before), name("b/", after));
        match (content(before)?, content(after)?) {
            (Some(old), Some(new)) if !is_binary(&old) && !is_binary(&new) => {
                if old != new {
                    out.extend_from_slice(format!("--- {old_name}\n+++ {new_name}\n").as_bytes());
                    write_hunks(out, &old, &new);
                }
            }
            _ => out.extend_from_slice(format!("Binary files {old_name} and {new_name} differ\n").as_bytes()),
        }
        Ok(())
    }
}

/// git quotes a name with control characters or quotes.
fn quoted(prefix: &str, path: &RepoPath) -> String {
    let name = format!("{prefix}{path}");
    let plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    if name.chars().all(plain) {
        return name;
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if c.is_control() => {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    out += &format!("\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The hunks of a unified diff, with three lines of context.
pub(super) fn write_hunks(out: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let (a, b) = (lines(old), lines(new));
    let all = hunks(old, new);
    let mut groups: Vec<Vec<Hunk>> = Vec::new();
    for hunk in all {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| hunk.a.0 - last.a.1 <= 2 * CONTEXT) => {
                group.push(hunk)
            }
            _ => groups.push(vec![hunk]),
        }
    }
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let start = first.a.0.saturating_sub(CONTEXT);
        let end = (last.a.1 + CONTEXT).min(a.len());
        let new_start = first.b.0 - (first.a.0 - start);
        let new_end = last.b.1 + (end - last.a.1);
        let range = |from: usize, to: usize| {
            let count = to - from;
            let shown = if count == 0 { from } else { from + 1 };
            if count == 1 { shown.to_string() } else { format!("{shown},{count}") }
        };
        let head = format!("@@ -{} +{} @@\n", range(start, end), range(new_start, new_end));
        out.extend_from_slice(head.as_bytes());
        let mut line = |sign: u8, text: &[u8]| {
            out.push(sign);
            out.extend_from_slice(text);
            if !text.ends_with(b"\n") {
                out.write_all(b"\n\\ No newline at end of file\n").expect("writing to memory cannot fail");
            }
        };
        let mut at = start;
        for hunk in &group {
            a[at..hunk.a.0].iter().for_each(|text| line(b' ', text));
            a[hunk.a.0..hunk.a.1].iter().for_each(|text| line(b'-', text));
            b[hunk.b.0..hunk.b.1].iter().for_each(|text| line(b'+', text));
            at = hunk.a.1;
        }
        a[at..end].iter().for_each(|text| line(b' ', text));
    }
}
