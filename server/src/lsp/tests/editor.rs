//! The two ends that the server talks to in tests: an editor that fails on messages nobody looked at, and an engine.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::super::{EngineFactory, serve};
use crate::engine::status::{Counts, FindingState, Status, StatusFinding, StatusLoop};
use crate::engine::{
    BufferEvent, Command, EngineHandle, FindingView, Message, Notice, Offers, QuestionView, Refusal, Reply,
    Show, Snapshot,
};
use crate::protocol::{QuestionKind, Severity};

/// Only a hang ever waits so long; with paused time it is virtual.
const HANG: Duration = Duration::from_secs(600);

pub struct Editor {
    pipe: DuplexStream,
    received: mpsc::UnboundedReceiver<Value>,
    /// Messages that came while another one was waited for.
    unseen: VecDeque<Value>,
    pub statuses: Vec<Value>,
    last_id: i64,
    server: JoinHandle<i32>,
}

impl Editor {
    pub fn start(engines: impl EngineFactory) -> Editor {
        let (pipe, stdin) = tokio::io::duplex(1 << 16);
        let (stdout, output) = tokio::io::duplex(1 << 16);
        let server = tokio::spawn(serve(stdin, stdout, engines));
        let (messages, received) = mpsc::unbounded_channel();
        tokio::spawn(read(output, messages));
        Editor { pipe, received, unseen: VecDeque::new(), statuses: Vec::new(), last_id: 0, server }
    }

    pub async fn send_raw(&mut self, body: &str) {
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.send_bytes(frame.as_bytes()).await;
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        // A server that has ended can't be written to; what it answered before still counts.
        let _ = self.pipe.write_all(bytes).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send_raw(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send_raw(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
            .await;
        id
    }

    pub async fn answer_to(&mut self, id: i64) -> Result<Value, Value> {
        let message =
            self.take(|message| message.get("method").is_none() && message["id"] == json!(id)).await;
        match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["result"].clone()),
        }
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params).await;
        self.answer_to(id).await
    }

    pub async fn take_refusal(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.take(|message| message.get("error").is_some() && wanted(message)).await
    }

    pub async fn ask_without_params(&mut self, method: &str) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send_raw(&json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string()).await;
        id
    }

    pub async fn request_without_params(&mut self, method: &str) -> Result<Value, Value> {
        let id = self.ask_without_params(method).await;
        self.answer_to(id).await
    }

    /// The next notification or request of the server with this method.
    pub async fn next(&mut self, method: &str) -> Received {
        let message = self.take(|message| message["method"] == method).await;
        Received { id: message.get("id").cloned(), params: message["params"].clone() }
    }

    pub async fn diagnostics(&mut self) -> Value {
        self.next("textDocument/publishDiagnostics").await.params
    }

    pub async fn respond(&mut self, to: &Received, result: Value) {
        self.send_raw(&json!({"jsonrpc": "2.0", "id": to.id, "result": result}).to_string()).await;
    }

    pub async fn respond_error(&mut self, to: &Received, code: i64) {
        let error = json!({"code": code, "message": "no"});
        self.send_raw(&json!({"jsonrpc": "2.0", "id": to.id, "error": error}).to_string()).await;
    }

    /// After this, everything that the server sent because of earlier messages is here. Status is asked rather than
    /// waited for, since a round trip through the state task comes after everything before it.
    pub async fn settle(&mut self) {
        let _ = self.request("fixLoop/status", json!({})).await;
        while let Ok(message) = self.received.try_recv() {
            self.file(message);
        }
    }

    pub async fn assert_quiet(&mut self) {
        self.settle().await;
        assert_eq!(self.unseen, VecDeque::<Value>::new(), "the server sent something that nobody expected");
    }

    async fn take(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unseen.iter().position(&wanted) {
            return self.unseen.remove(at).unwrap();
        }
        loop {
            let message = tokio::time::timeout(HANG, self.received.recv()).await;
            let message = message.expect("the message never came").expect("the server closed the pipe");
            if wanted(&message) {
                return message;
            }
            self.file(message);
        }
    }

    fn file(&mut self, message: Value) {
        if message["method"] == "fixLoop/status" {
            self.statuses.push(message["params"].clone());
        } else {
            self.unseen.push_back(message);
        }
    }

    /// Closes the pipe, without a word or after `exit`, and gives the exit code.
    pub async fn hang_up(mut self) -> i32 {
        self.pipe.shutdown().await.unwrap();
        self.exit_code().await
    }

    pub async fn exit_code(self) -> i32 {
        let Editor { server, pipe, .. } = self;
        let code = tokio::time::timeout(HANG, server).await.expect("the server never ended").unwrap();
        drop(pipe);
        code
    }

    /// A proper end, after which nothing may be left unseen.
    pub async fn finish(mut self, mut engines: Vec<FakeEngine>) {
        self.settle().await;
        let id = self.ask("shutdown", Value::Null).await;
        for engine in &mut engines {
            engine.shut_down().await;
        }
        assert_eq!(self.answer_to(id).await, Ok(Value::Null));
        self.send_raw(r#"{"jsonrpc":"2.0","method":"exit"}"#).await;
        let unseen = std::mem::take(&mut self.unseen);
        assert_eq!(self.exit_code().await, 0);
        assert_eq!(unseen, VecDeque::<Value>::new(), "messages that nobody looked at");
    }
}

