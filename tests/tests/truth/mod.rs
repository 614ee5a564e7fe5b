//! The truth matrix: what agents do × bugs × with and without a covering test × with and without a verifier.
//!
//! For each cell the loop runs for real, and afterwards what it told is compared with what is really so, measured without
//! it. The whole table is printed, and written to `target/test-logs/truth.txt`.

mod behaviours;
mod bugs;
mod cell;
mod cheating;
mod reality;
mod told;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use behaviours::Situation;
use bugs::{Bug, Origin};
use cell::Cell;
use reality::{Oracle, Truth};

#[test]
fn what_is_told_is_what_is_so_in_every_cell() {
    let oracle = Oracle::new();
    let columns: Vec<(&'static Bug, bool)> =
        bugs::ALL.iter().flat_map(|bug| [(*bug, true), (*bug, false)]).collect();
    let situations: Vec<Situation> = columns
        .iter()
        .flat_map(|&(bug, covered)| [false, true].map(|verifier| Situation { bug, covered, verifier }))
        .collect();
    let work: Vec<(usize, usize)> = (0..behaviours::ALL.len())
        .flat_map(|row| (0..situations.len()).map(move |column| (row, column)))
        .filter(|&(row, column)| behaviours::ALL[row].is_told_apart(situations[column]))
        .collect();
    let starts: Vec<std::sync::OnceLock<cell::Start>> =
        situations.iter().map(|_| Default::default()).collect();
    let cells: Mutex<HashMap<(usize, usize), Cell>> = Mutex::default();
    // Those that wait for a time limit have threads of their own: the others work meanwhile.
    let (waiting, working): (Vec<_>, Vec<_>) = work.iter().partition(|(row, _)| behaviours::ALL[*row].hangs);
    let queues = [(waiting, WAITING, AtomicUsize::new(0)), (working, threads(), AtomicUsize::new(0))];
    std::thread::scope(|scope| {
        for (work, next) in
            queues.iter().flat_map(|(work, threads, next)| (0..*threads).map(move |_| (work, next)))
        {
            let (oracle, starts, situations, cells) = (&oracle, &starts, &situations, &cells);
            scope.spawn(move || {
                while let Some(&(row, column)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let at = situations[column];
                    let start = starts[column].get_or_init(|| cell::start(oracle, at));
                    let cell = cell::run(oracle, start, &behaviours::ALL[row], at);
                    cells.lock().expect("no one panics with it").insert((row, column), cell);
                }
            });
        }
    });
    let cells = cells.into_inner().expect("no one panics with it");
    assert_eq!(cells.len(), work.len());

    let mut lies = Vec::new();
    for (row, behaviour) in behaviours::ALL.iter().enumerate() {
        for (column, at) in situations.iter().enumerate() {
            for lie in cells.get(&(row, column)).iter().flat_map(|cell| &cell.lies) {
                let covered = if at.covered { "covered" } else { "not covered" };
                let verifier = if at.verifier { "with a verifier" } else { "without a verifier" };
                lies.push(format!("{} / {}, {covered}, {verifier}: {lie}", behaviour.name, at.bug.name));
            }
        }
    }
    let table = table(&columns, &cells);
    print!("{table}");
    keep(&table);
    assert!(lies.is_empty(), "{} lies:\n{}", lies.len(), lies.join("\n"));
}

/// How many agents hang at the same time.
const WAITING: usize = 6;

/// More than there are processors: much of a run is waiting for programs to end.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |count| count.get()).clamp(2, 8) + 1
}

