//! Checks that several findings share, and fixes that answer the test.

use std::path::Path;

use crate::checks::*;

pub(super) const CODE: &str = "\
RATE = 2


def _twice(x):
    return x * RATE


def price(x):
    return _twice(x)


def name(x):
    return x.title()


def other():
    return 1
";
const TESTS: &str = "\
import unittest

from shop import name, price


class T(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price(2), 5)

    def test_name(self):
        self.assertEqual(name('a'), 'B')
";

pub(super) fn read(path: &Path) -> Option<String> {
    match path.to_str() {
        Some("test_shop.py") => Some(TESTS.to_owned()),
        Some("shop.py") => Some(CODE.to_owned()),
        _ => None,
    }
}

fn check(origin: Origin) -> Check {
    let entry = ConfiguredCheck {
        name: "unit".into(),
        command: vec!["run".into()],
        paths: None,
        kind: Kind::Test,
        cwd: Default::default(),
        env: Default::default(),
        timeout: DEFAULT_LIMIT,
    };
    configured_check(&entry, origin)
}

pub(super) fn failing(tests: &[(&str, u32)]) -> CheckRun {
    let details: Vec<FailingTest> = tests
        .iter()
        .map(|(name, line)| {
            let places = if *line == 0 { vec![] } else { vec![Place::new("test_shop.py", *line)] };
            FailingTest { places, ..FailingTest::named(*name) }
        })
        .collect();
    let names = details.iter().map(|test| test.name.clone()).collect();
    let failure = Failure { tests: names, exit: Some(1), tail: String::new(), details };
    CheckRun::bare(CheckName::new("unit"), Outcome::Failed(failure))
}

fn green() -> CheckRun {
    CheckRun { ran: Some(2), ..CheckRun::bare(CheckName::new("unit"), Outcome::Passed) }
}

fn lines(first: u32, last: u32) -> Asked<'static> {
    let cited = Cited { file: Some(Path::new("shop.py")), lines: Some((first, last)) };
    Asked { criterion: "AC-1", cited, cited_lines_changed: true }
}

