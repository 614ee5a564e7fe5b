//! What has to be true whenever no program runs, whatever user and agent did.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fix_loop_tests::Entry;
use serde_json::Value;

use super::seen::{self, Seen, tokens_at};
use super::world::{World, paths};

/// What a program said and how it stands now.
pub struct Told {
    pub code: Option<i32>,
    /// The report of the run; of `undo` none.
    pub report: Option<Value>,
    pub status: Value,
    /// Everything that was printed so far, with the status.
    pub text: String,
}

impl Told {
    pub fn question(&self) -> Option<&Value> {
        self.status["questions"].as_array().and_then(|open| open.first())
    }

    pub fn stands(&self) -> String {
        self.status["findings_detail"][0]["state"].as_str().unwrap_or_default().to_owned()
    }

    pub fn ended(&self) -> bool {
        let loops = self.status["loops"].as_array().cloned().unwrap_or_default();
        loops.iter().all(|one| one["state"] == "finished")
    }

    /// Whether f1 is in a list of the report.
    pub fn says(&self, list: &str) -> bool {
        let ids = self.report.as_ref().and_then(|report| report[list].as_array());
        ids.is_some_and(|ids| ids.iter().any(|id| id == "f1"))
    }

    /// Whether a path is named: in its own spelling, or as JSON spells it.
    fn names(&self, path: &Path) -> bool {
        let plain = path.to_string_lossy().into_owned();
        let quoted = Value::from(plain.clone()).to_string();
        self.text.contains(&plain) || self.text.contains(quoted.trim_matches('"'))
    }
}

/// What a worker did in one dispatch that has to be told.
#[derive(Default, Debug)]
pub struct Deeds {
    /// It moved HEAD, a branch that HEAD is on, a tag or the stash.
    pub history: bool,
    pub outside: BTreeSet<PathBuf>,
    pub staged: BTreeSet<PathBuf>,
    pub ignored: BTreeSet<PathBuf>,
}

impl Deeds {
    /// Compares the state at the start of a dispatch with that at its end.
    pub fn between(before: &Seen, after: &Seen, scope: &BTreeSet<PathBuf>) -> Deeds {
        let mut deeds = Deeds::default();
        let history = |seen: &Seen| -> Vec<String> {
            let branch =
                seen.refs.lines().find_map(|line| line.strip_prefix("ref: ")).unwrap_or_default().to_owned();
            seen.refs
                .lines()
                .filter(|line| !line.starts_with("refs/heads/") || line.split(' ').next() == Some(&branch))
                .map(str::to_owned)
                .collect()
        };
        deeds.history = history(before) != history(after);
        for path in paths(before, after) {
            if before.index.get(&path) != after.index.get(&path) {
                deeds.staged.insert(path.clone());
            }
            if before.tree.get(&path) != after.tree.get(&path) {
                if before.ignores(&path) || after.ignores(&path) {
                    deeds.ignored.insert(path);
                } else if !scope.contains(&path) {
                    deeds.outside.insert(path);
                }
            }
        }
        deeds
    }
}

/// Everything that is wrong, in words.
pub fn judge(world: &mut World, told: &Told, deeds: &[Deeds]) -> Vec<String> {
    let now = seen::look(&world.repo);
    let mut wrong = Vec::new();
    for token in world.lost() {
        wrong.push(format!("the user's {token} is nowhere"));
    }
    if now.refs != world.refs {
        wrong.push(format!(
            "refs are not as whoever acted last left them:\n{}\nbut\n{}",
            world.refs, now.refs
        ));
    }
    judge_tree(world, &now, &mut wrong);
    judge_index(world, &now, &mut wrong);
    judge_leftovers(world, &mut wrong);
    judge_words(world, &now, told, deeds, &mut wrong);
    if told.ended()
        && !told.says("resolved")
        && !matches!(told.stands().as_str(), "resolved" | "demoted" | "manual")
    {
        judge_restored(world, &now, told, &mut wrong);
    }
    world.settle(now);
    wrong
}

fn shown(entry: Option<&Entry>) -> String {
    match entry {
        None => "nothing".into(),
        Some(Entry::Link(to)) => format!("a link to {}", to.display()),
        Some(Entry::File { bytes, executable }) => {
            format!("{:?}{}", String::from_utf8_lossy(bytes), if *executable { " (executable)" } else { "" })
        }
    }
}

fn judge_tree(world: &World, now: &Seen, wrong: &mut Vec<String>) {
    for path in paths(&world.base, now) {
        let (was, is) = (world.base.tree.get(&path), now.tree.get(&path));
        if was == is || world.base.ignores(&path) || now.ignores(&path) {
            continue;
        }
        if world.scope.contains(&path) {
            let nothing = BTreeSet::new();
            let removed = world.removed.get(&path).unwrap_or(&nothing);
            let here = tokens_at(&now.tree, &path);
            for token in tokens_at(&world.base.tree, &path) {
                let excused = removed.contains(&token) || world.beside.contains(&token);
                if world.is_alive(&token)
                    && world.is_at_home(&path, &token)
                    && !excused
                    && !here.contains(&token)
                {
                    wrong.push(format!("{path:?} lost the user's {token}: {} → {}", shown(was), shown(is)));
                }
            }
        } else if !world.allowed.get(&path).is_some_and(|allowed| allowed.contains(&is.cloned())) {
            wrong.push(format!(
                "{path:?}, which is not in the scope, was {} and is {}",
                shown(was),
                shown(is)
            ));
        }
    }
}

