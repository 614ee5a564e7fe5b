//! Neovim, headless, with the plugin of `editors/nvim`.

use std::process::{Command, Stdio};

use fix_loop_tests::{binary, env_path, repository_root};

use crate::story::Story;

fn drive(story: &Story, how: &str) {
    let root = repository_root();
    let mut command = Command::new(env_path("FIX_LOOP_NVIM"));
    story.repo.isolate(&mut command);
    command
        .current_dir(story.repo.root())
        .env("FIX_LOOP_STORY", how)
        .env("XDG_STATE_HOME", story.repo.home().join("state"))
        .args(["--headless", "--clean", "-n", "-i", "NONE"])
        .arg("--cmd")
        .arg(format!("set runtimepath^={}", root.join("editors/nvim").display()))
        .arg("--cmd")
        .arg(format!("let g:fix_loop_command = '{}'", binary().display()))
        .arg("--cmd")
        .arg("let g:fix_loop_settings = {'show': 'confirmed'}")
        .arg("app.txt")
        .arg("-c")
        .arg(format!("luafile {}", root.join("tests/editors/nvim.lua").display()))
        .stdin(Stdio::null());
    let output = command.output().expect("Neovim is installed");
    let said = format!(
        "{}\n--- stderr\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "Neovim ended with {}\n{said}", output.status);
    assert!(said.contains("all done"), "{said}");
}

#[test]
fn a_finding_is_fixed_by_code_action_and_its_question_answered_at_the_prompt() {
    let story = Story::new();
    drive(&story, "prompt");
    story.assert_fixed();
}

#[test]
fn a_dismissed_question_is_answered_later_by_code_action() {
    let story = Story::new();
    drive(&story, "later");
    story.assert_fixed();
}
