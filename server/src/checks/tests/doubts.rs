//! When green tests prove nothing: the fix changed them, or answers them.

use std::path::Path;

use super::batch::{CODE, failing, read};
use crate::checks::weaken::{Edit, Weakening, WeakeningKind};
use crate::checks::*;

#[test]
fn a_fix_that_answers_the_test_is_suspicious() {
    let table: [(&str, &str, &str, &str, bool); 30] = [
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
        (
            "a.py",
            "def m(t):\n    return 0\n",
            "def m(t):\n    known = {'1h30m': 90}\n    return known.get(t, 0)\n",
            "assertEqual(m('1h30m'), 90)",
            true,
        ),
        (
            "a.js",
            "const t = (xs) => 0;\n",
            "const t = (xs) => {\n  const known = { '5,3': 13 };\n  return known[xs] ?? 0;\n};\n",
            "assert.equal(t([5, 3]), 13);",
            true,
        ),
        (
            "a.js",
            "const s = (a, b) => [];\n",
            "const s = (a, b) => {\n  switch (`${a}-${b}`) {\n    case '2-4':\n      return [2, 3, 4];\n  }\n};\n",
            "assert.deepEqual(s(2, 4), [2, 3, 4]);",
            true,
        ),
        (
            "a.rs",
            "fn x() {}\n",
            "fn w(n: u32) -> &str {\n    [(12, \"twelve\")].get(n)\n    match n {\n        12 => \"twelve\",\n        _ => \"\",\n    }\n}\n",
            "assert_eq!(w(12), \"twelve\");",
            true,
        ),
        (
            "a.py",
            "T = {\n    1: 'I',\n    10: 'X',\n}\n",
            "T = {\n    1: 'I',\n    9: 'IX',\n    10: 'X',\n}\n",
            "assert roman(9) == 'IX'",
            false,
        ),
        (
            "a.py",
            "T = {}\n",
            "T = {\n    10: 'X',\n    9: 'IX',\n    5: 'V',\n}\n",
            "assert roman(9) == 'IX'",
            false,
        ),
        (
            "a.py",
            "def leap(y):\n    return y % 4 == 0\n",
            "def leap(y):\n    return y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)\n",
            "assert not leap(1900)\nassert leap(2000)",
            false,
        ),
        (
            "a.py",
            "x = 1\n",
            "import unittest\n\nunittest.TestCase.assertEqual = lambda *a: None\nx = 1\n",
            "",
            true,
        ),
        ("a.py", "x = 1\n", "import os\n\nos._exit(0)\nx = 1\n", "", true),
        (
            "a.mjs",
            "const x = 1;\n",
            "import assert from 'node:assert';\nassert.equal = () => {};\nconst x = 1;\n",
            "",
            true,
        ),
        ("a.py", "x = 1\n", "import atexit\n\natexit.register(close)\nx = 1\n", "", false),
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
    let one = Doubts { weakened: vec![weakening], ..Doubts::default() };
    let other = Doubts { special: vec![special], ..Doubts::default() };
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
fn a_failing_test_that_the_fix_rewrote_proves_nothing() {
    const BEFORE: &str = "PRICE = 4\n\n\nclass T(TestCase):\n    def test_price(self):\n        shop = Shop(PRICE)\n        self.assertEqual(shop.price(), 5)\n\n    def test_name(self):\n        self.assertEqual(name(), 'a')\n";
    let table: [(&str, &str, &str, usize); 7] = [
        ("untouched", "", "", 0),
        ("other input", "Shop(PRICE)", "Shop(5)", 1),
        ("another constant", "PRICE = 4", "PRICE = 5", 1),
        (
            "an assertion more",
            "        shop = Shop(PRICE)\n",
            "        shop = Shop(PRICE)\n        self.assertTrue(shop)\n",
            0,
        ),
        ("a comment", "Shop(PRICE)\n", "Shop(PRICE)  # four\n", 0),
        (
            "a test more",
            "    def test_name",
            "    def test_more(self):\n        self.assertTrue(1)\n\n    def test_name",
            0,
        ),
        ("another test", "name(), 'a'", "name(), 'b'", 0),
    ];
    let read = |path: &Path| (path == Path::new("test_shop.py")).then(|| BEFORE.to_owned());
    for (what, from, to, expected) in table {
        let after = BEFORE.replacen(from, to, 1);
        let edit = Edit { path: Path::new("test_shop.py"), before: Some(BEFORE), after: Some(&after) };
        // With the place of the failure, and by the name alone.
        let placed = failing(&[("test_shop.T.test_price", 7)]);
        let mut named = placed.clone();
        if let Outcome::Failed(failure) = &mut named.outcome {
            failure.details[0].places.clear();
        }
        for run in [&placed, &named] {
            let doubts = Doubts::of(&[edit], &[run], &read);
            assert_eq!(doubts.edited.len(), expected, "{what}: {doubts:?}");
        }
    }
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
