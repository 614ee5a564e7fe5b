//! What readers make of real outputs of the runners.

use std::fs;
use std::path::Path;

use crate::checks::Reader;
use crate::checks::readers::{Project, Raw, Reading, read, reader_of};

/// A workspace with these files; `ROOT` in an output stands for its path.
pub(super) struct Workspace(tempfile::TempDir);

impl Workspace {
    pub(super) fn with(files: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("work space").tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        Self(folder)
    }

    pub(super) fn read(&self, reader: Reader, raw: Raw<'_>) -> Reading {
        let root = self.0.path().to_str().unwrap();
        let fill = |text: &str| text.replace("ROOT", root);
        let (stdout, stderr, report) = (fill(raw.stdout), fill(raw.stderr), raw.report.map(fill));
        let raw = Raw { stdout: &stdout, stderr: &stderr, report: report.as_deref(), exit: raw.exit };
        read(reader, &raw, &Project::new(self.0.path(), Path::new("")))
    }
}

pub(super) fn out(stdout: &str) -> Raw<'_> {
    Raw { stdout, exit: Some(1), ..Raw::default() }
}

pub(super) fn err(stderr: &str) -> Raw<'_> {
    Raw { stderr, exit: Some(1), ..Raw::default() }
}

pub(super) fn report(report: &str) -> Raw<'_> {
    Raw { report: Some(report), exit: Some(1), ..Raw::default() }
}

/// `name @ file:line` of each failing test, with the place where it failed.
pub(super) fn failing(reading: &Reading) -> Vec<String> {
    let place = |test: &crate::checks::FailingTest| {
        test.places
            .last()
            .map_or("nowhere".to_owned(), |place| format!("{}:{}", place.file.display(), place.line))
    };
    reading.failing.iter().map(|test| format!("{} @ {}", test.name, place(test))).collect()
}

pub(super) fn passed(reading: &Reading) -> Vec<&str> {
    reading.tests.iter().flat_map(|tests| &tests.passed).map(String::as_str).collect()
}

pub(super) fn skipped(reading: &Reading) -> Vec<&str> {
    reading.tests.iter().flat_map(|tests| &tests.skipped).map(String::as_str).collect()
}

#[test]
fn the_reader_follows_from_the_command() {
    let table: [(&[&str], Reader); 20] = [
        (&["pytest", "-q"], Reader::Pytest),
        (&["/venv/bin/pytest"], Reader::Pytest),
        (&["python3", "-m", "pytest", "tests"], Reader::Pytest),
        (&["uv", "run", "pytest"], Reader::Pytest),
        (&["coverage", "run", "-m", "pytest"], Reader::Pytest),
        (&["python3", "-m", "unittest"], Reader::Unittest),
        (&["cargo", "test"], Reader::Libtest),
        (&["cargo", "+nightly", "t", "-p", "a"], Reader::Libtest),
        (&["cargo", "nextest", "run"], Reader::Nextest),
        (&["cargo", "clippy"], Reader::Any),
        (&["go", "test", "./..."], Reader::Go),
        (&["go", "vet", "test"], Reader::Any),
        (&["node", "--test"], Reader::Tap),
        (&["node", "x.js"], Reader::Any),
        (&["npx", "jest"], Reader::Jest),
        (&["node_modules/.bin/vitest", "run"], Reader::Jest),
        (&["npm", "test"], Reader::Any),
        (&["make", "test"], Reader::Any),
        (&["sh", "-c", "pytest -q"], Reader::Any),
        (&[], Reader::Any),
    ];
    for (argv, expected) in table {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(reader_of(&argv), expected, "{argv:?}");
    }
}

