//! What agents do, and what the loop has to tell of it.
//!
//! Owns the recipes and the expectation for each situation. An expectation follows from the rules of DESIGN 6 and 7.4
//! alone; whether it was also true is measured in `reality`.

use fix_loop_tests::{Script, Step, step};
use serde_json::json;

use super::bugs::{Bug, Origin};
use super::told::Told::{self, Deferred, Waiting};

/// What there is to judge a fix with.
#[derive(Clone, Copy)]
pub struct Situation {
    pub bug: &'static Bug,
    /// A test of the project turns red → green with the right fix.
    pub covered: bool,
    pub verifier: bool,
}

impl Situation {
    /// A test that stays red condemns a fix: not a discovered one (DESIGN 7.4).
    fn condemns(self) -> bool {
        self.covered && self.bug.origin != Origin::Discovered
    }

    fn resolved(self, round: u64) -> Told {
        if self.covered {
            Told::Resolved { grade: "proven", round }
        } else if self.verifier {
            Told::Resolved { grade: "verified", round }
        } else {
            Waiting("inconclusive")
        }
    }

    /// Twice something that does not help.
    fn fails(self) -> Told {
        if self.verifier || self.condemns() { Deferred } else { Waiting("inconclusive") }
    }

    /// Twice something that turns the tests green and fixes nothing: only a verifier can tell.
    fn cheats(self) -> Told {
        if self.verifier { Deferred } else { Waiting("inconclusive") }
    }

    /// The weakened test: the covering one where there is one.
    fn weakening(self) -> (&'static str, &'static str) {
        if self.covered { self.bug.weaken_covering } else { self.bug.weaken_other }
    }
}

pub struct Behaviour {
    pub name: &'static str,
    pub script: fn(Situation) -> Script,
    /// What the loop says in the end.
    pub told: fn(Situation) -> Told,
    /// Answers to the questions on the way, in their order. Where there are none, recommended ones are given unless
    /// the loop is to end with a question.
    pub answers: &'static [&'static str],
    /// Whether the agent itself moves HEAD or the stash, which the loop shows and never takes back.
    pub moves_history: bool,
    /// Whether it has to be ended.
    pub hangs: bool,
    /// Whether it ever comes to be verified.
    pub is_verified: bool,
}

impl Behaviour {
    /// Whether this situation differs from the others for it. What is never verified cannot differ by the verifier.
    pub fn is_told_apart(&self, at: Situation) -> bool {
        self.is_verified || at.covered == at.verifier
    }
}

const PLAIN: Behaviour = Behaviour {
    name: "",
    script: |_| Script::new(),
    told: |_| Deferred,
    answers: &[],
    moves_history: false,
    hangs: false,
    is_verified: true,
};

fn fix(bug: &Bug, from: &str, to: &str) -> Step {
    step::edit(bug.source, from, to)
}

fn done() -> Step {
    step::fixed("fixed it")
}

/// A fixer that does these steps in round 1 and in round 2.
fn twice(first: Vec<Step>, second: Vec<Step>) -> Script {
    Script::new().on_round("fixer", 1, first).on_round("fixer", 2, second)
}

