//! A findings file while it is being written, broken, emptied and removed.

use super::*;

fn bytes(findings: Value) -> Vec<u8> {
    serde_json::to_vec_pretty(&review_json(findings)).unwrap()
}

fn titles(inbox: &Inbox) -> Vec<String> {
    let reviews = inbox.reviews().into_iter();
    reviews.flat_map(|(_, review)| &review.findings).map(|finding| finding.title.clone()).collect()
}

#[test]
fn every_half_written_state_keeps_the_last_good_set() {
    let old = bytes(json!([finding_json(json!({"title": "old"}))]));
    let new = bytes(json!([finding_json(json!({"title": "new"})), finding_json(json!({"title": "newer"}))]));
    let mut inbox = Inbox::new();
    assert_eq!(inbox.update("a.json", Content::Bytes(&old)), Change::Read);
    for length in 0..new.len() {
        let change = inbox.update("a.json", Content::Bytes(&new[..length]));
        assert!(matches!(change, Change::Kept(_) | Change::Same), "{length}: {change:?}");
        assert_eq!(titles(&inbox), ["old"], "{length}");
        assert_eq!(inbox.errors().count(), 1, "{length}");
    }
    assert_eq!(inbox.update("a.json", Content::Bytes(&new)), Change::Read);
    assert_eq!(titles(&inbox), ["new", "newer"]);
    assert_eq!(inbox.errors().count(), 0);
}

#[test]
fn the_error_says_the_exact_place() {
    for (text, line, column) in [
        ("", 1, 1),
        ("  \n\n", 1, 1),
        ("{\"schema_version\": \"v1\",\n  \"findings\": [}\n", 2, 16),
        ("{\n\"é😀\": x}", 2, 7),
        ("{\"a\": \"say \"hi\"\"}", 1, 13),
    ] {
        let error = import(text.as_bytes(), "a.json").unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
    }
    let truncated = import(b"{\"findings\": [\n  {\"id\": 1,", "a.json").unwrap_err();
    assert_eq!(truncated.line, 2, "{truncated}");
    let not_text = import(b"{\"a\": \"\xff\"}", "a.json").unwrap_err();
    assert_eq!((not_text.line, not_text.column), (1, 8));
}

#[test]
fn an_explicit_empty_list_clears_and_an_absent_one_does_not() {
    let mut inbox = Inbox::new();
    let sarif = |results: Option<Value>| {
        let mut run = json!({"tool": {"driver": {"name": "lint"}}});
        if let Some(results) = results {
            run["results"] = results;
        }
        json!({"version": "2.1.0", "runs": [run]}).to_string().into_bytes()
    };
    let one = json!([{"ruleId": "R", "message": {"text": "bad"}}]);
    inbox.update("a.sarif", Content::Bytes(&sarif(Some(one))));
    assert_eq!(titles(&inbox), ["bad"]);
    inbox.update("a.sarif", Content::Bytes(&sarif(None)));
    assert_eq!(titles(&inbox), ["bad"], "not scanned is not clean");
    assert!(inbox.notes().any(|(_, note)| note.why.contains("not scanned")));
    inbox.update("a.sarif", Content::Bytes(&sarif(Some(json!([])))));
    assert!(titles(&inbox).is_empty());

    inbox.update("b.json", Content::Bytes(&bytes(json!([finding_json(json!({}))]))));
    assert_eq!(titles(&inbox).len(), 1);
    inbox.update("b.json", Content::Bytes(&bytes(json!([]))));
    assert!(titles(&inbox).is_empty());
}

#[test]
fn only_the_tool_that_was_not_run_keeps_its_findings() {
    let run = |name: &str, results: Value| json!({"tool": {"driver": {"name": name}}, "results": results});
    let log = |runs: Value| json!({"version": "2.1.0", "runs": runs}).to_string().into_bytes();
    let result = |text: &str| json!([{"ruleId": "R", "message": {"text": text}}]);
    let mut inbox = Inbox::new();
    inbox.update(
        "a",
        Content::Bytes(&log(json!([run("one", result("from one")), run("two", result("from two"))]))),
    );
    inbox.update("a", Content::Bytes(&log(json!([run("one", json!([])), run("two", json!(null))]))));
    assert_eq!(titles(&inbox), ["from two"]);
}

#[test]
fn a_removed_file_takes_its_findings_with_it() {
    let mut inbox = Inbox::new();
    inbox.update("a", Content::Bytes(&bytes(json!([finding_json(json!({}))]))));
    assert_eq!(inbox.names().collect::<Vec<_>>(), ["a"]);
    assert_eq!(inbox.update("a", Content::Gone), Change::Removed);
    assert_eq!(inbox.update("a", Content::Gone), Change::Same);
    assert!(inbox.reviews().is_empty());
}

#[test]
fn reading_the_same_again_changes_nothing() {
    let mut inbox = Inbox::new();
    let good = bytes(json!([finding_json(json!({}))]));
    assert_eq!(inbox.update("a", Content::Bytes(&good)), Change::Read);
    assert_eq!(inbox.update("a", Content::Bytes(&good)), Change::Same);
    assert!(matches!(inbox.update("a", Content::Bytes(b"{")), Change::Kept(_)));
    assert_eq!(inbox.update("a", Content::Bytes(b"{")), Change::Same);
    assert_eq!(inbox.update("a", Content::Bytes(&good)), Change::Read, "the error went");
}

#[test]
fn a_file_that_was_never_good_has_an_error_and_no_findings() {
    let mut inbox = Inbox::new();
    assert!(matches!(inbox.update("a", Content::Bytes(b"half")), Change::Kept(_)));
    assert!(inbox.reviews().is_empty());
    assert_eq!(inbox.errors().next().unwrap().0, "a");
}