pub struct Received {
    pub id: Option<Value>,
    pub params: Value,
}

async fn read(output: DuplexStream, messages: mpsc::UnboundedSender<Value>) {
    let mut output = BufReader::new(output);
    loop {
        let mut header = String::new();
        if output.read_line(&mut header).await.unwrap_or(0) == 0 {
            return;
        }
        let length: usize = header.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        output.read_line(&mut header).await.unwrap();
        let mut body = vec![0; length];
        output.read_exact(&mut body).await.unwrap();
        let _ = messages.send(serde_json::from_slice(&body).unwrap());
    }
}

/// What `open` was called with.
pub type Opening = (PathBuf, Option<Value>, Option<bool>);

/// Gives out engines by root, in order.
pub struct Engines {
    handles: Mutex<HashMap<PathBuf, VecDeque<Result<EngineHandle, String>>>>,
    openings: mpsc::UnboundedSender<Opening>,
}

impl Engines {
    pub fn new() -> (Engines, mpsc::UnboundedReceiver<Opening>) {
        let (openings, opened) = mpsc::unbounded_channel();
        (Engines { handles: Mutex::default(), openings }, opened)
    }

    pub fn add(&self, root: &Path, snapshot: Snapshot) -> FakeEngine {
        let (handle, publish, messages) = EngineHandle::for_tests(snapshot);
        let notices = handle.clone();
        self.put(root, Ok(handle));
        FakeEngine { publish, messages, notices }
    }

    pub fn put(&self, root: &Path, engine: Result<EngineHandle, String>) {
        self.handles.lock().unwrap().entry(root.to_owned()).or_default().push_back(engine);
    }
}

impl EngineFactory for Engines {
    async fn open(
        &self,
        root: PathBuf,
        settings: Option<Value>,
        trusted: Option<bool>,
    ) -> Result<EngineHandle, String> {
        let _ = self.openings.send((root.clone(), settings, trusted));
        let next = self.handles.lock().unwrap().get_mut(&root).and_then(VecDeque::pop_front);
        next.unwrap_or_else(|| Err(format!("no engine for {}", root.display())))
    }
}

pub struct FakeEngine {
    publish: watch::Sender<Arc<Snapshot>>,
    messages: mpsc::UnboundedReceiver<Message>,
    notices: EngineHandle,
}

pub type Answer = oneshot::Sender<Result<Reply, Refusal>>;

