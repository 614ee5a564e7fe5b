//! Which edits weaken a test, and which do not.

use std::path::Path;

use super::weaken_compiled::{GO, RUST};
use crate::checks::weaken::WeakeningKind::*;
use crate::checks::weaken::*;

#[track_caller]
pub(super) fn check_table(path: &str, base: &str, table: &[(&str, &str, &str, &[WeakeningKind])]) {
    for (what, from, to, expected) in table {
        assert!(base.contains(from), "{what}: the base has no {from:?}");
        let after = base.replacen(from, to, 1);
        let found = find_weakened(&[Edit { path: Path::new(path), before: Some(base), after: Some(&after) }]);
        let kinds: Vec<WeakeningKind> = found.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, *expected, "{what}: {found:#?}");
    }
}

const PYTHON: &str = "\
import unittest
import pytest

from shop import total, load


class TestShop(unittest.TestCase):
    def test_total(self):
        \"\"\"Adds; does not skip.\"\"\"
        items = [1, 2]
        self.assertEqual(total(items), 3)
        self.assertAlmostEqual(total([0.1, 0.2]), 0.3, places=7)

    def test_load(self):
        with pytest.raises(ValueError, match='no'):
            load('x')


@pytest.mark.parametrize('a,b', [
    (1, 2),
    (3, 4),
])
def test_pairs(a, b):
    assert total([a]) == b - 1
    assert total([a, b]) == pytest.approx(a + b, rel=1e-6)  # about
";

#[test]
fn python_tests_that_are_weakened() {
    check_table(
        "tests/test_shop.py",
        PYTHON,
        &[
            ("assertion deleted", "        self.assertEqual(total(items), 3)\n", "", &[AssertionDeleted]),
            (
                "assertion commented out",
                "        self.assertEqual",
                "        # self.assertEqual",
                &[AssertionDeleted],
            ),
            (
                "loosened to a truth",
                "self.assertEqual(total(items), 3)",
                "self.assertTrue(total(items))",
                &[ComparisonLoosened],
            ),
            (
                "loosened to not None",
                "assert total([a]) == b - 1",
                "assert total([a]) is not None",
                &[ComparisonLoosened],
            ),
            (
                "loosened to in",
                "assert total([a]) == b - 1",
                "assert total([a]) in (b - 1, 7)",
                &[ComparisonLoosened],
            ),
            (
                "loosened with or",
                "assert total([a]) == b - 1",
                "assert total([a]) == b - 1 or a",
                &[ComparisonLoosened],
            ),
            ("always true", "assert total([a]) == b - 1", "assert True", &[ComparisonLoosened]),
            (
                "itself",
                "assert total([a]) == b - 1",
                "assert total([a]) == total([a])",
                &[ComparisonLoosened],
            ),
            (
                "approximate",
                "self.assertEqual(total(items), 3)",
                "self.assertAlmostEqual(total(items), 3)",
                &[ComparisonLoosened],
            ),
            ("tolerance", "rel=1e-6", "rel=0.5", &[ToleranceWidened]),
            ("places", "places=7", "places=0", &[ToleranceWidened]),
            ("expected value", "total(items), 3)", "total(items), -1)", &[ExpectationChanged]),
            ("any exception", "ValueError, match='no'", "Exception", &[ComparisonLoosened]),
            ("without match", "ValueError, match='no'", "ValueError", &[ComparisonLoosened]),
            ("skip", "    def test_load", "    @unittest.skip('later')\n    def test_load", &[Skipped]),
            (
                "skip inside",
                "        items = [1, 2]\n",
                "        items = [1, 2]\n        self.skipTest('x')\n",
                &[Skipped],
            ),
            ("xfail", "@pytest.mark.parametrize", "@pytest.mark.xfail\n@pytest.mark.parametrize", &[Skipped]),
            ("whole module", "from shop", "pytestmark = pytest.mark.skip\nfrom shop", &[Skipped]),
            (
                "return first",
                "        items = [1, 2]\n",
                "        return\n        items = [1, 2]\n",
                &[Skipped],
            ),
            (
                "dead",
                "    assert total([a]) == b - 1",
                "    if False:\n        assert total([a]) == b - 1",
                &[Skipped],
            ),
            (
                "swallowed",
                "        self.assertEqual(total(items), 3)\n",
                "        try:\n            self.assertEqual(total(items), 3)\n        except Exception:\n            pass\n",
                &[ErrorSwallowed],
            ),
            ("case removed", "    (3, 4),\n", "", &[CasesRemoved]),
            (
                "emptied",
                "        with pytest.raises(ValueError, match='no'):\n            load('x')\n",
                "        pass\n",
                &[TestEmptied],
            ),
            (
                "test deleted",
                "    def test_load(self):\n        with pytest.raises(ValueError, match='no'):\n            load('x')\n",
                "",
                &[TestDeleted],
            ),
            (
                "renamed and skipped",
                "    def test_load",
                "    @unittest.skip('x')\n    def test_load_2",
                &[Skipped],
            ),
            ("not collected any more", "def test_load", "def check_load", &[TestDeleted]),
            (
                "always true, since it is a pair",
                "assert total([a]) == b - 1",
                "assert (total([a]) == b - 1, 'the total')",
                &[ExpectationChanged],
            ),
            (
                "replaced",
                "    def test_load",
                "    @mock.patch('shop.load')\n    def test_load",
                &[CodeReplaced],
            ),
            (
                "replaced inside",
                "        items = [1, 2]\n",
                "        items = [1, 2]\n        with patch('shop.total', return_value=3):\n            pass\n",
                &[CodeReplaced],
            ),
            ("delta", "0.3, places=7)", "0.3, delta=1)", &[ExpectationChanged]),
            (
                "expected to fail",
                "    def test_load",
                "    @unittest.expectedFailure\n    def test_load",
                &[Skipped],
            ),
            ("whole class", "class TestShop", "@unittest.skipIf(True, 'x')\nclass TestShop", &[Skipped]),
            (
                "not a test class",
                "class TestShop(unittest.TestCase):\n",
                "class TestShop(unittest.TestCase):\n    __test__ = False\n",
                &[Skipped],
            ),
            (
                "suppressed",
                "with pytest.raises(ValueError, match='no'):",
                "with contextlib.suppress(ValueError):",
                &[TestEmptied, ErrorSwallowed],
            ),
            ("another variable", "assert total([a]) == b - 1", "assert a == b - 1", &[ExpectationChanged]),
        ],
    );
}

