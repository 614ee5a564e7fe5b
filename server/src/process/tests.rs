use std::ffi::OsString;
use std::path::Path;

use super::captured::Collector;
use super::frame::{Notice, Order, Start, Why, receive_notice, receive_order, send_notice, send_order};
use super::*;

fn collected(head: usize, tail: usize, pieces: &[&[u8]]) -> Captured {
    let mut collector = Collector::new(Keep { head, tail });
    for piece in pieces {
        collector.push(piece);
    }
    collector.finish()
}

#[test]
fn output_within_the_bound_is_kept_whole() {
    let captured = collected(4, 4, &[b"abc", b"de", b"", b"fgh"]);
    assert_eq!(captured.bytes().as_deref(), Some(b"abcdefgh".as_slice()));
    assert_eq!(captured.dropped, 0);
}

#[test]
fn output_beyond_the_bound_keeps_head_and_tail_and_counts_the_rest() {
    for pieces in
        [&[b"abcdefghijkl".as_slice()][..], &[b"ab", b"cdefghi", b"j", b"kl"], &[b"abcd", b"efghijkl"]]
    {
        let captured = collected(3, 4, pieces);
        assert_eq!(
            (captured.head.as_slice(), captured.tail.as_slice()),
            (b"abc".as_slice(), b"ijkl".as_slice())
        );
        assert_eq!(captured.dropped, 5);
        assert_eq!(captured.total(), 12);
        assert_eq!(captured.bytes(), None);
        assert_eq!(captured.text(), "abc\n… 5 bytes left out …\nijkl");
    }
}

#[test]
fn a_bound_of_zero_keeps_nothing() {
    let captured = collected(0, 0, &[b"abc"]);
    assert_eq!((captured.total(), captured.dropped), (3, 3));
}

#[test]
fn a_character_cut_by_the_gap_is_left_out_and_not_replaced() {
    let text = "aé€😀".repeat(20);
    for head in 0..16 {
        for tail in 0..16 {
            let captured = collected(head, tail, &[text.as_bytes()]);
            assert!(!captured.text().contains('\u{fffd}'), "head {head} tail {tail}: {:?}", captured.text());
        }
    }
}

#[test]
fn text_for_people_holds_no_control_codes() {
    let cases = [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\u{1b}[31;1mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}after", "after"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}]never closed\nnext line", "\nnext line"),
        ("\u{1b}(Bcharset \u{1b}=keypad \u{1b}7", "charset keypad "),
        ("nul\0byte\u{7}bell\u{8}\u{7f}", "nulbytebell"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\u{9b}2Kc1\u{85}", "c1"),
        ("bi\u{202e}di\u{2066}", "bidi"),
        ("ends in escape \u{1b}", "ends in escape "),
        ("\u{1b}[", ""),
        ("\u{1b}[31ünïcode", "ünïcode"),
    ];
    for (given, want) in cases {
        assert_eq!(clean(given), want, "{given:?}");
    }
}

#[test]
fn invalid_utf8_is_replaced() {
    assert_eq!(collected(99, 0, &[b"a\xff\xfeb\xc3"]).text(), "a\u{fffd}\u{fffd}b\u{fffd}");
}

fn parent(names: &[&str]) -> Vec<(OsString, OsString)> {
    names.iter().map(|name| (OsString::from(name), OsString::from("value"))).collect()
}

#[test]
fn git_variables_secrets_and_editor_traces_do_not_pass() {
    let kept = [
        "PATH",
        "HOME",
        "LANG",
        "KEYBOARD",
        "PWD",
        "XDG_SESSION_TYPE",
        "PYTHONPATH",
        "MONKEY",
        "TOKENIZERS_PARALLELISM",
    ];
    let dropped = [
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GITHUB_TOKEN",
        "NPM_TOKEN",
        "ANTHROPIC_API_KEY",
        "api_key",
        "DB_PASSWORD",
        "AWS_PROFILE",
        "SSH_AUTH_SOCK",
        "MY_SECRET_THING",
        "VSCODE_PID",
        "ELECTRON_RUN_AS_NODE",
        "NVIM",
        "CLAUDECODE",
        "DATABASE_URL",
    ];
    let environment = environment_from(parent(&[&kept[..], &dropped[..]].concat()), &[] as &[&str]);
    let has = |name: &str| environment.iter().any(|(key, value)| key == name && value == "value");
    for name in kept {
        assert!(has(name), "{name} is missing");
    }
    for name in dropped {
        assert!(!has(name), "{name} leaked");
    }
    assert!(environment.contains(&("CI".into(), "1".into())));
}

#[test]
fn a_secret_passes_only_when_it_is_listed_and_git_variables_never() {
    let parent = parent(&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GIT_DIR"]);
    let environment = environment_from(parent, &["ANTHROPIC_*", "GIT_DIR"]);
    let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"ANTHROPIC_API_KEY") && names.contains(&"ANTHROPIC_AUTH_TOKEN"));
    assert!(!names.contains(&"OPENAI_API_KEY") && !names.contains(&"GIT_DIR"));
}

