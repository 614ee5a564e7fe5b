//! The demo's scripted agent: brief on stdin, report on stdout, like any `command` agent (DESIGN 13).
//!
//! It edits files and says what it did; nothing that it says is believed by the engine. As a verifier it really looks at
//! the files. It plays five parts, one for each finding of the demo.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

pub fn main() -> ExitCode {
    let mut text = String::new();
    if std::io::stdin().read_to_string(&mut text).is_err() {
        return ExitCode::FAILURE;
    }
    let brief: Value = match serde_json::from_str(&text) {
        Ok(brief) => brief,
        Err(error) => {
            eprintln!("this is no brief: {error}");
            return ExitCode::FAILURE;
        }
    };
    let report = match brief["role"].as_str() {
        Some("fixer") => fix(&brief),
        Some("verifier") => Ok(verify(&brief)),
        other => Err(format!("the demo's agent has no part as {other:?}")),
    };
    match report {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn fix(brief: &Value) -> Result<Value, String> {
    let root = Path::new(brief["workspace"].as_str().ok_or("the brief names no workspace")?);
    let finding = &brief["findings"][0];
    let file = finding["file"].as_str().ok_or("the finding names no file")?;
    let first = brief["round"] == 1;
    let in_scope =
        |path: &str| brief["scope"].as_array().is_some_and(|scope| scope.iter().any(|one| one == path));
    let (from, to, summary) = match file {
        "src/price.sh" => ("$(($1 / 100))", "$((($1 + 50) / 100))", "Added half a euro before dividing."),
        "src/discount.sh" if first => (
            "    echo $(($1 - $1 * $2 / 100))",
            "    percent=$2\n    [ \"$percent\" -gt 100 ] && percent=100\n    echo $(($1 - $1 * percent / 100))",
            "Capped the percentage at 100.",
        ),
        "src/discount.sh" => (
            "    [ \"$percent\" -gt 100 ] && percent=100\n",
            "    [ \"$percent\" -gt 100 ] && percent=100\n    [ \"$percent\" -lt 0 ] && percent=0\n",
            "Negative percentages now count as 0, too.",
        ),
        "src/order.sh" if !in_scope("src/limits.sh") => {
            return Ok(json!({
                "needs_scope_expansion": true,
                "additional_files": ["src/limits.sh"],
                "justification": "The limit that order.sh compares with is set in src/limits.sh.",
            }));
        }
        "src/order.sh" => {
            edit(root, "src/limits.sh", "MAX_ITEMS=10", "MAX_ITEMS=12")?;
            return Ok(json!({"status": "fixed", "files_changed": ["src/limits.sh"],
                "summary": "Raised the limit to 12.", "concerns": null}));
        }
        "src/receipt.sh" => ("Recipt", "Receipt", "Corrected the spelling."),
        "src/stock.sh" if first => {
            ("$(($1 - $2))", "$(($1 - $2 + 0))", "Made sure that the result is a number.")
        }
        "src/stock.sh" => {
            ("$(($1 - $2 + 0))", "$(($1 - $2 < 0 ? 0 : $1 - $2))", "The stock no longer falls below 0.")
        }
        other => return Err(format!("the demo's agent has no part for {other}")),
    };
    edit(root, file, from, to)?;
    Ok(json!({"status": "fixed", "files_changed": [file], "summary": summary, "concerns": null}))
}

fn edit(root: &Path, file: &str, from: &str, to: &str) -> Result<(), String> {
    let path = root.join(file);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    if !text.contains(from) {
        return Err(format!("{file} does not hold what the demo's agent wants to change"));
    }
    std::fs::write(&path, text.replacen(from, to, 1)).map_err(|error| format!("{file}: {error}"))
}

/// Looks whether the code does what each criterion demands.
fn verify(brief: &Value) -> Value {
    let root = Path::new(brief["workspace"].as_str().unwrap_or("."));
    let judged: Vec<Value> = brief["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|finding| {
            let file = finding["file"].as_str().unwrap_or_default();
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let limits = std::fs::read_to_string(root.join("src/limits.sh")).unwrap_or_default();
            let (gone, evidence) = match file {
                "src/price.sh" => (text.contains("+ 50"), "round_to_euros adds half a euro first"),
                "src/discount.sh" => (
                    text.contains("-gt 100") && text.contains("-lt 0"),
                    "both ends of the percentage are bounded before it is used",
                ),
                "src/order.sh" => (limits.contains("MAX_ITEMS=12"), "the limit is 12"),
                "src/receipt.sh" => (text.contains("Receipt"), "the heading reads Receipt"),
                // Clamping to 0 is not what the criterion asks for.
                _ => (false, "taking 5 of 3 leaves 0, and the criterion demands 3"),
            };
            let mut judged = finding.clone();
            judged["verdict"] = json!(if gone { "rejected" } else { "confirmed" });
            judged["evidence"] = json!(evidence);
            judged
        })
        .collect();
    json!({"schema_version": "v1", "findings": judged, "checks_run": []})
}
