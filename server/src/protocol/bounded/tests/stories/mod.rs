//! What happens to a finding, told from beginning to end.

mod batches;
mod inconclusive;
mod rounds;
mod scope;
mod stops;
mod users_fix;

use super::{enumeration::input, telling::*};
use crate::protocol::{
    Action, Budget, Choice, EndedHow, Event, FailureClass, FindingKey, FixerStatus, Inherited, Judging, Path,
    Question, QuestionKind, Record, Role, Settled, Severity, TreeId,
    bounded::{BoundedInput, EvidenceNeeded, LoopKind},
};

fn one() -> BoundedInput {
    let mut one = input(&["one"]);
    one.scope = ["a.rs".to_owned()].into();
    one.subjects[0].files = one.scope.clone();
    one.names.insert(FindingKey("one".into()), "Off by one — a.rs:3".into());
    one
}

fn two() -> BoundedInput {
    let mut two = input(&["one", "two"]);
    two.scope = ["a.rs".to_owned()].into();
    two
}

fn changed(mut input: BoundedInput, change: impl FnOnce(&mut BoundedInput)) -> BoundedInput {
    change(&mut input);
    input
}

/// The last lines of the transcript after the loop's beginning, which is the same in all.
#[track_caller]
fn goes(input: &BoundedInput, replies: &[Reply], expected: &str) -> Story {
    let story = Story::tell(input, replies);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let got: Vec<&str> =
        story.transcript.iter().map(String::as_str).skip_while(|line| !line.starts_with("Fixer 1")).collect();
    assert_eq!(got.join("\n"), expected.join("\n"));
    story
}

#[track_caller]
fn question(story: &Story, kind: QuestionKind) -> Question {
    let question = story.view().open_question.expect("a question is open");
    assert_eq!(question.kind, kind);
    question
}
