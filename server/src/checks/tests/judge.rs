//! The judgement table of DESIGN 7.4, row by row.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::checks::*;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn passed() -> CheckRun {
    counted(silent(), 2)
}

/// A pass whose output says nothing of tests.
fn silent() -> CheckRun {
    CheckRun::bare(CheckName::new("unit"), Outcome::Passed)
}

fn passed_with(names: &[&str]) -> CheckRun {
    let tests = Some(TestsRun { passed: set(names), skipped: set(&[]) });
    CheckRun { tests, ran: Some(names.len()), ..passed() }
}

fn failed(names: &[&str]) -> CheckRun {
    failed_saying(names, 1, "")
}

fn failed_saying(names: &[&str], exit: i32, tail: &str) -> CheckRun {
    let details = names.iter().map(|name| FailingTest::named(*name)).collect();
    let failure = Failure { tests: set(names), exit: Some(exit), tail: tail.to_owned(), details };
    CheckRun::bare(CheckName::new("unit"), Outcome::Failed(failure))
}

fn failed_with(failing: &[&str], passing: &[&str]) -> CheckRun {
    let tests = Some(TestsRun { passed: set(passing), skipped: set(&[]) });
    CheckRun { tests, ran: Some(failing.len() + passing.len()), ..failed(failing) }
}

fn counted(run: CheckRun, ran: usize) -> CheckRun {
    CheckRun { ran: Some(ran), ..run }
}

fn inconclusive(why: Why) -> CheckRun {
    CheckRun::bare(CheckName::new("unit"), Outcome::Inconclusive(why))
}

fn command(origin: Origin) -> Check {
    let what = What::Command(Command {
        argv: vec!["run".into()],
        wider: None,
        cwd: Default::default(),
        env: Default::default(),
        limit: DEFAULT_LIMIT,
        kind: Kind::Test,
    });
    Check { name: CheckName::new("unit"), what, origin, reader: Reader::Any, focus: None }
}

fn focused(test: &str) -> Check {
    Check { focus: Some(test.to_owned()), ..command(Origin::Finding) }
}

fn pattern() -> Check {
    let what = What::Absent { pattern: "eval".into(), file: "a.py".into() };
    Check { what, ..command(Origin::Finding) }
}