#[test]
fn pytest_by_its_report() {
    let workspace = Workspace::with(&["pkg/a.py", "tests/test_a.py"]);
    let reading = workspace.read(
        Reader::Pytest,
        report(
            r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="1" failures="2" skipped="1" tests="6">
<testcase classname="tests.test_a.TestA" name="test_x[a - b &lt;&quot;&gt;]" file="tests/test_a.py" line="3" time="0.1"><failure message="ValueError: &lt;x&gt;">self = &lt;x&gt;

    def test_x(self):
&gt;       f()

tests/test_a.py:5: 
_ _ _ _ _
pkg/a.py:2: in f
    g()
/usr/lib/python3/dist-packages/other.py:9: ValueError</failure></testcase>
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="9" time="0.0" />
<testcase classname="tests.test_a" name="test_out" file="tests/test_a.py" line="9"><system-out>FAILED</system-out></testcase>
<testcase classname="tests.test_a" name="test_skip" file="tests/test_a.py" line="12"><skipped type="pytest.skip" message="x">y</skipped></testcase>
<testcase classname="tests.test_a" name="test_teardown" file="tests/test_a.py" line="15"><error message="failed on teardown"><![CDATA[tests/test_a.py:16: x]]></error></testcase>
<testcase classname="" name="tests.test_b" time="0.0"><error message="collection failure">ImportError while importing test module 'ROOT/tests/test_b.py'.
tests/test_b.py:1: in &lt;module&gt;
    from pkg.a import gone
E   ImportError: cannot import name 'gone' from 'pkg.a'</error></testcase>
</testsuite></testsuites>"#,
        ),
    );
    assert_eq!(
        failing(&reading),
        [
            "load tests.test_b @ nowhere",
            "tests/test_a.py::TestA::test_x[a - b <\">] @ pkg/a.py:2",
            "tests/test_a.py::test_teardown @ tests/test_a.py:16",
        ]
    );
    assert_eq!(passed(&reading), ["tests/test_a.py::test_ok", "tests/test_a.py::test_out"]);
    assert_eq!(skipped(&reading), ["tests/test_a.py::test_skip"]);
    assert_eq!(reading.cannot_start, None);
    let places: Vec<_> = reading.failing[1].places.iter().map(|place| place.line).collect();
    assert_eq!(places, [5, 2], "outermost first");
}

#[test]
fn a_torn_report_falls_back_to_the_text() {
    let workspace = Workspace::with(&["tests/test_a.py"]);
    let raw = Raw {
        stdout: "=== FAILURES ===\n____ TestA.test_x ____\n\n>   assert 1 == 2\nE   assert 1 == 2\n\ntests/test_a.py:4: AssertionError\n=== short test summary info ===\nFAILED tests/test_a.py::TestA::test_x - assert 1 == 2\n1 failed, 2 passed in 0.1s\n",
        report: Some("<testsuites><testsuite><testcase name=\"x\""),
        exit: Some(1),
        ..Raw::default()
    };
    let reading = workspace.read(Reader::Pytest, raw);
    assert_eq!(failing(&reading), ["tests/test_a.py::TestA::test_x @ tests/test_a.py:4"]);
    assert_eq!((reading.ran, reading.tests), (Some(3), None));
}

#[test]
fn unittest_of_old_and_new_pythons() {
    let workspace = Workspace::with(&["a.py", "test_a.py"]);
    for name in ["test_x (test_a.T)", "test_x (test_a.T.test_x)"] {
        let text = format!(
            "{name}\nA docstring. ... FAIL\ntest_s (test_a.T) ... skipped 'x'\ntest_ok (test_a.T) ... ok\ntest_loud (test_a.T) ... some output\nok\n\n======\nFAIL: {name}\nA docstring.\n------\nTraceback (most recent call last):\n  File \"ROOT/test_a.py\", line 5, in test_x\n    f()\n  File \"ROOT/a.py\", line 2, in f\n    assert False\nAssertionError\n\n------\nRan 4 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n"
        );
        let reading = workspace.read(Reader::Unittest, err(&text));
        assert_eq!(failing(&reading), ["test_a.T.test_x @ a.py:2"]);
        assert!(passed(&reading).contains(&"test_a.T.test_ok"), "{reading:?}");
        assert_eq!(skipped(&reading), ["test_a.T.test_s"]);
        assert_eq!(reading.ran, Some(3));
    }
}