impl FakeEngine {
    pub fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        self.publish.send_modify(|snapshot| {
            let snapshot = Arc::make_mut(snapshot);
            snapshot.revision += 1;
            snapshot.status.revision = snapshot.revision;
            change(snapshot);
        });
    }

    pub fn notice(&self, notice: Notice) {
        self.notices.notice_for_tests(notice);
    }

    /// The next command; buffers and changed files are passed over.
    pub async fn command(&mut self) -> (Command, Answer) {
        loop {
            match self.message().await {
                Message::Command(command, answer) => return (command, answer),
                Message::Shutdown(_) => panic!("shut down while a command was waited for"),
                _ => {}
            }
        }
    }

    pub async fn command_done(&mut self, message: &str) -> Command {
        let (command, answer) = self.command().await;
        let _ = answer.send(Ok(Reply { message: message.into(), loops: vec!["L1".into()] }));
        command
    }

    pub async fn buffer(&mut self) -> BufferEvent {
        loop {
            match self.message().await {
                Message::Buffer(_, event) => return event,
                Message::FilesChanged => {}
                _ => panic!("a buffer event was expected"),
            }
        }
    }

    pub async fn files_changed(&mut self) {
        loop {
            if let Message::FilesChanged = self.message().await {
                return;
            }
        }
    }

    pub async fn message(&mut self) -> Message {
        let message = tokio::time::timeout(HANG, self.messages.recv()).await;
        message.expect("the engine was told nothing").expect("the engine was dropped")
    }

    /// Waits for the end; a command that nobody looked at fails the test.
    pub async fn shut_down(&mut self) {
        loop {
            match self.message().await {
                Message::Shutdown(done) => {
                    let _ = done.send(());
                    return;
                }
                Message::Command(command, _) => panic!("a command that nobody looked at: {command:?}"),
                _ => {}
            }
        }
    }
}

/// A folder on disk with its engine, and an editor that has opened it.
pub struct Session {
    pub editor: Editor,
    pub engine: FakeEngine,
    pub openings: mpsc::UnboundedReceiver<Opening>,
    pub folder: TempDir,
}

pub struct Setup {
    pub capabilities: Value,
    pub options: Value,
    pub files: Vec<(&'static str, &'static str)>,
    pub findings: Vec<FindingView>,
    pub change: fn(&mut Snapshot),
}

impl Default for Setup {
    fn default() -> Setup {
        let literals = json!({"codeActionKind": {"valueSet": ["quickfix"]}});
        Setup {
            capabilities: json!({"textDocument": {"codeAction": {"codeActionLiteralSupport": literals}}}),
            options: Value::Null,
            files: vec![("src/a.py", "import os\n\ndef a():\n    return 1\n")],
            findings: Vec::new(),
            change: |_| {},
        }
    }
}

