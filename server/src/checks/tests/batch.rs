//! Checks that several findings share, and fixes that answer the test.

use std::path::Path;

use crate::checks::weaken::{Edit, Weakening, WeakeningKind};
use crate::checks::*;

const CODE: &str = "\
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

fn read(path: &Path) -> Option<String> {
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

fn failing(tests: &[(&str, u32)]) -> CheckRun {
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
    CheckRun::bare(CheckName::new("unit"), Outcome::Passed)
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

#[test]
fn a_fix_that_answers_the_test_is_suspicious() {
    let table: [(&str, &str, &str, &str, bool); 19] = [
        (
            "a.py",
            "def add(a, b):\n    return a - b\n",
            "def add(a, b):\n    if a == 1 and b == 2:\n        return 3\n    return a - b\n",
            "assert add(1, 2) == 3",
            true,
        ),
        (
            "a.py",
            "def add(a, b):\n    return a - b\n",
            "def add(a, b):\n    return 3 if (a, b) == (1, 2) else a - b\n",
            "assert add(1, 2) == 3",
            true,
        ),
        (
            "a.py",
            "def add(a, b):\n    return a - b\n",
            "def add(a, b):\n    if (a, b) == (1, 2): return 3\n    return a - b\n",
            "assert add(1, 2) == 3",
            true,
        ),
        (
            "a.py",
            "def add(a, b):\n    return a - b\n",
            "def add(a, b):\n    return a + b\n",
            "assert add(1, 2) == 3",
            false,
        ),
        (
            "a.py",
            "def p(s):\n    return s\n",
            "def p(s):\n    if s == 'racecar':\n        return True\n    return s\n",
            "assert p('racecar')",
            true,
        ),
        (
            "a.py",
            "def d(a, b):\n    return a / b\n",
            "def d(a, b):\n    if b == 0:\n        return None\n    return a / b\n",
            "assert d(4, 0) is None",
            false,
        ),
        (
            "a.py",
            "def d(a):\n    return a\n",
            "def d(a):\n    if not a:\n        return 0\n    return a\n",
            "assert d([]) == 0",
            false,
        ),
        (
            "a.py",
            "def d(a):\n    return a\n",
            "def d(a):\n    if a == 7:\n        return 8\n    return a\n",
            "assert d(3) == 4",
            false,
        ),
        ("a.py", "x = 1\n", "import os\nx = 2 if os.environ.get('PYTEST_CURRENT_TEST') else 1\n", "", true),
        ("a.py", "x = 1\n", "import sys\nif 'unittest' in sys.modules:\n    x = 2\n", "", true),
        (
            "a.js",
            "exports.add = (a, b) => a - b;\n",
            "exports.add = (a, b) => {\n  if (a === 1 && b === 2) return 3;\n  return a - b;\n};\n",
            "assert.strictEqual(add(1, 2), 3);",
            true,
        ),
        (
            "a.js",
            "exports.add = (a, b) => a - b;\n",
            "exports.add = (a, b) => a === 1 && b === 2 ? 3 : a - b;\n",
            "expect(add(1, 2)).toBe(3)",
            true,
        ),
        (
            "a.js",
            "exports.add = (a, b) => a - b;\n",
            "exports.add = (a, b) => a + b;\n",
            "expect(add(1, 2)).toBe(3)",
            false,
        ),
        (
            "a.rs",
            "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
            "fn add(a: i32, b: i32) -> i32 {\n    match (a, b) {\n        (1, 2) => 3,\n        _ => a - b,\n    }\n}\n",
            "assert_eq!(add(1, 2), 3);",
            true,
        ),
        (
            "a.rs",
            "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
            "fn add(a: i32, b: i32) -> i32 {\n    if a == 1 && b == 2 { return 3; }\n    a - b\n}\n",
            "assert_eq!(add(1, 2), 3);",
            true,
        ),
        ("a.rs", "fn x() {}\n", "fn x() { if cfg!(test) { return; } }\n", "", true),
        (
            "a.go",
            "func Add(a, b int) int {\n\treturn a - b\n}\n",
            "func Add(a, b int) int {\n\tif a == 1 && b == 2 {\n\t\treturn 3\n\t}\n\treturn a - b\n}\n",
            "if Add(1, 2) != 3 {",
            true,
        ),
        (
            "a.py",
            "def add(a, b):\n    if a == 1 and b == 2:\n        return 3\n",
            "def add(a, b):\n    if a == 1 and b == 2:\n        return 3\n    return a + b\n",
            "assert add(1, 2) == 3",
            false,
        ),
        ("test_a.py", "x\n", "def helper(a):\n    if a == 5:\n        return 6\n", "assert f(5) == 6", false),
    ];
    for (path, before, after, test, expected) in table {
        let edit = Edit { path: Path::new(path), before: Some(before), after: Some(after) };
        let found = find_special_cases(&[edit], &[test]);
        assert_eq!(!found.is_empty(), expected, "{path}: {after}: {found:?}");
    }
}

#[test]
fn a_doubted_proof_has_to_be_judged() {
    let weakening = Weakening {
        path: "test_shop.py".into(),
        line: 8,
        kind: WeakeningKind::ExpectationChanged,
        what: "expects something else".into(),
    };
    let special =
        SpecialCase { path: "shop.py".into(), line: 5, what: "asks whether it is being tested".into() };
    let none = Doubts::default();
    let one = Doubts { weakened: vec![weakening], special: vec![] };
    let other = Doubts { weakened: vec![], special: vec![special] };
    assert_eq!(none.apply(Judgement::Proven), Judgement::Proven);
    for doubts in [&one, &other] {
        assert!(matches!(doubts.apply(Judgement::Proven), Judgement::Neutral(_)));
        assert!(matches!(doubts.apply(Judgement::Touched), Judgement::Neutral(_)));
        let persists = Judgement::Persists { tests: Default::default() };
        assert_eq!(doubts.apply(persists.clone()), persists);
    }
    assert_eq!(one.apply(Judgement::Pattern), Judgement::Pattern, "a pattern is not about tests");
    assert_eq!(one.lines(), ["test_shop.py:8: expects something else"]);
}

#[test]
fn doubts_look_at_the_tests_that_failed_before() {
    let wrong =
        CODE.replace("    return _twice(x)", "    if x == 2:\n        return 5\n    return _twice(x)");
    let edit = |after| Edit { path: Path::new("shop.py"), before: Some(CODE), after: Some(after) };
    let before = failing(&[("T.test_price", 8)]);
    let doubts = Doubts::of(&[edit(&wrong)], &[&before], &read);
    assert_eq!(doubts.special.len(), 1, "{doubts:?}");
    let about_another = failing(&[("T.test_name", 11)]);
    assert!(Doubts::of(&[edit(&wrong)], &[&about_another], &read).is_empty());
    let right = CODE.replace("RATE = 2", "RATE = 2.5");
    assert!(Doubts::of(&[edit(&right)], &[&before], &read).is_empty());
}
