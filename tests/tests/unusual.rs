//! Repositories, work trees and workers that are out of the ordinary: one row each, with the right answer.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fix_loop_tests::{Agent, LspClient, Output, Repo, Script, Step, finding, step};
use serde_json::{Value, json};

const APP: &str = "one\nBAD line\nthree\n";
const FIXED: &str = "one\nGOOD line\nthree\n";
const CHECK: &str = "if grep -q BAD \"${1:-app.txt}\"; then exit 1; fi\n";

struct Project {
    repo: Repo,
    agent: Agent,
}

/// Not committed yet: `app.txt`, the finding in it, an agent for all roles.
fn unborn(steps: Vec<Step>, file: &str) -> Project {
    let repo = Repo::empty();
    repo.write(file, APP);
    repo.write("other.txt", "other\n");
    repo.write("tool.sh", "tool\n");
    repo.write("check.sh", CHECK);
    let agent = Script::new().on("fixer", steps).install(&repo, "scripted");
    let check = json!(["sh", "check.sh", file]);
    repo.write(
        "fix-loop.toml",
        format!(
            "[[check]]\nname = \"words\"\ncommand = {check}\n\n{}",
            agent.toml_for(&["fixer", "verifier"])
        ),
    );
    repo.findings(&[finding("f1", file, 2, "BAD is a word that must go")]);
    Project { repo, agent }
}

fn project(steps: Vec<Step>) -> Project {
    let project = unborn(steps, "app.txt");
    project.repo.commit("start");
    project
}

fn fix() -> Vec<Step> {
    vec![step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("replaced the word")]
}

/// The fix, after something else.
fn fix_and(first: Vec<Step>) -> Vec<Step> {
    first.into_iter().chain(fix()).collect()
}

impl Project {
    fn run(&self) -> Output {
        self.repo.fix_loop(["run", "--trust", "--answer", "none", "--format", "json"]).run()
    }

    /// Runs, and the fix is staged, whole and alone.
    #[track_caller]
    fn is_fixed(&self) -> Output {
        let output = self.run();
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(output.json()["resolved"], json!(["f1"]), "{output}");
        assert_eq!(self.repo.staged("app.txt"), FIXED, "{output}");
        output
    }

    /// Runs, and it waits with a question of this kind about something that is named.
    #[track_caller]
    fn asks(&self, kind: &str, named: &str) -> Output {
        let output = self.run();
        let status = self.repo.fix_loop(["status", "--format", "json"]).expect(0).json();
        let question = &status["questions"][0];
        assert_eq!((output.code, &question["kind"]), (Some(1), &json!(kind)), "{question:#}\n{output}");
        assert!(question["text"].as_str().is_some_and(|text| text.contains(named)), "{question:#}");
        output
    }

