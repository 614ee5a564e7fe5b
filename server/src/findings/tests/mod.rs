//! Tests of what comes in, one file for each idea.

mod anchors;
mod corpus;
mod documents;
mod github_comments;
mod identity;
mod inbox_states;
mod intake_rules;
mod never_panics;
mod paths;
mod rdjson_documents;
mod rustc_messages;
mod sarif_columns;
mod sarif_results;
mod schema;
mod suggestions;
mod wording;

use serde_json::{Value, json};

use super::*;

/// A valid finding, with the given fields replaced.
fn finding_json(changes: Value) -> Value {
    let mut finding = json!({
        "id": 1, "severity": "P1", "title": "Division by zero", "body": "The divisor may be 0.", "file": "src/calc.py",
        "line_start": 2, "line_end": 2, "confidence": 0.9, "criterion": "AC-1: never raises", "verdict": "confirmed",
        "evidence": null,
    });
    merge(&mut finding, changes);
    finding
}

fn merge(into: &mut Value, changes: Value) {
    let (Value::Object(into), Value::Object(changes)) = (into, changes) else { panic!("two objects") };
    for (key, value) in changes {
        if value == json!("ABSENT") {
            into.remove(&key);
        } else {
            into.insert(key, value);
        }
    }
}

fn review_json(findings: Value) -> Value {
    json!({"schema_version": "v1", "findings": findings, "checks_run": []})
}

fn review(findings: Value) -> ReviewOutput {
    ReviewOutput::from_value(&review_json(findings)).expect("a ReviewOutput")
}

const CALC: &str = "def divide(a, b):\n    return a / b\n\ndef twice(a):\n    return a * 2\n";

fn calc_tree() -> MemoryTree<'static> {
    MemoryTree::of([("src/calc.py", CALC)])
}

fn taken_in(findings: Value) -> Intake {
    intake(&[("review.json".into(), review(findings))], &calc_tree())
}

fn imported(document: &Value) -> Imported {
    import(document.to_string().as_bytes(), "document.json").expect("an importable document")
}

fn reasons(ignored: &[Ignored]) -> Vec<(String, &str)> {
    ignored.iter().map(|ignored| (ignored.id.to_string(), ignored.reason.as_str())).collect()
}
