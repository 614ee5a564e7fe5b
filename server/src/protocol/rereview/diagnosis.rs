//! What a diagnosis may lead to: which of the five causes has which route, and when a raise is allowed.
//!
//! Owns the caps and the conditions of a raise. Must never dispatch or ask: the machine takes the route named here.

use super::super::vocabulary::*;
use super::RAISES;

/// What happened, for a diagnosis that no diagnoser made.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trouble {
    /// The review says FIX-FIRST and no loop is left.
    StillGaps,
    /// The review names exactly the gaps of the review before.
    IdenticalGaps,
    /// The reviewer says BLOCKED.
    ReviewBlocked,
    /// The fixer says that it cannot go on, for this reason.
    FixerBlocked(String),
    /// The tree is one that was seen before.
    Oscillation,
    /// The fix changed nothing.
    NoChange,
    /// The verification could not be made and the user gave it up.
    NoVerification(String),
}

impl Trouble {
    /// Whether the reviewer still calls the gaps fixable, so that a loop that is left may be used.
    pub(super) fn is_fixable(&self) -> bool {
        matches!(self, Trouble::StillGaps | Trouble::IdenticalGaps | Trouble::NoChange)
    }

    pub(super) fn words(&self) -> String {
        match self {
            Trouble::StillGaps => "the re-review still names gaps".to_owned(),
            Trouble::IdenticalGaps => "the re-review names exactly the gaps of the review before".to_owned(),
            Trouble::ReviewBlocked => "the review says BLOCKED".to_owned(),
            Trouble::FixerBlocked(why) => format!("the fixer is blocked: {why}"),
            Trouble::Oscillation => "the fix leads back to a tree that was seen before".to_owned(),
            Trouble::NoChange => "the fix changed nothing".to_owned(),
            Trouble::NoVerification(why) => format!("the fix could not be verified: {why}"),
        }
    }
}

/// The diagnosis where no diagnoser is configured. It never names `model-capacity`: nobody ruled out the other four.
pub(super) fn without_a_diagnoser(trouble: &Trouble, evidence: &str) -> Diagnosis {
    let because = format!("{}; no diagnoser is configured", trouble.words());
    let (cause, route, needs) = match trouble {
        Trouble::NoVerification(why) => (
            Cause::EnvToolFailure,
            "repair the environment or the tool, then run the loop again".to_owned(),
            Some(why.clone()),
        ),
        Trouble::FixerBlocked(why) => (
            Cause::MissingContext,
            format!("give the fixer what it lacks ({why}), then run the loop again"),
            None,
        ),
        _ => (
            Cause::MissingContext,
            "give the fixer what the reviewer saw, and whatever else its brief lacks, then run the loop again"
                .to_owned(),
            Some(evidence.to_owned()).filter(|text| !text.trim().is_empty()),
        ),
    };
    Diagnosis {
        cause,
        evidence: because,
        new_evidence: None,
        new_evidence_is_real: false,
        rules_out: Vec::new(),
        route,
        needs,
    }
}

/// New evidence that the engine found to be real, if there is any.
pub(super) fn real_evidence(diagnosis: &Diagnosis) -> Option<&str> {
    let evidence = diagnosis.new_evidence.as_deref()?;
    (diagnosis.new_evidence_is_real && !evidence.trim().is_empty()).then_some(evidence)
}

/// Whether a diagnosis of `model-capacity` carries what a raise needs: real new evidence, and a reason against each of
/// the other four causes.
pub(super) fn supports_a_raise(diagnosis: &Diagnosis) -> bool {
    let ruled_out = |cause: Cause| {
        diagnosis.rules_out.iter().any(|(named, reason)| *named == cause && !reason.trim().is_empty())
    };
    diagnosis.cause == Cause::ModelCapacity
        && real_evidence(diagnosis).is_some()
        && Cause::ALL.into_iter().filter(|cause| *cause != Cause::ModelCapacity).all(ruled_out)
}

/// Where a diagnosis leads.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Route {
    /// Another loop, told this.
    Retry(Option<String>),
    /// Another loop, one step up the ladder.
    Raise,
    /// The user may allow the raise.
    AskRaise,
    /// The user may answer this question.
    Clarify(String),
    /// The user may repair this; then another loop.
    Repair(String),
    /// No way from here: the route is reported.
    Report,
}

/// What is left when the route is chosen.
pub(super) struct Left {
    pub(super) loops: bool,
    /// Raises taken, those of the loops before included.
    pub(super) raises: u32,
    pub(super) ladder_len: u32,
    /// Something was tried since which new evidence can have come up.
    pub(super) attempted: bool,
}

pub(super) fn route(
    diagnosis: &Diagnosis,
    trouble: &Trouble,
    diagnosed_by_worker: bool,
    left: &Left,
) -> Route {
    let needs = diagnosis.needs.clone().filter(|text| !text.trim().is_empty());
    match diagnosis.cause {
        Cause::OverdesignedPlan => Route::Report,
        // Without a diagnoser nobody knows what a blocked fixer really lacks.
        Cause::MissingContext if left.loops && (diagnosed_by_worker || trouble.is_fixable()) => {
            Route::Retry(Some(needs.unwrap_or_else(|| diagnosis.route.clone())))
        }
        Cause::MissingContext => Route::Report,
        Cause::AmbiguousSpec => Route::Clarify(needs.unwrap_or_else(|| diagnosis.route.clone())),
        Cause::EnvToolFailure if left.loops && diagnosed_by_worker => match needs {
            Some(needs) => Route::Repair(needs),
            None => Route::Retry(None),
        },
        Cause::EnvToolFailure => Route::Report,
        Cause::ModelCapacity if left.attempted && supports_a_raise(diagnosis) => {
            if left.raises >= left.ladder_len {
                Route::Report
            } else if left.loops && left.raises < RAISES {
                Route::Raise
            } else {
                Route::AskRaise
            }
        }
        // A raise is prohibited; a loop that is left may still be used at the same model.
        Cause::ModelCapacity if left.loops && trouble.is_fixable() => Route::Retry(None),
        Cause::ModelCapacity => Route::Report,
    }
}