#[test]
fn python_tests_that_are_not_weakened() {
    check_table(
        "tests/test_shop.py",
        PYTHON,
        &[
            (
                "assertion added",
                "        items = [1, 2]\n",
                "        items = [1, 2]\n        assert items\n",
                &[],
            ),
            (
                "test added",
                "    def test_load",
                "    def test_new(self):\n        self.assertTrue(1)\n\n    def test_load",
                &[],
            ),
            ("renamed", "def test_load", "def test_load_fails", &[]),
            (
                "test added that catches",
                "    def test_load",
                "    def test_new(self):\n        try:\n            load('y')\n        except ValueError:\n            return\n        self.fail()\n\n    def test_load",
                &[],
            ),
            ("layout", "total(items), 3)", "\n            total(items),\n            3,\n        )", &[]),
            ("comment", "# about", "# skip this? never", &[]),
            ("narrower", "rel=1e-6", "rel=1e-9", &[ExpectationChanged]),
            ("case added", "    (3, 4),\n", "    (3, 4),\n    (5, 6),\n", &[]),
            ("setup", "items = [1, 2]", "items = list((1, 2))", &[]),
            (
                "stricter",
                "self.assertAlmostEqual(total([0.1, 0.2]), 0.3, places=7)",
                "self.assertEqual(total([0.1, 0.2]), 0.3)",
                &[],
            ),
            ("docstring", "does not skip", "does not pytest.skip(", &[]),
            ("a message", "total(items), 3)", "total(items), 3, 'the sum')", &[]),
            ("a message of assert", "== b - 1\n", "== b - 1, f'of {a}'\n", &[]),
            ("the other way round", "total(items), 3)", "3, total(items))", &[]),
            ("another style", "self.assertEqual(total(items), 3)", "assert total(items) == 3", &[]),
            (
                "a local name",
                "        items = [1, 2]\n        self.assertEqual(total(items), 3)",
                "        cart = [1, 2]\n        self.assertEqual(total(cart), 3)",
                &[],
            ),
            (
                "a test that mocks was added",
                "@pytest.mark.parametrize",
                "@patch('shop.load')\ndef test_new(load):\n    assert load\n\n\n@pytest.mark.parametrize",
                &[],
            ),
            ("another class name", "class TestShop(", "class ShopTest(", &[]),
            ("marked slow", "    def test_load", "    @pytest.mark.slow\n    def test_load", &[]),
        ],
    );
}

const SCRIPT: &str = "\
import { test, describe, it, expect } from 'vitest';
import { total } from './shop';

describe('shop', () => {
  it('adds', () => {
    expect(total([1, 2])).toBe(3);
    expect(total([0.1])).toBeCloseTo(0.1, 5);
  });

  it(\"throws (sometimes)\", async () => {
    await expect(total(null)).rejects.toThrow(/it('x')/);
  });

  it.each([
    [1, 1],
    [2, 2],
  ])('keeps %i', (a, b) => {
    expect(total([a]))
      .toEqual(b);
  });
});
";

