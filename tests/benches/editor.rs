//! What an editor waits for with many findings (DESIGN 14): until the last diagnostic is shown, and after a keystroke.
//!
//! Prints every time as a ratio to parsing the same findings file as plain JSON in the same run, since machines differ and
//! are shared. Fails where ten times the findings cost much more than ten times the wait: what takes the square of their
//! number is fast in every small test.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use fix_loop_tests::{LspClient, Repo, finding};
use serde_json::{Value, json};

const FILES: usize = 100;
const LINES: usize = 1_000;
/// Ten times the findings may cost this many times the wait.
const GROWTH: f64 = 20.0;

fn path(number: usize) -> String {
    format!("src/module_{number:03}.py")
}

/// A hundred files of a thousand lines, with so many findings over them.
fn repository(findings: usize) -> Repo {
    let text = (0..LINES).fold(String::new(), |mut text, line| {
        writeln!(text, "value_{line} = compute({line})").expect("text takes text");
        text
    });
    let names: Vec<String> = (0..FILES).map(path).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let repo = Repo::with(&files);
    let in_each = findings / FILES;
    let listed: Vec<Value> = (0..findings)
        .map(|number| {
            let (file, nth) = (number % FILES, number / FILES);
            let line = nth * LINES / in_each + 1;
            let title = format!("the result of compute is not checked, case {number}");
            let mut listed = finding(&format!("f{number}"), &path(file), line as u32, &title);
            listed["body"] = json!(
                "What is computed here is used without the check that every other caller makes. ".repeat(4)
            );
            listed
        })
        .collect();
    repo.findings(&listed);
    repo
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

/// Waits for the last diagnostic, and for a keystroke.
fn measure(findings: usize, criterion: &mut Criterion) -> (Duration, Duration) {
    let repo = repository(findings);
    let bytes = std::fs::read(repo.path(".fix-loop/findings/review.json")).expect("just written");
    let parse = median(
        (0..7)
            .map(|_| {
                let began = Instant::now();
                black_box(serde_json::from_slice::<Value>(&bytes).expect("JSON"));
                began.elapsed()
            })
            .collect(),
    );
    let in_each = findings / FILES;
    let load = median(
        (0..3)
            .map(|_| {
                let began = Instant::now();
                let mut client = LspClient::start(&repo);
                for number in 0..FILES {
                    client.diagnostics(&repo, &path(number), |found| found.len() == in_each);
                }
                let took = began.elapsed();
                client.shutdown();
                took
            })
            .collect(),
    );
    let mut client = LspClient::start(&repo);
    client.open(&repo, &path(0), "python");
    client.diagnostics(&repo, &path(0), |found| found.len() == in_each);
    // Nobody types and deletes one line a thousand times a second; who types it goes on downwards.
    let mut typed = 0;
    let mut keystroke = || {
        typed += 1;
        let began = Instant::now();
        client.change(&repo, &path(0), [0, 0, 0, 0], "\n");
        client.diagnostics(&repo, &path(0), |found| found[0]["range"]["start"]["line"] == typed);
        began.elapsed()
    };
    let change = median((0..101).map(|_| keystroke()).collect());
    let mut group = criterion.benchmark_group(format!("editor/{findings}"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    group.bench_function("keystroke", |bencher| bencher.iter(&mut keystroke));
    group.finish();
    client.shutdown();
    for (what, time) in [("last diagnostic", load), ("keystroke", change)] {
        let ratio = time.as_secs_f64() / parse.as_secs_f64();
        println!(
            "editor/{findings}/{what} time: {time:?} ratio: {ratio:.2} plain parses of the findings file"
        );
    }
    (load, change)
}

fn main() {
    let mut criterion = Criterion::default().without_plots();
    let few = measure(1_000, &mut criterion);
    let many = measure(10_000, &mut criterion);
    for (what, few, many) in [("the last diagnostic", few.0, many.0), ("a keystroke", few.1, many.1)] {
        let growth = many.as_secs_f64() / few.as_secs_f64();
        println!("editor/growth/{what} ratio: {growth:.2} for ten times the findings");
        assert!(growth < GROWTH, "{what} takes {growth:.1} times as long with ten times the findings");
    }
}
