//! Weakenings that concern whole files, and which paths are tests.

use std::path::Path;

use crate::checks::weaken::WeakeningKind::*;
use crate::checks::weaken::*;

#[test]
fn files_that_are_deleted_moved_or_not_tests() {
    let edit = |path: &'static str, before: Option<&'static str>, after: Option<&'static str>| Edit {
        path: Path::new(path),
        before,
        after,
    };
    let table: Vec<(&str, Vec<Edit<'_>>, Vec<WeakeningKind>)> = vec![
        ("deleted", vec![edit("tests/test_a.py", Some("x"), None)], vec![TestFileDeleted]),
        (
            "moved",
            vec![edit("tests/test_a.py", Some("x"), None), edit("tests/unit/test_a.py", None, Some("x"))],
            vec![],
        ),
        (
            "moved to where nobody runs it",
            vec![edit("tests/test_a.py", Some("x"), None), edit("old/a.py.txt", None, Some("x"))],
            vec![TestFileDeleted],
        ),
        ("source deleted", vec![edit("src/a.py", Some("x"), None)], vec![]),
        ("source", vec![edit("src/a.py", Some("assert x"), Some("pass"))], vec![]),
        (
            "snapshot",
            vec![edit("a/__snapshots__/b.snap", Some("1"), Some("2"))],
            vec![RecordedExpectationChanged],
        ),
        (
            "data",
            vec![edit("tests/data/want.json", Some("[1]"), Some("[2]"))],
            vec![RecordedExpectationChanged],
        ),
        ("new data", vec![edit("tests/data/more.json", None, Some("[2]"))], vec![]),
        ("what people read", vec![edit("tests/README.md", Some("a"), Some("b"))], vec![]),
        ("new snapshot", vec![edit("a/__snapshots__/b.snap", None, Some("2"))], vec![]),
        ("workflow", vec![edit(".github/workflows/ci.yml", Some("a"), Some("b"))], vec![TestRunChanged]),
        ("workflow deleted", vec![edit(".github/workflows/ci.yml", Some("a"), None)], vec![TestRunChanged]),
        ("pytest.ini added", vec![edit("pytest.ini", None, Some("[pytest]"))], vec![TestRunChanged]),
        (
            "script",
            vec![edit(
                "package.json",
                Some(r#"{"scripts":{"test":"jest"}}"#),
                Some(r#"{"scripts":{"test":"true"}}"#),
            )],
            vec![TestRunChanged],
        ),
        (
            "dependency",
            vec![edit(
                "package.json",
                Some(r#"{"scripts":{"test":"jest"}}"#),
                Some(r#"{"scripts":{"test":"jest"},"x":1}"#),
            )],
            vec![],
        ),
        (
            "pyproject",
            vec![edit(
                "pyproject.toml",
                Some("[tool.pytest.ini_options]\n"),
                Some("[tool.pytest.ini_options]\naddopts = \"--deselect x\"\n"),
            )],
            vec![TestRunChanged],
        ),
        (
            "pyproject added",
            vec![edit("pyproject.toml", None, Some("[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n"))],
            vec![TestRunChanged],
        ),
        (
            "setup.cfg added",
            vec![edit("setup.cfg", None, Some("[tool:pytest]\ntestpaths = none\n"))],
            vec![TestRunChanged],
        ),
        ("a new package", vec![edit("pyproject.toml", None, Some("[project]\nname = \"a\"\n"))], vec![]),
        (
            "a start-up hook",
            vec![edit("sitecustomize.py", None, Some("import unittest\n"))],
            vec![TestRunChanged],
        ),
        ("a path hook", vec![edit("src/a.pth", None, Some("import os\n"))], vec![TestRunChanged]),
        (
            "cargo's runner",
            vec![edit(".cargo/config.toml", None, Some("[target.x]\nrunner = \"true\"\n"))],
            vec![TestRunChanged],
        ),
        (
            "cargo, a feature that nobody has",
            vec![edit(
                "Cargo.toml",
                Some("[[test]]\nname = \"a\"\n"),
                Some("[[test]]\nname = \"a\"\nrequired-features = [\"never\"]\n"),
            )],
            vec![TestRunChanged],
        ),
        (
            "cargo, a dependency",
            vec![edit("Cargo.toml", Some("[dependencies]\n"), Some("[dependencies]\nregex = \"1\"\n"))],
            vec![],
        ),
        (
            "settings of jest that were not there",
            vec![edit(
                "package.json",
                Some(r#"{"scripts":{"test":"jest"}}"#),
                Some(r#"{"scripts":{"test":"jest"},"jest":{"testPathIgnorePatterns":["a"]}}"#),
            )],
            vec![TestRunChanged],
        ),
        (
            "a first test script",
            vec![edit("package.json", Some("{}"), Some(r#"{"scripts":{"test":"node --test"}}"#))],
            vec![],
        ),
        (
            "a conftest with a hook",
            vec![edit(
                "conftest.py",
                None,
                Some("def pytest_collection_modifyitems(items):\n    items[:] = []\n"),
            )],
            vec![TestRunChanged],
        ),
        (
            "a conftest that replaces for all",
            vec![edit(
                "tests/conftest.py",
                Some("import pytest\n"),
                Some(
                    "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef shop(monkeypatch):\n    monkeypatch.setattr('shop.total', lambda: 3)\n",
                ),
            )],
            vec![TestRunChanged, CodeReplaced],
        ),
        (
            "a conftest with a fixture",
            vec![edit(
                "conftest.py",
                None,
                Some("import pytest\n\n\n@pytest.fixture\ndef shop():\n    return Shop()\n"),
            )],
            vec![],
        ),
        (
            "a setup file that mocks",
            vec![edit("vitest.setup.ts", None, Some("vi.mock('./shop');\n"))],
            vec![TestRunChanged],
        ),
        ("setup.py", vec![edit("setup.py", None, Some("import sys\nsys.modules['a'] = None\n"))], vec![]),
        (
            "TestMain",
            vec![edit(
                "main_test.go",
                None,
                Some("package a\n\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n"),
            )],
            vec![TestRunChanged],
        ),
        (
            "a test that was moved",
            vec![
                edit(
                    "tests/test_a.py",
                    Some("def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert g() == 2\n"),
                    Some("def test_b():\n    assert g() == 2\n"),
                ),
                edit("tests/test_f.py", None, Some("def test_a():\n    assert f() == 1\n")),
            ],
            vec![],
        ),
        (
            "a test that was moved and demands less",
            vec![
                edit("tests/test_a.py", Some("def test_a():\n    assert f() == 1\n"), Some("\n")),
                edit("tests/test_f.py", None, Some("def test_a():\n    assert f()\n")),
            ],
            vec![TestDeleted],
        ),
        (
            "a test that was moved and is skipped",
            vec![
                edit("tests/test_a.py", Some("def test_a():\n    assert f() == 1\n"), Some("\n")),
                edit(
                    "tests/test_f.py",
                    None,
                    Some("@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n"),
                ),
            ],
            vec![TestDeleted],
        ),
        (
            "make",
            vec![edit("Makefile", Some("test:\n\tpytest\n"), Some("test:\n\ttrue\n"))],
            vec![TestRunChanged],
        ),
        (
            "make, other target",
            vec![edit("Makefile", Some("test:\n\tpytest\nx:\n\ta\n"), Some("test:\n\tpytest\nx:\n\tb\n"))],
            vec![],
        ),
        (
            "cargo",
            vec![edit("Cargo.toml", Some("[lib]\n"), Some("[lib]\ntest = false\n"))],
            vec![TestRunChanged],
        ),
        (
            "a conftest that skips",
            vec![edit("tests/conftest.py", None, Some("collect_ignore = ['test_a.py']\n"))],
            vec![Skipped],
        ),
        (
            "a new test",
            vec![edit("tests/test_b.py", None, Some("def test_b():\n    assert f() == 1\n"))],
            vec![],
        ),
        (
            "a new test that skips",
            vec![edit("tests/test_c.py", None, Some("pytest.importorskip('x')\n"))],
            vec![],
        ),
        ("unchanged", vec![edit("tests/test_b.py", Some("x"), Some("x"))], vec![]),
    ];
    for (what, edits, expected) in table {
        let found = find_weakened(&edits);
        let kinds: Vec<WeakeningKind> = found.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, expected, "{what}: {found:?}");
    }
}

#[test]
fn test_paths_of_many_conventions() {
    let tests = [
        "tests/a.py",
        "test_a.py",
        "pkg/a_test.py",
        "conftest.py",
        "a_test.go",
        "src/a.test.ts",
        "src/__tests__/a.js",
        "tests/it.rs",
        "src/parser/tests.rs",
        "spec/a_spec.rb",
        "src/test/java/ATest.java",
        "a.spec.jsx",
        "test.js",
        "x/a.snap",
    ];
    let others = [
        "src/a.py",
        "contest.py",
        "testing.py",
        "src/latest.ts",
        "attest.go",
        "src/lib.rs",
        "protest/a.js",
        "a/test_data.txt",
    ];
    for path in tests {
        assert!(is_test_path(Path::new(path)), "{path}");
    }
    for path in others {
        assert!(!is_test_path(Path::new(path)), "{path}");
    }
}
