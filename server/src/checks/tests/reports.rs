//! Go's events, JUnit XML of every shape, and what counts as a test that ran.

use super::readers::{Workspace, failing, out, passed, report, skipped};
use crate::checks::Reader;
use crate::checks::readers::Raw;

#[test]
fn go_json() {
    let workspace = Workspace::with(&["shop/shop.go", "shop/shop_test.go"]);
    let event = |action: &str, test: &str, output: &str| {
        serde_json::json!({"Action": action, "Package": "example.com/m/shop", "Test": test, "Output": output})
            .to_string()
    };
    let of_package = |action: &str, output: &str| {
        serde_json::json!({"Action": action, "Package": "example.com/m/shop", "Output": output}).to_string()
    };
    let text = [
        event("run", "TestA", ""),
        event("output", "TestA/x", "    shop_test.go:9: got 1\n"),
        event("output", "TestA/x", "    --- FAIL: TestA/x (0.00s)\n"),
        event("fail", "TestA/x", ""),
        event("fail", "TestA", ""),
        event("pass", "TestB", ""),
        event("skip", "TestC", ""),
        event("output", "TestD", "panic: boom\n\ngoroutine 7 [running]:\nexample.com/m/shop.F(...)\n\tROOT/shop/shop.go:4 +0x1d\nexample.com/m/shop.TestD(0x1)\n\tROOT/shop/shop_test.go:20 +0x1d\n"),
        event("fail", "TestD", ""),
        of_package("output", "FAIL\n"),
        of_package("fail", ""),
    ]
    .join("\n");
    let reading = workspace.read(Reader::Go, out(&text));
    assert_eq!(
        failing(&reading),
        ["example.com/m/shop TestA/x @ shop/shop_test.go:9", "example.com/m/shop TestD @ shop/shop.go:4"]
    );
    assert_eq!(
        (passed(&reading), skipped(&reading)),
        (vec!["example.com/m/shop TestB"], vec!["example.com/m/shop TestC"])
    );
    assert!(
        reading.shown.is_some_and(|text| text.contains("    shop_test.go:9: got 1\n") && !text.contains('{'))
    );

    let broken = [of_package("output", "FAIL\texample.com/m/shop [build failed]\n"), of_package("fail", "")]
        .join("\n");
    let raw = Raw { stderr: "# example.com/m/shop\nshop/shop.go:3:9: undefined: x\n", ..out(&broken) };
    assert_eq!(failing(&workspace.read(Reader::Go, raw)), ["compile example.com/m/shop @ shop/shop.go:3"]);

    let missing = [
        of_package("output", "shop.go:3:2: no required module provides package x; to add it:\n"),
        of_package("fail", ""),
    ]
    .join("\n");
    let reading = workspace.read(Reader::Go, out(&missing));
    assert!(reading.cannot_start.is_some() && reading.failing.is_empty(), "{reading:?}");

    let none =
        of_package("output", "?   \texample.com/m/shop\t[no test files]\n") + "\n" + &of_package("skip", "");
    assert_eq!(workspace.read(Reader::Go, Raw { exit: Some(0), ..out(&none) }).ran, Some(0));
}

#[test]
fn go_text_behind_a_wrapper() {
    let workspace = Workspace::with(&["shop_test.go"]);
    let text = "--- FAIL: TestA (0.00s)\n    shop_test.go:9: got 1\n    --- FAIL: TestA/sub (0.00s)\n        shop_test.go:12: got 2\nFAIL\nFAIL\texample.com/m\t0.002s\nFAIL\n";
    let reading = workspace.read(Reader::Any, out(text));
    assert_eq!(failing(&reading), ["TestA/sub @ shop_test.go:12"]);
    assert_eq!((reading.tests, reading.ran), (None, Some(1)));
    // As Go 1.19 tells of two packages, of which one does not compile.
    let old = "{\"Action\":\"pass\",\"Package\":\"example.com/m/a\",\"Test\":\"TestA\"}\nok  \texample.com/m/a\t0.002s\nFAIL\texample.com/m/shop [build failed]\nFAIL\n";
    let compiler = "# example.com/m/other\nother/o.go:1:1: x\n# example.com/m/shop [example.com/m/shop.test]\nshop/a.go:3:40: syntax error\n";
    let two = Workspace::with(&["shop_test.go", "shop/a.go"]);
    for reader in [Reader::Go, Reader::Any] {
        let reading = two.read(reader, Raw { stderr: compiler, ..out(old) });
        assert_eq!(failing(&reading), ["compile example.com/m/shop @ shop/a.go:3"]);
        assert_eq!(reading.cannot_start, None);
    }
    let lacks = Raw {
        stderr: "# example.com/m\nm_test.go:3:8: no required module provides package x; to add it:\n",
        ..out("FAIL\texample.com/m [setup failed]\nFAIL\n")
    };
    assert!(two.read(Reader::Go, lacks).cannot_start.is_some());
    for (line, ran) in
        [("ok  \texample.com/m\t0.002s", 1), ("ok  \texample.com/m\t0.002s [no tests to run]", 0)]
    {
        assert_eq!(workspace.read(Reader::Any, out(line)).ran, Some(ran), "{line}");
    }
}

