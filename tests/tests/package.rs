//! A real package from PyPI, a real linter's findings on it, and the fixes that those findings carry.
//!
//! `tests/run git` downloads both and announces them in `FIX_LOOP_PACKAGE`.

use std::path::{Path, PathBuf};
use std::process::Command;

use fix_loop_tests::{Repo, only_in_ci};
use serde_json::{Value, json};

const FILES: [&str; 3] = ["docs/conf.py", "inflection/__init__.py", "setup.py"];

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the package was unpacked") {
        let entry = entry.expect("a readable folder");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a known type").is_dir() {
            std::fs::create_dir_all(&target).expect("a fresh folder");
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a readable file");
        }
    }
}

fn ruff(bin: &Path, folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(bin.join("ruff"));
    command
        .current_dir(folder)
        .args(["check", "--isolated", "--no-cache", "--select", "UP009,E401"])
        .args(arguments);
    command.output().expect("ruff is installed").stdout
}

#[test]
fn three_findings_of_a_real_linter_are_fixed_and_staged_exactly_as_it_would() {
    let package = std::env::var_os("FIX_LOOP_PACKAGE").map(PathBuf::from);
    if !only_in_ci(package.is_some(), "a real package with ruff (`tests/run git` installs both)") {
        return;
    }
    let package = package.expect("checked before");
    let bin = package.join("env/bin");
    let repo = Repo::empty();
    copy(&package.join("source"), repo.root());
    repo.write(".gitignore", "__pycache__/\n.pytest_cache/\n");
    repo.commit("the package as it is on PyPI");

    // What ruff finds, as fix-loop imports it; a person confirms one finding in each of three files.
    let found = ruff(&bin, repo.root(), &[&["--output-format", "rdjson"], FILES.as_slice()].concat());
    std::fs::write(repo.outside().join("ruff.json"), found).expect("a fresh file");
    let imported = repo
        .fix_loop(["import", "--format", "json"])
        .args([repo.outside().join("ruff.json")])
        .expect(0)
        .json();
    let mut review = imported["review_output"].clone();
    let mut confirmed: Vec<Value> = Vec::new();
    for finding in review["findings"].as_array().expect("a list") {
        assert_eq!(finding["verdict"], Value::Null, "an importer never invents a verdict");
        let file = finding["file"].as_str().expect("every one names its file");
        if confirmed.iter().any(|one: &Value| one["file"].as_str() == Some(file)) {
            continue;
        }
        let mut one = finding.clone();
        one["verdict"] = "confirmed".into();
        one["severity"] = "P1".into();
        confirmed.push(one);
    }
    assert_eq!(confirmed.len(), 3, "{review:#}");
    review["findings"] = json!(confirmed);

    let mut config = format!(
        "[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-q\", \"-p\", \"no:cacheprovider\"]\n",
        bin.join("pytest").display().to_string()
    );
    for (file, finding) in FILES.iter().zip(&confirmed) {
        let rule = finding["criterion"].as_str().expect("the rule");
        let rule: String = rule.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        config.push_str(&format!(
            "\n[[check]]\nname = \"ruff {file}\"\ncommand = [{:?}, \"check\", \"--isolated\", \"--no-cache\", \"--select\", \
             \"{rule}\", \"{file}\"]\npaths = [\"{file}\"]\nkind = \"lint\"\n",
            bin.join("ruff").display().to_string()
        ));
    }
    repo.config(&config);
    std::fs::create_dir_all(repo.path(".fix-loop/findings")).expect("a fresh folder");
    repo.write(".fix-loop/findings/ruff.json", review.to_string());

    // The user's own work in one of the files, and elsewhere; neither is staged with the fix.
    let mine = format!("{}\n# mine, not staged\n", repo.read("setup.py"));
    repo.write("setup.py", &mine);
    repo.write("README.rst", format!("{}\nHalf a sentence", repo.read("README.rst")));
    repo.git(["add", "README.rst"]);
    let untouched = repo.diff_cached();

    let report = repo
        .fix_loop(["run", "--agent", "suggested", "--trust", "--answer", "none", "--format", "json"])
        .run();
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let report = report.json();
    assert_eq!(report["resolved"].as_array().map(Vec::len), Some(3), "{report:#}");
    let grades: Vec<&Value> = report["evidence"].as_object().expect("an object").values().collect();
    assert_eq!(grades, ["proven"; 3]);

    // The linter's own fix of the same findings, on a copy of what was committed.
    let other = Repo::empty();
    copy(&package.join("source"), other.root());
    for (file, finding) in FILES.iter().zip(&confirmed) {
        let rule = finding["criterion"].as_str().expect("the rule");
        let rule: String = rule.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let mut command = Command::new(bin.join("ruff"));
        command.current_dir(other.root());
        command.args(["check", "--isolated", "--no-cache", "--fix", "--select", &rule, file]);
        command.output().expect("ruff is installed");
        assert_eq!(repo.staged(file), other.read(file), "{file} is staged as ruff would have fixed it");
    }
    assert!(repo.read("setup.py").ends_with("# mine, not staged\n"));
    assert!(repo.diff_cached().contains(untouched.trim_end()), "what was staged before is still staged");
    assert_eq!(repo.git(["diff", "--cached", "--name-only"]).lines().count(), 4);
}