/// One line for each behaviour; a column for each bug with and without a covering test. In a cell: without a verifier,
/// then with one; `+` the bug is really gone, `-` it is really there.
fn table(columns: &[(&'static Bug, bool)], cells: &HashMap<(usize, usize), Cell>) -> String {
    let short = |place: (usize, usize)| {
        use told::Told::*;
        let Some(cell) = cells.get(&place) else { return "·".to_owned() };
        let told = match &cell.told {
            Resolved { grade, round } => format!("{}{round}", &grade[..4]),
            Deferred => "defer".to_owned(),
            Waiting(kind) => format!("?{}", &kind[..4]),
            Other(_) => "!!!!!".to_owned(),
        };
        let lie = if cell.lies.is_empty() { "" } else { "!" };
        format!("{told}{}{lie}", if cell.real.fixed { '+' } else { '-' })
    };
    let mut rows: Vec<Vec<String>> = vec![
        std::iter::once(String::new())
            .chain(
                columns
                    .iter()
                    .map(|(bug, covered)| format!("{}{}", bug.name, if *covered { ", test" } else { "" })),
            )
            .collect(),
    ];
    for (row, behaviour) in behaviours::ALL.iter().enumerate() {
        let mut line = vec![behaviour.name.to_owned()];
        line.extend(
            (0..columns.len())
                .map(|column| format!("{} {}", short((row, 2 * column)), short((row, 2 * column + 1)))),
        );
        rows.push(line);
    }
    let widths: Vec<usize> = (0..=columns.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = "\
What was told, without and with a verifier, and what was so: + the bug is gone, - it is there, ! a lie.
prov, veri: resolved, with this evidence, in round 1 or 2. defer: given up, and the tree is as before.
·: never verified, so with a verifier where a test covers the bug, and without one where none does.
?: a question is open (inconclusive, scope, breach). \", test\": a test of the project covers the bug.\n\n"
        .to_owned();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join(" | ").trim_end());
        text.push('\n');
    }
    let lies = cells.values().filter(|cell| !cell.lies.is_empty()).count();
    let resolved = cells.values().filter(|cell| matches!(cell.told, told::Told::Resolved { .. })).count();
    text.push_str(&format!("\n{} cells, {resolved} resolved, {lies} with a lie\n", cells.len()));
    text
}

fn keep(table: &str) {
    let program = std::env::current_exe().expect("a running program has a path");
    // Tests are built in target/PROFILE/deps.
    let target = program.ancestors().nth(3).map_or_else(PathBuf::new, |folder| folder.join("test-logs"));
    let written = fs::create_dir_all(&target).and_then(|()| fs::write(target.join("truth.txt"), table));
    written.unwrap_or_else(|error| panic!("{}: {error}", target.display()));
}

/// The matrix says something only if the bugs, their tests and their truth are what they are taken for.
#[test]
fn the_bugs_and_their_hidden_truth_are_what_they_claim() {
    let oracle = Oracle::new();
    for bug in bugs::ALL {
        let covered = bug.tests_text(true);
        let uncovered = bug.tests_text(false);
        let look = |source: &str, what: &str, truth: (bool, bool), red: bool| {
            let source = source.as_bytes();
            let found = oracle.truth(bug, source);
            assert_eq!((found.fixed, found.other_works), truth, "{}: {what}", bug.name);
            let passes = oracle.tests_pass(bug, source, covered.as_bytes());
            assert_eq!(passes, !red, "{}: {what}: covered", bug.name);
        };
        let text = bug.whole_text();
        let with = |to: &str| {
            assert_eq!(text.matches(bug.wrong).count(), 1, "{}", bug.name);
            text.replace(bug.wrong, to)
        };
        assert_eq!(text.lines().nth(bug.line as usize - 1), bug.wrong.lines().next(), "{}", bug.name);
        look(&text, "the bug", (false, true), true);
        assert!(oracle.tests_pass(bug, text.as_bytes(), uncovered.as_bytes()), "{}", bug.name);
        let fixed = with(bug.right);
        look(&fixed, "the fix", (true, true), false);
        for wrong in bug.wrong_again {
            look(&with(wrong), wrong, (false, true), true);
        }
        for special in bug.special {
            look(&with(special), special, (false, true), false);
        }
        for broken in bug.broken {
            look(&with(broken), broken, (false, false), true);
        }
        let mut broken = fixed;
        for (from, to) in bug.regression {
            assert_eq!(broken.matches(from).count(), 1, "{}: {from}", bug.name);
            broken = broken.replace(from, to);
            look(&broken, to, (true, false), true);
            assert!(!oracle.tests_pass(bug, broken.as_bytes(), uncovered.as_bytes()), "{}: {to}", bug.name);
        }
        let weakened = covered.replace(bug.weaken_covering.0, bug.weaken_covering.1);
        assert!(
            weakened != covered && oracle.tests_pass(bug, text.as_bytes(), weakened.as_bytes()),
            "{}",
            bug.name
        );
        let without = covered.replace(bug.covering, "");
        assert_eq!(without, uncovered, "{}", bug.name);
        for gone in [bug.weaken_other.0, bug.delete_other] {
            assert!(uncovered.contains(gone), "{}: {gone}", bug.name);
        }
    }
    assert!(
        [Origin::Finding, Origin::Configured, Origin::Discovered]
            .iter()
            .all(|origin| { bugs::ALL.iter().any(|bug| bug.origin == *origin) })
    );
    let _: Truth = oracle.truth(bugs::ALL[0], b"nothing");
}