#[test]
fn junit_of_every_shape() {
    let workspace = Workspace::with(&["tests/test_a.py", "tests/test_b.py"]);
    let case = |file: &str, name: &str, inside: &str| {
        format!(
            r#"<testcase classname="tests.{}" name="{name}" file="{file}" line="1">{inside}</testcase>"#,
            file.trim_start_matches("tests/").trim_end_matches(".py")
        )
    };
    let suites = |inside: &str| {
        format!(
            r#"<testsuites><testsuite name="outer"><properties/><testsuite name="inner">{inside}</testsuite></testsuite></testsuites>"#
        )
    };
    type Row<'a> = (&'a str, String, &'a [&'a str], &'a [&'a str], Option<usize>);
    let table: [Row<'_>; 8] = [
        (
            "the same name in two files",
            case("tests/test_a.py", "test_x", "<failure message=\"m\"/>")
                + &case("tests/test_b.py", "test_x", ""),
            &["tests/test_a.py::test_x"],
            &["tests/test_b.py::test_x"],
            Some(2),
        ),
        (
            "an error is a failure",
            case("tests/test_a.py", "test_x", "<error message=\"m\">t</error>"),
            &["tests/test_a.py::test_x"],
            &[],
            Some(1),
        ),
        (
            "parameters",
            case("tests/test_a.py", "test_x[1-a::b/c.py]", "<failure/>")
                + &case("tests/test_a.py", "test_x[2-\u{e4}]", ""),
            &["tests/test_a.py::test_x[1-a::b/c.py]"],
            &["tests/test_a.py::test_x[2-\u{e4}]"],
            Some(2),
        ),
        (
            "expected to fail",
            case("tests/test_a.py", "test_x", "<skipped type=\"pytest.xfail\"/>"),
            &[],
            &[],
            Some(0),
        ),
        (
            "passed, and its teardown failed",
            case("tests/test_a.py", "test_x", "")
                + &case("tests/test_a.py", "test_x", "<error message=\"teardown\"/>"),
            &["tests/test_a.py::test_x"],
            &[],
            Some(1),
        ),
        (
            "output that looks like a failure",
            case("tests/test_a.py", "test_x", "<system-err>&lt;failure&gt;</system-err>"),
            &[],
            &["tests/test_a.py::test_x"],
            Some(1),
        ),
        (
            "skipped inside of its properties",
            case(
                "tests/test_a.py",
                "test_x",
                "<properties><property name=\"a\" value=\"skipped\"/></properties>",
            ),
            &[],
            &["tests/test_a.py::test_x"],
            Some(1),
        ),
        ("no test", String::new(), &[], &[], Some(0)),
    ];
    for (what, inside, red, green, ran) in table {
        let text = suites(&inside);
        let reading = workspace.read(Reader::Pytest, Raw { exit: Some(0), ..report(&text) });
        let names: Vec<&str> = reading.failing.iter().map(|test| test.name.as_str()).collect();
        assert_eq!((names.as_slice(), passed(&reading).as_slice(), reading.ran), (red, green, ran), "{what}");
    }
}

#[test]
fn tests_that_were_left_out_have_not_run() {
    let workspace = Workspace::with(&[]);
    let table = [
        (Reader::Any, "Test Suites: 1 skipped, 0 of 1 total\nTests:       4 skipped, 4 total\n", 0),
        (
            Reader::Any,
            "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 2 todo, 3 passed, 6 total\n",
            3,
        ),
        (Reader::Any, " Test Files  1 skipped (1)\n      Tests  2 skipped (2)\n", 0),
        (Reader::Any, "ℹ tests 3\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ skipped 2\nℹ todo 1\n", 0),
        (Reader::Any, "===== 2 xfailed in 0.01s =====\n", 0),
        (Reader::Any, "===== 1 passed, 2 skipped in 0.01s =====\n", 1),
        (Reader::Tap, "TAP version 13\nok 1 - a # SKIP later\nok 2 - b # TODO\n1..2\n", 0),
        (Reader::Tap, "TAP version 13\n1..0\n", 0),
        (
            Reader::Libtest,
            "running 2 tests\ntest a ... ignored\ntest b ... ignored, later\n\ntest result: ok. 0 passed; 0 failed; 2 ignored\n",
            0,
        ),
        (Reader::Nextest, "", 0),
    ];
    for (reader, text, ran) in table {
        let raw = match reader {
            Reader::Nextest => Raw {
                stderr: "    Starting 0 tests across 1 binary (3 tests skipped)\n",
                exit: Some(4),
                ..Raw::default()
            },
            _ => Raw { exit: Some(0), ..out(text) },
        };
        assert_eq!(workspace.read(reader, raw).ran, Some(ran), "{text}");
    }
}