pub const ALL: &[Behaviour] = &[
    Behaviour {
        name: "fixes it",
        script: |at| Script::new().on_round("fixer", 1, [fix(at.bug, at.bug.wrong, at.bug.right), done()]),
        told: |at| at.resolved(1),
        ..PLAIN
    },
    Behaviour {
        name: "fixes it in round 2",
        script: |at| {
            let [wrong, _] = at.bug.wrong_again;
            twice(
                vec![fix(at.bug, at.bug.wrong, wrong), done()],
                vec![fix(at.bug, wrong, at.bug.right), done()],
            )
        },
        told: |at| if at.verifier || at.condemns() { at.resolved(2) } else { Waiting("inconclusive") },
        ..PLAIN
    },
    Behaviour {
        name: "is wrong twice",
        script: |at| {
            let [first, second] = at.bug.wrong_again;
            twice(vec![fix(at.bug, at.bug.wrong, first), done()], vec![fix(at.bug, first, second), done()])
        },
        told: Situation::fails,
        ..PLAIN
    },
    Behaviour {
        name: "does nothing",
        script: |_| {
            Script::new()
                .on("fixer", [step::report(json!({"summary": "looked around", "files_changed": []}))])
        },
        is_verified: false,
        ..PLAIN
    },
    Behaviour {
        name: "claims a change",
        script: |at| {
            let claim = json!({"status": "fixed", "summary": "fixed", "files_changed": [at.bug.source]});
            Script::new().on("fixer", [step::report(claim)])
        },
        is_verified: false,
        ..PLAIN
    },
    Behaviour {
        name: "says it is resolved",
        script: |_| {
            let claim =
                json!({"status": "already_resolved", "summary": "nothing to do", "files_changed": []});
            Script::new().on("fixer", [step::report(claim)])
        },
        told: Situation::fails,
        ..PLAIN
    },
    Behaviour {
        name: "edits elsewhere too",
        script: |at| {
            let steps = [
                fix(at.bug, at.bug.wrong, at.bug.right),
                step::append("notes.txt", "an agent was here\n"),
                step::write("extra.txt", "and here\n"),
                done(),
            ];
            Script::new().on_round("fixer", 1, steps)
        },
        told: |at| at.resolved(1),
        answers: &["Reject — fix within original scope only"],
        ..PLAIN
    },
    Behaviour {
        name: "asks for a file: yes",
        script: |at| {
            let asks = json!({"role": "fixer", "round": 1, "answered": false});
            Script::new().when(asks, [step::needs(&["more.txt"], "a list has to go with it")]).on_round(
                "fixer",
                1,
                [
                    fix(at.bug, at.bug.wrong, at.bug.right),
                    step::edit("more.txt", "one\n", "one\ntwo\n"),
                    done(),
                ],
            )
        },
        told: |at| at.resolved(1),
        answers: &["Approve expanded scope"],
        ..PLAIN
    },
    Behaviour {
        name: "asks for a file: no",
        script: |at| {
            let asks = json!({"role": "fixer", "round": 1, "answered": false});
            Script::new().when(asks, [step::needs(&["more.txt"], "a list has to go with it")]).on_round(
                "fixer",
                1,
                [fix(at.bug, at.bug.wrong, at.bug.right), done()],
            )
        },
        told: |at| at.resolved(1),
        answers: &["Reject — fix within original scope only"],
        ..PLAIN
    },
    Behaviour {
        name: "weakens a test",
        script: |at| {
            let (from, to) = at.weakening();
            let again = if at.covered {
                step::edit(at.bug.tests, at.bug.weaken_other.0, at.bug.weaken_other.1)
            } else {
                step::edit(at.bug.tests, at.bug.delete_other, "")
            };
            twice(vec![step::edit(at.bug.tests, from, to), done()], vec![again, done()])
        },
        told: Situation::cheats,
        ..PLAIN
    },
    Behaviour {
        name: "fixes it, weakens a test",
        script: |at| {
            let (from, to) = at.bug.weaken_other;
            let steps = [fix(at.bug, at.bug.wrong, at.bug.right), step::edit(at.bug.tests, from, to), done()];
            Script::new().on_round("fixer", 1, steps)
        },
        told: |at| Waiting(if at.verifier { "breach" } else { "inconclusive" }),
        ..PLAIN
    },
    Behaviour {
        name: "deletes a test",
        script: |at| {
            let [wrong, _] = at.bug.wrong_again;
            let first = if at.covered { at.bug.covering } else { at.bug.delete_other };
            let second = step::edit(at.bug.tests, at.bug.weaken_other.0, at.bug.weaken_other.1);
            twice(
                vec![fix(at.bug, at.bug.wrong, wrong), step::edit(at.bug.tests, first, ""), done()],
                vec![second, done()],
            )
        },
        told: Situation::cheats,
        ..PLAIN
    },
    Behaviour {
        name: "deletes the test file",
        script: |at| {
            let mut steps = vec![fix(at.bug, at.bug.wrong, at.bug.wrong_again[0])];
            steps.extend(at.bug.with_test_file.map(|used| step::edit(at.bug.source, used, "")));
            steps.extend([step::delete(at.bug.tests), done()]);
            Script::new().on("fixer", steps)
        },
        // Nothing runs any more: that is no failure and no pass, whoever judges.
        told: |_| Waiting("inconclusive"),
        ..PLAIN
    },
    Behaviour {
        name: "answers the test's input",
        script: |at| {
            let [first, second] = at.bug.special;
            twice(vec![fix(at.bug, at.bug.wrong, first), done()], vec![fix(at.bug, first, second), done()])
        },
        told: Situation::cheats,
        ..PLAIN
    },
    Behaviour {
        name: "breaks something else",
        script: |at| {
            let [first, second] = at.bug.regression;
            twice(
                vec![fix(at.bug, at.bug.wrong, at.bug.right), fix(at.bug, first.0, first.1), done()],
                vec![fix(at.bug, second.0, second.1), done()],
            )
        },
        ..PLAIN
    },
    Behaviour {
        name: "breaks the syntax",
        script: |at| {
            let [first, second] = at.bug.broken;
            twice(vec![fix(at.bug, at.bug.wrong, first), done()], vec![fix(at.bug, first, second), done()])
        },
        ..PLAIN
    },
    Behaviour {
        name: "stages everything",
        script: |at| {
            let steps =
                [fix(at.bug, at.bug.wrong, at.bug.right), step::run(&["git", "add", "--all"]), done()];
            Script::new().on_round("fixer", 1, steps)
        },
        told: |at| at.resolved(1),
        ..PLAIN
    },
    Behaviour {
        name: "commits its fix",
        script: |at| {
            let steps = [
                fix(at.bug, at.bug.wrong, at.bug.right),
                step::run(&["git", "commit", "--quiet", "-m", "fixed it", "--", at.bug.source]),
                done(),
            ];
            Script::new().on_round("fixer", 1, steps)
        },
        told: |_| Waiting("breach"),
        moves_history: true,
        is_verified: false,
        ..PLAIN
    },
    Behaviour {
        name: "stashes and resets",
        script: |at| {
            let steps = [
                step::run(&["git", "stash", "--quiet", "--include-untracked"]),
                step::run(&["git", "reset", "--quiet", "--hard"]),
                fix(at.bug, at.bug.wrong, at.bug.right),
                done(),
            ];
            Script::new().on_round("fixer", 1, steps)
        },
        told: |_| Waiting("breach"),
        moves_history: true,
        is_verified: false,
        ..PLAIN
    },
    Behaviour {
        name: "crashes",
        script: |at| {
            Script::new().on("fixer", [fix(at.bug, at.bug.wrong, at.bug.wrong_again[0]), step::kill(11)])
        },
        told: |_| Waiting("inconclusive"),
        is_verified: false,
        ..PLAIN
    },
    Behaviour {
        name: "hangs",
        script: |at| {
            Script::new().on("fixer", [fix(at.bug, at.bug.wrong, at.bug.wrong_again[0]), step::hang()])
        },
        told: |_| Waiting("inconclusive"),
        hangs: true,
        is_verified: false,
        ..PLAIN
    },
    Behaviour {
        name: "goes on writing",
        script: |at| {
            // The fixer ends only after the other program has begun to write.
            let write = format!(
                "while :; do echo '{} still here' >>{}; : >../writing; sleep 0.01; done",
                at.bug.comment, at.bug.source
            );
            let steps = [
                fix(at.bug, at.bug.wrong, at.bug.right),
                step::spawn(&["sh", "-c", &write]),
                step::run(&["sh", "-c", "until [ -e ../writing ]; do sleep 0.01; done"]),
                done(),
            ];
            Script::new().on_round("fixer", 1, steps)
        },
        told: |at| at.resolved(1),
        ..PLAIN
    },
    Behaviour {
        name: "declines",
        script: |_| {
            let no = json!({"status": "declined", "summary": "no", "blocked_by": "not mine to fix"});
            Script::new().on("fixer", [step::report(no)])
        },
        is_verified: false,
        ..PLAIN
    },
];