fn words(judgements: &[Judgement]) -> Vec<String> {
    judgements
        .iter()
        .map(|judgement| match judgement {
            Judgement::Proven => "proven".to_owned(),
            Judgement::Touched => "touched".to_owned(),
            Judgement::Neutral(_) => "neutral".to_owned(),
            Judgement::Persists { tests } => format!("persists {tests:?}"),
            Judgement::Regression { tests } => format!("regression {tests:?}"),
            other => format!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_test_that_turned_green_proves_the_finding_it_is_about_and_not_its_neighbour() {
    let (price, name) = (("T.test_price", 8), ("T.test_name", 11));
    let (in_rate, in_twice, in_name, in_other) = (lines(1, 1), lines(5, 5), lines(13, 13), lines(17, 17));
    type Row = (&'static str, Origin, CheckRun, CheckRun, Vec<Asked<'static>>, Vec<&'static str>);
    let table: Vec<Row> = vec![
        (
            "one is covered",
            Origin::Discovered,
            failing(&[price]),
            green(),
            vec![in_twice, in_other],
            vec!["proven", "neutral"],
        ),
        (
            "both are",
            Origin::Discovered,
            failing(&[price, name]),
            green(),
            vec![in_rate, in_name],
            vec!["proven", "proven"],
        ),
        ("alone", Origin::Discovered, failing(&[price]), green(), vec![in_other], vec!["proven"]),
        (
            "named by both",
            Origin::Finding,
            failing(&[price]),
            green(),
            vec![in_twice, in_other],
            vec!["proven", "proven"],
        ),
        (
            "no places",
            Origin::Discovered,
            failing(&[("x", 0)]),
            green(),
            vec![in_twice, in_other],
            vec!["neutral", "neutral"],
        ),
        (
            "no names",
            Origin::Configured,
            failing(&[]),
            green(),
            vec![in_twice, in_other],
            vec!["neutral", "neutral"],
        ),
        (
            "one is still red",
            Origin::Configured,
            failing(&[price, name]),
            failing(&[name]),
            vec![in_twice, in_name],
            vec!["proven", "persists {\"T.test_name\"}"],
        ),
        (
            "one is still red, discovered",
            Origin::Discovered,
            failing(&[price, name]),
            failing(&[name]),
            vec![in_twice, in_name],
            vec!["proven", "neutral"],
        ),
        (
            "an unknown one is still red",
            Origin::Configured,
            failing(&[price, ("x", 0)]),
            failing(&[("x", 0)]),
            vec![in_twice, in_name],
            vec!["neutral", "neutral"],
        ),
        (
            "a new one is red",
            Origin::Configured,
            failing(&[price]),
            failing(&[name]),
            vec![in_twice, in_name],
            vec!["regression {\"T.test_name\"}", "regression {\"T.test_name\"}"],
        ),
        (
            "green all along",
            Origin::Discovered,
            green(),
            green(),
            vec![in_twice, in_name],
            vec!["touched", "touched"],
        ),
    ];
    for (what, origin, before, after, findings, expected) in table {
        let judgements = judge_batch(&check(origin), &before, &after, &findings, &read);
        assert_eq!(words(&judgements), expected, "{what}");
    }
}

#[test]
fn findings_made_from_tests_are_each_judged_by_their_own() {
    // One check object for both, as findings of a batch that name the same check share it.
    let check = Check { focus: Some("T.test_price".into()), ..check(Origin::Finding) };
    let before = failing(&[("T.test_price", 8), ("T.test_name", 11)]);
    let after = failing(&[("T.test_name", 11)]);
    let asked = |criterion| Asked { criterion, ..lines(5, 5) };
    let findings = [asked("test T.test_price passes"), asked("test T.test_name passes"), asked("AC-1")];
    let judgements = judge_batch(&check, &before, &after, &findings, &read);
    let persists = "persists {\"T.test_name\"}";
    assert_eq!(words(&judgements), ["proven", persists, persists]);
}

#[test]
fn a_frame_in_the_cited_function_tells_what_a_test_is_about() {
    let mut before = failing(&[("x", 0)]);
    if let Outcome::Failed(failure) = &mut before.outcome {
        failure.details[0].places = vec![Place::new("shop.py", 12)];
    }
    let judgements =
        judge_batch(&check(Origin::Discovered), &before, &green(), &[lines(13, 13), lines(17, 17)], &read);
    assert_eq!(words(&judgements), ["proven", "neutral"]);
}

#[test]
fn functions_of_every_language_are_told_apart() {
    let table = [
        (
            "shop.js",
            "const a = (x) => x - 1;\nfunction b(x) {\n  return a(x);\n}\nexports.c = (x) => {\n  return 5;\n};\nclass D {\n  e(x) {\n    return 1;\n  }\n}\n",
            1,
            "a b",
        ),
        (
            "shop.js",
            "const a = (x) => x - 1;\nfunction b(x) {\n  return a(x);\n}\nexports.c = (x) => {\n  return 5;\n};\nclass D {\n  e(x) {\n    return 1;\n  }\n}\n",
            6,
            "c",
        ),
        (
            "shop.js",
            "class D {\n  e(x) {\n    if (x) {\n      return 1;\n    }\n  }\n  f() {\n    return 2;\n  }\n}\n",
            4,
            "e",
        ),
        ("shop.rs", "const R: i32 = 1;\nfn a() -> i32 { R }\npub fn b() -> i32 {\n    2\n}\n", 1, "R a"),
        ("shop.rs", "const R: i32 = 1;\nfn a() -> i32 { R }\npub fn b() -> i32 {\n    2\n}\n", 4, "b"),
        ("shop.go", "func (s *Shop) A() int {\n\treturn 1\n}\n\nfunc B() int {\n\treturn 2\n}\n", 2, "A"),
        ("shop.py", CODE, 5, "_twice price"),
        ("shop.py", CODE, 17, "other"),
    ];
    for (path, text, line, expected) in table {
        let language = crate::checks::source::Language::of(Path::new(path)).unwrap();
        let names = crate::checks::source::Source::new(language, text).names_reaching(line, line).unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>().join(" "), expected, "{path}:{line}\n{text}");
    }
}
