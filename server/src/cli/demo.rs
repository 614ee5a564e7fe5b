//! `demo`: a small real git project with five findings, and the loop on it (DESIGN 4).
//!
//! Every outcome comes from the engine: this file makes the project, starts the same engine as `run`, and afterwards reads
//! the report. The agent that fixes is `demo_agent`, a program like any other `command` agent.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use fix_loop::engine::{Command, FindingState, QuestionKind, RunReport, Snapshot};

use super::exit::{Exit, Failure, Outcome};
use super::session::{self, Wishes};
use super::{print, run};

/// What the demo shows, and how the engine must have told it.
const OUTCOMES: [&str; 5] = [
    "fixed in round 1, proven by a test",
    "fixed in round 2, after round 1 was not enough",
    "fixed after a file outside the scope was asked for",
    "inconclusive: its check cannot run, so the question stays open",
    "escalated after two rounds, then deferred",
];

const FILES: [(&str, &str); 12] = [
    ("fix-loop.toml", include_str!("demo_project/fix-loop.toml")),
    (
        "src/price.sh",
        "# Prices are in cents; shown in whole euros.\nround_to_euros() {\n    echo $(($1 / 100))\n}\n",
    ),
    (
        "src/discount.sh",
        "# Price in cents after a discount in percent.\ndiscounted() {\n    echo $(($1 - $1 * $2 / 100))\n}\n",
    ),
    ("src/limits.sh", "# Limits of the shop.\nMAX_ITEMS=10\n"),
    (
        "src/order.sh",
        "# Orders have an upper limit of items.\n. src/limits.sh\n\naccepts() {\n    [ \"$1\" -le \"$MAX_ITEMS\" ]\n}\n",
    ),
    ("src/receipt.sh", "receipt() {\n    echo \"Recipt no. $1\"\n}\n"),
    ("src/stock.sh", "# What is left after taking some.\ntake() {\n    echo $(($1 - $2))\n}\n"),
    (
        "tests/rounding.sh",
        ". src/price.sh\nfor pair in 149:1 150:2 199:2 200:2; do\n    got=$(round_to_euros \"${pair%:*}\")\n    [ \"$got\" = \"${pair#*:}\" ] || { echo \"FAIL ${pair%:*} cents: $got\"; exit 1; }\ndone\n",
    ),
    (
        "tests/discount.sh",
        ". src/discount.sh\n[ \"$(discounted 200 50)\" = 100 ] || { echo 'FAIL half'; exit 1; }\n[ \"$(discounted 200 150)\" = 0 ] || { echo 'FAIL above 100'; exit 1; }\n[ \"$(discounted 200 -10)\" = 200 ] || { echo 'FAIL below 0'; exit 1; }\n",
    ),
    (
        "tests/order.sh",
        ". src/order.sh\naccepts 12 || { echo 'FAIL 12 items'; exit 1; }\n! accepts 13 || { echo 'FAIL 13 items'; exit 1; }\n",
    ),
    (
        "tests/stock.sh",
        ". src/stock.sh\n[ \"$(take 3 2)\" = 1 ] || { echo 'FAIL 2 of 3'; exit 1; }\n[ \"$(take 3 5)\" = 3 ] || { echo \"FAIL 5 of 3: $(take 3 5)\"; exit 1; }\n",
    ),
    (".fix-loop/findings/review.json", include_str!("demo_project/findings.json")),
];

pub async fn demo(dir: Option<PathBuf>, only_make: bool) -> Outcome {
    let root = match dir {
        Some(dir) => {
            if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(Failure::input(format!("{} is not empty; name a new folder", dir.display())));
            }
            std::fs::create_dir_all(&dir).map_err(|error| {
                Failure::environment(format!("{} cannot be made: {error}", dir.display()))
            })?;
            dir
        }
        None => tempfile::Builder::new()
            .prefix("fix-loop-demo-")
            .tempdir()
            .map_err(|error| Failure::environment(format!("no temporary folder can be made: {error}")))?
            .keep(),
    };
    let root = std::fs::canonicalize(&root)
        .map_err(|error| Failure::environment(format!("{}: {error}", root.display())))?;
    make(&root)?;
    tell!("A small shop with five confirmed findings: {}\n", root.display());
    if only_make {
        return Ok(Exit::Done);
    }
    let wishes = Wishes { trusted: true, recommended: true, ..Wishes::default() };
    let engine = session::start(root.clone(), wishes).await?;
    let printer = print::Progress::start(&engine);
    let started = std::time::Instant::now();
    let reply = engine.command(Command::FixAll).await?;
    tell!("{}\n", reply.message);
    run::until_idle(&engine, &reply.loops, None).await;
    printer.stop().await;
    let report = engine.report().await?;
    let snapshot = engine.snapshot();
    engine.shutdown().await;
    tell!("");
    print::report(&report, &snapshot);
    let all = conclude(&report, &snapshot, &root, started.elapsed());
    Ok(if all { Exit::Done } else { Exit::Unresolved })
}

