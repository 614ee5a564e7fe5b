//! `workspace/executeCommand`: every `fix-loop.*` command of DESIGN 9.
//!
//! Owns the shape of the arguments: each command takes one JSON object, and a wrong one is refused by naming the key. Never
//! waits for the work that a command sets going; the engine answers as soon as it has taken the command.

use lsp_types::Url;
use serde_json::{Map, Value};
use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::engine::{Command, Refusal, RefusalKind};

pub(super) const COMMANDS: &[&str] = &[
    "fix-loop.fix",
    "fix-loop.fixFile",
    "fix-loop.fixAll",
    "fix-loop.answer",
    "fix-loop.defer",
    "fix-loop.confirm",
    "fix-loop.dispute",
    "fix-loop.reopen",
    "fix-loop.verify",
    "fix-loop.cancel",
    "fix-loop.undo",
    "fix-loop.report",
    "fix-loop.review",
    "fix-loop.import",
    "fix-loop.fromCheck",
    "fix-loop.reload",
    "fix-loop.trust",
];

/// LSP's `RequestFailed`: the request was well formed, but can't be done now.
const REQUEST_FAILED: ErrorCode = ErrorCode::ServerError(-32803);

/// A command with its arguments read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Request {
    /// The folder's URI, where the editor says which.
    pub workspace: Option<String>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Engine(Command),
    /// `fix-loop.fixFile` with a URI, whose path is known once its folder is.
    FixFile(Url),
    Report(String),
}

