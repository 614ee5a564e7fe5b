//! What a process that only looks leaves to the next one: findings keep their place, and broken findings files their last good
//! set (DESIGN 5).

use fix_loop_tests::{Repo, finding};
use serde_json::{Value, json};

use super::everything;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

fn look(repo: &Repo) -> Vec<Value> {
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    status["findings_detail"].as_array().expect("a list").clone()
}

#[test]
fn a_finding_keeps_its_place_and_its_identity_from_the_first_look_on() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.findings(&[finding("f1", "a.txt", 3, "three is wrong")]);
    let before = everything(&repo);
    let first = look(&repo)[0].clone();
    assert_eq!((&first["line_start"], &first["state"]), (&json!(3), &json!("open")));
    assert_eq!(everything(&repo), before, "a look changes nothing");
    let crlf = format!("new\n{TEXT}").replace('\n', "\r\n");
    for (what, text, line, state) in [
        ("lines above it", "new\nnew\none\ntwo\nthree\nfour\nfive\n", 5, "open"),
        ("the same line above it", "three\none\ntwo\nthree\nfour\nfive\n", 4, "open"),
        ("other line endings", crlf.as_str(), 4, "open"),
        ("the line is gone", "one\ntwo\nfour\nfive\n", 4, "stale"),
        ("the line is back", TEXT, 3, "open"),
        ("other text in its place", "one\ntwo\n3\nfour\nfive\n", 3, "stale"),
        ("as it was", TEXT, 3, "open"),
    ] {
        repo.write("a.txt", text);
        let found = look(&repo)[0].clone();
        assert_eq!(
            (&found["line_start"], &found["state"], &found["fingerprint"]),
            (&json!(line), &json!(state), &first["fingerprint"]),
            "{what}"
        );
    }
    // Another branch may not have the file at all.
    repo.remove("a.txt");
    let gone = look(&repo)[0].clone();
    assert_eq!((&gone["state"], &gone["fingerprint"]), (&json!("stale"), &first["fingerprint"]));
    repo.write("a.txt", format!("new\n{TEXT}"));
    let back = look(&repo)[0].clone();
    assert_eq!((&back["line_start"], &back["state"]), (&json!(4), &json!("open")));
    // Whoever drives next knows it, and what was decided then is known to whoever looks after.
    repo.fix_loop(["defer", "f1"]).expect(0);
    repo.write("a.txt", format!("new\nnew\n{TEXT}"));
    let deferred = look(&repo)[0].clone();
    assert_eq!(
        (&deferred["line_start"], &deferred["state"], &deferred["fingerprint"]),
        (&json!(5), &json!("deferred"), &first["fingerprint"])
    );
}

#[test]
fn a_findings_file_that_breaks_keeps_its_last_good_set_for_the_next_process() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let sarif = |results: Option<Value>| {
        let mut run = json!({"tool": {"driver": {"name": "lint"}}});
        if let Some(results) = results {
            run["results"] = results;
        }
        json!({"version": "2.1.0", "runs": [run]}).to_string()
    };
    let result = json!([{"ruleId": "R", "level": "error", "message": {"text": "bad"}, "locations": [{"physicalLocation":
        {"artifactLocation": {"uri": "a.txt"}, "region": {"startLine": 2}}}]}]);
    let review =
        json!({"schema_version": "v1", "findings": [finding("f1", "a.txt", 3, "three")], "checks_run": []});
    let path = ".fix-loop/findings/results.json";
    for (good, broken) in [
        (review.to_string(), String::new()),
        (review.to_string(), review.to_string()[..60].to_owned()),
        (review.to_string(), "Traceback (most recent call last):\n".to_owned()),
        (sarif(Some(result.clone())), sarif(None)),
        (sarif(Some(result)), json!({"version": "2.1.0", "runs": null}).to_string()),
    ] {
        repo.write(path, &good);
        let before = look(&repo);
        assert_eq!(before.len(), 1, "{good}");
        for _ in 0..2 {
            repo.write(path, &broken);
            assert_eq!(look(&repo), before, "{broken}");
        }
        repo.write(path, sarif(Some(json!([]))));
        assert_eq!(look(&repo), Vec::<Value>::new(), "an explicit empty list clears them");
        // A file that was taken away takes its findings with it.
        repo.write(path, &good);
        look(&repo);
        repo.remove(path);
        assert_eq!(look(&repo), Vec::<Value>::new());
        repo.write(path, &broken);
        assert_eq!(look(&repo), Vec::<Value>::new(), "{broken}");
    }
}

#[test]
fn what_a_look_understood_is_told_again_by_the_run_after_it() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.findings(&[finding("f1", "a.txt", 50, "far behind the end")]);
    let dry_run =
        || repo.fix_loop(["run", "--dry-run", "--format", "json"]).expect(0).json()["notes"].clone();
    let notes = dry_run();
    assert_eq!(
        (&notes[0]["field"], &notes[0]["was"], &notes[0]["became"]),
        (&json!("line_start"), &json!(50), &json!(5))
    );
    look(&repo);
    assert_eq!(dry_run(), notes);
}

#[test]
fn what_editors_and_writers_leave_beside_a_findings_file_is_none() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    for name in
        ["review.json~", "review.json.tmp", "review.json.part", ".review.json.swp", "x.swp", ".DS_Store"]
    {
        repo.write(&format!(".fix-loop/findings/{name}"), b"\0half");
    }
    repo.findings(&[finding("f1", "a.txt", 3, "three")]);
    assert_eq!(look(&repo).len(), 1);
    repo.fix_loop(["run", "--dry-run"]).expect(0);
}