impl Session {
    pub async fn start(setup: Setup) -> Session {
        let folder = TempDir::new().unwrap();
        for (path, text) in &setup.files {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let mut first = snapshot(folder.path(), setup.findings);
        (setup.change)(&mut first);
        let (engines, openings) = Engines::new();
        let engine = engines.add(folder.path(), first);
        let mut editor = Editor::start(engines);
        let params = json!({
            "processId": null,
            "capabilities": setup.capabilities,
            "initializationOptions": setup.options,
            "workspaceFolders": [{"uri": uri(folder.path(), ""), "name": "ws"}],
        });
        editor.request("initialize", params).await.unwrap();
        editor.notify("initialized", json!({})).await;
        editor.settle().await;
        Session { editor, engine, openings, folder }
    }

    /// Waits until the server has taken the engine's present snapshot.
    pub async fn sync(&mut self) {
        let revision = self.engine.publish.borrow().revision;
        loop {
            let status = self.editor.request("fixLoop/status", json!({})).await.unwrap();
            if status["revision"] == revision {
                return;
            }
        }
    }

    pub fn uri(&self, path: &str) -> String {
        uri(self.folder.path(), path)
    }

    pub async fn open(&mut self, path: &str, version: i32) {
        let text = std::fs::read_to_string(self.folder.path().join(path)).unwrap();
        self.open_text(path, version, &text).await;
    }

    pub async fn open_text(&mut self, path: &str, version: i32, text: &str) {
        let document =
            json!({"uri": self.uri(path), "languageId": "python", "version": version, "text": text});
        self.editor.notify("textDocument/didOpen", json!({"textDocument": document})).await;
    }

    pub async fn edit(&mut self, path: &str, version: i32, range: [u32; 4], text: &str) {
        let [a, b, c, d] = range;
        let range = json!({"start": {"line": a, "character": b}, "end": {"line": c, "character": d}});
        let params = json!({
            "textDocument": {"uri": self.uri(path), "version": version},
            "contentChanges": [{"range": range, "text": text}],
        });
        self.editor.notify("textDocument/didChange", params).await;
    }

    pub async fn actions(&mut self, path: &str, line: u32, only: Option<&str>) -> Vec<Value> {
        let place = json!({"line": line, "character": 0});
        let mut context = json!({"diagnostics": []});
        if let Some(only) = only {
            context["only"] = json!([only]);
        }
        let params = json!({
            "textDocument": {"uri": self.uri(path)},
            "range": {"start": place, "end": place},
            "context": context,
        });
        let actions = self.editor.request("textDocument/codeAction", params).await.unwrap();
        actions.as_array().unwrap().clone()
    }

    pub async fn finish(self) {
        self.editor.finish(vec![self.engine]).await;
    }
}

pub fn uri(folder: &Path, path: &str) -> String {
    let folder = lsp_types::Url::from_file_path(folder).unwrap().to_string();
    if path.is_empty() { folder } else { format!("{folder}/{path}") }
}

pub fn snapshot(root: &Path, findings: Vec<FindingView>) -> Snapshot {
    let counts = Counts { open: findings.len() as u32, ..Counts::default() };
    Snapshot {
        revision: 1,
        root: root.to_owned(),
        status: Status { revision: 1, counts, ..Status::default() },
        findings: findings.into_iter().map(Arc::new).collect(),
        questions: Vec::new(),
        buffer_edits: Vec::new(),
        input_errors: Vec::new(),
        fixing_off: None,
        show: Show::Unconfirmed,
        busy: false,
        driving: true,
        buffers_taken: 0,
    }
}

/// An open confirmed P1 finding on `src/a.py`.
pub fn finding(id: u32, start: u32, end: u32) -> FindingView {
    FindingView {
        detail: StatusFinding {
            id: json!(id),
            fingerprint: format!("fp{id}"),
            severity: Severity::P1,
            title: format!("Finding {id}"),
            file: Some("src/a.py".into()),
            line_start: Some(start),
            line_end: Some(end),
            state: FindingState::Open,
            evidence: None,
            round: None,
            r#loop: None,
        },
        generation: 1,
        body: "It is wrong.".into(),
        criterion: "AC-1".into(),
        listed_in: Some((".fix-loop/findings/review.json".into(), 3)),
        unconfirmed: false,
        stale: false,
        standing: "open".into(),
        attempts: Vec::new(),
        cost_usd: None,
        history: String::new(),
        offers: Offers { fix: true, defer: true, dispute: true, ..Offers::default() },
    }
}

pub fn question(id: &str) -> QuestionView {
    QuestionView {
        id: id.into(),
        kind: QuestionKind::Scope,
        r#loop: Some("L1".into()),
        findings: vec!["fp1".into()],
        text: format!("May {id} change src/b.py too?"),
        detail: "The caller lives there.".into(),
        options: vec!["Defer this finding".into(), "Approve expanded scope".into()],
        recommended: "Approve expanded scope".into(),
    }
}

pub fn running_loop(id: &str, state: &str) -> StatusLoop {
    StatusLoop {
        id: id.into(),
        protocol: "bounded".into(),
        state: state.into(),
        round: 1,
        max_rounds: 2,
        findings: vec![json!(1)],
        agent: None,
        seconds: 0.0,
        cost_usd: None,
        activity: None,
    }
}
