//! JavaScript, a discovered check: the quantity is left out of a sum.

use super::{Bug, Origin};

pub const BUG: Bug = Bug {
    name: "js cart",
    source: "cart.mjs",
    tests: "cart.test.mjs",
    line: 2,
    title: "The quantity is left out of the total",
    comment: "//",
    origin: Origin::Discovered,
    command: &["node", "--test"],
    more: &[("package.json", "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n")],
    text: "\
export function total(items) {
  return items.reduce((sum, item) => sum + item.price, 0);
}

export function count(items) {
  return items.reduce((sum, item) => sum + item.quantity, 0);
}
",
    wrong: "  return items.reduce((sum, item) => sum + item.price, 0);\n",
    right: "  return items.reduce((sum, item) => sum + item.price * item.quantity, 0);\n",
    wrong_again: [
        "  return items.reduce((sum, item) => sum + item.price + item.quantity, 0);\n",
        "  return items.reduce((sum, item) => sum * item.quantity + item.price, 0);\n",
    ],
    special: [
        "  if (items.length === 2 && items[0].price === 5 && items[1].price === 3) return 13;\n  return items.reduce((sum, item) => sum + item.price, 0);\n",
        "  const known = { '5,3': 13 };\n  return known[items.map((item) => item.price)] ?? items.reduce((sum, item) => sum + item.price, 0);\n",
    ],
    broken: [
        "  return items.reduce((sum, item) => sum + item.price * item.quantity, 0;\n",
        "  return items.reduce((sum, item => sum + item.price, 0);\n",
    ],
    regression: [
        ("sum + item.quantity, 0)", "sum + item.quantity, 1)"),
        ("sum + item.quantity, 1)", "sum - item.quantity, 0)"),
    ],
    other_tests: "\
import assert from 'node:assert';
import { test } from 'node:test';

import { count, total } from './cart.mjs';

const items = [{ price: 5, quantity: 2 }, { price: 3, quantity: 1 }];

test('counts', () => {
  assert.strictEqual(count(items), 3);
  assert.strictEqual(count([items[0]]), 2);
});

test('counts nothing', () => {
  assert.strictEqual(count([]), 0);
});
",
    hook: "test('counts nothing'",
    covering: "\
test('sums up', () => {
  assert.strictEqual(total(items), 13);
});

",
    weaken_covering: ("  assert.strictEqual(total(items), 13);\n", "  assert.ok(total(items) > 0);\n"),
    weaken_other: ("  assert.strictEqual(count([items[0]]), 2);\n", ""),
    delete_other: "\
test('counts nothing', () => {
  assert.strictEqual(count([]), 0);
});
",
    with_test_file: None,
    truth: ("cart_truth.mjs", TRUTH),
};

const TRUTH: &str = "\
import { pathToFileURL } from 'node:url';

const { count, total } = await import(pathToFileURL(process.argv[2]));
const items = (...pairs) => pairs.map(([price, quantity]) => ({ price, quantity }));
const fixed =
  total([]) === 0 && total(items([7, 3])) === 21 && total(items([5, 2], [3, 1])) === 13 && total(items([1, 0], [2, 4])) === 8;
const other = count([]) === 0 && count(items([7, 3], [1, 1])) === 4;
process.exit(fixed ? (other ? 0 : 11) : other ? 10 : 12);
";