#[test]
fn libtest_with_several_binaries_and_doctests() {
    let workspace = Workspace::with(&["src/lib.rs", "tests/it.rs"]);
    let text = "\nrunning 4 tests\ntest tests::a ... ok\ntest tests::b ... FAILED\ntest tests::c - should panic ... ok\ntest tests::d ... ignored, slow\n\nfailures:\n\n---- tests::b stdout ----\nsome output\n\nthread 'tests::b' (17) panicked at src/lib.rs:12:9:\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    tests::b\n\ntest result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\nrunning 1 test\ntest it ... noise without a line end ok\n\ntest result: ok. 1 passed; 0 failed\n\nrunning 2 tests\ntest src/lib.rs - f (line 3) ... FAILED\ntest src/lib.rs - g (line 9) - compile ... ok\n\nfailures:\n\n---- src/lib.rs - f (line 3) stdout ----\nTest executable failed (exit status: 101).\n\nstderr:\n\nthread 'main' panicked at src/lib.rs:4:1:\nx\n\n\nfailures:\n    src/lib.rs - f (line 3)\n";
    let reading = workspace.read(Reader::Libtest, out(text));
    assert_eq!(failing(&reading), ["src/lib.rs - f (line 3) @ src/lib.rs:4", "tests::b @ src/lib.rs:12"]);
    assert_eq!(passed(&reading), ["it", "src/lib.rs - g (line 9)", "tests::a", "tests::c"]);
    assert_eq!((skipped(&reading), reading.ran), (vec!["tests::d"], Some(6)));
}

#[test]
fn libtest_json() {
    let workspace = Workspace::with(&["src/lib.rs"]);
    let text = "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 2 }\n{ \"type\": \"test\", \"event\": \"started\", \"name\": \"a\" }\n{ \"type\": \"test\", \"name\": \"a\", \"event\": \"ok\" }\n{ \"type\": \"test\", \"name\": \"b\", \"event\": \"failed\", \"stdout\": \"thread 'b' panicked at src/lib.rs:3:5:\\nx\\n\" }\n{ \"type\": \"test\", \"name\": \"c\", \"event\": \"ignored\" }\n{ \"type\": \"suite\", \"event\": \"failed\", \"passed\": 1, \"failed\": 1 }\n";
    let reading = workspace.read(Reader::Libtest, out(text));
    assert_eq!(failing(&reading), ["b @ src/lib.rs:3"]);
    assert_eq!((passed(&reading), skipped(&reading), reading.ran), (vec!["a"], vec!["c"], Some(2)));
}

#[test]
fn what_does_not_compile_is_a_failure_and_a_missing_tool_is_not() {
    let workspace = Workspace::with(&["src/lib.rs", "src/b.rs"]);
    let broken = "warning: unused\n --> src/b.rs:1:1\n\nerror[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:2:9\n  |\n2 |     a + c\n  |         ^ not found in this scope\n\nerror: expected `;`\n  --> src/lib.rs:9:1\n\nerror[E0308]: mismatched types\n   --> src/b.rs:3:5\n\nerror: could not compile `calc` (lib test) due to 3 previous errors\n";
    let reading = workspace.read(Reader::Libtest, err(broken));
    assert_eq!(failing(&reading), ["compile src/b.rs @ src/b.rs:3", "compile src/lib.rs @ src/lib.rs:2"]);
    assert!(reading.failing[1].excerpt.contains("expected `;`"));

    let manifest = "error: failed to parse manifest at `ROOT/Cargo.toml`\n\nCaused by: x\n";
    assert_eq!(failing(&workspace.read(Reader::Nextest, err(manifest))), ["compile Cargo.toml @ nowhere"]);

    for text in [
        "error: linker `cc` not found\n  |\n  = note: No such file\n\nerror: could not compile `calc` (lib) due to 1 previous error\n",
        "error: failed to get `serde` as a dependency of package `calc`\n\nCaused by:\n  failed to download\n",
        "error: no such command: `nextest`\n",
        "error[E0433]: failed to resolve\n --> /home/me/.cargo/registry/src/x/src/lib.rs:1:1\n\nerror: could not compile `dep` (lib) due to 1 previous error\n",
        "error: package ID specification `x` did not match any packages\n",
    ] {
        let reading = workspace.read(Reader::Libtest, err(text));
        assert!(reading.cannot_start.is_some() && reading.failing.is_empty(), "{text}: {reading:?}");
    }
}

