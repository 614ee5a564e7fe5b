//! What a loop costs the work tree, against the one thing that may grow with the repository: a status walk (DESIGN 7.1, 14).
//!
//! Prints every time as a ratio to `git status` of the same repository in the same run, since machines differ and are
//! shared.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use fix_loop::workspace::{Checkpoint, CheckpointName, OwnBytes, RepoPath, StagedEntries, Workspace};

/// No operation may cost more status walks than this, from 10 000 files on. What is really reached is printed.
const LIMIT: f64 = 12.0;

fn git(root: &Path, arguments: &[&str]) {
    let status = Command::new("git").arg("-C").arg(root).args(arguments).status().expect("git is installed");
    assert!(status.success(), "git {arguments:?}");
}

/// A repository of so many files in folders of a hundred, with one of them changed by the user.
fn repository(root: &Path, files: usize) {
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    for number in 0..files {
        let folder = root.join(format!("src/{}", number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&folder).expect("a fresh folder");
        }
        fs::write(folder.join(format!("{number}.txt")), format!("file {number}\nsecond line\nthird line\n"))
            .expect("space");
    }
    git(root, &["add", "--all"]);
    git(
        root,
        &[
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.invalid",
            "commit",
            "--quiet",
            "-m",
            "start",
        ],
    );
    fs::write(root.join("src/0/1.txt"), "changed by the user\n").expect("space");
}

fn median(times: usize, mut work: impl FnMut()) -> Duration {
    let mut all: Vec<Duration> = (0..times)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    all.sort();
    all[all.len() / 2]
}

fn measure(files: usize, criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("just made");
    repository(&root, files);
    let workspace = Workspace::open(&root).expect("an ordinary repository");
    let path = RepoPath::new("src/0/0.txt").expect("a path");
    let scope = workspace.scope(&["src/0/0.txt"], &[]).expect("a scope");
    let file = root.join("src/0/0.txt");
    let mut serial = 0;
    let mut checkpoint = || -> Checkpoint {
        serial += 1;
        let name = CheckpointName::new("bench", &serial.to_string()).expect("a name");
        workspace.checkpoint(&name, std::slice::from_ref(&path)).expect("a checkpoint")
    };
    let status = median(7, || {
        let out = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(["status", "--porcelain=v2", "-z", "--untracked-files=all"])
            .output()
            .expect("git is installed");
        black_box(out);
    });
    let taken = median(5, || {
        black_box(checkpoint());
    });
    let start = checkpoint();
    let fix = |number: u32| fs::write(&file, format!("file 0\nfix {number}\nthird line\n")).expect("space");
    fix(0);
    let observed = median(5, || {
        black_box(workspace.observe(&start, &scope, &[]).expect("an observation"));
    });
    let mut own = OwnBytes::default();
    let (mut staging, mut restoring) = (Vec::new(), Vec::new());
    for number in 0..5 {
        fix(number);
        let seen = workspace.observe(&start, &scope, &[]).expect("an observation");
        own.record(&seen);
        let target: BTreeMap<RepoPath, _> =
            seen.changes.iter().map(|change| (change.path.clone(), change.after.clone())).collect();
        let began = Instant::now();
        let staged = workspace.stage(&start, &target, &StagedEntries::default()).expect("staged");
        staging.push(began.elapsed());
        own.record_staged(&staged);
        let began = Instant::now();
        let restored = workspace.restore(&start, &own).expect("restored");
        restoring.push(began.elapsed());
        assert!(restored.left_alone.is_empty(), "{restored:?}");
    }
    staging.sort();
    restoring.sort();
    println!("scale/{files}/status time: {status:?}");
    for (what, time) in
        [("checkpoint", taken), ("observe", observed), ("stage", staging[2]), ("restore", restoring[2])]
    {
        let ratio = time.as_secs_f64() / status.as_secs_f64();
        println!("scale/{files}/{what} time: {time:?} ratio: {ratio:.2} status walks");
        if files >= 10_000 {
            assert!(ratio < LIMIT, "{what} costs {ratio:.1} status walks with {files} files");
        }
    }
    // The two that every dispatch pays for, with criterion's statistics.
    let mut group = criterion.benchmark_group(format!("scale/{files}"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(2));
    group.bench_function("checkpoint", |bencher| bencher.iter(|| black_box(checkpoint())));
    group.bench_function("observe", |bencher| {
        bencher.iter(|| black_box(workspace.observe(&start, &scope, &[]).expect("an observation")));
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().without_plots();
    for files in [1_000, 10_000, 100_000] {
        measure(files, &mut criterion);
    }
}
