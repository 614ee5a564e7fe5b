//! Discovered checks and findings from failures, through real runners.

use fix_loop::checks::from_failures::drafts;

use super::projects::{CARGO, GO, NODE, PYTEST, UNITTEST};
use super::*;

#[tokio::test]
async fn narrowing_that_finds_no_test_falls_back_to_the_wider_run() {
    // The narrowed package has no test; the workspace has one that fails.
    let project = Project::with(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"2\"\n"),
        (
            "a/Cargo.toml",
            "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n",
        ),
        ("a/src/lib.rs", "pub fn one() -> i32 {\n    2\n}\n"),
        (
            "b/Cargo.toml",
            "[package]\nname = \"b\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n\n[dependencies]\na = { path = \"../a\" }\n",
        ),
        ("b/src/lib.rs", "#[test]\nfn one_is_one() {\n    assert_eq!(a::one(), 1);\n}\n"),
    ]);
    let check = project.discovered("a/src/lib.rs");
    assert_eq!(check.argv()[..5], ["cargo", "test", "--no-fail-fast", "-p", "a"]);
    let run = project.run(&check).await;
    assert_eq!(run.failure().map(|it| it.tests.clone()), Some(set(&["one_is_one"])), "{}", run.output);
    assert_eq!(run.argv.last().map(String::as_str), Some("--workspace"));
    // The panic's path is told relative to the workspace, not to the package that was run.
    assert_eq!(run.failure().unwrap().details[0].places[0].file, Path::new("b/src/lib.rs"));
}

#[tokio::test]
async fn unittest_is_narrowed_to_the_test_files_that_belong_to_the_file() {
    let project = Project::with(&[
        ("app/__init__.py", ""),
        ("app/money.py", "def cents(x):\n    return x\n"),
        ("app/names.py", "def name():\n    return 'x'\n"),
        (
            "tests/test_money.py",
            "import unittest\n\nfrom app.money import cents\n\n\nclass T(unittest.TestCase):\n    def test_cents(self):\n        self.assertEqual(cents(1), 100)\n",
        ),
        (
            "tests/test_names.py",
            "import unittest\n\nfrom app import names\n\n\nclass T(unittest.TestCase):\n    def test_name(self):\n        self.assertEqual(names.name(), 'y')\n",
        ),
    ]);
    for (file, test) in
        [("app/money.py", "test_money.T.test_cents"), ("app/names.py", "test_names.T.test_name")]
    {
        let run = project.run(&project.discovered(file)).await;
        assert_eq!(run.failure().map(|it| it.tests.clone()), Some(set(&[test])), "{}", run.output);
    }
}

#[tokio::test]
async fn each_failing_test_becomes_a_draft_at_its_place() {
    // Where the traceback ends in the code, that is the place; where an assertion fails, the code is related.
    let python = Project::with(&[
        ("shop/__init__.py", ""),
        (
            "shop/cart.py",
            "def total(items):\n    return sum(items)\n\n\ndef first(items):\n    return items[0]\n",
        ),
        (
            "tests/test_cart.py",
            "import unittest\n\nfrom shop.cart import first, total\n\n\nclass T(unittest.TestCase):\n    def test_first(self):\n        self.assertIsNone(first([]))\n\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 4)\n",
        ),
    ]);
    let run = python.run(&python.discovered("shop/cart.py")).await;
    let found: Vec<_> = drafts(&run, python.root());
    let places: Vec<_> = found
        .iter()
        .map(|draft| {
            (draft.criterion.as_str(), draft.file.as_deref().unwrap().to_str().unwrap(), draft.line.unwrap())
        })
        .collect();
    assert_eq!(
        places,
        [
            ("test test_cart.T.test_first passes", "shop/cart.py", 6),
            ("test test_cart.T.test_total passes", "tests/test_cart.py", 11),
        ]
    );
    assert_eq!(found[0].related_files, [PathBuf::from("tests/test_cart.py")]);
    assert_eq!(found[1].related_files, [PathBuf::from("shop/cart.py")]);
    assert!(found[0].body.contains("IndexError"), "{}", found[0].body);
    assert!(found[1].body.contains("3 != 4"), "{}", found[1].body);
}

#[tokio::test]
async fn drafts_have_places_with_every_runner() {
    let table = [
        (&UNITTEST, true, ("test_calc.py", 8), vec!["calc.py"]),
        (&PYTEST, has_pytest(), ("tests/test_calc.py", 8), vec!["calc.py"]),
        (&CARGO, true, ("src/lib.rs", 19), vec![]),
        (&NODE, has("node", &["--version"], "node 20 or newer"), ("calc.test.js", 6), vec!["calc.js"]),
        (&GO, has("go", &["version"], "go"), ("calc_test.go", 7), vec!["calc.go"]),
    ];
    for (language, there, (file, line), related) in table {
        if !there {
            continue;
        }
        let project = language.project();
        let run = project.run(&project.discovered(language.source)).await;
        let found = drafts(&run, project.root());
        assert_eq!(found.len(), 1, "{}: {}", language.name, run.output);
        let place = (found[0].file.as_deref(), found[0].line);
        assert_eq!(place, (Some(Path::new(file)), Some(line)), "{}: {}", language.name, found[0].body);
        let related: Vec<PathBuf> = related.iter().map(PathBuf::from).collect();
        assert_eq!(found[0].related_files, related, "{}", language.name);
        assert_eq!(found[0].criterion, format!("test {} passes", language.add_test));
        assert!(found[0].body.contains("-1"), "{}: {}", language.name, found[0].body);
    }
}

#[tokio::test]
async fn pytest_without_tests_or_with_wrong_arguments_has_not_failed() {
    if !has_pytest() {
        return;
    }
    let project = Project::with(&[
        ("pytest.ini", "[pytest]\n"),
        ("empty/test_none.py", "x = 1\n"),
        ("needs/test_it.py", "import a_dependency_that_nobody_has\n\n\ndef test_it():\n    pass\n"),
        ("broken/conftest.py", "import a_dependency_that_nobody_has\n"),
        ("broken/test_it.py", "def test_it():\n    pass\n"),
        ("mixed/test_bad.py", "import a_dependency_that_nobody_has\n\n\ndef test_it():\n    pass\n"),
        ("mixed/test_red.py", "def test_red():\n    assert False\n"),
    ]);
    let run = |folder: &'static str| configured(&["python3", "-m", "pytest", folder]);
    let outcome = project.run(&run("empty")).await.outcome;
    assert_eq!(outcome, Outcome::Inconclusive(Why::NothingRan));
    for (folder, reason) in [
        ("needs", "a_dependency_that_nobody_has"),
        ("broken", "a_dependency_that_nobody_has"),
        ("nowhere", "nowhere"),
        ("--an-option-that-nobody-knows", "an-option-that-nobody-knows"),
    ] {
        let run = project.run(&run(folder)).await;
        let Outcome::Inconclusive(Why::CannotStart(why)) = &run.outcome else {
            panic!("{folder}: {:?}", run.outcome)
        };
        assert!(why.contains(reason), "{folder}: {why}");
    }
}

#[tokio::test]
async fn a_configured_pytest_through_a_script_is_read_from_its_text() {
    if !has_pytest() {
        return;
    }
    let project = PYTEST.project();
    project.write("run.sh", "exec python3 -m pytest -q --maxfail=0\n");
    let run = project.run(&configured(&["sh", "run.sh"])).await;
    let failure = run.failure().unwrap();
    assert_eq!(failure.tests, set(&[PYTEST.add_test]), "{}", run.output);
    assert_eq!(failure.details[0].places.last().unwrap().file, Path::new("tests/test_calc.py"));
}