    fn staged_names(&self) -> Vec<String> {
        let names = self.repo.git(["diff", "--cached", "--name-only", "-z"]);
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

// ---------------------------------------------------------------- repositories

#[test]
fn settings_of_git_that_change_how_a_tree_looks_change_nothing_about_the_fix() {
    // A monitor that always says that nothing has changed.
    let lying = "#!/bin/sh\nprintf 'token\\0'\n";
    let rows: [(&str, &[(&str, &str)]); 8] = [
        ("a cache of untracked files", &[("core.untrackedCache", "true")]),
        ("line endings on the way in", &[("core.autocrlf", "input")]),
        ("no symlinks", &[("core.symlinks", "false")]),
        ("no modes", &[("core.fileMode", "false")]),
        ("names without case", &[("core.ignoreCase", "true")]),
        ("an index without a checksum", &[("index.skipHash", "true")]),
        ("an index of version 4", &[("index.version", "4")]),
        ("settings of status", &[("status.renames", "copies"), ("status.showUntrackedFiles", "no")]),
    ];
    for (what, settings) in rows {
        let steps = fix_and(vec![step::mode("tool.sh", "644")]);
        let project = project(steps);
        let repo = &project.repo;
        for (key, value) in settings {
            repo.git(["config", key, value]);
        }
        repo.git(["update-index", "--refresh"]);
        repo.write("other.txt", "other\nmine\n");
        repo.write("dos.txt", "mine\r\n");
        project.is_fixed();
        assert_eq!(repo.read("other.txt"), "other\nmine\n", "{what}");
        assert_eq!(repo.read("dos.txt"), "mine\r\n", "{what}");
        assert_eq!(project.staged_names(), ["app.txt"], "{what}");
    }
    let project = project(fix_and(vec![step::append("other.txt", "not mine\n")]));
    let hook = project.repo.outside().join("monitor");
    fs::write(&hook, lying).expect("a file");
    std::process::Command::new("chmod").arg("755").arg(&hook).status().expect("chmod");
    project.repo.git(["config", "core.fsmonitor", &hook.display().to_string()]);
    project.repo.git(["status", "--porcelain"]);
    project.asks("scope", "other.txt");
    assert_eq!(
        project.repo.read("other.txt"),
        "other\n",
        "what the monitor does not tell of is seen all the same"
    );
}

#[test]
fn whatever_state_head_is_in_stays() {
    type Row = (&'static str, fn(&Repo));
    let rows: [Row; 4] = [
        ("detached", |repo| drop(repo.git(["checkout", "--quiet", "--detach"]))),
        ("a merge", |repo| {
            repo.git(["checkout", "--quiet", "-b", "side"]);
            repo.write("other.txt", "theirs\n");
            repo.git(["commit", "--quiet", "-am", "theirs"]);
            repo.git(["checkout", "--quiet", "main"]);
            repo.write("other.txt", "ours\n");
            repo.git(["commit", "--quiet", "-am", "ours"]);
            let mut merge = std::process::Command::new("git");
            merge.args(["merge", "--quiet", "side"]).current_dir(repo.root());
            repo.isolate(&mut merge);
            assert!(!merge.output().expect("git is installed").status.success(), "it conflicts");
        }),
        ("a rebase", |repo| {
            repo.write("other.txt", "more\n");
            repo.git(["commit", "--quiet", "-am", "more"]);
            repo.git(["-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "--quiet", "-i", "HEAD~1"]);
        }),
        ("a bisection", |repo| {
            repo.write("other.txt", "more\n");
            repo.git(["commit", "--quiet", "-am", "more"]);
            repo.git(["bisect", "start", "HEAD", "HEAD~1"]);
        }),
    ];
    for (what, prepare) in rows {
        let project = project(fix());
        prepare(&project.repo);
        let seen = || {
            let (_, refs, branch) = project.repo.git_state();
            let others = project.repo.git(["ls-files", "--stage", "other.txt", "tool.sh"]);
            (refs, branch, others, project.repo.head(), project.repo.read("other.txt"))
        };
        let status = || project.repo.git(["status"]).lines().next().map(str::to_owned);
        let before = (seen(), status());
        project.is_fixed();
        assert_eq!((seen(), status()), before, "{what}");
    }
}

#[test]
fn before_the_first_commit_the_fix_is_staged_over_what_is_staged() {
    let project = unborn(fix(), "app.txt");
    let repo = &project.repo;
    repo.git(["add", "app.txt", "check.sh", "fix-loop.toml"]);
    let before = repo.git(["ls-files", "--stage", "check.sh", "fix-loop.toml"]);
    project.is_fixed();
    assert_eq!(repo.git(["ls-files", "--stage", "check.sh", "fix-loop.toml"]), before);
    assert_eq!(repo.git(["ls-files", "other.txt"]), "");
    assert_eq!((repo.read("app.txt"), repo.read("other.txt")), (FIXED.into(), "other\n".into()));
}

#[test]
fn a_git_folder_elsewhere_and_a_shallow_clone_are_worked_in() {
    let project = project(fix());
    let repo = &project.repo;
    let elsewhere = repo.outside().join("elsewhere");
    repo.git(["init", "--quiet", "--separate-git-dir", &elsewhere.display().to_string()]);
    repo.git(["config", "core.worktree", &repo.root().display().to_string()]);
    project.is_fixed();
    assert_eq!(project.staged_names(), ["app.txt"]);

    let project = self::project(fix());
    let clone = project.repo.outside().join("clone");
    project.repo.write("other.txt", "second\n");
    project.repo.commit("second");
    let from = format!("file://{}", project.repo.root().display());
    project.repo.git(["clone", "--quiet", "--depth", "1", &from, &clone.display().to_string()]);
    let review = project.repo.path(".fix-loop/findings/review.json");
    let before = (project.repo.tree(), project.repo.git_state());
    let run =
        project.repo.fix_loop(["run", "--trust", "--format", "json"]).args([&review]).current_dir(&clone);
    assert_eq!(run.expect(0).json()["resolved"], json!(["f1"]));
    assert_eq!(fs::read_to_string(clone.join("app.txt")).expect("it is there"), FIXED);
    assert_eq!((project.repo.tree(), project.repo.git_state()), before, "the origin is nobody's business");
}

#[test]
fn variables_of_the_parent_lead_to_no_other_repository() {
    let project = project(fix());
    let other = self::project(fix());
    let before = (other.repo.tree(), other.repo.git_state());
    let git_dir = other.repo.path(".git");
    let output = project
        .repo
        .fix_loop(["run", "--trust", "--answer", "none", "--format", "json"])
        .env("GIT_DIR", &git_dir)
        .env("GIT_WORK_TREE", other.repo.root())
        .env("GIT_INDEX_FILE", git_dir.join("index"))
        .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
        .env("GIT_NAMESPACE", "elsewhere")
        .expect(0);
    assert_eq!(output.json()["resolved"], json!(["f1"]));
    assert_eq!(project.repo.staged("app.txt"), FIXED);
    assert_eq!((other.repo.tree(), other.repo.git_state()), before);
}

#[test]
fn where_nothing_can_be_fixed_the_reason_and_the_way_out_are_told_before_any_dispatch() {
    let project = project(fix());
    let bare = project.repo.outside().join("bare.git");
    project.repo.git(["clone", "--quiet", "--bare", ".", &bare.display().to_string()]);
    // A folder of that name further up is no repository.
    fs::create_dir(project.repo.outside().join(".git")).expect("a fresh folder");
    let review = project.repo.path(".fix-loop/findings/review.json");
    let run = project.repo.fix_loop(["run", "--trust"]).args([&review]).current_dir(&bare).expect(3);
    assert!(run.stderr.contains("bare repository"), "{run}");

    // Files of another user, which only root can make.
    let root =
        fs::metadata("/proc/self").map(|meta| std::os::unix::fs::MetadataExt::uid(&meta)).ok() == Some(0);
    if root {
        let chown =
            std::process::Command::new("chown").arg("-R").arg("12345").arg(project.repo.root()).status();
        assert!(chown.is_ok_and(|status| status.success()));
        let run = project.run();
        assert_eq!(run.code, Some(3), "{run}");
        assert!(run.stderr.contains("safe.directory"), "{run}");
    }
    assert!(project.agent.briefs().is_empty());
}

// ---------------------------------------------------------------- names and files

#[test]
fn a_file_is_fixed_whatever_its_name() {
    let long = vec!["n".repeat(200); 12].join("/") + "/app.txt";
    for file in ["odd \"name\".txt", "-rf", ":(glob)*", "tab\there", "a space", "ünï.txt", "a\\b.txt", &long]
    {
        let steps = vec![step::edit(file, "BAD line", "GOOD line"), step::fixed("replaced the word")];
        let project = unborn(steps, file);
        project.repo.write("check.sh", "if grep -q BAD -- \"$1\"; then exit 1; fi\n");
        project.repo.git(["config", "core.longpaths", "true"]);
        project.repo.commit("start");
        let output = project.run();
        assert_eq!(
            (output.code, &output.json()["resolved"]),
            (Some(0), &json!(["f1"])),
            "{file:?}: {output}"
        );
        assert_eq!(project.repo.read(file), FIXED, "{file:?}");
        assert_eq!(project.staged_names(), [file], "{file:?}");
        assert_eq!(project.repo.diff(), "", "{file:?}");
    }
}

#[test]
fn a_name_of_several_lines_is_refused_in_a_finding_and_kept_from_workers_all_the_same() {
    let file = "odd \"name\"\n.txt";
    let steps = vec![
        step::write(file, "not mine\n"),
        step::edit("app.txt", "BAD line", "GOOD line"),
        step::fixed("it"),
    ];
    let project = project(steps);
    project.repo.write(file, "mine\n");
    let findings = [
        finding("f1", "app.txt", 2, "BAD is a word that must go"),
        finding("f2", file, 1, "it has two lines"),
    ];
    project.repo.findings(&findings);
    let output = project.asks("scope", "odd");
    let ignored = output.json()["ignored"].clone();
    assert_eq!(ignored[0]["id"], "f2", "{output}");
    assert!(ignored[0]["reason"].as_str().is_some_and(|why| why.contains("no usable path")), "{output}");
    assert_eq!(project.repo.read(file), "mine\n");
}

#[test]
fn a_name_that_is_no_text_is_told_to_be_unprotected_and_left_alone() {
    let project = project(fix());
    let name = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"));
    fs::write(project.repo.root().join(name), "mine\n").expect("a file");
    let output = project.is_fixed();
    assert!(output.stderr.contains("not protected") && output.stderr.contains("UTF-8"), "{output}");
    assert_eq!(fs::read(project.repo.root().join(name)).expect("it is there"), b"mine\n");
}

#[test]
fn a_second_name_of_the_same_file_is_another_file() {
    let project = project(fix());
    let repo = &project.repo;
    fs::remove_file(repo.path("other.txt")).expect("it is there");
    fs::hard_link(repo.path("app.txt"), repo.path("other.txt")).expect("links can be made");
    repo.git(["commit", "--quiet", "-am", "linked"]);
    // The agent writes into the file as it stands, and so into both.
    project.asks("scope", "other.txt");
    assert_eq!((repo.read("app.txt"), repo.read("other.txt")), (FIXED.into(), APP.into()));
    assert_eq!(project.staged_names(), Vec::<String>::new(), "nothing is staged before the answer");
}

#[test]
fn a_rename_of_case_only_is_two_paths() {
    let project = project(fix_and(vec![step::rename("other.txt", "Other.txt")]));
    project.asks("scope", "Other.txt");
    assert!(project.repo.exists("other.txt") && !project.repo.exists("Other.txt"));
    assert_eq!(project.repo.status(), " M app.txt\n");
}

#[test]
fn a_repository_inside_the_tree_is_watched_and_never_written() {
    let nested = |project: &Project| {
        let inner = project.repo.path("inner");
        fs::create_dir(&inner).expect("a fresh folder");
        let at = inner.display().to_string();
        project.repo.git(["init", "--quiet", &at]);
        fs::write(inner.join("file.txt"), "mine\n").expect("a file");
    };
    let quiet = project(fix());
    nested(&quiet);
    quiet.is_fixed();
    assert_eq!(quiet.staged_names(), ["app.txt"]);
    let changing = project(fix_and(vec![step::write("inner/file.txt", "not mine, and longer\n")]));
    nested(&changing);
    changing.asks("breach", "inner");
    assert_eq!(changing.staged_names(), Vec::<String>::new());
}

// ---------------------------------------------------------------- what a worker should leave alone

#[test]
fn rules_and_settings_that_a_worker_changes_are_put_back_or_told() {
    let rows: [(&str, Vec<Step>, &str); 2] = [
        (".gitattributes", vec![step::write(".gitattributes", "*.txt -text\n")], ".gitattributes"),
        // What the new rule hides is found, too.
        (
            ".gitignore",
            vec![step::write(".gitignore", "hidden*\n"), step::write("hidden.txt", "h\n")],
            "hidden.txt",
        ),
    ];
    for (file, steps, named) in rows {
        let project = project(fix_and(steps));
        project.asks("scope", named);
        assert!(!project.repo.exists(file) && !project.repo.exists("hidden.txt"), "{file}");
    }
    let rows: [(&str, Vec<Step>, &str); 3] = [
        (
            "hooks/pre-commit",
            vec![step::write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")],
            "hooks/pre-commit",
        ),
        (
            "config",
            vec![step::run(&["git", "config", "alias.st", "!sh evil.sh"])],
            "the file config of the git folder",
        ),
        (
            "info/exclude",
            vec![step::append(".git/info/exclude", "hidden.txt\n"), step::write("hidden.txt", "h\n")],
            "hidden.txt",
        ),
    ];
    for (file, steps, named) in rows {
        let project = project(fix_and(steps));
        let output = project.is_fixed();
        assert!(output.stderr.contains(file) && output.stderr.contains(named), "{file}: {output}");
        assert_eq!(project.staged_names(), ["app.txt"], "{file}");
    }
}

#[test]
fn a_link_that_a_worker_puts_into_the_scope_does_not_widen_it() {
    let steps = |from: &str| vec![step::run(&["ln", "-sfn", from, "app.txt"]), step::fixed("it is linked")];
    let script = Script::new()
        .on_round("fixer", 1, steps("other.txt"))
        .on_round("fixer", 2, [step::write("other.txt", "GOOD, through the link\n"), step::fixed("mended")])
        .on("verifier", [step::judge("rejected", "it is gone")]);
    let repo = Repo::with(&[("app.txt", APP), ("other.txt", "BAD here, too\n"), ("check.sh", CHECK)]);
    let agent = script.install(&repo, "scripted");
    let table = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n";
    repo.config(&format!("{table}{}", agent.toml_for(&["fixer", "verifier"])));
    repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    let project = Project { repo, agent };
    project.asks("scope", "other.txt");
    assert_eq!(project.repo.read("other.txt"), "BAD here, too\n");
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 2"]);
}

// ---------------------------------------------------------------- the user in the editor

fn nothing_runs(status: &Value) -> bool {
    status["loops"].as_array().is_some_and(|loops| loops.iter().all(|known| known["state"] == "finished"))
}

#[test]
fn what_the_user_saves_in_the_editor_while_a_worker_is_at_it_is_theirs() {
    let steps = vec![step::mark("deep"), step::wait_for("go")];
    let project = project(fix_and(steps));
    let repo = &project.repo;
    let mut client = LspClient::start(repo);
    client.open(repo, "other.txt", "plaintext");
    let action = client.code_action(repo, "app.txt", 1, "Fix with loop");
    client.choose(&action);
    project.agent.reached("deep");
    client.change(repo, "other.txt", [0, 0, 0, 5], "mine");
    repo.write("other.txt", "mine\n");
    client.saved(repo, "other.txt");
    // Answered after the save was taken in.
    client.request("fixLoop/findings", json!({}));
    project.agent.release("go");
    client.status(|status| status["counts"]["resolved"] == 1 && nothing_runs(status));
    client.finished_progress();
    assert_eq!(repo.read("other.txt"), "mine\n");
    assert_eq!(project.staged_names(), ["app.txt"]);
    assert_eq!(repo.staged("app.txt"), FIXED);
    client.shutdown();
}

#[test]
fn what_the_user_saves_between_two_rounds_is_neither_staged_nor_lost() {
    let script = Script::new()
        .on_round(
            "fixer",
            1,
            [step::edit("app.txt", "one", "ONE"), step::append("other.txt", "too\n"), step::fixed("a try")],
        )
        .on_round("fixer", 2, [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("gone")])
        .on("verifier", [step::judge("rejected", "it is gone")]);
    let text = "one\nBAD line\nthree\nfour\nfive\n";
    let repo = Repo::with(&[("app.txt", text), ("other.txt", "other\n"), ("check.sh", CHECK)]);
    let agent = script.install(&repo, "scripted");
    let table = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n";
    repo.config(&format!("{table}{}", agent.toml_for(&["fixer", "verifier"])));
    repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    let project = Project { repo, agent };
    let repo = &project.repo;
    project.asks("scope", "other.txt");
    assert_eq!(repo.read("app.txt"), text.replace("one", "ONE"));
    repo.write("app.txt", text.replace("one", "ONE").replace("five", "five, mine"));
    repo.write("tool.txt", "mine, too\n");
    let answer = repo.fix_loop(["answer", "L1.q1", "2", "--format", "json"]).run();
    assert_eq!(answer.json()["resolved"], json!(["f1"]), "{answer}");
    let fixed = text.replace("one", "ONE").replace("BAD", "GOOD");
    assert_eq!(repo.read("app.txt"), fixed.replace("five", "five, mine"));
    assert_eq!(repo.staged("app.txt"), fixed, "the user's line is not staged");
    assert_eq!(project.staged_names(), ["app.txt"]);
    assert_eq!(repo.read("tool.txt"), "mine, too\n");
    let undone = repo.fix_loop(["undo", "L1"]).expect(0);
    assert_eq!(repo.read("app.txt"), text.replace("five", "five, mine"), "{undone}");
    assert_eq!(repo.git(["diff", "--cached"]), "");
}
