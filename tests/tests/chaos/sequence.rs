//! One sequence: acts of the user, a run in which the agent and the user act by turns, answers, and perhaps an undo.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::acts::{Act, Who};
use super::oracle::{self, Deeds, Told};
use super::random::Random;
use super::seen;
use super::world::World;

/// How a sequence went: what is wrong, and the whole story.
pub struct Outcome {
    pub wrong: Vec<String>,
    pub story: Vec<String>,
    /// Programs that were started.
    pub programs: usize,
    /// What kinds of things happened, for the count at the end.
    pub ends: Vec<String>,
}

struct Sequence {
    world: World,
    random: Random,
    serial: u32,
    programs: usize,
    /// All that was printed.
    text: String,
    deeds: Vec<Deeds>,
}

pub fn run(seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let (related, filtered) = (random.percent(50), random.percent(20));
    let mut sequence = Sequence {
        world: World::new(related, filtered),
        random,
        serial: 0,
        programs: 0,
        text: String::new(),
        deeds: Vec::new(),
    };
    let mut ends = Vec::new();
    let mut wrong = sequence.play(&mut ends);
    if wrong.is_empty() {
        wrong = oracle::fsck(&sequence.world);
    }
    Outcome { wrong, story: sequence.world.story, programs: sequence.programs, ends }
}

impl Sequence {
    fn play(&mut self, ends: &mut Vec<String>) -> Vec<String> {
        let acts = 1 + self.random.below(6);
        self.users_acts(acts);
        self.world.begin_loop();
        let mut told = self.program(&["run", "--trust", "--answer", "none", "--format", "json"]);
        let mut answers = 0;
        loop {
            let deeds = std::mem::take(&mut self.deeds);
            let wrong = oracle::judge(&mut self.world, &told, &deeds);
            let standing = match told.question() {
                Some(question) => format!("asked: {}", question["kind"].as_str().unwrap_or("?")),
                None => format!("ended: {}", told.stands()),
            };
            self.world.tell(format!("→ {standing}, code {:?}", told.code));
            ends.push(standing);
            if !wrong.is_empty() {
                self.world.tell(self.text.clone());
                return wrong;
            }
            let Some(question) = told.question().cloned() else { break };
            answers += 1;
            if answers > 4 {
                break;
            }
            if self.random.percent(50) {
                let acts = 1 + self.random.below(3);
                self.users_acts(acts);
            }
            told = self.answer(&question);
        }
        if told.question().is_none() && self.random.percent(60) {
            if self.random.percent(40) {
                self.users_acts(1);
            }
            return self.undo(ends);
        }
        Vec::new()
    }

    fn users_acts(&mut self, count: usize) {
        for _ in 0..count {
            let act = Act::random(&mut self.random, Who::User, &mut self.serial);
            self.world.users_act(&act);
        }
    }

    fn answer(&mut self, question: &Value) -> Told {
        let id = question["id"].as_str().expect("an id").to_owned();
        let options = question["options"].as_array().expect("a list").len();
        let choice = self.random.below(options);
        let words = question["options"][choice].as_str().expect("text").to_owned();
        self.world.tell(format!("answer {id} ({}): {words}", question["text"]));
        if question["kind"] == "scope" && choice == 0 {
            // What is approved is in the scope from now on.
            let text = question["text"].as_str().unwrap_or_default();
            let listed = text.split_once("scope: ").map(|(_, rest)| rest.trim_end_matches(". Approve?"));
            for path in listed.unwrap_or_default().split(", ") {
                self.world.scope.insert(PathBuf::from(path));
            }
        }
        let number = (choice + 1).to_string();
        self.program(&["answer", &id, &number, "--format", "json"])
    }

    fn undo(&mut self, ends: &mut Vec<String>) -> Vec<String> {
        self.world.tell("undo L1");
        let told = self.program(&["undo", "L1"]);
        let wrong = oracle::judge(&mut self.world, &Told { report: None, ..told }, &[]);
        ends.push("undone".into());
        if !wrong.is_empty() {
            self.world.tell(self.text.clone());
        }
        wrong
    }

    // ------------------------------------------------------------ a program and what happens meanwhile

