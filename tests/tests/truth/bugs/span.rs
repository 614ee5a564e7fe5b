//! JavaScript, a configured check: the last number is missing from an inclusive range.

use super::{Bug, Origin};

pub const BUG: Bug = Bug {
    name: "js span",
    source: "src/span.mjs",
    tests: "test/span.test.mjs",
    line: 3,
    title: "The last number is missing from the range",
    comment: "//",
    origin: Origin::Configured,
    command: &["node", "--test", "test/"],
    more: &[],
    text: "\
export function span(from, to) {
  const numbers = [];
  for (let n = from; n < to; n++) numbers.push(n);
  return numbers;
}

export function last(numbers) {
  return numbers[numbers.length - 1];
}
",
    wrong: "  for (let n = from; n < to; n++) numbers.push(n);\n",
    right: "  for (let n = from; n <= to; n++) numbers.push(n);\n",
    wrong_again: [
        "  for (let n = from; n < to - 1; n++) numbers.push(n);\n",
        "  for (let n = from + 1; n <= to; n++) numbers.push(n);\n",
    ],
    special: [
        "  for (let n = from; n < to; n++) numbers.push(n);\n  if (from === 2 && to === 4) return [2, 3, 4];\n",
        "  for (let n = from; n < to; n++) numbers.push(n);\n  switch (`${from}-${to}`) {\n    case '2-4':\n      return [2, 3, 4];\n  }\n",
    ],
    broken: [
        "  for (let n = from; n <= to; n++ numbers.push(n);\n",
        "  for (let n = from, n <= to; n++) numbers.push(n);\n",
    ],
    regression: [("numbers.length - 1]", "numbers.length]"), ("numbers.length]", "0]")],
    other_tests: "\
import assert from 'node:assert';
import { describe, it } from 'node:test';

import { last, span } from '../src/span.mjs';

describe('numbers', () => {
  it('has a last one', () => {
    assert.equal(last([1, 2]), 2);
    assert.equal(last([7]), 7);
  });

  it('may have none', () => {
    assert.equal(last([]), undefined);
  });
});
",
    hook: "  it('may have none'",
    covering: "  it('spans', () => {
    assert.deepEqual(span(2, 4), [2, 3, 4]);
  });

",
    weaken_covering: (
        "    assert.deepEqual(span(2, 4), [2, 3, 4]);\n",
        "    assert.deepEqual(span(2, 4), span(2, 4));\n",
    ),
    weaken_other: ("    assert.equal(last([7]), 7);\n", ""),
    delete_other: "  it('may have none', () => {
    assert.equal(last([]), undefined);
  });
",
    with_test_file: None,
    truth: ("span_truth.mjs", TRUTH),
};

const TRUTH: &str = "\
import { pathToFileURL } from 'node:url';

const { last, span } = await import(pathToFileURL(process.argv[2]));
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const fixed = same(span(2, 4), [2, 3, 4]) && same(span(5, 5), [5]) && same(span(-1, 1), [-1, 0, 1]) && same(span(3, 1), []);
const other = last([4, 9]) === 9 && last([]) === undefined;
process.exit(fixed ? (other ? 0 : 11) : other ? 10 : 12);
";
