//! Every reachable state of a machine, by trying every event that a world can give.
//!
//! Owns the walk over a machine's states, and the state graph drawn from it. Must never know a protocol: which events a
//! world can give, what makes two states the same, and which rules hold, comes from the caller. The tests of the three
//! protocols walk with their rules; `fix-loop protocol NAME` walks to draw.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    fmt,
    hash::Hash,
};

use super::{Event, Machine, Step, View};

/// One transition, as the watcher sees it.
pub struct Seen<'a, M> {
    pub before: &'a M,
    pub now: u64,
    pub event: &'a Event,
    pub steps: &'a [Step],
    pub after: &'a M,
}

/// What a walk covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    pub states: usize,
    pub transitions: usize,
    /// States in which the machine has finished.
    pub finished: usize,
    /// Events on the longest way taken.
    pub deepest: usize,
    /// Whether a limit kept some states from being expanded.
    pub cut: bool,
}

/// A rule that did not hold, with the events that lead there.
#[derive(Clone, Debug)]
pub struct Broken {
    pub rule: String,
    pub trace: Vec<Event>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.rule)?;
        self.trace.iter().enumerate().try_for_each(|(i, event)| writeln!(f, "{:3}. {event:?}", i + 1))
    }
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub states: usize,
    pub depth: usize,
}