/// Says of each of the five whether it came out as it should, from what the engine told.
fn conclude(report: &RunReport, snapshot: &Snapshot, root: &Path, took: Duration) -> bool {
    let is = |id: u64, wanted: &dyn Fn(&fix_loop::engine::FindingView) -> bool| {
        snapshot.findings.iter().any(|finding| finding.detail.id == id && wanted(finding))
    };
    let asked = |id: u64, kind: QuestionKind| {
        snapshot.questions.iter().any(|question| {
            question.kind == kind
                && question.findings.iter().any(|fingerprint| {
                    snapshot
                        .findings
                        .iter()
                        .any(|finding| finding.detail.fingerprint == *fingerprint && finding.detail.id == id)
                })
        })
    };
    let proven = |id: &str| report.evidence.get(id).is_some_and(|grade| grade == "proven");
    let resolved_in = |round: u32| {
        move |finding: &fix_loop::engine::FindingView| {
            finding.detail.state == FindingState::Resolved && finding.detail.round == Some(round)
        }
    };
    let held = [
        is(1, &resolved_in(1)) && proven("1"),
        is(2, &resolved_in(2)),
        is(3, &|finding| finding.detail.state == FindingState::Resolved)
            && staged(root).iter().any(|path| path == "src/limits.sh"),
        is(4, &|finding| finding.detail.state == FindingState::Waiting)
            && asked(4, QuestionKind::Inconclusive),
        is(5, &|finding| finding.detail.state == FindingState::Deferred && finding.attempts.len() >= 2),
    ];
    tell!("\nThe five outcomes, in {:.1} s:", took.as_secs_f64());
    for (index, (outcome, held)) in OUTCOMES.iter().zip(held).enumerate() {
        tell!("  {} finding {}: {outcome}", if held { "ok  " } else { "FAIL" }, index + 1);
    }
    tell!(
        "\nLook at it: `git -C {root} diff --cached` is exactly what was fixed.\nOpen {root} in VS Code or Neovim with the \
         Fix Loop client, or run `fix-loop status --workspace {root}`.",
        root = root.display()
    );
    held.iter().all(|held| *held)
}

fn staged(root: &Path) -> Vec<String> {
    git(root, &["diff", "--cached", "--name-only"])
        .map(|out| out.lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

fn make(root: &Path) -> Result<(), Failure> {
    let exe = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("this program's own file cannot be found: {error}")))?;
    for (name, text) in FILES {
        let path = root.join(name);
        let quoted = exe.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text.replace("@FIX_LOOP@", &quoted)));
        written.map_err(|error| {
            Failure::environment(format!("{} cannot be written: {error}", path.display()))
        })?;
    }
    git(root, &["init", "--quiet"])?;
    git(root, &["add", "--all"])?;
    git(
        root,
        &[
            "-c",
            "user.name=Demo",
            "-c",
            "user.email=demo@example.com",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "--quiet",
            "--message",
            "A small shop",
        ],
    )?;
    Ok(())
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let mut program = Program::new("git");
    // A hook or an editor may have set `GIT_DIR`, which would make the project somewhere else.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        if !name.to_string_lossy().starts_with("GIT_CONFIG") {
            program.env_remove(name);
        }
    }
    let output = program
        .arg("-C")
        .arg(root)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::environment(format!("git cannot be started: {error}; install git")))?;
    if !output.status.success() {
        return Err(Failure::environment(format!(
            "git {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