#[test]
fn nextest() {
    let workspace = Workspace::with(&["src/lib.rs"]);
    let text = "   Compiling nx v0.1.0\n────────────\n Nextest run ID 28b2 with nextest profile: default\n    Starting 4 tests across 1 binary (1 test skipped)\n        PASS [   0.010s] (1/4) nx tests::ok_one\n        FAIL [   1.175s] (2/4) nx tests::adds\n  stdout ───\n\n    running 1 test\n    test tests::adds ... FAILED\n\n  stderr ───\n\n    thread 'tests::adds' (4760) panicked at src/lib.rs:5:48:\n    assertion `left == right` failed\n\n        PASS [   1.326s] (3/4) nx tests::sp\n     SIGABRT [   0.004s] (4/4) nx::it aborts\n────────────\n     Summary [   1.338s] 4 tests run: 2 passed, 2 failed, 1 skipped\n        FAIL [   1.175s] (2/4) nx tests::adds\nerror: test run failed\n";
    let reading = workspace.read(Reader::Nextest, err(text));
    assert_eq!(failing(&reading), ["nx tests::adds @ src/lib.rs:5", "nx::it aborts @ nowhere"]);
    assert!(!reading.failing[0].excerpt.contains("tests::sp"), "{}", reading.failing[0].excerpt);
    assert_eq!((passed(&reading), reading.ran), (vec!["nx tests::ok_one", "nx tests::sp"], Some(4)));
    // Without the counter of newer versions, and with retries.
    let text = "    Starting 1 test across 1 binary\n  TRY 1 FAIL [   0.005s] nx tests::a\n  TRY 2 PASS [   0.004s] nx tests::a\n   FLAKY 2/2 [   0.004s] nx tests::a\n";
    let reading = workspace.read(Reader::Nextest, Raw { exit: Some(0), ..err(text) });
    assert_eq!((failing(&reading).len(), passed(&reading)), (0, vec!["nx tests::a"]));
}

#[test]
fn tap_with_nested_suites() {
    let workspace = Workspace::with(&["a.js", "a.test.js", "bad.test.js"]);
    let text = "TAP version 13\n# ROOT/bad.test.js:1\n# SyntaxError: Unexpected token\n# Subtest: ROOT/bad.test.js\nnot ok 1 - ROOT/bad.test.js\n  ---\n  location: 'ROOT/bad.test.js:1:1'\n  failureType: 'testCodeFailure'\n  error: 'test failed'\n  ...\n# Subtest: outer\n    # Subtest: inner\n        # Subtest: deep\\#1\n        not ok 1 - deep\\#1\n          ---\n          error: |-\n            ok 7 - not a test point\n          stack: |-\n            f (ROOT/a.js:2:3)\n            TestContext.<anonymous> (ROOT/a.test.js:9:3)\n            Test.run (node:internal/test_runner/test:1:1)\n          ...\n        1..1\n    not ok 1 - inner\n      ---\n      failureType: 'subtestsFailed'\n      ...\n    # Subtest: fine\n    ok 2 - fine\n      ---\n      duration_ms: 1\n      ...\n    # Subtest: later\n    ok 3 - later # SKIP no reason\n    # Subtest: hook\n    not ok 4 - hook # TODO\n    1..4\nnot ok 2 - outer\n  ---\n  type: 'suite'\n  failureType: 'subtestsFailed'\n  ...\n# Subtest: plain\nnot ok 3 - plain\n  ---\n  location: 'ROOT/a.test.js:20:1'\n  error: 'x'\n  ...\n# Subtest: ROOT/a.js\nok 4 - ROOT/a.js\n1..4\n# tests 6\n";
    let reading = workspace.read(Reader::Tap, out(text));
    assert_eq!(
        failing(&reading),
        ["load bad.test.js @ bad.test.js:1", "outer > inner > deep#1 @ a.js:2", "plain @ a.test.js:20"]
    );
    assert_eq!(passed(&reading), ["outer > fine"]);
    assert_eq!(skipped(&reading), ["outer > hook", "outer > later"]);
    assert_eq!(reading.ran, Some(4));
}

