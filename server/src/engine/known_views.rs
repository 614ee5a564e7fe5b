//! The views of findings that were made before, for as long as nothing that they show has changed.
//!
//! Owns when a view is still good: its listing is the same allocation, and nothing that the ledger or an open question says
//! of it has changed since. Ten thousand findings are not put into words again for one keystroke. Never makes a view.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use super::api::{FindingView, QuestionView};
use super::driver::Driver;
use super::inbox::Listed;

/// What a view was made from, beside its listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stamp {
    fixing_off: bool,
    /// The latest change of a loop that knows the finding.
    loops: u64,
    interrupted: bool,
    life: u64,
    question: Option<String>,
}

/// What the ledger and the open questions say of each finding that they know at all.
pub(super) struct Stamps<'a> {
    fixing_off: bool,
    loops: HashMap<&'a str, (u64, bool)>,
    questions: HashMap<&'a str, &'a str>,
    lives: &'a std::collections::BTreeMap<String, super::state::Life>,
}

impl<'a> Stamps<'a> {
    pub fn of(driver: &'a Driver, questions: &'a [QuestionView]) -> Stamps<'a> {
        let mut loops: HashMap<&str, (u64, bool)> = HashMap::new();
        for run in driver.state.loops.values() {
            let interrupted = driver.interrupted.contains(&run.id());
            let judged = run.view.findings.iter().map(|(key, _)| key.0.as_str());
            let found = run.traces.found.iter().map(|found| found.key.0.as_str());
            for key in run.keys().chain(judged).chain(found).collect::<BTreeSet<&str>>() {
                let known = loops.entry(key).or_default();
                *known = (known.0.max(run.changed), known.1 || interrupted);
            }
        }
        let of_findings = questions.iter().rev().flat_map(|question| {
            question.findings.iter().map(|fingerprint| (fingerprint.as_str(), question.id.as_str()))
        });
        Stamps {
            fixing_off: driver.fixing_off.is_some(),
            loops,
            questions: of_findings.collect(),
            lives: &driver.state.lives,
        }
    }

    fn stamp(&self, fingerprint: &str) -> Stamp {
        let (loops, interrupted) = self.loops.get(fingerprint).copied().unwrap_or_default();
        Stamp {
            fixing_off: self.fixing_off,
            loops,
            interrupted,
            life: self.lives.get(fingerprint).map_or(0, |life| life.changed),
            question: self.questions.get(fingerprint).map(|id| (*id).to_owned()),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct KnownViews(Mutex<HashMap<String, Known>>);

#[derive(Debug)]
struct Known {
    listed: Arc<Listed>,
    stamp: Stamp,
    view: Arc<FindingView>,
}

impl KnownViews {
    /// The view of each of these, in order. `make` is called for those that are not known or not good any more.
    pub fn of(
        &self,
        listed: &[Arc<Listed>],
        stamps: &Stamps<'_>,
        make: impl Fn(&Listed) -> FindingView,
    ) -> Vec<Arc<FindingView>> {
        let mut known = self.0.lock().expect("nothing panics while it is held");
        if known.len() > 2 * listed.len() + 64 {
            known.clear();
        }
        listed
            .iter()
            .map(|one| {
                let stamp = stamps.stamp(&one.fingerprint);
                if let Some(known) = known.get(&one.fingerprint)
                    && Arc::ptr_eq(&known.listed, one)
                    && known.stamp == stamp
                {
                    return known.view.clone();
                }
                let view = Arc::new(make(one));
                let made = Known { listed: one.clone(), stamp, view: view.clone() };
                known.insert(one.fingerprint.clone(), made);
                view
            })
            .collect()
    }
}
