//! Which checks are found in a project, and how far they are narrowed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::checks::*;

struct Project(tempfile::TempDir);

impl Project {
    fn with(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = project.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project
    }

    /// `folder: command | wider command` of each check.
    fn found(&self, files: &[&str], tools: &Tools) -> Vec<String> {
        let files: Vec<&Path> = files.iter().map(Path::new).collect();
        discover::discover(self.0.path(), &files, tools).iter().map(shown).collect()
    }
}

fn shown(check: &Check) -> String {
    let What::Command(command) = &check.what else { panic!("{check:?}") };
    assert_eq!((check.origin, command.kind), (Origin::Discovered, Kind::Test));
    let mut text = command.argv.join(" ");
    if !command.cwd.as_os_str().is_empty() {
        text = format!("{}: {text}", command.cwd.display());
    }
    if let Some(wider) = &command.wider {
        text = format!("{text} | {}", wider.join(" "));
    }
    text
}

fn tools(programs: &[&str]) -> (tempfile::TempDir, Tools) {
    let folder = tempfile::tempdir().unwrap();
    for program in programs {
        let path = folder.path().join(program);
        fs::write(&path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let tools = Tools::in_folders([folder.path().to_owned()]);
    (folder, tools)
}

#[test]
fn cargo_packages() {
    let project = Project::with(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n"),
        ("a/Cargo.toml", "[package]\nname = \"alpha\"\n"),
        ("a/src/lib.rs", ""),
        ("b/Cargo.toml", "[package]\nname = \"beta\"\n"),
        ("b/src/lib.rs", ""),
        ("docs/x.md", ""),
    ]);
    let none = Tools::default();
    let wide = "cargo test --no-fail-fast --workspace";
    assert_eq!(
        project.found(&["a/src/lib.rs"], &none),
        [format!("a: cargo test --no-fail-fast -p alpha | {wide}")]
    );
    assert_eq!(
        project.found(&["b/src/lib.rs", "a/src/lib.rs", "a/src/x.rs"], &none),
        [
            format!("a: cargo test --no-fail-fast -p alpha | {wide}"),
            format!("b: cargo test --no-fail-fast -p beta | {wide}")
        ]
    );
    assert_eq!(project.found(&["docs/x.md"], &none), [wide]);
    assert_eq!(project.found(&["build.rs"], &none), [wide]);
}

#[test]
fn nextest_only_where_the_project_is_set_up_for_it_and_it_is_installed() {
    let files = [("Cargo.toml", "[package]\nname = \"a\"\n"), ("src/lib.rs", "")];
    let (_folder, installed) = tools(&["cargo-nextest"]);
    let plain = Project::with(&files);
    assert!(plain.found(&["src/lib.rs"], &installed)[0].starts_with("cargo test "));
    let set_up = Project::with(&[files[0], files[1], (".config/nextest.toml", "")]);
    assert!(
        set_up.found(&["src/lib.rs"], &installed)[0].starts_with("cargo nextest run --no-fail-fast -p a")
    );
    assert!(set_up.found(&["src/lib.rs"], &Tools::default())[0].starts_with("cargo test "));
}

#[test]
fn a_package_name_is_never_an_option() {
    let project =
        Project::with(&[("Cargo.toml", "[package]\nname = \"--config=evil\"\n"), ("src/lib.rs", "")]);
    assert_eq!(project.found(&["src/lib.rs"], &Tools::default()), ["cargo test --no-fail-fast --workspace"]);
}

#[test]
fn pytest_is_narrowed_by_name_and_by_import() {
    let project = Project::with(&[
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("app/__init__.py", ""),
        ("app/money.py", ""),
        ("app/names.py", ""),
        ("app/lonely.py", ""),
        ("app/core/__init__.py", ""),
        ("tests/test_money.py", ""),
        ("tests/test_money_format.py", ""),
        ("tests/test_names_of_things.py", "from app import names, other\n"),
        ("tests/test_all.py", "import app.names as n\nfrom app.core import (\n    x,\n)\n"),
        ("tests/test_moneyless.py", "x = 'money'\n"),
        ("tests/test_dynamic.py", "patch('app.money.rate')\n"),
        ("node_modules/x/test_money.py", ""),
        (".venv2/lib/test_money.py", ""),
    ]);
    let base = "python3 -m pytest";
    let table = [
        (
            "app/money.py",
            format!(
                "{base} tests/test_dynamic.py tests/test_money.py tests/test_money_format.py tests/test_moneyless.py | {base}"
            ),
        ),
        ("app/names.py", format!("{base} tests/test_all.py tests/test_names_of_things.py | {base}")),
        ("app/core/__init__.py", format!("{base} tests/test_all.py | {base}")),
        ("app/lonely.py", format!("{base} tests/test_names_of_things.py | {base}")),
        ("tests/test_all.py", format!("{base} tests/test_all.py | {base}")),
        ("tests/conftest.py", base.to_owned()),
        ("unrelated.py", base.to_owned()),
        ("templates/x.html", base.to_owned()),
    ];
    for (file, expected) in table {
        assert_eq!(project.found(&[file], &Tools::default()), [expected], "{file}");
    }
}

#[test]
fn the_python_that_has_pytest() {
    let files = [("pytest.ini", ""), ("a.py", ""), ("test_a.py", "")];
    let command = |project: &Project, tools: &Tools| {
        project.found(&["a.py"], tools)[0].split(" |").next().unwrap().to_owned()
    };

    let plain = Project::with(&files);
    let (_same, both) = tools(&["python3", "pytest"]);
    assert_eq!(command(&plain, &both), "python3 -m pytest test_a.py");
    let (pythons, _) = tools(&["python3"]);
    let (pytests, _) = tools(&["pytest"]);
    let apart = Tools::in_folders([pythons.path().to_owned(), pytests.path().to_owned()]);
    assert_eq!(command(&plain, &apart), "pytest test_a.py");
    let (_old, python) = tools(&["python"]);
    assert_eq!(command(&plain, &python), "python -m pytest test_a.py");

    let venv = Project::with(&[files[0], files[1], files[2], (".venv/bin/python", "")]);
    assert_eq!(command(&venv, &both), ".venv/bin/python -m pytest test_a.py");
    let locked = Project::with(&[files[0], files[1], files[2], ("uv.lock", "")]);
    let (_uv, with_uv) = tools(&["uv", "python3"]);
    assert_eq!(command(&locked, &with_uv), "uv run --frozen pytest test_a.py");
    assert_eq!(command(&locked, &both), "python3 -m pytest test_a.py");
}

#[test]
fn unittest_where_nothing_needs_pytest() {
    let test = "import unittest\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        pass\n";
    let flat = Project::with(&[("a.py", ""), ("test_a.py", test), ("test_b.py", test)]);
    assert_eq!(
        flat.found(&["a.py"], &Tools::default()),
        [
            "python3 -m unittest discover -v -s . -p test_a.py | python3 -m unittest discover -v -s . -p test*.py"
        ]
    );
    let package = Project::with(&[
        ("src/a.py", ""),
        ("tests/__init__.py", ""),
        ("tests/a_test.py", test),
        ("tests/b_test.py", "import a\n"),
        ("tests/c_test.py", test),
    ]);
    assert_eq!(
        package.found(&["src/a.py"], &Tools::default()),
        [
            "python3 -m unittest -v tests/a_test.py tests/b_test.py | python3 -m unittest discover -v -s tests -p *_test.py -t ."
        ]
    );
    let found = discover::discover(package.0.path(), &[Path::new("src/a.py")], &Tools::default());
    let What::Command(command) = &found[0].what else { panic!() };
    assert!(command.env["PYTHONPATH"].starts_with("src"));

    let untested = Project::with(&[("a.py", "")]);
    assert!(untested.found(&["a.py"], &Tools::default()).is_empty());
}

#[test]
fn scripts_of_package_json() {
    let manifest = |script: &str| format!("{{\"scripts\": {{\"test\": {script:?}}}}}");
    let table: [(&str, &[&str], &str); 14] = [
        ("node --test", &[], "node --test src/a.test.js | node --test"),
        (
            "node --test --experimental-x test/",
            &[],
            "node --test --experimental-x src/a.test.js | node --test --experimental-x test/",
        ),
        ("vitest", &[], "npx --no-install vitest related --run src/a.js | npx --no-install vitest run"),
        (
            "vitest run --coverage",
            &["node_modules/.bin/vitest"],
            "node_modules/.bin/vitest related --run --coverage src/a.js | node_modules/.bin/vitest run --coverage",
        ),
        (
            "jest --watch",
            &["node_modules/.bin/jest"],
            "node_modules/.bin/jest --ci --findRelatedTests src/a.js | node_modules/.bin/jest --ci",
        ),
        (
            "npx jest -c x.js",
            &[],
            "npx --no-install jest -c x.js --ci --findRelatedTests src/a.js | npx --no-install jest -c x.js --ci",
        ),
        ("tsc && jest", &[], "npm test"),
        ("tsc && jest", &["package-lock.json"], "npm test"),
        ("tsc && jest", &["pnpm-lock.yaml"], "pnpm test"),
        ("tsc && jest", &["yarn.lock"], "yarn test"),
        ("mocha", &["bun.lock"], "bun run test"),
        ("mocha", &["bun.lockb"], "bun run test"),
        ("FOO=1 jest", &[], "npm test"),
        ("NODE_ENV=$X vitest", &[], "npm test"),
    ];
    for (script, more, expected) in table {
        let manifest = manifest(script);
        let mut files = vec![("package.json", manifest.as_str()), ("src/a.js", ""), ("src/a.test.js", "")];
        files.extend(more.iter().map(|file| (*file, "")));
        assert_eq!(Project::with(&files).found(&["src/a.js"], &Tools::default()), [expected], "{script}");
    }
}

#[test]
fn packages_of_a_monorepo() {
    let project = Project::with(&[
        ("package.json", "{\"packageManager\": \"pnpm@9\"}"),
        ("pnpm-lock.yaml", ""),
        ("node_modules/.bin/vitest", ""),
        ("packages/a/package.json", "{\"scripts\": {\"test\": \"vitest\"}}"),
        ("packages/a/src/x.ts", ""),
        ("packages/b/package.json", "{\"scripts\": {\"test\": \"make x && y\"}}"),
        ("packages/b/src/y.ts", ""),
    ]);
    assert_eq!(
        project.found(&["packages/a/src/x.ts", "packages/b/src/y.ts"], &Tools::default()),
        [
            "packages/a: ../../node_modules/.bin/vitest related --run src/x.ts | ../../node_modules/.bin/vitest run",
            "packages/b: pnpm test",
        ]
    );
}

#[test]
fn nodes_own_runner_without_a_script() {
    let test = "const { test } = require('node:test');\n";
    let importing = format!("{test}const x = require('../lib/index.js');\n");
    let project = Project::with(&[
        ("lib/index.js", ""),
        ("lib/a.js", ""),
        ("lib/lonely.js", ""),
        ("a.test.js", test),
        ("x/b.test.mjs", &importing),
        ("c.test.js", "jest stuff"),
    ]);
    let all = "node --test a.test.js x/b.test.mjs";
    assert_eq!(project.found(&["lib/a.js"], &Tools::default()), [format!("node --test a.test.js | {all}")]);
    assert_eq!(
        project.found(&["lib/index.js"], &Tools::default()),
        [format!("node --test x/b.test.mjs | {all}")]
    );
    assert_eq!(project.found(&["lib/lonely.js"], &Tools::default()), [all]);
    let placeholder = "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}";
    assert!(
        Project::with(&[("package.json", placeholder), ("a.js", "")])
            .found(&["a.js"], &Tools::default())
            .is_empty()
    );
}

#[test]
fn go_packages() {
    let project = Project::with(&[
        ("go.mod", "module m\n"),
        ("main.go", ""),
        ("shop/shop.go", ""),
        ("shop/shop_test.go", ""),
        ("bare/bare.go", ""),
        ("tools/go.mod", "module t\n"),
        ("tools/t.go", ""),
    ]);
    let none = Tools::default();
    assert_eq!(project.found(&["shop/shop.go"], &none), ["go test -json ./shop | go test -json ./..."]);
    assert_eq!(project.found(&["bare/bare.go"], &none), ["go test -json ./..."]);
    assert!(project.found(&["tools/t.go"], &none).is_empty());
}

#[test]
fn make_only_where_nothing_else_is_known() {
    let none = Tools::default();
    let table: [(&str, Option<&str>); 6] = [
        ("all:\n\ncheck test: all\n\tx\n", Some("make test")),
        ("check:\n\tx\n", Some("make check")),
        ("test := 5\nother:\n", None),
        (".PHONY: test\n", None),
        ("test-all:\n\tx\n", None),
        ("test::\n\tx\n", Some("make test")),
    ];
    for (makefile, expected) in table {
        let project = Project::with(&[("Makefile", makefile), ("x.c", "")]);
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(project.found(&["x.c"], &none), expected, "{makefile:?}");
    }
    let both =
        Project::with(&[("Makefile", "test:\n\tx\n"), ("go.mod", ""), ("a.go", ""), ("a_test.go", "")]);
    assert_eq!(both.found(&["a.go"], &none), ["go test -json . | go test -json ./..."]);
}

#[test]
fn ignored_folders_and_links_are_not_entered() {
    let project = Project::with(&[
        ("a.py", ""),
        ("node_modules/test_a.py", ""),
        ("myenv/pyvenv.cfg", ""),
        ("myenv/test_a.py", ""),
    ]);
    let outside = Project::with(&[("test_a.py", "import pytest\n")]);
    std::os::unix::fs::symlink(outside.0.path(), project.0.path().join("link")).unwrap();
    assert!(project.found(&["a.py"], &Tools::default()).is_empty());
}

#[test]
fn files_of_several_languages_get_checks_of_each() {
    let project = Project::with(&[
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("src/lib.rs", ""),
        ("tools/x.py", ""),
        ("tools/test_x.py", "def test_x():\n    pass\n"),
    ]);
    let found = project.found(&["src/lib.rs", "tools/x.py"], &Tools::default());
    assert_eq!(found.len(), 2, "{found:?}");
}
