//! Findings from the comments of a pull request, by a stand-in `gh`.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_pull_requests_comments_are_checked_before_they_are_fixed() {
    let (repo, agent) = project(usual(), true, "");
    let comment = |id: u32, body: &str, line: Value| {
        json!({
            "id": id, "path": "app.txt", "line": line, "original_line": 2, "side": "RIGHT", "body": body,
            "user": {"login": "someone"}, "html_url": format!("https://github.com/o/r/pull/7#discussion_r{id}"),
            "diff_hunk": "@@ -1 +1,3 @@\n one\n+TWO\n+THREE", "subject_type": "line",
        })
    };
    let payload = json!([
        comment(1, "**P1** TWO is in capitals", json!(2)),
        comment(2, "**P1** an old comment", Value::Null),
    ]);
    let bin = repo.outside().join("bin");
    std::fs::create_dir_all(&bin).expect("a fresh folder");
    std::fs::write(bin.join("payload.json"), payload.to_string()).expect("the folder can be written");
    let gh = bin.join("gh");
    let shell = format!("#!/bin/sh\necho \"$@\" > '{0}/called'\ncat '{0}/payload.json'\n", bin.display());
    std::fs::write(&gh, shell).expect("the folder can be written");
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH"));
    let before = checkout(&repo);
    let output = repo
        .fix_loop([
            "run",
            "--protocol",
            "converge",
            "--from-pr",
            "https://github.com/o/r/pull/7",
            "--format",
            "json",
        ])
        .env("PATH", path)
        .run();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(checkout(&repo), before);
    let called = std::fs::read_to_string(bin.join("called")).expect("gh was called");
    assert!(called.contains("repos/o/r/pulls/7/comments"), "{called}");
    assert_eq!(roles(&agent), ["checker", "fixer", "closer"], "the comments replace the review\n{output}");
    let given = agent.briefs()[0]["findings"].clone();
    assert_eq!(given.as_array().map(Vec::len), Some(1), "outdated ones are not worked on: {given:#}");
    assert_eq!(given[0]["verdict"], Value::Null, "nobody has confirmed it yet");
    let report = output.json();
    assert_eq!(report["gate"]["verdict"], "PASS");
    assert_eq!(report["resolved"].as_array().map(Vec::len), Some(1), "{report:#}");
}
