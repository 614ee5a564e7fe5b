//! Which question is in front of the user.
//!
//! Owns the order of prompts: one at a time, the next one after 60 seconds, or when the one shown was answered (here or
//! elsewhere) or dismissed. A question is prompted once; one that opens again is a new one. Late answers count only while
//! the very question that was shown is still open. Never answers a question itself: `null`, an error or an editor that
//! knows no dialogs leave it open, and it stays among the code actions.

use std::collections::VecDeque;
use std::time::Duration;

use lsp_types::{MessageActionItem, MessageType, ShowMessageRequestParams};

use crate::engine::QuestionView;
use crate::protocol::QuestionKind;

use super::folders::FolderId;
use super::text::{head, printable};

/// How long a dialog may stand before the next question is shown too.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
const DETAIL_LINES: usize = 12;
const DETAIL_CHARACTERS: usize = 1200;

/// Counts prompts; an answer carries the number of the prompt that it answers.
pub(super) type PromptNumber = u64;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prompt {
    pub number: PromptNumber,
    pub folder: FolderId,
    pub question: QuestionView,
}

#[derive(Debug, Default)]
pub(super) struct Questions {
    last: PromptNumber,
    /// Open questions, in the order in which they came.
    open: Vec<Prompt>,
    waiting: VecDeque<PromptNumber>,
    in_front: Option<PromptNumber>,
}

impl Questions {
    /// The folder's open questions as of now. Gives the prompt to show, if it is some question's turn.
    pub fn update(&mut self, folder: FolderId, questions: &[QuestionView]) -> Option<Prompt> {
        self.open.retain(|prompt| prompt.folder != folder || questions.contains(&prompt.question));
        for question in questions {
            let known = |prompt: &Prompt| prompt.folder == folder && prompt.question == *question;
            if !self.open.iter().any(known) {
                self.last += 1;
                self.open.push(Prompt { number: self.last, folder, question: question.clone() });
                self.waiting.push_back(self.last);
            }
        }
        self.next()
    }

    /// The editor's answer to a prompt: the question it settles, if that one is still open, and the next prompt.
    pub fn answered(
        &mut self,
        number: PromptNumber,
        chosen: Option<&str>,
    ) -> (Option<Prompt>, Option<Prompt>) {
        let settled = chosen.and_then(|chosen| {
            let prompt = self.open.iter().find(|prompt| prompt.number == number)?;
            prompt.question.options.iter().any(|option| option == chosen).then(|| prompt.clone())
        });
        (settled, self.gave_up(number))
    }

    /// The prompt has had its time. Gives the next one.
    pub fn gave_up(&mut self, number: PromptNumber) -> Option<Prompt> {
        if self.in_front == Some(number) {
            self.in_front = None;
        }
        self.next()
    }

    fn next(&mut self) -> Option<Prompt> {
        let is_open = |open: &[Prompt], number| open.iter().any(|prompt| prompt.number == number);
        if self.in_front.is_some_and(|number| is_open(&self.open, number)) {
            return None;
        }
        self.in_front = None;
        while let Some(number) = self.waiting.pop_front() {
            if let Some(prompt) = self.open.iter().find(|prompt| prompt.number == number) {
                self.in_front = Some(number);
                return Some(prompt.clone());
            }
        }
        None
    }
}

/// The dialog: the recommended option first, and said in the text.
pub(super) fn dialog(question: &QuestionView) -> ShowMessageRequestParams {
    let mut options: Vec<&String> = question.options.iter().collect();
    options.sort_by_key(|option| **option != question.recommended);
    let mut message = question.text.trim().to_owned();
    let detail = head(&question.detail, DETAIL_LINES, DETAIL_CHARACTERS);
    if !detail.is_empty() {
        message.push_str("\n\n");
        message.push_str(&detail);
    }
    if !question.recommended.is_empty() {
        message.push_str(&format!("\n\nRecommended: {}", question.recommended));
    }
    let typ = match question.kind {
        QuestionKind::Escalation | QuestionKind::Breach | QuestionKind::Conflict => MessageType::WARNING,
        _ => MessageType::INFO,
    };
    let item = |title: &String| MessageActionItem { title: title.clone(), properties: Default::default() };
    ShowMessageRequestParams {
        typ,
        message: printable(&message),
        actions: Some(options.into_iter().map(item).collect()),
    }
}
