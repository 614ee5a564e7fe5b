//! What every loop is to those who drive it, whatever its protocol.
//!
//! Owns how a machine takes an event: the time is noted, a late or repeated answer is turned away, and nothing follows an
//! end. Must never know a rule of one protocol; each of them says what is its own through [`Rules`].

use super::docket::Docket;
use super::{Ending, Event, FindingKey, Question, Settled, Step};

/// What the engine, the editor and the tests see of a machine between two events.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct View {
    /// The name of the state in the state graph, for people too: `fixing`, `verifying`, `waiting: scope` …
    pub state: &'static str,
    pub round: u32,
    /// 0: no cap (`converge`).
    pub max_rounds: u32,
    pub open_question: Option<Question>,
    /// Given out and not yet answered, the open question's `Ask` included.
    pub outstanding: Vec<Step>,
    pub workers_used: u32,
    pub cost_usd: f64,
    pub finished: Option<Ending>,
    /// How each finding of the loop stands.
    pub findings: Vec<(FindingKey, Standing)>,
}

/// How one finding stands inside a running loop.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Working,
    Verifying,
    Waiting,
    Settled(Settled),
}

/// One protocol over one batch.
pub trait Machine {
    /// Takes one event and gives the actions that follow from it. `now` is in milliseconds and never goes back.
    fn handle(&mut self, now: u64, event: Event) -> Vec<Step>;
    fn view(&self) -> View;
}

/// What is a protocol's own.
pub(super) trait Rules {
    fn docket(&self) -> &Docket;
    fn docket_mut(&mut self) -> &mut Docket;
    /// Called once, before anything else.
    fn start(&mut self);
    /// Rule 8. The engine has ended whatever was running; its late answers change nothing.
    fn cancel(&mut self);
    /// `event` answers `step`, which is awaited no longer.
    fn answer(&mut self, step: Step, event: Event);
    fn state(&self) -> &'static str;
    fn round(&self) -> u32;
    /// 0: no cap.
    fn max_rounds(&self) -> u32;
    fn ending(&self) -> Option<&Ending>;
    fn standings(&self) -> Vec<(FindingKey, Standing)>;
}

impl<R: Rules> Machine for R {
    fn handle(&mut self, now: u64, event: Event) -> Vec<Step> {
        if self.ending().is_some() {
            return Vec::new();
        }
        self.docket_mut().tick(now);
        match event {
            Event::Started => {
                if self.docket_mut().is_first_start() {
                    self.start();
                }
            }
            Event::Cancelled => self.cancel(),
            event => {
                if let Some(step) = self.docket_mut().take(&event) {
                    self.answer(step, event);
                }
            }
        }
        self.docket_mut().drain()
    }

    fn view(&self) -> View {
        let docket = self.docket();
        View {
            state: self.state(),
            round: self.round(),
            max_rounds: self.max_rounds(),
            open_question: docket.question().cloned(),
            outstanding: docket.outstanding().to_vec(),
            workers_used: docket.workers_used(),
            cost_usd: docket.cost_usd(),
            finished: self.ending().cloned(),
            findings: self.standings(),
        }
    }
}
