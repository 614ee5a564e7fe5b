//! Python, a discovered check: hours are not made minutes.

use super::{Bug, Origin};

pub const BUG: Bug = Bug {
    name: "py durations",
    source: "durations.py",
    tests: "test_durations.py",
    line: 3,
    title: "Hours are added as if they were minutes",
    comment: "#",
    origin: Origin::Discovered,
    command: &["python3", "-m", "unittest"],
    more: &[],
    text: "\
def minutes(text):
    hours, rest = text.rstrip('m').split('h')
    return int(hours) + int(rest or 0)


def show(count):
    return f'{count // 60}h{count % 60}m'
",
    wrong: "    return int(hours) + int(rest or 0)\n",
    right: "    return int(hours) * 60 + int(rest or 0)\n",
    wrong_again: ["    return int(hours) * 100 + int(rest or 0)\n", "    return int(hours) * 60\n"],
    special: [
        "    known = {'1h30m': 90}\n    return known.get(text, int(hours) + int(rest or 0))\n",
        "    return 90 if text == '1h30m' else int(hours) + int(rest or 0)\n",
    ],
    broken: ["  return int(hours) * 60 +\n", "    return (int(hours) * 60\n"],
    regression: [("% 60}m'", "% 60}'"), ("% 60}'", "% 60}s'")],
    other_tests: "\
import unittest

from durations import minutes, show


class Durations(unittest.TestCase):
    def test_shows_hours(self):
        self.assertEqual(show(60), '1h0m')
        self.assertEqual(show(120), '2h0m')

    def test_shows_minutes(self):
        self.assertEqual(show(61), '1h1m')
",
    hook: "    def test_shows_minutes",
    covering: "    def test_reads(self):
        self.assertEqual(minutes('1h30m'), 90)

",
    weaken_covering: ("minutes('1h30m'), 90)", "minutes('1h30m'), 31)"),
    weaken_other: ("        self.assertEqual(show(120), '2h0m')\n", ""),
    delete_other: "    def test_shows_minutes(self):
        self.assertEqual(show(61), '1h1m')
",
    with_test_file: None,
    truth: ("durations_truth.py", TRUTH),
};

const TRUTH: &str = "\
import sys

names = {}
exec(compile(open(sys.argv[1]).read(), 'source', 'exec'), names)
minutes, show = names['minutes'], names['show']
fixed = [minutes(text) for text in ('2h5m', '0h7m', '1h30m', '3h')] == [125, 7, 90, 180]
other = [show(n) for n in (0, 59, 60, 150)] == ['0h0m', '0h59m', '1h0m', '2h30m']
sys.exit({(1, 1): 0, (0, 1): 10, (1, 0): 11, (0, 0): 12}[fixed, other])
";
