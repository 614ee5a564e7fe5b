//! A user and an agent do whatever they like around real runs of the program, by chance and with a seed.
//!
//! The user acts before a run, beside the agent, while a question is open, and answers as it comes; the agent edits in and out
//! of its scope, and throws git commands about. Agent and check are scripts that hand over to the test through a pipe and
//! wait, so that one seed is one story, whatever the machine does. `oracle` says what has to be true whenever no program runs.
//!
//! `FIX_LOOP_CHAOS=N` plays N sequences, `FIX_LOOP_CHAOS_SEED=S` the one with that seed (with both, N from that seed on).

mod acts;
mod oracle;
mod random;
mod seen;
mod sequence;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many sequences are played where nobody asks for more.
const SEQUENCES: u64 = 500;
const THREADS: u64 = 2;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

#[test]
fn whatever_user_and_agent_do_no_byte_of_the_user_is_lost_and_nothing_but_the_fix_is_staged() {
    let (first, count) = match number("FIX_LOOP_CHAOS_SEED") {
        Some(seed) => (seed, number("FIX_LOOP_CHAOS").unwrap_or(1)),
        None => (1, number("FIX_LOOP_CHAOS").unwrap_or(SEQUENCES)),
    };
    let began = Instant::now();
    let (next, programs) = (AtomicU64::new(first), AtomicU64::new(0));
    let (failures, ends) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::<String, u64>::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(count) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let played = std::panic::catch_unwind(|| sequence::run(seed));
                    let outcome = match played {
                        Ok(outcome) => outcome,
                        Err(_) => {
                            failures
                                .lock()
                                .expect("nobody panics with it")
                                .push(format!("seed {seed} panicked"));
                            continue;
                        }
                    };
                    programs.fetch_add(outcome.programs as u64, Ordering::Relaxed);
                    let mut ends = ends.lock().expect("nobody panics with it");
                    for end in outcome.ends {
                        *ends.entry(end).or_default() += 1;
                    }
                    if !outcome.wrong.is_empty() {
                        failures.lock().expect("nobody panics with it").push(format!(
                            "seed {seed}:\n{}\n--- the story\n{}",
                            outcome.wrong.join("\n"),
                            outcome.story.join("\n")
                        ));
                    }
                }
            });
        }
    });
    let programs = programs.into_inner();
    println!(
        "chaos: {count} sequences with {programs} runs of the program in {:.0} s",
        began.elapsed().as_secs_f64()
    );
    println!("chaos: {:?}", ends.into_inner().expect("nobody panicked with it"));
    let failures = failures.into_inner().expect("nobody panicked with it");
    assert!(failures.is_empty(), "{} of {count} failed\n\n{}", failures.len(), failures.join("\n\n"));
}