/// A judgement without the words of a neutral one.
fn kind(judgement: &Judgement) -> String {
    let named = |word: &str, tests: &BTreeSet<String>| {
        let names: Vec<&str> = tests.iter().map(String::as_str).collect();
        format!("{word}({})", names.join(","))
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

#[track_caller]
fn check_table(table: &[(&str, Check, CheckRun, CheckRun, bool, &str)]) {
    for (what, check, before, after, changed, expected) in table {
        assert_eq!(kind(&judge(check, before, after, *changed)), *expected, "{what}");
    }
}

#[test]
fn every_row_of_the_judgement_table() {
    use Origin::{Configured, Discovered, Finding};
    let mut table = Vec::new();
    for origin in [Finding, Configured, Discovered] {
        let check = || command(origin);
        table.extend([
            ("fail to pass", check(), failed(&["a"]), passed(), true, "proven"),
            ("fail to pass without names", check(), failed(&[]), passed(), false, "proven"),
            ("pass to pass, changed", check(), passed(), passed(), true, "touched"),
            ("pass to pass, unchanged", check(), passed(), passed(), false, "neutral"),
            ("pass to fail", check(), passed(), failed(&["a"]), true, "regression(a)"),
            ("pass to fail without names", check(), passed(), failed(&[]), true, "regression()"),
            ("flaky after", check(), passed(), inconclusive(Why::Flaky(set(&["a"]))), true, "inconclusive"),
            (
                "hangs after",
                check(),
                passed(),
                inconclusive(Why::TimeLimit(DEFAULT_LIMIT)),
                true,
                "inconclusive",
            ),
            ("signal after", check(), failed(&["a"]), inconclusive(Why::Signal(9)), true, "inconclusive"),
        ]);
    }
    table.extend([
        ("own, same failure", command(Finding), failed(&["a"]), failed(&["a"]), true, "persists(a)"),
        (
            "configured, same failure",
            command(Configured),
            failed(&["a"]),
            failed(&["a"]),
            true,
            "persists(a)",
        ),
        ("discovered, same failure", command(Discovered), failed(&["a"]), failed(&["a"]), true, "neutral"),
        ("pattern now as demanded", pattern(), failed(&[]), passed(), true, "pattern"),
        ("pattern still wrong", pattern(), failed(&[]), failed(&[]), true, "persists()"),
        ("pattern broken by the fix", pattern(), passed(), failed(&[]), true, "regression()"),
        ("pattern was right before", pattern(), passed(), passed(), true, "touched"),
        ("pattern was right before, unchanged", pattern(), passed(), passed(), false, "neutral"),
    ]);
    check_table(&table);
}

#[test]
fn a_failure_that_was_there_before_is_never_blamed_on_the_fix() {
    use Origin::{Configured, Discovered, Finding};
    check_table(&[
        ("half green, own", command(Finding), failed(&["a", "b"]), failed(&["b"]), true, "persists(b)"),
        ("half green, configured", command(Configured), failed(&["a", "b"]), failed(&["b"]), true, "neutral"),
        ("half green, discovered", command(Discovered), failed(&["a", "b"]), failed(&["b"]), true, "neutral"),
        ("another one red", command(Finding), failed(&["a"]), failed(&["a", "b"]), true, "regression(b)"),
        (
            "another one red, discovered",
            command(Discovered),
            failed(&["a"]),
            failed(&["b"]),
            true,
            "regression(b)",
        ),
        ("does not run any more", command(Configured), failed(&["a"]), failed(&[]), true, "regression()"),
        (
            "all tests pass, and a threshold is not met: nobody knows whether it was met before",
            command(Finding),
            failed_with(&["a"], &["b"]),
            counted(failed_saying(&[], 1, "coverage 71 < 80"), 2),
            true,
            "neutral",
        ),
        (
            "it did not compile before, so what fails now may have failed then",
            command(Configured),
            failed(&["compile src/lib.rs"]),
            failed(&["a"]),
            true,
            "persists(a)",
        ),
        (
            "it does not compile any more",
            command(Finding),
            failed(&["a"]),
            failed(&["compile src/lib.rs"]),
            true,
            "regression(compile src/lib.rs)",
        ),
        (
            "no names, another exit code, discovered",
            command(Discovered),
            failed_saying(&[], 1, "x"),
            failed_saying(&[], 2, "y"),
            true,
            "neutral",
        ),
    ]);
}

#[test]
fn green_without_the_test_that_was_red_proves_nothing() {
    let own = || command(Origin::Finding);
    check_table(&[
        ("it passes", own(), failed_with(&["a"], &["b"]), passed_with(&["a", "b"]), true, "proven"),
        ("it was deleted", own(), failed_with(&["a"], &["b"]), passed_with(&["b"]), true, "neutral"),
        ("passed tests are only counted", own(), failed(&["a"]), counted(passed(), 2), true, "proven"),
        ("nothing says that a test ran", own(), failed(&["a"]), silent(), true, "neutral"),
        ("no test was ever named", own(), failed(&[]), silent(), true, "proven"),
        ("fewer tests are counted", own(), counted(passed(), 3), counted(passed(), 2), true, "neutral"),
        ("tests are no longer counted", own(), counted(passed(), 3), silent(), true, "neutral"),
        ("it compiles", own(), failed(&["compile src/lib.rs"]), passed_with(&["b"]), true, "proven"),
        ("another was deleted", own(), passed_with(&["a", "b"]), passed_with(&["b"]), true, "neutral"),
        ("one was added", own(), passed_with(&["a"]), passed_with(&["a", "b"]), true, "touched"),
    ]);
}

#[test]
fn a_finding_made_from_one_test_is_judged_by_that_test() {
    let a = || focused("a");
    check_table(&[
        ("green, another still red", a(), failed(&["a", "b"]), failed(&["b"]), true, "proven"),
        ("still red, another green", a(), failed(&["a", "b"]), failed(&["a"]), true, "persists(a)"),
        ("green, a new one red", a(), failed(&["a"]), failed(&["c"]), true, "regression(c)"),
        (
            "gone, another still red",
            a(),
            failed_with(&["a", "b"], &[]),
            failed_with(&["b"], &["z"]),
            true,
            "neutral",
        ),
        ("all green", a(), failed(&["a", "b"]), passed_with(&["a", "b"]), true, "proven"),
        ("all green, but gone", a(), failed(&["a", "b"]), passed_with(&["b"]), true, "neutral"),
        ("was not red", a(), failed(&["b"]), passed(), true, "neutral"),
        ("was not red, and others are", a(), failed(&["b"]), failed(&["b"]), true, "persists(b)"),
    ]);
}

#[test]
fn without_a_baseline_nothing_is_proven() {
    use Origin::{Configured, Discovered, Finding};
    let whys = [
        Why::CannotStart("x".into()),
        Why::NothingRan,
        Why::Signal(11),
        Why::TimeLimit(Duration::from_secs(1)),
        Why::Flaky(set(&[])),
    ];
    for why in whys {
        let before = || inconclusive(why.clone());
        check_table(&[
            ("own", command(Finding), before(), passed(), true, "inconclusive"),
            ("configured", command(Configured), before(), passed(), true, "inconclusive"),
            ("discovered", command(Discovered), before(), passed(), true, "neutral"),
            ("own, fails", command(Finding), before(), failed(&["a"]), true, "inconclusive"),
            ("discovered, fails", command(Discovered), before(), failed(&["a"]), true, "inconclusive"),
            ("discovered, again", command(Discovered), before(), before(), true, "neutral"),
            ("own, again", command(Finding), before(), before(), true, "inconclusive"),
        ]);
    }
    let cancelled = || inconclusive(Why::Cancelled);
    check_table(&[("cancelled", command(Discovered), cancelled(), cancelled(), true, "inconclusive")]);
}

#[test]
fn good_news_counts_only_without_bad_news() {
    let judged =
        |judgement: Judgement| Judged { check: CheckName::new("x"), origin: Origin::Finding, judgement };
    let proven = || judged(Judgement::Proven);
    let touched = || judged(Judgement::Touched);
    let regression = || judged(Judgement::Regression { tests: set(&["a"]) });
    let persists = || judged(Judgement::Persists { tests: set(&["a"]) });
    let unclear = || judged(Judgement::Inconclusive(Why::NothingRan));
    let neutral = || judged(Judgement::Neutral("x".into()));
    let table = [
        (vec![], Standing::Unsupported),
        (vec![neutral()], Standing::Unsupported),
        (vec![touched()], Standing::Supported(Grade::Touched)),
        (vec![touched(), proven(), neutral()], Standing::Supported(Grade::Proven)),
        (vec![judged(Judgement::Pattern), touched()], Standing::Supported(Grade::Pattern)),
        (vec![proven(), unclear()], Standing::Inconclusive),
        (vec![proven(), unclear(), persists()], Standing::Persists),
        (vec![proven(), persists(), regression()], Standing::Regressed),
    ];
    for (given, expected) in table {
        let evidence = combine(&given);
        assert_eq!(evidence.standing(), expected, "{given:?}");
        let resolved = matches!(expected, Standing::Supported(Grade::Proven | Grade::Pattern));
        assert_eq!(evidence.satisfies(Round1Evidence::Proven), resolved, "{given:?}");
    }
}

#[test]
fn pattern_satisfies_proven_and_touched_does_not() {
    let table = [
        (Grade::Proven, true, true),
        (Grade::Pattern, true, true),
        (Grade::Verified, true, true),
        (Grade::Accepted, true, true),
        (Grade::Touched, false, true),
    ];
    for (grade, proven, touched) in table {
        assert_eq!(grade.satisfies(Round1Evidence::Proven), proven, "{grade}");
        assert_eq!(grade.satisfies(Round1Evidence::Touched), touched, "{grade}");
    }
    assert!(
        Grade::Proven > Grade::Pattern
            && Grade::Pattern > Grade::Verified
            && Grade::Verified > Grade::Touched
    );
}

#[test]
fn two_runs_without_names_are_compared_by_exit_code_and_text() {
    let failure = |exit: i32, tail: &str| Failure {
        tests: set(&[]),
        exit: Some(exit),
        tail: tail.into(),
        details: vec![],
    };
    assert!(failure(1, "x").same_as(&failure(1, "x")));
    assert!(!failure(1, "x").same_as(&failure(2, "x")));
    assert!(!failure(1, "x").same_as(&failure(1, "y")));
}
