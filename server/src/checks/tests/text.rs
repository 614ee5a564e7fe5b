//! Output that is cut and compared, commands that are instrumented, keys that are shared.

use std::path::Path;

use crate::checks::instrument::instrument;
use crate::checks::output::comparable_tail;
use crate::checks::readers::reader_of;
use crate::checks::*;

#[test]
fn what_differs_from_run_to_run_is_not_compared() {
    let same = [
        ("done in 1.2s", "done in 14.07s"),
        ("at 0x7f00aa: x", "at 0x1: x"),
        ("2026-01-02 03:04:05.678 x", "2027-11-12 13:14:15 x"),
        ("wrote /tmp/abc/x.txt: no", "wrote /tmp/def/y.txt: no"),
        ("deps/calc-0123456789abcdef failed", "deps/calc-fedcba9876543210 failed"),
        ("process 17 died", "process 4711 died"),
        ("x  \n\n", "x"),
    ];
    for (a, b) in same {
        assert_eq!(comparable_tail(a), comparable_tail(b));
    }
    for (a, b) in
        [("2 errors", "1 errors"), ("expected 3, got 4", "expected 3, got 5"), ("a.py:3: x", "b.py:3: x")]
    {
        assert_ne!(comparable_tail(a), comparable_tail(b));
    }
}

#[test]
fn a_long_text_keeps_its_head_and_tail() {
    assert_eq!(Excerpt::bounded("short", 10, 10), "short");
    let long = format!("head{}tail", "é😀".repeat(1000));
    let cut = Excerpt::bounded(&long, 9, 9);
    assert!(cut.starts_with("headé") && cut.ends_with("tail") && cut.contains("bytes left out"), "{cut}");
    assert!(cut.len() < 80);
}

#[test]
fn runners_are_asked_for_names_and_for_all_failures() {
    let table = [
        ("pytest -q", "pytest -q -o junit_family=xunit1 --maxfail=0 --color=no --junitxml=S/report.xml"),
        ("python3 -m unittest", "python3 -m unittest -v"),
        ("python3 -m unittest discover -s t", "python3 -m unittest discover -v -s t"),
        ("python3 -m unittest -q", "python3 -m unittest -q"),
        ("cargo test -p a -- --skip b", "cargo test --no-fail-fast -p a -- --skip b"),
        ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
        ("cargo +nightly nextest run", "cargo +nightly nextest run --no-fail-fast"),
        ("go test ./a", "go test -json ./a"),
        ("go test -json ./a", "go test -json ./a"),
        ("node --test a.js", "node --test --test-reporter=tap a.js"),
        ("node --test --test-reporter=spec", "node --test --test-reporter=spec"),
        (
            "x/.bin/vitest run",
            "x/.bin/vitest run --reporter=default --reporter=json --outputFile.json=S/report.json",
        ),
        ("npx jest -- a", "npx jest --json --outputFile=S/report.json -- a"),
        ("make test", "make test"),
    ];
    for (given, expected) in table {
        let argv: Vec<String> = given.split(' ').map(str::to_owned).collect();
        let full = instrument(&argv, reader_of(&argv), Path::new("S")).argv.join(" ");
        assert_eq!(full, expected);
    }
}

#[test]
fn checks_that_run_the_same_share_their_runs() {
    let check = |argv: &[&str], origin: Origin| {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let entry = ConfiguredCheck {
            name: format!("{origin:?}"),
            command: argv,
            paths: None,
            kind: Kind::Test,
            cwd: Default::default(),
            env: Default::default(),
            timeout: DEFAULT_LIMIT,
        };
        configured_check(&entry, origin)
    };
    let (own, configured, other) = (
        check(&["a", "b"], Origin::Finding),
        check(&["a", "b"], Origin::Configured),
        check(&["a b"], Origin::Finding),
    );
    assert_eq!(own.key(), configured.key());
    assert_ne!(own.key(), other.key());

    let mut shared = SharedRuns::new();
    shared.remember(&own, "tree 1", &CheckRun::bare(own.name.clone(), Outcome::Passed));
    assert_eq!(shared.known(&configured, "tree 1").map(|run| run.check), Some(configured.name.clone()));
    assert_eq!(shared.known(&configured, "tree 2"), None);
    assert_eq!(shared.known(&other, "tree 1"), None);
    let inconclusive = CheckRun::bare(own.name.clone(), Outcome::Inconclusive(Why::NothingRan));
    shared.remember(&own, "tree 3", &inconclusive);
    assert_eq!(shared.known(&own, "tree 3"), None);
}

#[test]
fn a_criterion_names_its_test() {
    for test in ["a", "tests/test_a.py::test_b[x passes]", "suite > it passes"] {
        let criterion = from_failures::criterion_of_test(test);
        assert_eq!(from_failures::test_of_criterion(&criterion), Some(test));
    }
    for criterion in ["test  passes", "AC-1", "the test a passes", "test a fails", ""] {
        assert_eq!(from_failures::test_of_criterion(criterion), None, "{criterion}");
    }
}

#[test]
fn a_run_says_what_happened_in_a_line() {
    let run = |outcome: Outcome| CheckRun::bare(CheckName::new("unit"), outcome).summary();
    let failure = |tests: &[&str]| {
        let tests = tests.iter().map(|name| (*name).to_owned()).collect();
        Outcome::Failed(Failure { tests, exit: Some(2), tail: String::new(), details: vec![] })
    };
    assert_eq!(run(Outcome::Passed), "unit passed");
    assert_eq!(run(failure(&[])), "unit failed with exit code 2");
    assert_eq!(run(failure(&["a", "b", "c", "d", "e"])), "unit failed: a, b, c and 2 more");
    let flaky = Why::Flaky(["a".to_owned()].into());
    assert_eq!(
        run(Outcome::Inconclusive(flaky)),
        "unit is flaky: a failed once and passed when repeated on the same tree"
    );
}
