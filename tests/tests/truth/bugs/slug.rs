//! Python, a check that the finding names: capitals and outer spaces stay in a slug.

use super::{Bug, Origin};

pub const BUG: Bug = Bug {
    name: "py slug",
    source: "slug.py",
    tests: "test_slug.py",
    line: 2,
    title: "Capitals and outer spaces stay in the slug",
    comment: "#",
    origin: Origin::Finding,
    command: &["python3", "-m", "unittest", "test_slug"],
    more: &[],
    text: "\
def slug(title):
    return title.replace(' ', '-')


def words(title):
    return [word for word in title.split(' ') if word]
",
    wrong: "    return title.replace(' ', '-')\n",
    right: "    return title.strip().lower().replace(' ', '-')\n",
    wrong_again: [
        "    return title.lower().replace(' ', '-')\n",
        "    return title.strip().replace(' ', '-')\n",
    ],
    special: [
        "    if title in ('Hello World', ' A '):\n        return 'a' if title == ' A ' else 'hello-world'\n    return title.replace(' ', '-')\n",
        "    match title:\n        case 'Hello World':\n            return 'hello-world'\n        case ' A ':\n            return 'a'\n    return title.replace(' ', '-')\n",
    ],
    broken: ["    return title.replace(' , '-')\n", "    return title.lower(.replace(' ', '-')\n"],
    regression: [("split(' ') if word]", "split(' ')]"), ("split(' ')]", "split('-')]")],
    other_tests: "\
import unittest

from slug import slug, words


class Slugs(unittest.TestCase):
    def test_words(self):
        self.assertEqual(words('a b'), ['a', 'b'])
        self.assertEqual(words('a'), ['a'])

    def test_words_apart(self):
        self.assertEqual(words('a  b '), ['a', 'b'])
",
    hook: "    def test_words_apart",
    covering: "    def test_slug(self):
        self.assertEqual(slug('Hello World'), 'hello-world')
        self.assertEqual(slug(' A '), 'a')

",
    weaken_covering: (
        "        self.assertEqual(slug('Hello World'), 'hello-world')\n        self.assertEqual(slug(' A '), 'a')\n",
        "        self.assertTrue(slug('Hello World'))\n        self.assertTrue(slug(' A '))\n",
    ),
    weaken_other: ("        self.assertEqual(words('a'), ['a'])\n", ""),
    delete_other: "    def test_words_apart(self):
        self.assertEqual(words('a  b '), ['a', 'b'])
",
    with_test_file: None,
    truth: ("slug_truth.py", TRUTH),
};

const TRUTH: &str = "\
import sys

names = {}
exec(compile(open(sys.argv[1]).read(), 'source', 'exec'), names)
slug, words = names['slug'], names['words']
fixed = [slug(text) for text in ('Big Red Dog', '  x', 'Y ', ' A ')] == ['big-red-dog', 'x', 'y', 'a']
other = [words(text) for text in ('', 'a  b', ' c')] == [[], ['a', 'b'], ['c']]
sys.exit({(1, 1): 0, (0, 1): 10, (1, 0): 11, (0, 0): 12}[fixed, other])
";
