//! VS Code, as code-server with its window in a headless Chromium, with the packed extension of `editors/vscode`.

use std::process::{Command, Stdio};

use fix_loop_tests::{binary, env_path, repository_root};

use crate::story::Story;

fn drive(story: &Story, how: &str) {
    let vscode = env_path("FIX_LOOP_VSCODE");
    let mut command = Command::new(vscode.join("bin/node"));
    story.repo.isolate(&mut command);
    command
        .current_dir(story.repo.outside())
        .arg(repository_root().join("tests/editors/vscode.mjs"))
        .arg(how)
        .env("FIX_LOOP_VSCODE", &vscode)
        .env("FIX_LOOP_VSIX", env_path("FIX_LOOP_VSIX"))
        .env("FIX_LOOP_PLAYWRIGHT", env_path("FIX_LOOP_PLAYWRIGHT"))
        .env("FIX_LOOP_CHROMIUM", env_path("FIX_LOOP_CHROMIUM"))
        .env("FIX_LOOP_BIN", binary())
        .env("FIX_LOOP_REPO", story.repo.root())
        .env("FIX_LOOP_STATE", story.repo.outside().join("vscode"))
        .stdin(Stdio::null());
    for name in ["FIX_LOOP_PICTURE", "FIX_LOOP_SHOW"] {
        if let Some(path) = std::env::var_os(name) {
            command.env(name, path);
        }
    }
    let output = command.output().expect("Node is installed");
    let said = format!(
        "{}\n--- stderr\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "the window's driver ended with {}\n{said}", output.status);
    assert!(said.contains("all done"), "{said}");
}

#[test]
fn a_finding_is_fixed_by_quick_fix_and_its_question_answered_in_the_notification() {
    let story = Story::new();
    drive(&story, "notification");
    story.assert_fixed();
}

#[test]
fn a_closed_question_is_answered_later_by_quick_fix() {
    let story = Story::new();
    drive(&story, "later");
    story.assert_fixed();
}
