//! The same small project for each runner: `add` is wrong and tested, `sub` is right and tested, `hello` is
//! tested by nothing.

use super::*;

/// One language: its files, and the edits that the rows of the table make.
pub struct Language {
    pub name: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    pub source: &'static str,
    pub tests: &'static str,
    /// Text of `add` and what the edits make of it.
    pub wrong: &'static str,
    pub right: &'static str,
    pub wrong_again: &'static str,
    pub syntax_error: &'static str,
    /// Text of `sub`, broken.
    pub sub: (&'static str, &'static str),
    /// Text of `hello`, changed.
    pub hello: (&'static str, &'static str),
    /// The test of `add` as a whole, and the same one skipped.
    pub test: &'static str,
    pub skipped: &'static str,
    /// How the runner names the tests.
    pub add_test: &'static str,
    pub sub_test: &'static str,
    /// What fails when the source cannot be compiled or loaded.
    pub unloadable: &'static str,
}

pub const UNITTEST: Language = Language {
    name: "unittest",
    files: &[
        (
            "calc.py",
            "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n\n\ndef hello():\n    return 'hi'\n",
        ),
        (
            "test_calc.py",
            "import unittest\n\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    def test_sub(self):\n        self.assertEqual(calc.sub(3, 2), 1)\n",
        ),
    ],
    source: "calc.py",
    tests: "test_calc.py",
    wrong: "add(a, b):\n    return a - b",
    right: "add(a, b):\n    return a + b",
    wrong_again: "add(a, b):\n    return a * b",
    syntax_error: "add(a, b:\n    return a + b",
    sub: ("sub(a, b):\n    return a - b", "sub(a, b):\n    return b - a"),
    hello: ("'hi'", "'hello'"),
    test: "    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n",
    skipped: "    @unittest.skip('later')\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n",
    add_test: "test_calc.CalcTest.test_add",
    sub_test: "test_calc.CalcTest.test_sub",
    unloadable: "load test_calc",
};

pub const PYTEST: Language = Language {
    name: "pytest",
    files: &[
        ("pytest.ini", "[pytest]\naddopts = -x\n"),
        (
            "calc.py",
            "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n\n\ndef hello():\n    return 'hi'\n",
        ),
        (
            "tests/test_calc.py",
            "import pytest\n\nfrom calc import add, sub\n\n\n@pytest.mark.parametrize('a', [1])\ndef test_add(a):\n    assert add(a, 2) == 3\n\n\ndef test_sub():\n    assert sub(3, 2) == 1\n",
        ),
    ],
    source: "calc.py",
    tests: "tests/test_calc.py",
    wrong: "add(a, b):\n    return a - b",
    right: "add(a, b):\n    return a + b",
    wrong_again: "add(a, b):\n    return a * b",
    syntax_error: "add(a, b:\n    return a + b",
    sub: ("sub(a, b):\n    return a - b", "sub(a, b):\n    return b - a"),
    hello: ("'hi'", "'hello'"),
    test: "@pytest.mark.parametrize('a', [1])\ndef test_add(a):\n    assert add(a, 2) == 3\n\n\n",
    skipped: "@pytest.mark.skip\n@pytest.mark.parametrize('a', [1])\ndef test_add(a):\n    assert add(a, 2) == 3\n\n\n",
    add_test: "tests/test_calc.py::test_add[1]",
    sub_test: "tests/test_calc.py::test_sub",
    unloadable: "load tests.test_calc",
};