#[test]
fn a_trace_of_another_agent_passes_only_under_exactly_its_name() {
    let parent = parent(&["CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SSE_PORT", "CLAUDECODE", "VSCODE_PID"]);
    let environment = environment_from(parent, &["CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE*", "VSCODE_*"]);
    let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"CLAUDE_CODE_OAUTH_TOKEN"), "{names:?}");
    for trace in ["CLAUDE_CODE_SSE_PORT", "CLAUDECODE", "VSCODE_PID"] {
        assert!(!names.contains(&trace), "{trace}");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_told_from_a_program_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("gone/claude", folder.path().join("claude")).unwrap();
    let path = folder.path().to_str();
    for name in ["claude", folder.path().join("claude").to_str().unwrap()] {
        let (kind, message) = resolve_program(name, Path::new("/"), path).unwrap_err();
        assert_eq!(kind, NotStarted::NotFound);
        assert!(message.contains("is a link to gone/claude, which does not exist"), "{message}");
    }
    let other = tempfile::tempdir().unwrap();
    let program = other.path().join("claude");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let both = format!("{}:{}", folder.path().display(), other.path().display());
    assert_eq!(resolve_program("claude", Path::new("/"), Some(&both)), Ok(program));
}

#[test]
fn setting_a_variable_replaces_it() {
    let mut environment = environment_from(parent(&["CI", "PATH"]), &[] as &[&str]);
    set_variable(&mut environment, "PATH", "/here");
    assert_eq!(environment.iter().filter(|(name, _)| name == "PATH").count(), 1);
    assert_eq!(environment.iter().filter(|(name, _)| name == "CI").count(), 1);
}

#[test]
fn a_program_is_found_where_the_command_says() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    let other = folder.path().join("other");
    std::fs::create_dir_all(bin.join("folder")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    let file = |path: &Path, mode: u32| {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    file(&bin.join("tool"), 0o755);
    file(&bin.join("plain"), 0o644);
    file(&other.join("plain"), 0o755);
    file(&bin.join("only-plain"), 0o644);
    file(&folder.path().join("here"), 0o755);
    let path = format!("relative::{}:{}", bin.display(), other.display());
    let find = |name: &str| resolve_program(name, folder.path(), Some(&path)).map_err(|(kind, _)| kind);
    assert_eq!(find("tool"), Ok(bin.join("tool")));
    assert_eq!(find("plain"), Ok(other.join("plain")), "one that cannot run does not hide a later one");
    assert_eq!(find("./here"), Ok(folder.path().join("./here")));
    assert_eq!(find("bin/tool"), Ok(bin.join("tool")));
    assert_eq!(find("here"), Err(NotStarted::NotFound), "an empty PATH entry is not the current folder");
    assert_eq!(find("only-plain"), Err(NotStarted::NotExecutable));
    assert_eq!(find("folder"), Err(NotStarted::NotFound));
    assert_eq!(find("./bin"), Err(NotStarted::NotExecutable));
    assert_eq!(find("./missing"), Err(NotStarted::NotFound));
    assert_eq!(find(""), Err(NotStarted::BadCommand));
    assert_eq!(
        resolve_program("tool", folder.path(), None).map_err(|(kind, _)| kind),
        Err(NotStarted::NotFound)
    );
}

#[tokio::test]
async fn orders_and_notices_survive_the_socket() {
    let (mut here, mut there) = tokio::net::UnixStream::pair().unwrap();
    let start =
        Start {
            argv: vec!["a".into(), "ü".into()], cwd: "/x".into(), env: vec![], limit_ms: 1, grace_ms: 2
        };
    for order in [Order::Start(start), Order::Input(vec![0, 255]), Order::EndInput, Order::Cancel] {
        send_order(&mut here, &order).await.unwrap();
        assert_eq!(format!("{:?}", receive_order(&mut there).await.unwrap()), format!("{order:?}"));
    }
    let ended =
        Notice::Ended { why: Why::OverLimit, code: None, signal: Some(9), elapsed_ms: 5, leftovers: 1 };
    send_notice(&mut there, &ended).await.unwrap();
    assert_eq!(format!("{:?}", receive_notice(&mut here).await.unwrap()), format!("{ended:?}"));
    drop(there);
    assert!(receive_notice(&mut here).await.is_err());
}

#[tokio::test]
async fn a_frame_of_absurd_length_is_refused_before_memory_is_taken() {
    let bytes = [b'I', 0xff, 0xff, 0xff, 0xff];
    assert!(receive_order(&mut bytes.as_slice()).await.is_err());
}

#[test]
fn this_process_is_recognised_and_a_later_one_with_its_pid_is_not() {
    let me = Identity::of(std::process::id()).unwrap();
    assert!(is_alive(&me));
    assert!(me.start_time < 1 << 53, "exact in every JSON reader");
    let other = Identity { start_time: me.start_time ^ 1, ..me };
    assert!(!is_alive(&other));
    assert!(!end_leftover(&other));
    assert!(!end_leftover(&Identity { pid: me.pid, start_time: 0 }));
}