/// How the folder that a command is for is found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject<'a> {
    Findings(Vec<&'a str>),
    Question(&'a str),
    Loop(&'a str),
    File(&'a str),
    /// All folders at once, such as *reload*.
    Everything,
    /// One folder, but nothing in the command says which.
    One,
}

impl Request {
    pub fn read(command: &str, arguments: Vec<Value>) -> Result<Request, Error> {
        let mut arguments = Arguments::new(command, arguments)?;
        let workspace = arguments.optional("workspace")?;
        let engine = |command| What::Engine(command);
        let what = match command {
            "fix-loop.fix" => engine(Command::Fix { findings: arguments.findings()? }),
            "fix-loop.fixFile" => arguments.file()?,
            "fix-loop.fixAll" => engine(Command::FixAll),
            "fix-loop.answer" => engine(Command::Answer {
                question: arguments.name("question")?,
                choice: arguments.name("choice")?,
                text: arguments.optional("text")?,
            }),
            "fix-loop.defer" => engine(Command::Defer {
                finding: arguments.name("finding")?,
                reason: arguments.optional("reason")?,
            }),
            "fix-loop.confirm" => engine(Command::Confirm { finding: arguments.name("finding")? }),
            "fix-loop.dispute" => engine(Command::Dispute {
                finding: arguments.name("finding")?,
                reason: arguments.optional("reason")?,
            }),
            "fix-loop.reopen" => engine(Command::Reopen { finding: arguments.name("finding")? }),
            "fix-loop.verify" => engine(Command::Verify { finding: arguments.name("finding")? }),
            "fix-loop.cancel" => engine(Command::Cancel { r#loop: arguments.optional("loop")? }),
            "fix-loop.undo" => engine(Command::Undo { r#loop: arguments.name("loop")? }),
            "fix-loop.report" => What::Report(arguments.name("finding")?),
            "fix-loop.review" => engine(Command::Review),
            "fix-loop.import" => engine(Command::Import { source: arguments.name("source")? }),
            "fix-loop.fromCheck" => engine(Command::FromCheck { name: arguments.name("name")? }),
            "fix-loop.reload" => engine(Command::Reload),
            "fix-loop.trust" => engine(Command::Trust),
            unknown => return Err(invalid(format!("there is no command `{unknown}`"))),
        };
        arguments.nothing_left()?;
        Ok(Request { workspace, what })
    }

    pub fn subject(&self) -> Subject<'_> {
        let command = match &self.what {
            What::Engine(command) => command,
            What::FixFile(uri) => return Subject::File(uri.as_str()),
            What::Report(finding) => return Subject::Findings(vec![finding]),
        };
        match command {
            Command::Fix { findings } => Subject::Findings(findings.iter().map(String::as_str).collect()),
            Command::FixFile { path } => Subject::File(path),
            Command::Answer { question, .. } => Subject::Question(question),
            Command::Defer { finding, .. }
            | Command::Confirm { finding }
            | Command::Dispute { finding, .. }
            | Command::Reopen { finding }
            | Command::Approve { finding }
            | Command::Verify { finding } => Subject::Findings(vec![finding]),
            Command::Cancel { r#loop: Some(id) } | Command::Undo { r#loop: id } => Subject::Loop(id),
            Command::Cancel { r#loop: None } | Command::FixAll | Command::Reload | Command::Trust => {
                Subject::Everything
            }
            Command::Import { .. } | Command::FromCheck { .. } | Command::Review => Subject::One,
        }
    }
}

/// The one JSON object of a command; every key is taken out by the one who reads it, so that unknown ones are left over.
struct Arguments<'a> {
    command: &'a str,
    object: Map<String, Value>,
}

impl<'a> Arguments<'a> {
    fn new(command: &'a str, mut arguments: Vec<Value>) -> Result<Arguments<'a>, Error> {
        if arguments.len() > 1 {
            let count = arguments.len();
            return Err(invalid(format!(
                "`{command}` takes one JSON object, and {count} arguments were given"
            )));
        }
        match arguments.pop() {
            None | Some(Value::Null) => Ok(Arguments { command, object: Map::new() }),
            Some(Value::Object(object)) => Ok(Arguments { command, object }),
            Some(other) => Err(invalid(format!("`{command}` takes one JSON object, not {other}"))),
        }
    }

    /// A name, given as text or number; ids are often numbers.
    fn name(&mut self, key: &str) -> Result<String, Error> {
        self.optional(key)?.ok_or_else(|| invalid(format!("`{}` needs the key `{key}`", self.command)))
    }

    fn optional(&mut self, key: &str) -> Result<Option<String>, Error> {
        match self.object.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.named(key, &value).map(Some),
        }
    }

    fn named(&self, key: &str, value: &Value) -> Result<String, Error> {
        match value {
            Value::String(name) if !name.trim().is_empty() => Ok(name.clone()),
            Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
            other => Err(invalid(format!(
                "`{key}` of `{}` must be text or a whole number, not {other}",
                self.command
            ))),
        }
    }

    fn findings(&mut self) -> Result<Vec<String>, Error> {
        let wrong = |what: &str| {
            invalid(format!("`findings` of `{}` must be a list of ids or fingerprints{what}", self.command))
        };
        match self.object.shift_remove("findings") {
            Some(Value::Array(findings)) if findings.is_empty() => Err(wrong(", and the list is empty")),
            Some(Value::Array(findings)) => {
                findings.iter().map(|finding| self.named("findings", finding)).collect()
            }
            Some(other) => Err(wrong(&format!(", not {other}"))),
            None => Err(invalid(format!("`{}` needs the key `findings`", self.command))),
        }
    }

    fn file(&mut self) -> Result<What, Error> {
        let uri = self.optional("uri")?;
        let file = self.optional("file")?;
        match (uri, file) {
            (Some(uri), None) => Url::parse(&uri)
                .map(What::FixFile)
                .map_err(|error| invalid(format!("`uri` of `{}` is no URI: {error}", self.command))),
            (None, Some(path)) => Ok(What::Engine(Command::FixFile { path })),
            _ => Err(invalid(format!("`{}` needs one of the keys `uri` and `file`", self.command))),
        }
    }

    fn nothing_left(self) -> Result<(), Error> {
        match self.object.keys().next() {
            None => Ok(()),
            Some(key) => Err(invalid(format!("`{}` does not know the key `{key}`", self.command))),
        }
    }
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_params(message.into())
}

pub(super) fn failed(message: impl Into<String>) -> Error {
    Error { code: REQUEST_FAILED, message: message.into().into(), data: None }
}

pub(super) fn refused(refusal: Refusal) -> Error {
    let data = serde_json::to_value(refusal.kind).ok().map(|kind| serde_json::json!({"kind": kind}));
    let code = match refusal.kind {
        RefusalKind::Unknown => ErrorCode::InvalidParams,
        RefusalKind::NotNow | RefusalKind::Environment => REQUEST_FAILED,
    };
    Error { code, message: refusal.message.into(), data }
}