#[test]
fn script_tests() {
    check_table(
        "src/shop.test.ts",
        SCRIPT,
        &[
            ("assertion deleted", "    expect(total([1, 2])).toBe(3);\n", "", &[AssertionDeleted]),
            (
                "commented out",
                "    expect(total([1, 2])).toBe(3);",
                "    // expect(total([1, 2])).toBe(3);",
                &[AssertionDeleted],
            ),
            ("loosened", ".toBe(3)", ".toBeTruthy()", &[ComparisonLoosened]),
            ("loosened over lines", ".toEqual(b)", ".toBeDefined()", &[ComparisonLoosened]),
            ("any throw", ".toThrow(/it('x')/)", ".toThrow()", &[ComparisonLoosened]),
            ("tolerance", "0.1, 5)", "0.1, 0)", &[ToleranceWidened]),
            ("expected value", ".toBe(3)", ".toBe(-1)", &[ExpectationChanged]),
            (
                "always true",
                "expect(total([1, 2])).toBe(3)",
                "expect(true).toBe(true)",
                &[ComparisonLoosened],
            ),
            ("skip", "it('adds'", "it.skip('adds'", &[Skipped]),
            ("xit", "it('adds'", "xit('adds'", &[Skipped]),
            ("only", "it('adds'", "it.only('adds'", &[Skipped]),
            ("skip all", "describe('shop'", "describe.skip('shop'", &[Skipped]),
            ("todo", "it('adds', () => {", "it.todo('adds', () => {", &[Skipped]),
            ("case removed", "    [2, 2],\n", "", &[CasesRemoved]),
            (
                "swallowed",
                "    expect(total([1, 2])).toBe(3);",
                "    try { expect(total([1, 2])).toBe(3); } catch (e) {}",
                &[ErrorSwallowed],
            ),
            (
                "test deleted",
                "  it(\"throws (sometimes)\", async () => {\n    await expect(total(null)).rejects.toThrow(/it('x')/);\n  });\n",
                "",
                &[TestDeleted],
            ),
            (
                "assertion added",
                "    expect(total([1, 2])).toBe(3);",
                "    expect(total([1, 2])).toBe(3);\n    expect(total([])).toBe(0);",
                &[],
            ),
            ("quotes", "it('adds'", "it(\"adds\"", &[]),
            ("nobody waits", "await expect(", "expect(", &[ExpectationChanged]),
            ("replaced", "describe('shop'", "vi.mock('./shop');\n\ndescribe('shop'", &[CodeReplaced]),
            (
                "spied on",
                "    expect(total([1, 2])).toBe(3);",
                "    vi.spyOn(shop, 'total').mockReturnValue(3);\n    expect(total([1, 2])).toBe(3);",
                &[CodeReplaced],
            ),
            ("anything", ".toBe(3)", ".toEqual(expect.anything())", &[ComparisonLoosened]),
            ("fails as expected", "it('adds'", "it.fails('adds'", &[Skipped]),
            ("leaves", "    expect(total([1, 2]))", "    return;\n    expect(total([1, 2]))", &[Skipped]),
            ("another group", "describe('shop'", "describe('the shop'", &[]),
            (
                "a test was added",
                "  it('adds'",
                "  it('adds none', () => {\n    expect(total([])).toBe(0);\n  });\n\n  it('adds'",
                &[],
            ),
            ("import", "from './shop'", "from '../shop'", &[]),
        ],
    );
}

#[test]
fn a_weakening_says_where_it_is() {
    let after = PYTHON.replace("self.assertEqual(total(items), 3)", "self.assertTrue(total(items))");
    let found =
        find_weakened(&[Edit { path: Path::new("test_shop.py"), before: Some(PYTHON), after: Some(&after) }]);
    assert_eq!(
        found[0].to_string(),
        "test_shop.py:11: demands less: `self.assertEqual(total(items), 3)` became `self.assertTrue(total(items))`"
    );
}

#[test]
fn half_a_file_in_any_language_is_no_reason_to_panic() {
    for (path, text) in [("test_a.py", PYTHON), ("a.test.ts", SCRIPT), ("a_test.rs", RUST), ("a_test.go", GO)]
    {
        let marked = text.replace("total", "tötal😀");
        for (cut, _) in marked.char_indices().step_by(11) {
            let (half, rest) = marked.split_at(cut);
            for (before, after) in [(half, rest), (rest, half), (marked.as_str(), half)] {
                find_weakened(&[Edit { path: Path::new(path), before: Some(before), after: Some(after) }]);
            }
        }
    }
}