/// Walks over everything reachable from `start`, nearest states first.
///
/// - `events` gives what can happen in a state, each with the milliseconds that pass before it. A state of a machine that
///   has not finished and gets no event is stuck, which is reported as broken.
/// - `key` says which states are the same; `None` keeps every history apart.
/// - `watch` sees every transition, carries `observer` along each path, and refuses those that break a rule.
pub fn explore<M, O, K>(
    start: M,
    observer: O,
    events: impl Fn(&M) -> Vec<(u64, Event)>,
    key: impl Fn(&M, &O) -> Option<K>,
    mut watch: impl FnMut(&mut O, &Seen<'_, M>) -> Result<(), String>,
    limits: Limits,
) -> Result<Explored, Broken>
where
    M: Machine + Clone,
    O: Clone,
    K: Eq + Hash,
{
    struct Node<M, O> {
        machine: M,
        observer: O,
        now: u64,
        depth: usize,
        /// 1-based position in `ways`; 0 is the start.
        way: usize,
    }
    let mut ways: Vec<(usize, Event)> = Vec::new();
    let trace = |ways: &[(usize, Event)], mut way: usize, last: Option<&Event>| {
        let mut events: Vec<Event> = last.cloned().into_iter().collect();
        while way > 0 {
            let (parent, event) = &ways[way - 1];
            events.push(event.clone());
            way = *parent;
        }
        events.reverse();
        events
    };
    let mut known: HashSet<K> = key(&start, &observer).into_iter().collect();
    let mut queue = VecDeque::from([Node { machine: start, observer, now: 0, depth: 0, way: 0 }]);
    let mut explored = Explored { states: 1, ..Explored::default() };
    while let Some(node) = queue.pop_front() {
        explored.deepest = explored.deepest.max(node.depth);
        if node.depth >= limits.depth {
            explored.cut = true;
            continue;
        }
        let events = events(&node.machine);
        if events.is_empty() && node.machine.view().finished.is_none() {
            let rule = format!("stuck: nothing can happen in state `{}`", node.machine.view().state);
            return Err(Broken { rule, trace: trace(&ways, node.way, None) });
        }
        for (later, event) in events {
            let now = node.now + later;
            let mut machine = node.machine.clone();
            let steps = machine.handle(now, event.clone());
            let mut observer = node.observer.clone();
            let seen = Seen { before: &node.machine, now, event: &event, steps: &steps, after: &machine };
            if let Err(rule) = watch(&mut observer, &seen) {
                return Err(Broken { rule, trace: trace(&ways, node.way, Some(&event)) });
            }
            explored.transitions += 1;
            if let Some(key) = key(&machine, &observer)
                && !known.insert(key)
            {
                continue;
            }
            if explored.states >= limits.states {
                explored.cut = true;
                continue;
            }
            explored.states += 1;
            if machine.view().finished.is_some() {
                explored.finished += 1;
            }
            ways.push((node.way, event));
            queue.push_back(Node { machine, observer, now, depth: node.depth + 1, way: ways.len() });
        }
    }
    Ok(explored)
}

/// A state graph: which event leads from which state to which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    edges: BTreeMap<(String, String), BTreeSet<String>>,
    /// Where a cancel leads, kept apart since it is possible everywhere.
    cancels: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Walks a machine and draws what it sees. `name` names a state; states of one name are one.
    pub fn walk<M, K>(
        &mut self,
        start: M,
        events: impl Fn(&M) -> Vec<(u64, Event)>,
        key: impl Fn(&M) -> K,
        name: impl Fn(&View) -> String,
    ) where
        M: Machine + Clone,
        K: Eq + Hash,
    {
        let drawn = explore(
            start,
            (),
            events,
            |machine, ()| Some(key(machine)),
            |(), seen| {
                let (before, after) = (seen.before.view(), seen.after.view());
                if before.finished.is_none() && (before.state != after.state || !seen.steps.is_empty()) {
                    self.add(&name(&before), &label(seen.event), &name(&after));
                }
                Ok(())
            },
            Limits { states: 200_000, depth: usize::MAX },
        );
        debug_assert!(
            drawn.is_ok_and(|explored| !explored.cut),
            "drawing refuses nothing and reaches everything"
        );
    }

    pub fn add(&mut self, from: &str, label: &str, to: &str) {
        if label == CANCELLED {
            self.cancels.entry(to.into()).or_default().insert(from.into());
        } else {
            self.edges.entry((from.into(), to.into())).or_default().insert(label.into());
        }
    }

    /// The names of all states, in order.
    pub fn states(&self) -> BTreeSet<&str> {
        let ends = self.edges.keys().flat_map(|(from, to)| [from.as_str(), to.as_str()]);
        let cancels =
            self.cancels.iter().flat_map(|(to, from)| from.iter().map(String::as_str).chain([to.as_str()]));
        ends.chain(cancels).collect()
    }

    /// The graph as a Mermaid state diagram. The same graph always gives the same text.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("stateDiagram-v2\n");
        for state in self.states() {
            if state != NEW {
                text += &format!("    state \"{state}\" as {}\n", identifier(state));
            }
        }
        for ((from, to), labels) in &self.edges {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            text += &format!("    {} --> {} : {}\n", identifier(from), identifier(to), labels.join(", "));
        }
        // A cancel is possible everywhere; where it nearly always leads is drawn once.
        let usual = self.cancels.iter().max_by_key(|(_, from)| from.len()).map(|(to, _)| to);
        if let Some(to) = usual {
            text += "    state \"any other state\" as any_other_state\n";
            text += &format!("    any_other_state --> {} : {CANCELLED}\n", identifier(to));
        }
        for (to, from) in self.cancels.iter().filter(|(to, _)| Some(*to) != usual) {
            for from in from {
                text += &format!("    {} --> {} : {CANCELLED}\n", identifier(from), identifier(to));
            }
        }
        text + &format!("    {FINISHED} --> [*]\n")
    }
}

/// The state of every machine before `Started`, and of every machine after its end.
pub const NEW: &str = "new";
pub const FINISHED: &str = "finished";
const CANCELLED: &str = "cancelled";

fn identifier(state: &str) -> String {
    if state == NEW {
        return "[*]".into();
    }
    let words: Vec<&str> =
        state.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.join("_")
}

/// What an edge is called: the kind of the event, and for an answer its words.
pub fn label(event: &Event) -> String {
    match event {
        Event::Started => "started".into(),
        Event::Checkpointed { .. } => "checkpointed".into(),
        Event::Reported { .. } => "reported".into(),
        Event::WorkerFailed { .. } => "worker failed".into(),
        Event::Interrupted { .. } => "interrupted".into(),
        Event::Checked { .. } => "checked".into(),
        Event::Staged { .. } => "staged".into(),
        Event::StageRefused { .. } => "stage refused".into(),
        Event::Restored { .. } => "restored".into(),
        Event::Changed { .. } => "put back".into(),
        Event::Prepared { .. } => "prepared".into(),
        Event::Inspected { .. } => "inspected".into(),
        Event::Answered { choice, .. } => choice.words().into(),
        Event::ActionFailed { .. } => "action failed".into(),
        Event::Cancelled => CANCELLED.into(),
    }
}
