//! Reports as models write them.

use serde_json::{Value, json};

use crate::agents::footer::{self, FooterStatus, TreeState, Validation};
use crate::agents::parse::{ReportProblem, objects, parse_report, parse_value};
use crate::agents::report::*;
use crate::agents::role::{ProtocolName, Role};
use crate::agents::schema::{all_schemas, schema, strict};

fn fixer(text: &str) -> Result<Report, ReportProblem> {
    parse_report(Role::Fixer, ProtocolName::Bounded, text)
}

fn verifier(text: &str) -> Result<Report, ReportProblem> {
    parse_report(Role::Verifier, ProtocolName::Bounded, text)
}

const PLAIN: &str =
    r#"{"status":"fixed","files_changed":["a.py"],"summary":"s","concerns":null,"blocked_by":null}"#;

#[test]
fn a_report_is_found_however_it_is_wrapped() {
    let escaped = serde_json::to_string(PLAIN).unwrap();
    let cases = [
        PLAIN.to_owned(),
        format!("\u{feff}  {PLAIN}\n\n"),
        format!("I fixed it.\n\n```json\n{PLAIN}\n```\n"),
        format!("```\n{PLAIN}\n```\nThat is all."),
        format!("First I looked at {{braces}} and {{\"a\": 1}}.\n{PLAIN}"),
        format!(r#"{{"status":"blocked","files_changed":[]}} was my first thought, but: {PLAIN}"#),
        format!(r#"{PLAIN} I used the options {{"verbose": true}}."#),
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":{escaped},"session_id":"x"}}"#
        ),
        format!(r#"{{"type":"result","is_error":false,"result":"prose","structured_output":{PLAIN}}}"#),
        format!(r#"{{"response":{escaped},"stats":{{}}}}"#),
        format!("log line {{ not json\nanother {{\"open\": \n{PLAIN}"),
    ];
    for text in cases {
        match fixer(&text) {
            Ok(Report::Fix(report)) => {
                assert_eq!((report.status, report.summary.as_str()), (FixStatus::Fixed, "s"), "{text}");
                assert_eq!(report.files_changed, ["a.py"]);
                assert_eq!((report.concerns, report.blocked_by), (None, None));
            }
            other => panic!("{text}\n{other:?}"),
        }
    }
}

#[test]
fn what_is_no_report_is_never_made_into_one() {
    let cases = [
        ("", "Empty"),
        ("  \n", "Empty"),
        ("All done, everything is fixed!", "NoReport"),
        ("{}", "NoReport"),
        ("[]", "NoReport"),
        ("null", "NoReport"),
        (r#"{"summary":"fixed"}"#, "NoReport"),
        (r#"{"fixed":true}"#, "NoReport"),
        (r#"{"status":"#, "NoReport"),
        (r#"{"status":"banana","files_changed":[]}"#, "Invalid"),
        (r#"{"status":true}"#, "Invalid"),
        (r#"{"status":"fixed","files_changed":7}"#, "Invalid"),
        (r#"{"status":null,"files_changed":null,"summary":null}"#, "Invalid"),
        (r#"{"needs_scope_expansion":true,"additional_files":[],"justification":"x"}"#, "Invalid"),
        (r#"{"needs_scope_expansion":true,"additional_files":["b.py"],"justification":" "}"#, "Invalid"),
        (r#"{"needs_scope_expansion":"maybe","additional_files":["b.py"],"justification":"x"}"#, "Invalid"),
        (r#"{"type":"result","is_error":true,"result":"API Error: 500"}"#, "AgentError"),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "AgentError"),
        (r#"{"error":"no credit"}"#, "AgentError"),
        (r#"{"is_error":true,"status":"fixed","files_changed":[]}"#, "AgentError"),
        (r#"{"type":"result","is_error":false,"result":""}"#, "Empty"),
    ];
    for (text, want) in cases {
        let problem = fixer(text).expect_err(text);
        assert!(format!("{problem:?}").starts_with(want), "{text}: {problem:?}");
    }
}

#[test]
fn an_error_after_a_report_is_an_error() {
    let text = format!("{PLAIN}\n{}", r#"{"type":"error","error":{"message":"stream cut"}}"#);
    assert_eq!(fixer(&text), Err(ReportProblem::AgentError("stream cut".into())));
}

#[test]
fn words_are_read_in_any_case_and_lists_from_one() {
    let Ok(Report::Fix(report)) =
        fixer(r#"{"status":"Already Resolved","files_changed":"a.py","summary":["one","two"]}"#)
    else {
        panic!()
    };
    assert_eq!(report.status, FixStatus::AlreadyResolved);
    assert_eq!(report.files_changed, ["a.py"]);
    assert_eq!(report.summary, "one\ntwo");
    let Ok(Report::Fix(report)) = fixer(r#"{"files_changed":[],"summary":"status is left out"}"#) else {
        panic!()
    };
    assert_eq!(report.status, FixStatus::Fixed);
}

#[test]
fn a_needed_file_is_a_request_and_in_rereview_a_block() {
    let text = r#"{"needs_scope_expansion":true,"additional_files":["b.py"],"justification":"the type lives there",
        "status":null,"files_changed":null}"#;
    let Ok(Report::Scope(request)) = fixer(text) else { panic!() };
    assert_eq!(
        (request.additional_files, request.justification),
        (vec!["b.py".to_owned()], "the type lives there".to_owned())
    );
    let Ok(Report::Fix(report)) = parse_report(Role::Fixer, ProtocolName::Rereview, text) else { panic!() };
    assert_eq!(report.status, FixStatus::Blocked);
    assert!(report.blocked_by.unwrap().contains("b.py"));
}

#[test]
fn a_verifier_judges_every_finding_it_names_and_passes_none_without_evidence() {
    let good = r#"{"schema_version":"v1","findings":[
        {"id":1,"severity":"P1","title":"t","verdict":"rejected","evidence":"a.py:3 now adds","line_start":"7-8"},
        {"id":"2","severity":"critical","verdict":"Confirmed"},
        {"id":3,"severity":"P3","verdict":"demoted","evidence":"only a log line"},
        {"id":9,"severity":"P0","verdict":"confirmed","origin":"regression","caused_by":1,"evidence":"crash"}],"checks_run":["x"]}"#;
    let Ok(Report::Review(review)) = verifier(good) else { panic!() };
    let verdicts: Vec<_> =
        review.findings.iter().map(|finding| (finding.verdict, finding.severity)).collect();
    assert_eq!(
        verdicts,
        [
            (Some(Verdict::Rejected), Some(Severity::P1)),
            (Some(Verdict::Confirmed), Some(Severity::P0)),
            (Some(Verdict::Demoted), Some(Severity::P3)),
            (Some(Verdict::Confirmed), Some(Severity::P0)),
        ]
    );
    assert_eq!(review.findings[0].line_start, Some(7));
    assert_eq!(review.findings[3].caused_by, json!(1));
    for bad in [
        r#"{"findings":[{"id":1,"verdict":"rejected"}]}"#,
        r#"{"findings":[{"id":1,"verdict":"rejected","evidence":" "}]}"#,
        r#"{"findings":[{"id":1,"verdict":"rejected","evidence":"none"}]}"#,
        r#"{"findings":[{"id":1,"evidence":"x"}]}"#,
        r#"{"findings":[{"id":1,"verdict":null,"evidence":"x"}]}"#,
        r#"{"findings":[{"id":1,"verdict":"fine","evidence":"x"}]}"#,
        r#"{"findings":[{"id":1,"verdict":"demoted","evidence":"x"}]}"#,
        r#"{"findings":[{"id":1,"verdict":"confirmed","severity":"P9"}]}"#,
        r#"{"findings":{"1":"rejected"}}"#,
        r#"{"findings":null}"#,
    ] {
        assert!(matches!(verifier(bad), Err(ReportProblem::Invalid(_))), "{bad}: {:?}", verifier(bad));
    }
}

#[test]
fn a_gate_verdict_must_be_known_and_agree_with_its_gaps() {
    let gate = |text: &str| parse_report(Role::Reviewer, ProtocolName::Rereview, text);
    for (word, want) in [
        ("SHIP", GateVerdict::Ship),
        ("fix_first", GateVerdict::FixFirst),
        ("Fix First", GateVerdict::FixFirst),
        ("BLOCKED", GateVerdict::Blocked),
    ] {
        let Ok(Report::Gate(report)) =
            gate(&format!(r#"{{"verdict":"{word}","gaps":[],"evidence":["a","b"]}}"#))
        else {
            panic!("{word}")
        };
        assert_eq!((report.verdict, report.evidence.as_str()), (want, "a\nb"));
    }
    let Ok(Report::Gate(report)) = gate(
        r#"{"verdict":"FIX-FIRST","gaps":[{"severity":"p0","text":"t","file":"a.py","line":"12","fix":"f"},{"severity":"low","text":"u"}]}"#,
    ) else {
        panic!()
    };
    assert_eq!((report.gaps[0].severity, report.gaps[0].line), (GapSeverity::Critical, Some(12)));
    assert!(report.gaps[0].severity.blocks() && !report.gaps[1].severity.blocks());
    for bad in [
        r#"{"verdict":"PASS","gaps":[]}"#,
        r#"{"verdict":"","gaps":[]}"#,
        r#"{"verdict":null,"gaps":[]}"#,
        r#"{"verdict":"SHIP","gaps":[{"severity":"HIGH","text":"still broken"}]}"#,
        r#"{"verdict":"FIX-FIRST","gaps":[{"severity":"odd","text":"x"}]}"#,
        r#"{"verdict":"FIX-FIRST","gaps":[{"severity":"HIGH","text":""}]}"#,
    ] {
        assert!(matches!(gate(bad), Err(ReportProblem::Invalid(_))), "{bad}: {:?}", gate(bad));
    }
    assert!(matches!(gate("SHIP"), Err(ReportProblem::NoReport(_))), "a word is no report");
}

#[test]
fn a_checker_disputes_and_a_closer_resolves_only_with_evidence() {
    let check = |text: &str| parse_report(Role::Checker, ProtocolName::Converge, text);
    let Ok(Report::Check(report)) = check(
        r##"{"phase":"check","status":"DONE","findings":[{"id":"standards-1","verdict":"confirmed","from":[1,"2","#3"],"root_cause":"r","evidence":"e"}]}"##,
    ) else {
        panic!()
    };
    assert_eq!(
        (report.findings[0].verdict, report.findings[0].from.as_slice()),
        (CheckVerdict::Confirmed, [1, 2, 3].as_slice())
    );
    assert_eq!(report.footer.unwrap().status, Some(FooterStatus::Done));
    assert!(
        check(r#"{"status":"DONE","findings":[{"id":"s-1","verdict":"DISPUTED","from":[1],"evidence":""}]}"#)
            .is_err()
    );
    assert!(check(r#"{"status":"DONE","findings":[{"id":"s-1","verdict":"unsure","from":[1]}]}"#).is_err());

    let close = |text: &str| parse_report(Role::Closer, ProtocolName::Converge, text);
    let Ok(Report::Close(report)) = close(
        r#"{"findings":[{"id":"standards-1","state":"resolved","evidence":"e"},{"id":"x","state":"confirmed fix regression"}],"status":"DONE","open_root_causes":1}"#,
    ) else {
        panic!()
    };
    assert_eq!(report.findings[1].state, CloseState::ConfirmedFixRegression);
    assert_eq!(report.footer.unwrap().open_root_causes, Some(1));
    let no_footer = r#"{"findings":[{"id":"standards-1","state":"RESOLVED","evidence":"e"}]}"#;
    assert!(close(no_footer).is_err_and(|problem| problem.to_string().contains("footer")));
    assert!(close(r#"{"status":"DONE","findings":[{"id":"standards-1","state":"RESOLVED"}]}"#).is_err());
    assert!(
        close(r#"{"status":"DONE","findings":[{"id":"standards-1","state":"DONE","evidence":"e"}]}"#)
            .is_err()
    );
    assert!(close(r#"{"status":"DONE","findings":[{"id":"standards-1"}]}"#).is_err());
    let alone = r#"{"findings":[{"id":"x-1","verdict":"CONFIRMED","from":[1]}]}"#;
    let Ok(Report::Check(report)) = parse_report(Role::Checker, ProtocolName::Bounded, alone) else {
        panic!()
    };
    assert_eq!(report.footer.unwrap().status, Some(FooterStatus::Done), "its list says that it is done");
}

#[test]
fn a_diagnosis_names_one_known_cause_with_evidence() {
    let diagnose = |text: &str| parse_report(Role::Diagnoser, ProtocolName::Rereview, text);
    let Ok(Report::Diagnosis(report)) = diagnose(
        r#"{"cause":"Model Capacity","evidence":"e","new_evidence":"none","rules_out":{"missing_context":"it was all there"},"route":"r","needs":null}"#,
    ) else {
        panic!()
    };
    assert_eq!((report.cause, report.new_evidence, report.needs), (Cause::ModelCapacity, None, None));
    assert_eq!(report.rules_out.get("missing-context").map(String::as_str), Some("it was all there"));
    assert!(diagnose(r#"{"cause":"bad luck","evidence":"e"}"#).is_err());
    assert!(diagnose(r#"{"cause":["model-capacity","missing-context"],"evidence":"e"}"#).is_err());
    assert!(diagnose(r#"{"cause":"model-capacity","evidence":""}"#).is_err());
}

#[test]
fn the_footer_is_the_last_block_in_yaml_or_json() {
    let sha = "1234567890123456789012345678901234567890";
    let cases = [
        format!(
            "Done.\n\nWORKER_RESULT:\n  phase: fix\n  status: DONE\n  head: {sha}\n  tree: clean\n  validation: PASS\n"
        ),
        format!(
            "```yaml\nWORKER_RESULT:\n  phase: fix\n  status: DONE\n  head: \"{sha}\"\n  tree: clean\n  validation: PASS\n```\n"
        ),
        format!(
            "WORKER_RESULT\n```yaml\nphase: fix\nstatus: done\nhead: {sha}\ntree: clean\nvalidation: pass\n```"
        ),
        format!(
            "**WORKER_RESULT:**\nphase: fix\nstatus: DONE\nhead: {sha}\ntree: clean\nvalidation: PASS\n\nBye."
        ),
        format!(
            r#"{{"WORKER_RESULT":{{"phase":"fix","status":"DONE","head":"{sha}","tree":"clean","validation":"PASS"}}}}"#
        ),
        format!(
            r#"WORKER_RESULT: {{"phase":"fix","status":"DONE","head":"{sha}","tree":"clean","validation":"PASS"}}"#
        ),
        format!(
            "WORKER_RESULT:\n  status: BLOCKED\n\nOn second thought\n\nWORKER_RESULT:\n  phase: fix\n  status: DONE\n  head: {sha}\n  tree: clean\n  validation: PASS"
        ),
        format!(r#"{{"phase":"fix","status":"DONE","head":"{sha}","tree":"clean","validation":"PASS"}}"#),
    ];
    for text in cases {
        let Ok(Report::Fix(report)) = parse_report(Role::Fixer, ProtocolName::Converge, &text) else {
            panic!("{text}\n{:?}", parse_report(Role::Fixer, ProtocolName::Converge, &text))
        };
        let footer = report.footer.unwrap();
        assert_eq!(report.status, FixStatus::Fixed, "{text}");
        assert_eq!(footer.phase.as_deref(), Some("fix"), "{text}");
        assert_eq!(footer.head.as_deref(), Some(sha), "{text}");
        assert_eq!(
            (footer.status, footer.tree, footer.validation),
            (Some(FooterStatus::Done), Some(TreeState::Clean), Some(Validation::Pass)),
            "{text}"
        );
    }
}

#[test]
fn a_blocked_footer_is_a_blocked_fix_and_an_unknown_status_is_nothing() {
    let fix = |text: &str| parse_report(Role::Recoverer, ProtocolName::Converge, text);
    let Ok(Report::Fix(report)) = fix("WORKER_RESULT:\n  status: BLOCKED\n  blocked_by: no network") else {
        panic!()
    };
    assert_eq!((report.status, report.blocked_by.as_deref()), (FixStatus::Blocked, Some("no network")));
    assert!(fix("WORKER_RESULT:\n  status: MOSTLY\n").is_err());
    assert!(fix("WORKER_RESULT:\n  phase: fix\n").is_err());
    assert!(fix("WORKER_RESULT:\n").is_err());
    assert!(fix("WORKER_RESULT: &a [*a, *a]\n").is_err());
}

#[test]
fn a_reviewers_output_and_its_footer_are_read_together() {
    let text = "```json\n{\"schema_version\":\"v1\",\"findings\":[],\"checks_run\":[]}\n```\n\nWORKER_RESULT:\n  phase: review\n  status: DONE\n  findings_spec: 0\n";
    let Ok(Report::Review(review)) = parse_report(Role::Reviewer, ProtocolName::Converge, text) else {
        panic!()
    };
    assert!(review.findings.is_empty());
    assert_eq!(review.footer.unwrap().findings_spec, Some(0));
    let only_footer = "WORKER_RESULT:\n  phase: review\n  status: DONE\n";
    assert!(
        parse_report(Role::Reviewer, ProtocolName::Converge, only_footer).is_err(),
        "no list is not an empty list"
    );
}

#[test]
fn revisions_that_look_like_numbers_stay_as_written() {
    for head in ["0123456", "12e4567", "1234567", "00"] {
        let map = footer::find(&format!("WORKER_RESULT:\n  head: {head}\n")).unwrap();
        assert_eq!(map["head"], json!(head));
    }
}

#[test]
fn hostile_text_is_read_in_bounded_time() {
    let deep = r#"{"a":"#.repeat(20_000);
    let open = r#"{"status":"fixed", "#.repeat(20_000);
    let braces = "{".repeat(200_000);
    for text in [deep, open, braces] {
        assert!(fixer(&text).is_err());
    }
    assert_eq!(objects("{\"a\":1} {\"b\":{\"c\":2}}").len(), 2);
    let nested = (0..10).fold(PLAIN.to_owned(), |inner, _| json!({ "response": inner }).to_string());
    assert!(fixer(&nested).is_err());
}

#[test]
fn every_published_schema_takes_what_the_parser_takes() {
    let report = |role, protocol, value: Value| {
        let schema = schema(role, protocol);
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(
            validator.is_valid(&value),
            "{role:?}: {:?}",
            validator.iter_errors(&value).map(|e| e.to_string()).collect::<Vec<_>>()
        );
        parse_value(role, protocol, &value).unwrap()
    };
    report(Role::Fixer, ProtocolName::Bounded, serde_json::from_str(PLAIN).unwrap());
    report(
        Role::Fixer,
        ProtocolName::Bounded,
        json!({"needs_scope_expansion":true,"additional_files":["b"],"justification":"j"}),
    );
    report(
        Role::Verifier,
        ProtocolName::Bounded,
        json!({"findings":[{"id":1,"verdict":"rejected","evidence":"e"}]}),
    );
    report(
        Role::FinalGate,
        ProtocolName::Rereview,
        json!({"verdict":"SHIP","gaps":[],"validation":[],"evidence":"e"}),
    );
    report(
        Role::Diagnoser,
        ProtocolName::Rereview,
        json!({"cause":"missing-context","evidence":"e","new_evidence":null,"rules_out":{"ambiguous-spec":"r"},"route":"x","needs":null}),
    );
    report(
        Role::Closer,
        ProtocolName::Converge,
        json!({"phase":"close","status":"DONE","findings":[{"id":"spec-1","state":"OPEN","evidence":""}],"open_root_causes":1}),
    );
}

#[test]
fn schemas_hold_nothing_that_the_services_refuse() {
    fn walk(value: &Value, strict: bool, path: &str) {
        match value {
            Value::Object(map) => {
                for refused in ["$ref", "$defs", "$schema", "format", "oneOf", "allOf"] {
                    assert!(!map.contains_key(refused) || path.ends_with("/properties"), "{path}: {refused}");
                }
                if strict && let Some(Value::Object(properties)) = map.get("properties") {
                    let required: Vec<&str> =
                        map["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                    assert_eq!(required, properties.keys().map(String::as_str).collect::<Vec<_>>(), "{path}");
                    assert_eq!(map["additionalProperties"], json!(false), "{path}");
                }
                for (key, value) in map {
                    walk(value, strict, &format!("{path}/{key}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, strict, path)),
            _ => {}
        }
    }
    for (name, schema) in all_schemas() {
        assert_eq!(schema["type"], json!("object"), "{name}");
        walk(&schema, false, &name);
        walk(&strict(&schema), true, &name);
    }
}

#[test]
fn a_strict_schema_takes_null_for_what_may_be_left_out() {
    let strict = strict(&schema(Role::Fixer, ProtocolName::Bounded));
    let validator = jsonschema::validator_for(&strict).unwrap();
    let report = json!({"status":"fixed","files_changed":["a"],"summary":"s","concerns":null,"blocked_by":null,
        "needs_scope_expansion":null,"additional_files":null,"justification":null});
    assert!(validator.is_valid(&report), "{strict}");
    assert!(matches!(parse_value(Role::Fixer, ProtocolName::Bounded, &report), Ok(Report::Fix(_))));
}
