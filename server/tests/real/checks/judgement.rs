//! The judgement table through real runners: each row is a real project, a real edit and two real runs.

use fix_loop::checks::judge;

use super::projects::{CARGO, GO, Language, NEXTEST, NODE, PYTEST, UNITTEST};
use super::*;

/// What the judgement is for a check of each origin.
struct Expected {
    finding: String,
    configured: String,
    discovered: String,
}

impl Expected {
    fn all(word: impl Into<String>) -> Self {
        let word = word.into();
        Self { finding: word.clone(), configured: word.clone(), discovered: word }
    }
}

fn word(judgement: &Judgement) -> String {
    let named = |word: &str, tests: &BTreeSet<String>| {
        format!("{word} {}", tests.iter().map(String::as_str).collect::<Vec<_>>().join(","))
    };
    match judgement {
        Judgement::Proven => "proven".to_owned(),
        Judgement::Pattern => "pattern".to_owned(),
        Judgement::Touched => "touched".to_owned(),
        Judgement::Regression { tests } => named("regression", tests),
        Judgement::Persists { tests } => named("persists", tests),
        Judgement::Neutral(_) => "neutral".to_owned(),
        Judgement::Inconclusive(_) => "inconclusive".to_owned(),
    }
}

struct Row {
    what: &'static str,
    start_green: bool,
    edits: Vec<(&'static str, &'static str, &'static str)>,
    cited_lines_changed: bool,
    expected: Expected,
}

fn rows(language: &Language) -> Vec<Row> {
    let row = |what, start_green, edits, cited_lines_changed, expected| Row {
        what,
        start_green,
        edits,
        cited_lines_changed,
        expected,
    };
    let fix = (language.source, language.wrong, language.right);
    let regression = format!("regression {}", language.sub_test);
    let persists = format!("persists {}", language.add_test);
    let break_sub = (language.source, language.sub.0, language.sub.1);
    vec![
        row("the fix is right", false, vec![fix], true, Expected::all("proven")),
        row(
            "the fix is wrong",
            false,
            vec![(language.source, language.wrong, language.wrong_again)],
            true,
            Expected {
                finding: persists.clone(),
                configured: persists.clone(),
                discovered: "neutral".into(),
            },
        ),
        row(
            "it is fixed and another test breaks",
            false,
            vec![fix, break_sub],
            true,
            Expected::all(&regression),
        ),
        row("another test breaks", true, vec![break_sub], true, Expected::all(&regression)),
        row(
            "no test covers it",
            true,
            vec![(language.source, language.hello.0, language.hello.1)],
            true,
            Expected::all("touched"),
        ),
        row("nothing is changed", true, vec![], false, Expected::all("neutral")),
        row(
            "the failing test is deleted",
            false,
            vec![(language.tests, language.test, "")],
            true,
            Expected::all("neutral"),
        ),
        row(
            "the failing test is skipped",
            false,
            vec![(language.tests, language.test, language.skipped)],
            true,
            Expected::all("neutral"),
        ),
        row(
            "it does not compile or load any more",
            true,
            vec![(language.source, language.right, language.syntax_error)],
            true,
            Expected::all(format!("regression {}", language.unloadable)),
        ),
    ]
}

async fn every_row(language: &Language) {
    let mut known: BTreeMap<bool, CheckRun> = BTreeMap::new();
    let project = language.project();
    let check = project.discovered(language.source);
    for row in rows(language) {
        for (path, text) in language.files {
            project.write(path, text);
        }
        if row.start_green {
            project.replace(language.source, language.wrong, language.right);
        }
        let before = match known.get(&row.start_green) {
            Some(before) => before.clone(),
            None => project.run(&check).await,
        };
        known.insert(row.start_green, before.clone());
        if row.start_green {
            assert_eq!(before.outcome, Outcome::Passed, "{}: {}", language.name, before.output);
        } else {
            let failing = before.failure().map(|failure| failure.tests.clone());
            assert_eq!(failing, Some(set(&[language.add_test])), "{}: {}", language.name, before.output);
        }
        for (path, from, to) in &row.edits {
            project.replace(path, from, to);
        }
        let after = project.run_after(&check, &before).await;
        let of = |origin: Origin| {
            let check = Check { origin, ..check.clone() };
            word(&judge(&check, &before, &after, row.cited_lines_changed))
        };
        let told = (of(Origin::Finding), of(Origin::Configured), of(Origin::Discovered));
        let expected = (row.expected.finding, row.expected.configured, row.expected.discovered);
        assert_eq!(told, expected, "{}: {}\n{:?}\n{}", language.name, row.what, after.outcome, after.output);
    }
}

#[tokio::test]
async fn every_row_through_unittest() {
    every_row(&UNITTEST).await;
}

#[tokio::test]
async fn every_row_through_pytest() {
    if has_pytest() {
        every_row(&PYTEST).await;
    }
}

#[tokio::test]
async fn every_row_through_cargo_test() {
    every_row(&CARGO).await;
}

#[tokio::test]
async fn every_row_through_nextest() {
    if has("cargo", &["nextest", "--version"], "cargo-nextest") {
        every_row(&NEXTEST).await;
    }
}

#[tokio::test]
async fn every_row_through_nodes_runner() {
    if has("node", &["--test", "--version"], "node 20 or newer") {
        every_row(&NODE).await;
    }
}

#[tokio::test]
async fn every_row_through_go_test() {
    if has("go", &["version"], "go") {
        every_row(&GO).await;
    }
}

#[tokio::test]
async fn a_finding_about_one_test_is_resolved_while_another_still_fails() {
    let project = UNITTEST.project();
    project.replace("calc.py", UNITTEST.sub.0, UNITTEST.sub.1);
    let check = Check {
        focus: Some(UNITTEST.add_test.to_owned()),
        origin: Origin::Finding,
        ..configured(&["python3", "-m", "unittest"])
    };
    let before = project.run(&check).await;
    assert_eq!(before.failure().unwrap().tests, set(&[UNITTEST.add_test, UNITTEST.sub_test]));

    project.replace("calc.py", UNITTEST.wrong, UNITTEST.right);
    let after = project.run_after(&check, &before).await;

    assert_eq!(judge(&check, &before, &after, true), Judgement::Proven);
    let other = Check { focus: Some(UNITTEST.sub_test.to_owned()), ..check };
    assert_eq!(
        judge(&other, &before, &after, true),
        Judgement::Persists { tests: set(&[UNITTEST.sub_test]) }
    );
}