    fn program(&mut self, arguments: &[&str]) -> Told {
        self.programs += 1;
        self.world.tell(format!("$ fix-loop {}", arguments.join(" ")));
        let running = self.world.repo.fix_loop(arguments).spawn();
        let ended = self.world.end_of_program();
        let waiting = std::thread::spawn(move || {
            let output = running.wait();
            ended();
            output
        });
        loop {
            match self.world.next().as_str() {
                "agent" => self.agent(),
                "check" => self.check(),
                "ended" => break,
                other => panic!("`{other}` came through the pipe"),
            }
        }
        let output = waiting.join().expect("waiting does not panic");
        let status = self.world.repo.fix_loop(["status", "--format", "json"]).run();
        self.text.push_str(&format!("$ {}\n{}\n{}\n", arguments.join(" "), output.stdout, output.stderr));
        let text = format!("{}{}", self.text, status.stdout);
        Told {
            code: output.code,
            report: serde_json::from_str(&output.stdout).ok(),
            status: status.json(),
            text,
        }
    }

    fn agent(&mut self) {
        let brief = self.world.brief();
        let role = brief["role"].as_str().expect("text").to_owned();
        let edits = role == "fixer";
        self.world.tell(format!("  {role} of round {}", brief["round"]));
        let before = seen::look(&self.world.repo);
        let acts = if edits { self.random.below(5) } else { usize::from(self.random.percent(25)) };
        for _ in 0..acts {
            if self.random.percent(12) {
                self.user_meanwhile();
            }
            let who = if edits { Who::Agent } else { Who::Reader };
            let act = Act::random(&mut self.random, who, &mut self.serial);
            self.world.workers_act(&act);
        }
        if self.random.percent(8) {
            self.user_meanwhile();
        }
        let after = seen::look(&self.world.repo);
        let nobodys = std::collections::BTreeSet::new();
        let scope = if edits { &self.world.scope } else { &nobodys };
        self.deeds.push(Deeds::between(&before, &after, scope));
        let (answer, code) = if edits { self.fixers_report() } else { self.verifiers_report(&brief) };
        self.world.tell(format!("  answers {}", answer.chars().take(90).collect::<String>()));
        self.world.go(&answer, code);
    }

    fn check(&mut self) {
        let before = seen::look_if(&self.world.repo, self.random.percent(12));
        if let Some(before) = before {
            if self.random.percent(50) {
                self.user_meanwhile();
            } else {
                let act = Act::random(&mut self.random, Who::Reader, &mut self.serial);
                self.world.workers_act(&act);
            }
            let after = seen::look(&self.world.repo);
            self.deeds.push(Deeds::between(&before, &after, &std::collections::BTreeSet::new()));
        }
        self.world.go("", 0);
    }

    fn user_meanwhile(&mut self) {
        let act = Act::random(&mut self.random, Who::UserMeanwhile, &mut self.serial);
        self.world.users_act_meanwhile(&act);
    }

    fn fixers_report(&mut self) -> (String, u8) {
        let report = match self.random.below(20) {
            0 => {
                json!({"needs_scope_expansion": true, "additional_files": ["src/a.rs"], "justification": "it is there"})
            }
            1 => json!({"status": "declined", "summary": "no", "files_changed": []}),
            2 => json!({"status": "already_resolved", "summary": "it is gone", "files_changed": []}),
            3 => return ("certainly! I fixed it".into(), 0),
            4 => return (String::new(), 3),
            _ => {
                json!({"summary": "did something", "files_changed": ["app.txt"], "concerns": null, "blocked_by": null})
            }
        };
        (report.to_string(), 0)
    }

    fn verifiers_report(&mut self, brief: &Value) -> (String, u8) {
        let verdict = *self.random.pick(&["rejected", "rejected", "confirmed", "demoted"]);
        let findings: Vec<Value> = brief["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .cloned()
            .map(|mut finding| {
                finding["verdict"] = verdict.into();
                finding["evidence"] = "looked at it".into();
                if verdict == "demoted" {
                    finding["severity"] = "P3".into();
                }
                finding
            })
            .collect();
        if self.random.percent(6) {
            return ("no idea".into(), 0);
        }
        (json!({"schema_version": "v1", "findings": findings, "checks_run": []}).to_string(), 0)
    }
}
