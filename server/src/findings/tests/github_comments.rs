//! Review comments of pull requests.

use super::*;
use crate::findings::import::Format;
use crate::findings::intake::IgnoredKind;

fn comment(changes: Value) -> Value {
    let mut comment = json!({
        "id": 100, "path": "src/calc.py", "line": 2, "start_line": null, "original_line": 2, "side": "RIGHT", "position": 3,
        "commit_id": "abc", "user": {"login": "ada"}, "html_url": "https://github.com/x/y/pull/1#discussion_r100",
        "body": "This divides by zero.", "diff_hunk": "@@ -0,0 +1,2 @@\n+def divide(a, b):\n+    return a / b",
    });
    merge(&mut comment, changes);
    comment
}

fn read(document: Value) -> Imported {
    let imported = imported(&document);
    assert_eq!(imported.format, Format::GitHub, "{document}");
    imported
}

#[test]
fn a_comment_is_found_in_every_form_in_which_it_is_saved() {
    let node = json!({"databaseId": 100, "path": "src/calc.py", "line": 2, "body": "This divides by zero.", "author": {"login": "ada"}});
    let thread = json!({"isResolved": false, "isOutdated": false, "path": "src/calc.py", "line": 2, "comments": {"nodes": [node]}});
    let threads = json!({"nodes": [thread]});
    for document in [
        json!([comment(json!({}))]),
        json!([[comment(json!({}))], []]),
        comment(json!({})),
        json!({"action": "created", "comment": comment(json!({})), "pull_request": {"number": 1}}),
        json!([{"id": 100, "path": "src/calc.py", "line": 2, "body": "This divides by zero.", "user": {"login": "ada"}}]),
        json!({"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}}),
        json!({"data": {"node": node}}),
        json!({"reviewThreads": [thread]}),
        json!([thread]),
        json!({"data": {"repository": {"pullRequest": {"reviews": {"nodes": [{"body": "", "comments": {"nodes": [node]}}]}}}}}),
    ] {
        let imported = read(document.clone());
        let finding = &imported.review_output.findings[0];
        assert_eq!(finding.title, "This divides by zero.", "{document}");
        assert_eq!(
            (finding.file.as_deref(), finding.line_start),
            (Some("src/calc.py"), Some(2)),
            "{document}"
        );
        assert_eq!((finding.verdict, finding.extra["author"].as_str()), (None, Some("ada")), "{document}");
        assert_eq!(imported.review_output.source.as_deref(), Some("github"));
    }
    let pages = format!("[{}]\n[{}]", comment(json!({})), comment(json!({"id": 101})));
    assert_eq!(import(pages.as_bytes(), "a").unwrap().review_output.findings.len(), 2);
}

#[test]
fn an_outdated_or_resolved_comment_is_kept_and_not_workable() {
    let thread = |resolved: bool, outdated: bool| {
        json!([{"isResolved": resolved, "isOutdated": outdated, "comments": {"nodes": [
            {"path": "src/calc.py", "line": 2, "body": "Bad thing here", "author": {"login": "a"}}]}}])
    };
    let table = [
        (json!([comment(json!({}))]), true),
        (json!([comment(json!({"line": null}))]), false),
        (json!([comment(json!({"line": null, "position": 1}))]), false),
        (json!([comment(json!({"line": null, "subject_type": "file"}))]), true),
        (json!([comment(json!({"line": "ABSENT", "position": null}))]), false),
        (json!([comment(json!({"line": "ABSENT", "position": 3, "original_position": 3}))]), true),
        (thread(false, false), true),
        (thread(true, false), false),
        (thread(false, true), false),
    ];
    for (document, workable) in table {
        let review = read(document.clone()).review_output;
        assert_eq!(review.findings.len(), 1, "{document}");
        let intake = intake(&[("pr".into(), review)], &calc_tree());
        if workable {
            assert_eq!(intake.unconfirmed.len(), 1, "{document}");
        } else {
            assert_eq!(intake.ignored[0].kind, IgnoredKind::SetAside, "{document}");
            assert!(
                intake.ignored[0].reason.starts_with("outdated")
                    || intake.ignored[0].reason.starts_with("resolved")
            );
        }
        assert!(intake.workable.is_empty());
    }
}

#[test]
fn places_come_from_the_new_side_only() {
    let table = [
        (json!({"start_line": 1, "start_side": "RIGHT"}), (Some(1), Some(2))),
        (json!({"start_line": 1, "start_side": "LEFT"}), (Some(2), Some(2))),
        (json!({"side": "LEFT"}), (None, None)),
        (json!({"line": null, "subject_type": "file"}), (None, None)),
        (json!({"line": "ABSENT", "original_position": 3}), (Some(2), Some(2))),
        (json!({"line": "ABSENT", "original_position": 9}), (None, None)),
        (json!({"line": "ABSENT", "original_position": 3, "diff_hunk": "garbage"}), (None, None)),
    ];
    for (changes, expected) in table {
        let imported = read(json!([comment(changes.clone())]));
        let finding = &imported.review_output.findings[0];
        assert_eq!((finding.line_start, finding.line_end), expected, "{changes}");
        assert!(finding.set_aside.is_none(), "{changes}");
    }
}

#[test]
fn a_suggestion_block_replaces_the_commented_lines_where_they_still_stand() {
    let block = |text: &str| json!({"body": format!("Guard it.\n\n```suggestion\n{text}```\n")});
    for (changes, expected) in [
        (block("    return a / b if b else 0\n"), CALC.replace("return a / b", "return a / b if b else 0")),
        (block(""), CALC.replace("    return a / b\n", "")),
        (block("\n"), CALC.replace("    return a / b\n", "\n")),
        (block("    x\n    y\n"), CALC.replace("    return a / b\n", "    x\n    y\n")),
        (
            json!({"start_line": 1, "body": "```suggestion:-1+0\n```\n````suggestion\npass\n````"}),
            CALC.replace("def divide(a, b):\n    return a / b\n", "pass\n"),
        ),
    ] {
        let imported = read(json!([comment(changes.clone())]));
        let edits = &imported.review_output.findings[0].suggestion;
        assert!(edits[0].deleted.is_some(), "{changes}");
        assert_eq!(apply_edits(CALC, "src/calc.py", edits).unwrap(), expected, "{changes}");
        let changed = CALC.replace("a / b", "a // b");
        assert!(apply_edits(&changed, "src/calc.py", edits).is_err(), "the reviewed line has changed");
    }
    let outdated = read(json!([comment(json!({"line": null, "body": "```suggestion\nx\n```"}))]));
    assert!(outdated.review_output.findings[0].suggestion.is_empty());
    assert!(outdated.notes.iter().any(|note| note.field == "suggestion"));
    assert_eq!(outdated.review_output.findings[0].title, "Apply the suggested change");
}

#[test]
fn severities_are_read_from_the_markup_of_reviewing_bots() {
    for (body, severity, title) in [
        (
            "![critical](https://x/critical.svg)\n\nSecrets are logged here.",
            Severity::P0,
            "Secrets are logged here.",
        ),
        ("![high](https://x/high-priority.svg)\n\nThe variable leaks.", Severity::P1, "The variable leaks."),
        (
            "_⚠️ Potential issue_ | _🔴 Critical_\n\n**Handle requests.**\n\nText",
            Severity::P0,
            "Handle requests.",
        ),
        ("_🛠️ Refactor suggestion_ | _🟡 Minor_\n\n**Rename it.**", Severity::P2, "Rename it."),
        ("**<sub><sub>![P1 Badge](https://x/P1)</sub></sub>  Guard it**\n\nText", Severity::P1, "Guard it"),
        ("[nitpick] Typo in the name", Severity::P3, "Typo in the name"),
        ("**High**: unchecked input", Severity::P1, "unchecked input"),
        ("Please rename this function", Severity::P1, "Please rename this function"),
        ("Highly questionable, but fine", Severity::P1, "Highly questionable, but fine"),
    ] {
        let imported = read(json!([comment(json!({"body": body}))]));
        let finding = &imported.review_output.findings[0];
        assert_eq!((finding.severity, finding.title.as_str()), (severity, title), "{body}");
        assert_eq!(finding.criterion, Some(format!("Resolved: {title}")));
    }
}

#[test]
fn replies_belong_to_what_they_answer() {
    let imported = read(json!([
        comment(json!({})),
        comment(json!({"id": 101, "in_reply_to_id": 100, "body": "Agreed.", "user": {"login": "bob"}})),
        comment(json!({"id": 102, "in_reply_to_id": 999, "body": "An orphan."})),
        comment(json!({"id": 103, "in_reply_to_id": 103, "body": "Answers itself."})),
    ]));
    let findings = &imported.review_output.findings;
    assert_eq!(findings.len(), 3);
    assert!(findings[0].body.ends_with("Reply by bob: Agreed."), "{}", findings[0].body);
}

#[test]
fn the_reviewed_revision_is_taken_where_all_comments_agree() {
    let one = read(json!([comment(json!({})), comment(json!({"id": 2, "line": null, "commit_id": "old"}))]));
    assert_eq!(one.review_output.review_base.as_deref(), Some("abc"));
    let two = read(json!([comment(json!({})), comment(json!({"id": 2, "commit_id": "def"}))]));
    assert_eq!(two.review_output.review_base, None);
}

#[test]
fn an_error_saved_as_if_it_were_the_data_is_an_error() {
    for document in [
        json!({"errors": [{"message": "Expected VALUE", "locations": []}]}),
        json!({"data": null, "errors": [{"message": "rate limited"}]}),
        json!({"message": "Not Found", "documentation_url": "https://docs.github.com", "status": "404"}),
    ] {
        let error = import(document.to_string().as_bytes(), "a").unwrap_err();
        assert!(error.message.contains("GitHub answered with an error"), "{document}: {error}");
    }
}

#[test]
fn talk_about_the_whole_pull_request_is_listed_with_its_reason() {
    let imported = read(
        json!({"comments": [{"author": {"login": "a"}, "body": "LGTM"}], "reviews": [{"author": {"login": "b"}, "body": "Please fix", "state": "CHANGES_REQUESTED"}]}),
    );
    assert!(imported.review_output.findings.is_empty());
    assert_eq!(imported.review_output.unread.left_out.len(), 2);
    let odd = read(json!([comment(json!({})), 7, {"body": 3}]));
    assert_eq!(odd.review_output.unread.left_out.len(), 2);
}
