//! The main job, as every client goes through it: a finding whose fix needs a second file, in a repository where the user
//! has work of their own, staged and not.

use fix_loop_tests::{Agent, Repo, Script, finding, step};

pub struct Story {
    pub repo: Repo,
    pub agent: Agent,
}

impl Story {
    pub fn new() -> Story {
        let app = "one\nBAD line\nthree\nfour\nfive\nsix\nseven\n";
        let repo = Repo::with(&[
            ("app.txt", app),
            ("lib.txt", "BAD too\n"),
            ("check.sh", "if grep BAD app.txt lib.txt; then exit 1; fi\n"),
        ]);
        let agent = Script::new()
            .on_nth("fixer", 1, [step::needs(&["lib.txt"], "the same word stands in lib.txt")])
            .when(
                serde_json::json!({"role": "fixer", "answered": true}),
                [
                    step::edit("app.txt", "BAD line", "GOOD line"),
                    step::edit("lib.txt", "BAD too", "GOOD too"),
                    step::fixed("replaced BAD in both files"),
                ],
            )
            .install(&repo, "scripted");
        repo.config(&format!(
            "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n{}",
            agent.toml_for(&["fixer", "verifier"])
        ));
        // The user's own: one hunk staged, one not.
        repo.write("app.txt", app.replace("five", "five, staged by me"));
        repo.git(["add", "app.txt"]);
        repo.write(
            "app.txt",
            app.replace("five", "five, staged by me").replace("seven", "seven, not staged"),
        );
        repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
        Story { repo, agent }
    }

    /// The fix is staged beside the user's staged hunk, and nothing else is.
    pub fn assert_fixed(&self) {
        assert_eq!(self.agent.dispatches(), ["fixer 1", "fixer 1"], "the answer repeats the round");
        assert_eq!(
            self.repo.diff_cached(),
            "diff --git a/app.txt b/app.txt\n--- a/app.txt\n+++ b/app.txt\n\
             @@ -2 +2 @@ one\n-BAD line\n+GOOD line\n@@ -5 +5 @@ four\n-five\n+five, staged by me\n\
             diff --git a/lib.txt b/lib.txt\n--- a/lib.txt\n+++ b/lib.txt\n@@ -1 +1 @@\n-BAD too\n+GOOD too\n"
        );
        assert_eq!(
            self.repo.diff(),
            "diff --git a/app.txt b/app.txt\n--- a/app.txt\n+++ b/app.txt\n@@ -7 +7 @@ six\n-seven\n+seven, not staged\n"
        );
        assert_eq!(self.repo.status(), "MM app.txt\nM  lib.txt\n");
    }
}
