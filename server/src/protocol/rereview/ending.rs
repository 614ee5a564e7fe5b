//! How the loop ends: exactly one of done, blocked and failed, the last two with a reason on one line.

use super::super::docket::one_line;
use super::super::vocabulary::*;
use super::Exhaustion;
use super::judging::gap_list;
use super::machine::Rereview;
use super::phase::Phase;

impl Rereview {
    /// `grade` is `None` where nothing had to be fixed.
    pub(super) fn finish_done(&mut self, grade: Option<Grade>, why: &str) {
        for subject in &self.input.subjects {
            let key = subject.subject.key.clone();
            let how = match grade {
                Some(grade) => {
                    // What a check proved is worth more than a reviewer's word; an acceptance stays one.
                    let checked = self.draft.grades.get(&key).copied();
                    let grade = match checked {
                        Some(checked) if grade != Grade::Accepted => grade.max(checked),
                        _ => grade,
                    };
                    Settled::Resolved { grade, why: why.to_owned(), round: self.round.max(1) }
                }
                None => Settled::Demoted { why: why.to_owned() },
            };
            self.docket.record(Record::Settled { key: key.clone(), how: how.clone() });
            self.settled.insert(key, how);
        }
        let mut reason = one_line(why);
        if !self.weakened.is_empty() {
            let tests: Vec<String> = self
                .weakened
                .iter()
                .map(|weakened| format!("{}: {}", weakened.path, weakened.what))
                .collect();
            reason = format!("{reason} (edits that weaken a test: {})", tests.join("; "));
        }
        self.end(Ending { how: EndedHow::Done, reason, follow_up: Vec::new(), block: None });
    }

    /// Nothing is resolved: every finding stays open.
    pub(super) fn finish_open(
        &mut self,
        how: EndedHow,
        reason: &str,
        block: Option<String>,
        follow_up: Vec<FindingKey>,
    ) {
        let reason = one_line(reason);
        for subject in &self.input.subjects {
            let key = subject.subject.key.clone();
            let standing = if self.in_tree.is_empty() {
                Settled::Open { why: reason.clone() }
            } else {
                Settled::Manual { still_broken: gap_list(&self.open) }
            };
            self.docket.record(Record::Settled { key: key.clone(), how: standing.clone() });
            self.settled.insert(key, standing);
        }
        self.end(Ending { how, reason, follow_up, block });
    }

    /// The route is reported, with the exhaustion block.
    pub(super) fn finish_diagnosed(&mut self) {
        let diagnosis = self.diagnosis.as_ref().expect("only a diagnosis is reported");
        let reason = format!("{}: {}", diagnosis.cause.words(), diagnosis.route);
        let block = self.block();
        self.finish_open(EndedHow::Blocked, &reason, Some(block), Vec::new());
    }

    pub(super) fn block(&self) -> String {
        let diagnosis = self.diagnosis.as_ref().expect("only a diagnosis has a block");
        let block = Exhaustion {
            attempts: self.spent,
            gaps: self.open.clone(),
            cause: diagnosis.cause,
            new_evidence: Self::new_evidence(diagnosis),
            route: diagnosis.route.clone(),
            raises: self.raises,
            appeal: self.appeal.clone(),
        };
        block.text()
    }

    fn end(&mut self, ending: Ending) {
        self.phase = Phase::Over;
        self.ending = Some(ending.clone());
        self.docket.give(Action::Finish(ending));
    }
}