#[test]
fn plain_tap_and_nodes_spec_reporter() {
    let workspace = Workspace::with(&["a.test.js"]);
    let reading = workspace.read(Reader::Any, out("1..3\nok 1 - one\nnot ok 2 - two\nok 3\n"));
    assert_eq!((failing(&reading), reading.ran), (vec!["two @ nowhere".to_owned()], Some(3)));

    let spec = "✔ fine (0.5ms)\n✖ adds (1.2ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.test.js:3:1\n✖ adds (1.2ms)\n  AssertionError [ERR_ASSERTION]: x\n      at TestContext.<anonymous> (ROOT/a.test.js:4:10)\n";
    let reading = workspace.read(Reader::Any, out(spec));
    assert_eq!((failing(&reading), reading.ran), (vec!["adds @ a.test.js:4".to_owned()], Some(2)));

    let missing = workspace.read(Reader::Tap, err("Could not find 'ROOT/nowhere.js'\n"));
    assert!(missing.cannot_start.is_some());
}

#[test]
fn jest_and_vitest_by_their_report() {
    let workspace = Workspace::with(&["a.js", "a.test.js", "b.test.js"]);
    let text = r#"{"testResults":[
        {"name":"ROOT/a.test.js","status":"failed","message":"","assertionResults":[
            {"ancestorTitles":["calc"],"title":"adds","status":"failed","location":null,"failureMessages":["Error: x\n    at boom (ROOT/a.js:2:35)\n    at file://ROOT/a.test.js:8:22\n    at ROOT/node_modules/x/y.js:1:1"]},
            {"ancestorTitles":["","calc"],"title":"fine","status":"passed","failureMessages":[]},
            {"ancestorTitles":[],"title":"later","status":"pending","failureMessages":[]}]},
        {"name":"ROOT/b.test.js","status":"failed","message":"  ● Test suite failed to run\n\n    SyntaxError: x\n      at Object.<anonymous> (b.test.js:3:1)\n","assertionResults":[]}]}"#;
    let reading = workspace.read(Reader::Jest, report(text));
    assert_eq!(failing(&reading), ["a.test.js > calc > adds @ a.js:2", "load b.test.js @ b.test.js:3"]);
    assert_eq!(passed(&reading), ["a.test.js > calc > fine"]);
    assert_eq!((skipped(&reading), reading.cannot_start.clone()), (vec!["a.test.js > later"], None));

    let missing = r#"{"testResults":[{"name":"ROOT/b.test.js","status":"failed","message":"Cannot find package 'gone' imported from ROOT/b.test.js","assertionResults":[]}]}"#;
    let reading = workspace.read(Reader::Jest, report(missing));
    assert_eq!(reading.cannot_start.as_deref(), Some("the package `gone` is not installed"));

    let none = workspace.read(Reader::Jest, report(r#"{"testResults":[]}"#));
    assert_eq!((none.ran, none.failing.len()), (Some(0), 0));
}

#[test]
fn jest_and_vitest_by_their_text() {
    let workspace = Workspace::with(&["calc.js", "calc.test.js"]);
    let jest = "FAIL ./calc.test.js\n  ✕ boom (18 ms)\n\n  ● calc › adds\n\n    expect(received).toBe(expected)\n\n      at Object.toBe (calc.test.js:3:42)\n\n  ● boom\n\n    x\n\n      at exports.boom (calc.js:2:30)\n      at Object.boom (calc.test.js:7:22)\n\nTest Suites: 1 failed, 1 total\nTests:       2 failed, 1 skipped, 1 passed, 4 total\n";
    let reading = workspace.read(Reader::Any, err(jest));
    assert_eq!(failing(&reading), ["boom @ calc.js:2", "calc > adds @ calc.test.js:3"]);

    let vitest = Raw {
        stdout: " Test Files  1 failed (1)\n      Tests  2 failed | 1 passed | 1 skipped (4)\n",
        ..err(
            " FAIL  calc.test.js > calc > adds\nAssertionError: x\n\n ❯ calc.test.js:4:42\n      2| y\n\n FAIL  calc.test.js > boom\nError: x\n ❯ boom calc.js:2:35\n ❯ calc.test.js:8:22\n",
        )
    };
    let reading = workspace.read(Reader::Any, vitest);
    assert_eq!(
        failing(&reading),
        ["calc.test.js > boom @ calc.js:2", "calc.test.js > calc > adds @ calc.test.js:4"]
    );

    let none = workspace.read(Reader::Any, err("No tests found, exiting with code 1\n"));
    assert_eq!(none.ran, Some(0));
}

#[test]
fn several_runners_behind_one_command_are_taken_together() {
    let workspace = Workspace::with(&[]);
    let raw = Raw {
        stdout: "running 2 tests\ntest a ... FAILED\ntest b ... ok\n\ntest result: FAILED. 1 passed; 1 failed\n",
        stderr: "F\n======\nFAIL: test_x (t.T.test_x)\n------\nTraceback\n\nRan 3 tests in 0.1s\n\nFAILED (failures=1)\n",
        report: None,
        exit: Some(2),
    };
    let reading = workspace.read(Reader::Any, raw);
    assert_eq!(failing(&reading), ["a @ nowhere", "t.T.test_x @ nowhere"]);
    assert_eq!((reading.ran, reading.tests), (Some(5), None));
}

#[test]
fn places_outside_of_the_project_are_no_places() {
    let workspace = Workspace::with(&["a.py", "node_modules/x/i.js", ".venv/lib/y.py", "sub/b.py"]);
    let project = Project::new(workspace.0.path(), Path::new("sub"));
    let place = |path: &str| project.place(path, 3).map(|place| place.file.display().to_string());
    let root = workspace.0.path().display();
    assert_eq!(place("b.py"), Some("sub/b.py".into()), "where the check ran");
    assert_eq!(place("../a.py"), Some("a.py".into()));
    assert_eq!(place("a.py"), Some("a.py".into()), "relative to the workspace");
    assert_eq!(place(&format!("{root}/a.py")), Some("a.py".into()));
    assert_eq!(place(&format!("file://{root}/a.py").replace(' ', "%20")), Some("a.py".into()));
    for path in [
        "../../etc/passwd",
        "/etc/passwd",
        "gone.py",
        "../node_modules/x/i.js",
        "../.venv/lib/y.py",
        "",
        "sub",
    ] {
        assert_eq!(place(path), None, "{path}");
    }
    assert_eq!(project.place("b.py", 0), None);
}

#[test]
fn no_output_makes_a_reader_panic() {
    let workspace = Workspace::with(&["a.py"]);
    let samples = [
        "",
        "\n",
        "ok",
        "not ok",
        "TAP version 13\nnot ok 1 - x\n  ---\n",
        "running 99999999999999999999 tests\n",
        "FAIL: x (y)\n",
        "Ran 1 test in 0s\nFAIL: é (ü.é)\n",
        "{\"Action\":\"fail\"}\n{\"Action\":5}\n{",
        "---- x stdout ----\n",
        "_____ x _____\nFAILED é.py::x - ö\n",
        "<testsuites>",
        "<a></b>",
        "{\"testResults\":[5,{\"assertionResults\":[{}]}]}",
        "    Starting 1 test across 1 binary\n FAIL [ 0s] é é\n",
        "error: could not compile\n",
        "error[E0001]: x\n --> é:99999999999:1\n",
        "\u{1b}[31m\u{0}",
    ];
    let readers = [
        Reader::Pytest,
        Reader::Unittest,
        Reader::Libtest,
        Reader::Nextest,
        Reader::Go,
        Reader::Tap,
        Reader::Jest,
        Reader::Any,
        Reader::Plain,
    ];
    for reader in readers {
        for text in samples {
            for exit in [None, Some(0), Some(1)] {
                workspace.read(reader, Raw { stdout: text, stderr: text, report: Some(text), exit });
                workspace.read(reader, Raw { stdout: text, stderr: "", report: None, exit });
            }
        }
    }
}