pub const CARGO: Language = Language {
    name: "cargo test",
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n\n[workspace]\n",
        ),
        (
            "src/lib.rs",
            "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\npub fn sub(a: i32, b: i32) -> i32 {\n    a - b\n}\n\npub fn hello() -> &'static str {\n    \"hi\"\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n    #[test]\n    fn subs() {\n        assert_eq!(sub(3, 2), 1);\n    }\n}\n",
        ),
    ],
    source: "src/lib.rs",
    tests: "src/lib.rs",
    wrong: "add(a: i32, b: i32) -> i32 {\n    a - b",
    right: "add(a: i32, b: i32) -> i32 {\n    a + b",
    wrong_again: "add(a: i32, b: i32) -> i32 {\n    a * b",
    syntax_error: "add(a: i32, b: i32) -> i32 {\n    a + c",
    sub: ("sub(a: i32, b: i32) -> i32 {\n    a - b", "sub(a: i32, b: i32) -> i32 {\n    b - a"),
    hello: ("\"hi\"", "\"hello\""),
    test: "    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n",
    skipped: "    #[test]\n    #[ignore]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n",
    add_test: "tests::adds",
    sub_test: "tests::subs",
    unloadable: "compile src/lib.rs",
};

pub const NEXTEST: Language = Language {
    name: "cargo nextest",
    files: &[CARGO.files[0], CARGO.files[1], (".config/nextest.toml", "")],
    add_test: "calc tests::adds",
    sub_test: "calc tests::subs",
    ..CARGO
};

pub const NODE: Language = Language {
    name: "node --test",
    files: &[
        ("package.json", "{\"scripts\": {\"test\": \"node --test\"}}\n"),
        (
            "calc.js",
            "exports.add = (a, b) => a - b;\nexports.sub = (a, b) => a - b;\nexports.hello = () => 'hi';\n",
        ),
        (
            "calc.test.js",
            "const { test, describe, it } = require('node:test');\nconst assert = require('node:assert');\nconst calc = require('./calc.js');\n\ndescribe('calc', () => {\n  it('adds', () => { assert.strictEqual(calc.add(1, 2), 3); });\n  it('subs', () => { assert.strictEqual(calc.sub(3, 2), 1); });\n});\n",
        ),
    ],
    source: "calc.js",
    tests: "calc.test.js",
    wrong: "add = (a, b) => a - b",
    right: "add = (a, b) => a + b",
    wrong_again: "add = (a, b) => a * b",
    syntax_error: "add = (a, b) => a + ",
    sub: ("sub = (a, b) => a - b", "sub = (a, b) => b - a"),
    hello: ("'hi'", "'hello'"),
    test: "  it('adds', () => { assert.strictEqual(calc.add(1, 2), 3); });\n",
    skipped: "  it.skip('adds', () => { assert.strictEqual(calc.add(1, 2), 3); });\n",
    add_test: "calc > adds",
    sub_test: "calc > subs",
    unloadable: "load calc.test.js",
};

pub const GO: Language = Language {
    name: "go test",
    files: &[
        ("go.mod", "module example.com/calc\n\ngo 1.18\n"),
        (
            "calc.go",
            "package calc\n\nfunc Add(a, b int) int { return a - b }\n\nfunc Sub(a, b int) int { return a - b }\n\nfunc Hello() string { return \"hi\" }\n",
        ),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\nfunc TestSub(t *testing.T) {\n\tt.Run(\"small\", func(t *testing.T) {\n\t\tif got := Sub(3, 2); got != 1 {\n\t\t\tt.Errorf(\"got %d\", got)\n\t\t}\n\t})\n}\n",
        ),
    ],
    source: "calc.go",
    tests: "calc_test.go",
    wrong: "Add(a, b int) int { return a - b }",
    right: "Add(a, b int) int { return a + b }",
    wrong_again: "Add(a, b int) int { return a * b }",
    syntax_error: "Add(a, b int) int { return a + }",
    sub: ("Sub(a, b int) int { return a - b }", "Sub(a, b int) int { return b - a }"),
    hello: ("\"hi\"", "\"hello\""),
    test: "func TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\n",
    skipped: "func TestAdd(t *testing.T) {\n\tt.Skip(\"later\")\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\n",
    add_test: "example.com/calc TestAdd",
    sub_test: "example.com/calc TestSub/small",
    unloadable: "compile example.com/calc",
};

impl Language {
    pub fn project(&self) -> Project {
        Project::with(self.files)
    }
}
