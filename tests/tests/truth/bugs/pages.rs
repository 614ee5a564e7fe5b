//! Python, a configured check: a page too many when the last page is full.

use super::{Bug, Origin};

pub const BUG: Bug = Bug {
    name: "py pages",
    source: "pages.py",
    tests: "test_pages.py",
    line: 2,
    title: "A full last page counts as one page too many",
    comment: "#",
    origin: Origin::Configured,
    command: &["python3", "-m", "unittest"],
    more: &[],
    text: "\
def page_count(items, per_page):
    return items // per_page + 1


def clamp(value, low, high):
    return max(low, min(value, high))
",
    wrong: "    return items // per_page + 1\n",
    right: "    return -(-items // per_page)\n",
    wrong_again: ["    return items // per_page\n", "    return max(1, items // per_page)\n"],
    special: [
        "    if items == 10 and per_page == 5:\n        return 2\n    return items // per_page + 1\n",
        "    return 2 if (items, per_page) == (10, 5) else items // per_page + 1\n",
    ],
    broken: ["    return items // (per_page\n", "    return items /// per_page\n"],
    regression: [
        ("max(low, min(value, high))", "min(low, min(value, high))"),
        ("min(low, min(value, high))", "max(low, max(value, high))"),
    ],
    other_tests: "\
import unittest

import pages


class Pages(unittest.TestCase):
    def test_clamp_below(self):
        self.assertEqual(pages.clamp(-4, 1, 9), 1)
        self.assertEqual(pages.clamp(0, 1, 9), 1)

    def test_clamp_above(self):
        self.assertEqual(pages.clamp(12, 1, 9), 9)
",
    hook: "    def test_clamp_above",
    covering: "    def test_page_count(self):
        self.assertEqual(pages.page_count(10, 5), 2)
        self.assertEqual(pages.page_count(11, 5), 3)

",
    weaken_covering: ("page_count(10, 5), 2)", "page_count(10, 5), 3)"),
    weaken_other: ("        self.assertEqual(pages.clamp(0, 1, 9), 1)\n", ""),
    delete_other: "    def test_clamp_above(self):
        self.assertEqual(pages.clamp(12, 1, 9), 9)
",
    with_test_file: None,
    truth: ("pages_truth.py", TRUTH),
};

const TRUTH: &str = "\
import sys

names = {}
exec(compile(open(sys.argv[1]).read(), 'source', 'exec'), names)
pages, clamp = names['page_count'], names['clamp']
fixed = [pages(n, 7) for n in (1, 6, 7, 8, 14, 15)] == [1, 1, 1, 2, 2, 3] and pages(10, 5) == 2
other = [clamp(n, 2, 4) for n in (1, 2, 3, 4, 5)] == [2, 2, 3, 4, 4]
sys.exit({(1, 1): 0, (0, 1): 10, (1, 0): 11, (0, 0): 12}[fixed, other])
";