fn judge_index(world: &mut World, now: &Seen, wrong: &mut Vec<String>) {
    for path in paths(&world.base, now) {
        let was = world.base.index.get(&path).cloned().unwrap_or_default();
        let is = now.index.get(&path).cloned().unwrap_or_default();
        let allowed = world.allowed_index.get(&path).cloned().unwrap_or_default();
        if was == is || allowed.contains(&is) {
            continue;
        }
        if !world.scope.contains(&path) {
            wrong.push(format!(
                "the index entry of {path:?}, which is not in the scope, was {was:?} and is {is:?}"
            ));
            continue;
        }
        let (users, staged) = (world.tokens_of(&was), world.tokens_of(&is));
        let mut may: BTreeSet<String> = users.clone();
        // What the user had staged before the loop comes back when the loop is taken back.
        let origin = world.origin.index.get(&path).cloned().unwrap_or_default();
        for entries in allowed.iter().chain([&origin]) {
            may.extend(world.tokens_of(entries));
        }
        for token in staged.iter().filter(|token| !may.contains(*token) && !world.beside.contains(*token)) {
            wrong.push(format!("the user's {token} in {path:?} was staged, and not by the user"));
        }
        let nothing = BTreeSet::new();
        let removed = world.removed.get(&path).unwrap_or(&nothing);
        let excused = |token: &String| removed.contains(token) || world.beside.contains(token);
        for token in users.iter().filter(|token| !staged.contains(*token) && !excused(token)) {
            wrong.push(format!(
                "the user's {token} in {path:?} was staged and is no longer: {was:?} → {is:?}"
            ));
        }
    }
}

/// The loop ended without its fix: everything is as if it had never been, but for what the user did meanwhile.
fn judge_restored(world: &World, now: &Seen, told: &Told, wrong: &mut Vec<String>) {
    for path in &world.scope {
        // What became a link is another file, so that the finding in it is another one, too.
        let linked = matches!(now.tree.get(path), Some(Entry::Link(_)));
        if world.touched.contains(path) || linked {
            continue;
        }
        let (was, is) = (world.origin.tree.get(path), now.tree.get(path));
        if was != is {
            let (was, is) = (shown(was), shown(is));
            wrong.push(format!(
                "{path:?} was not put back though the finding is {}: {was} → {is}",
                told.stands()
            ));
        }
        let (was, is) = (world.origin.index.get(path), now.index.get(path));
        if was != is {
            wrong.push(format!("the index entry of {path:?} was not put back: {was:?} → {is:?}"));
        }
    }
}

fn judge_leftovers(world: &World, wrong: &mut Vec<String>) {
    let state = world.repo.path(".git/fix-loop");
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    for name in names(&state) {
        if ["index-draft", "index-claim", "index-new"].iter().any(|start| name.starts_with(start)) {
            wrong.push(format!("{name} was left in the state folder"));
        }
    }
    for name in names(&state.join("scratch")) {
        wrong.push(format!("scratch/{name} was left in the state folder"));
    }
    if let Ok(lock) = std::fs::read_to_string(world.repo.path(".git/index.lock"))
        && lock != "somebody else's"
    {
        wrong.push("an index.lock was left".into());
    }
}

fn judge_words(world: &World, now: &Seen, told: &Told, deeds: &[Deeds], wrong: &mut Vec<String>) {
    let locked = world.repo.exists(".git/index.lock");
    let stopped = |report: &&Value| report["gate"]["outcome"] == "stopped";
    if let Some(report) = told.report.as_ref().filter(stopped) {
        // A run that could not be made says why, and nothing else.
        if told.code != Some(3) || report["gate"]["reason"].as_str().is_none_or(str::is_empty) {
            wrong.push(format!("exit code {:?} for {report:#}", told.code));
        }
    } else if let Some(report) = &told.report {
        let has = |list: &str| told.says(list);
        let fixed = match now.tree.get(Path::new("app.txt")) {
            Some(Entry::File { bytes, .. }) => !String::from_utf8_lossy(bytes).contains("BAD"),
            _ => true,
        };
        let proven = matches!(report["evidence"]["f1"].as_str(), Some("proven" | "pattern"));
        if has("resolved") && proven && !fixed && !world.allowed.contains_key(Path::new("app.txt")) {
            wrong.push("f1 is told to be resolved, and app.txt is BAD".into());
        }
        if has("waiting") != told.question().is_some() {
            wrong.push(format!("waiting is told as {}, open is {:?}", has("waiting"), told.question()));
        }
        let expected =
            if has("resolved") || has("demoted") { [Some(0), Some(0)] } else { [Some(1), Some(0)] };
        // A file that became a link is another file, so that what is said of it is another finding.
        let linked = matches!(now.tree.get(Path::new("app.txt")), Some(Entry::Link(_)));
        if !expected.contains(&told.code) && !locked && !linked {
            wrong.push(format!("exit code {:?} for {report:#}", told.code));
        }
    }
    for deed in deeds {
        if deed.history && told.question().is_none_or(|open| open["kind"] != "breach") && !locked {
            wrong.push(format!("history was moved, and no breach is told but {:?}", told.question()));
        }
        for path in &deed.outside {
            if !told.names(path) {
                wrong.push(format!("{path:?} was changed outside of the scope, and nobody was told"));
            }
        }
        for path in &deed.ignored {
            if !told.names(path) {
                wrong.push(format!("the ignored {path:?} was changed, and nobody was told"));
            }
        }
        if !deed.staged.is_empty() && !told.text.contains("taken back from the index") && !locked {
            wrong.push(format!("{:?} was staged by a worker, and nobody was told", deed.staged));
        }
    }
}

/// At the very end.
pub fn fsck(world: &World) -> Vec<String> {
    let output =
        seen::git_command(&world.repo, &["fsck", "--no-dangling", "--no-progress"]).output().expect("git");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && said.trim().is_empty() {
        Vec::new()
    } else {
        vec![format!("git fsck: {said}")]
    }
}
