//! What a loop costs the work tree, against the one thing that may grow with the repository: a status walk (DESIGN 7.1, 14).
//!
//! Prints every time as a ratio to what git itself takes for the same repository in the same run (a status walk, a rewrite of
//! the index, storing a file), since machines differ and are shared.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use fix_loop::workspace::{Checkpoint, CheckpointName, OwnBytes, RepoPath, StagedEntries, Workspace};

/// No operation may cost more than so many times what git itself cannot do without: one status walk, and for whatever changes the
/// index one rewrite of it. From 10 000 files on; what is really reached is printed.
///
/// Staging and restoring start a few small programs beside the one that rewrites the index, which shows while that is quick.
const WALK_LIMIT: f64 = 3.0;
const STAGE_LIMIT: f64 = 6.0;
const RESTORE_LIMIT: f64 = 4.0;

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

/// The fastest of some tries: what else goes on on a machine only ever adds.
fn fastest(times: usize, mut work: impl FnMut()) -> Duration {
    let all = (0..times).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    all.min().expect("there is a try")
}

/// What `git update-index --cacheinfo` takes for one entry, which is what staging cannot do without.
fn rewrite_of_the_index(root: &Path) -> Duration {
    let entry = |name: &str| {
        let out = Command::new("git").arg("-C").arg(root).args(["rev-parse", name]).output();
        String::from_utf8(out.expect("git is installed").stdout).expect("an id").trim().to_owned()
    };
    let ids = [entry("HEAD:src/0/0.txt"), entry("HEAD:src/0/2.txt")];
    let mut turn = 0;
    let time = fastest(7, || {
        turn += 1;
        let entry = format!("100644,{},src/0/0.txt", ids[turn % 2]);
        git(root, &["update-index", "--cacheinfo", &entry]);
    });
    git(root, &["update-index", "--cacheinfo", &format!("100644,{},src/0/0.txt", ids[0])]);
    time
}

/// What a checkpoint costs by what is changed, with ten thousand files that are not.
fn measure_dirty() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("just made");
    repository(&root, 10_000);
    let workspace = Workspace::open(&root).expect("an ordinary repository");
    let mut serial = 0;
    let mut checkpoint = || {
        serial += 1;
        let name = CheckpointName::new("bench", &serial.to_string()).expect("a name");
        let began = Instant::now();
        black_box(workspace.checkpoint(&name, &[]).expect("a checkpoint"));
        began.elapsed()
    };
    // Half of them changed, half of them new, all of them other than before.
    let mut dirty = |files: usize, round: usize| {
        for number in 0..files / 2 {
            let text = format!("round {round} of {number}\n");
            fs::write(root.join(format!("src/{}/{number}.txt", number / 100)), &text).expect("space");
            fs::write(root.join(format!("src/{}/new-{number}.txt", number / 100)), &text).expect("space");
        }
        checkpoint()
    };
    let few = (0..3).map(|round| dirty(500, round)).min().expect("three");
    let many = (3..6).map(|round| dirty(2_000, round)).min().expect("three");
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    println!("scale/dirty/500 time: {few:?}");
    println!("scale/dirty/2000 time: {many:?} ratio: {ratio:.2} times that of 500");
    assert!(ratio < 8.0, "four times the changed files cost {ratio:.1} times as much");
    // One file just below the limit, of bytes that do not compress; git writes the same object for comparison.
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let noise = std::iter::repeat_with(|| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()
    });
    let bytes: Vec<u8> = noise.take(49 * (1 << 20) / 8).flatten().collect();
    fs::write(root.join("large.bin"), &bytes).expect("space");
    let with = checkpoint();
    fs::write(root.join("other.bin"), bytes.iter().rev().copied().collect::<Vec<u8>>()).expect("space");
    let began = Instant::now();
    git(&root, &["hash-object", "-w", "--no-filters", "other.bin"]);
    let reference = began.elapsed();
    let ratio = with.saturating_sub(many).as_secs_f64() / reference.as_secs_f64();
    println!("scale/large/49MiB time: {with:?} ratio: {ratio:.2} times git hash-object -w");
    assert!(ratio < 4.0, "a file of 49 MiB costs {ratio:.1} times what git takes to store it");
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
    let status = fastest(7, || {
        let out = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(["status", "--porcelain=v2", "-z", "--untracked-files=all"])
            .output()
            .expect("git is installed");
        black_box(out);
    });
    let taken = fastest(5, || {
        black_box(checkpoint());
    });
    let start = checkpoint();
    let fix = |number: u32| fs::write(&file, format!("file 0\nfix {number}\nthird line\n")).expect("space");
    fix(0);
    let observed = fastest(5, || {
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
    let staged = staging.into_iter().min().expect("there is a try");
    let restored = restoring.into_iter().min().expect("there is a try");
    let rewrite = rewrite_of_the_index(&root);
    println!("scale/{files}/status time: {status:?}");
    println!("scale/{files}/index rewrite time: {rewrite:?}");
    for (what, time, reference, limit, name) in [
        ("checkpoint", taken, status, WALK_LIMIT, "status walks"),
        ("observe", observed, status, WALK_LIMIT, "status walks"),
        (
            "stage",
            staged,
            rewrite + status / 4,
            STAGE_LIMIT,
            "index rewrites with a quarter of a status walk",
        ),
        ("restore", restored, status + rewrite, RESTORE_LIMIT, "status walks with an index rewrite"),
    ] {
        let ratio = time.as_secs_f64() / reference.as_secs_f64();
        println!("scale/{files}/{what} time: {time:?} ratio: {ratio:.2} {name}");
        // Without optimisation it is the compiler that is measured.
        if files >= 10_000 && !cfg!(debug_assertions) {
            assert!(ratio < limit, "{what} costs {ratio:.1} {name} with {files} files");
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
    measure_dirty();
}
