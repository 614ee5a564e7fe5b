//! A small language client over stdio, as strict as an editor is lax.
//!
//! It answers what an editor answers by itself (progress tokens, registrations, configuration), keeps what is a state
//! (diagnostics, status) as its last value, and holds everything else until the test takes it. [`LspClient::shutdown`]
//! fails on anything that was not taken.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::{DEADLINE, Repo, binary};

/// A `window/showMessageRequest` that waits for its answer.
#[derive(Clone, Debug)]
pub struct Question {
    pub id: Value,
    pub text: String,
    pub options: Vec<String>,
}

/// A server and what it has said so far.
pub struct LspClient {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<Result<Value, String>>,
    next_id: i64,
    root_uri: String,
    settings: Value,
    /// The answer to `initialize`.
    pub server: Value,
    diagnostics: BTreeMap<String, Vec<Value>>,
    status: Option<Value>,
    responses: BTreeMap<i64, Value>,
    questions: VecDeque<Question>,
    messages: VecDeque<(i64, String)>,
    progress: BTreeMap<String, Vec<Value>>,
    edits: VecDeque<Value>,
    shown: VecDeque<Value>,
    log: Vec<String>,
    unexpected: Vec<Value>,
    documents: BTreeMap<String, (i64, String)>,
    closed: bool,
}

impl LspClient {
    /// Starts the server for a trusted workspace and initializes it.
    pub fn start(repo: &Repo) -> LspClient {
        LspClient::start_with(repo, json!({"trusted": true}))
    }

    /// The same with other `initializationOptions`.
    pub fn start_with(repo: &Repo, options: Value) -> LspClient {
        let mut command = Command::new(binary());
        command.args(["lsp", "--stdio"]).current_dir(repo.root());
        repo.isolate(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the program is built");
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, incoming) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                let message = read_message(&mut reader);
                let ended = matches!(message, Ok(None) | Err(_));
                let sent = match message {
                    Ok(Some(value)) => sender.send(Ok(value)),
                    Ok(None) => Ok(()),
                    Err(error) => sender.send(Err(error)),
                };
                if ended || sent.is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        let root_uri = format!("file://{}", repo.root().display());
        let mut client = LspClient {
            child,
            stdin,
            incoming,
            next_id: 1,
            root_uri: root_uri.clone(),
            settings: options.get("settings").cloned().unwrap_or(Value::Null),
            server: Value::Null,
            diagnostics: BTreeMap::new(),
            status: None,
            responses: BTreeMap::new(),
            questions: VecDeque::new(),
            messages: VecDeque::new(),
            progress: BTreeMap::new(),
            edits: VecDeque::new(),
            shown: VecDeque::new(),
            log: Vec::new(),
            unexpected: Vec::new(),
            documents: BTreeMap::new(),
            closed: false,
        };
        client.server = client.request(
            "initialize",
            json!({
                "processId": std::process::id(),
                "clientInfo": {"name": "fix-loop-tests"},
                "rootUri": root_uri,
                "workspaceFolders": [{"uri": root_uri, "name": "repo"}],
                "initializationOptions": options,
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16", "utf-8"]},
                    "window": {
                        "workDoneProgress": true,
                        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": true}},
                        "showDocument": {"support": true},
                    },
                    "workspace": {
                        "configuration": true, "workspaceFolders": true, "applyEdit": true,
                        "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
                        "workspaceEdit": {"documentChanges": true},
                        "codeLens": {"refreshSupport": true},
                    },
                    "textDocument": {
                        "publishDiagnostics": {
                            "versionSupport": true, "dataSupport": true, "relatedInformation": true
                        },
                        "codeAction": {
                            "dataSupport": true, "isPreferredSupport": true,
                            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}
                        },
                        "hover": {"contentFormat": ["markdown", "plaintext"]},
                        "codeLens": {},
                        "synchronization": {"didSave": true},
                    },
                },
            }),
        );
        client.notify("initialized", json!({}));
        client
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn root_uri(&self) -> &str {
        &self.root_uri
    }

    // ------------------------------------------------------------ sending

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and waits for its result; an error is a failed test.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        match self.try_request(method, params) {
            Ok(result) => result,
            Err(error) => panic!("{method} was answered with an error: {error}\n{}", self.history()),
        }
    }

    /// Sends a request and waits for its result or error.
    pub fn try_request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let response = self.until(&format!("the answer to {method}"), |client| client.responses.remove(&id));
        match response.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(response.get("result").cloned().unwrap_or(Value::Null)),
        }
    }

    /// Sends bytes as they are.
    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let stdin = self.stdin.as_mut().expect("not shut down yet");
        let sent = write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).and_then(|()| stdin.flush());
        assert!(sent.is_ok(), "the server closed its input\n{}", self.history());
    }

    // ------------------------------------------------------------ documents

    /// Opens a file with the text that is on disk.
    pub fn open(&mut self, repo: &Repo, path: &str, language: &str) {
        let (uri, text) = (repo.uri(path), repo.read(path));
        self.documents.insert(uri.clone(), (1, text.clone()));
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}}),
        );
    }

    /// Replaces a range (`[line, character, line, character]`) of an open document.
    pub fn change(&mut self, repo: &Repo, path: &str, range: [u32; 4], text: &str) {
        let uri = repo.uri(path);
        let document = self.documents.get_mut(&uri).expect("the document is open");
        document.0 += 1;
        let version = document.0;
        let [line, character, end_line, end_character] = range;
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{
                    "range": {
                        "start": {"line": line, "character": character},
                        "end": {"line": end_line, "character": end_character},
                    },
                    "text": text,
                }],
            }),
        );
    }

    /// Tells that the document was saved; the test has written the file.
    pub fn saved(&mut self, repo: &Repo, path: &str) {
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": repo.uri(path)}}));
    }

    pub fn close(&mut self, repo: &Repo, path: &str) {
        self.documents.remove(&repo.uri(path));
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": repo.uri(path)}}));
    }

    /// Tells that a file changed on disk, as an editor's watcher does. `kind`: 1 created, 2 changed, 3 deleted.
    pub fn watched(&mut self, repo: &Repo, path: &str, kind: u8) {
        self.notify(
            "workspace/didChangeWatchedFiles",
            json!({"changes": [{"uri": repo.uri(path), "type": kind}]}),
        );
    }

    // ------------------------------------------------------------ what an editor shows

    /// Waits until a file's diagnostics are as the test wants them.
    pub fn diagnostics(
        &mut self,
        repo: &Repo,
        path: &str,
        mut as_wanted: impl FnMut(&[Value]) -> bool,
    ) -> Vec<Value> {
        let uri = repo.uri(path);
        self.until(&format!("diagnostics of {path}"), |client| {
            client.diagnostics.get(&uri).filter(|found| as_wanted(found)).cloned()
        })
    }

    /// What is shown for a file now.
    pub fn shown_diagnostics(&self, repo: &Repo, path: &str) -> Vec<Value> {
        self.diagnostics.get(&repo.uri(path)).cloned().unwrap_or_default()
    }

    /// Waits until the server's status is as the test wants it.
    pub fn status(&mut self, mut as_wanted: impl FnMut(&Value) -> bool) -> Value {
        self.until("fixLoop/status", |client| client.status.clone().filter(|status| as_wanted(status)))
    }

    /// The code actions at a line of a file, counted from 0.
    pub fn code_actions(&mut self, repo: &Repo, path: &str, line: u32) -> Vec<Value> {
        let here = json!({"line": line, "character": 0});
        let result = self.request(
            "textDocument/codeAction",
            json!({
                "textDocument": {"uri": repo.uri(path)},
                "range": {"start": here, "end": here},
                "context": {"diagnostics": []},
            }),
        );
        result.as_array().cloned().unwrap_or_default()
    }

    /// Asks again until an action whose title begins so is offered, and gives it.
    pub fn code_action(&mut self, repo: &Repo, path: &str, line: u32, title: &str) -> Value {
        let began = Instant::now();
        loop {
            let actions = self.code_actions(repo, path, line);
            let begins =
                |action: &&Value| action["title"].as_str().is_some_and(|found| found.starts_with(title));
            if let Some(action) = actions.iter().find(begins) {
                return action.clone();
            }
            let titles: Vec<&Value> = actions.iter().map(|action| &action["title"]).collect();
            assert!(began.elapsed() < DEADLINE, "no action `{title}` at {path}:{line}: {titles:?}");
            // The answer changes only with the server's state, and that is announced.
            self.pump_for(std::time::Duration::from_millis(50));
        }
    }

    /// Carries a code action's command out, as an editor does when it is chosen.
    pub fn choose(&mut self, action: &Value) -> Value {
        let command = if action["command"].is_object() { &action["command"] } else { action };
        let arguments = command.get("arguments").cloned().unwrap_or_else(|| json!([]));
        self.request(
            "workspace/executeCommand",
            json!({"command": command["command"], "arguments": arguments}),
        )
    }

    pub fn execute(&mut self, command: &str, argument: Value) -> Value {
        self.request("workspace/executeCommand", json!({"command": command, "arguments": [argument]}))
    }

    // ------------------------------------------------------------ what an editor asks and tells

    /// Waits for the next question.
    pub fn question(&mut self) -> Question {
        self.until("a question", |client| client.questions.pop_front())
    }

    /// Answers it with the option that begins so; `None` dismisses it.
    pub fn answer(&mut self, question: &Question, option: Option<&str>) {
        let result = option.map(|wanted| {
            let found = question.options.iter().find(|option| option.starts_with(wanted));
            json!({"title": found.unwrap_or_else(|| panic!("no option `{wanted}` in {question:?}"))})
        });
        self.send(&json!({"jsonrpc": "2.0", "id": question.id, "result": result}));
    }

    /// Waits for a `window/showMessage` that holds this text and takes it.
    pub fn message(&mut self, part: &str) -> String {
        self.until(&format!("a message with `{part}`"), |client| {
            let at = client.messages.iter().position(|(_, text)| text.contains(part))?;
            client.messages.remove(at).map(|(_, text)| text)
        })
    }

    /// Takes all messages that are there, whatever they say.
    pub fn take_messages(&mut self) -> Vec<String> {
        self.messages.drain(..).map(|(_, text)| text).collect()
    }

    /// Waits for a `workspace/applyEdit`, which was answered with `applied: true`.
    pub fn edit(&mut self) -> Value {
        self.until("an edit", |client| client.edits.pop_front())
    }

    /// Waits for a `window/showDocument`.
    pub fn shown_document(&mut self) -> Value {
        self.until("a document to show", |client| client.shown.pop_front())
    }

    /// The `$/progress` values of each token, in order.
    pub fn progress(&self) -> &BTreeMap<String, Vec<Value>> {
        &self.progress
    }

    /// Waits until a progress has begun and ended, and gives its values.
    pub fn finished_progress(&mut self) -> Vec<Value> {
        self.until("the end of a progress", |client| {
            client.progress.values().find(|values| values.iter().any(|value| value["kind"] == "end")).cloned()
        })
    }

    /// Lines of `window/logMessage`.
    pub fn log(&self) -> &[String] {
        &self.log
    }

    // ------------------------------------------------------------ the end

    /// Shuts the server down in order and fails on whatever it said and nobody took.
    pub fn shutdown(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.stdin = None;
        self.until("the end of the server", |client| client.closed.then_some(()));
        let status = self.child.wait().expect("it is our child");
        assert!(status.success(), "the server ended with {status}\n{}", self.history());
        assert!(self.questions.is_empty(), "questions that nobody took: {:?}", self.questions);
        assert!(self.messages.is_empty(), "messages that nobody took: {:?}", self.messages);
        assert!(self.edits.is_empty(), "edits that nobody took: {:?}", self.edits);
        assert!(self.shown.is_empty(), "documents that nobody took: {:?}", self.shown);
        assert!(self.responses.is_empty(), "answers to nothing: {:?}", self.responses);
        assert!(self.unexpected.is_empty(), "what no client knows: {:?}", self.unexpected);
        for (token, values) in &self.progress {
            let kinds: Vec<&str> = values.iter().filter_map(|value| value["kind"].as_str()).collect();
            let whole = kinds.first() == Some(&"begin")
                && kinds.last() == Some(&"end")
                && kinds[1..kinds.len() - 1].iter().all(|kind| *kind == "report");
            assert!(whole, "progress {token} is not one begin and one end: {kinds:?}");
        }
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    // ------------------------------------------------------------ receiving

    /// Takes in messages until `look` finds what it looks for.
    pub fn until<T>(&mut self, what: &str, mut look: impl FnMut(&mut LspClient) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            assert!(!self.closed, "the server ended before {what}\n{}", self.history());
            let left = deadline.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(message) => self.take_in(message),
                Err(RecvTimeoutError::Disconnected) => self.closed = true,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{what} did not come in {} s\n{}", DEADLINE.as_secs(), self.history())
                }
            }
        }
    }

    fn pump_for(&mut self, time: std::time::Duration) {
        match self.incoming.recv_timeout(time) {
            Ok(message) => self.take_in(message),
            Err(RecvTimeoutError::Disconnected) => self.closed = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }

    fn take_in(&mut self, message: Result<Value, String>) {
        let message = message.unwrap_or_else(|error| panic!("the server does not speak LSP: {error}"));
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        let id = message.get("id").cloned();
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => self.serve(method, id, params),
            (Some(method), None) => self.hear(method, params, message.clone()),
            (None, Some(id)) => match id.as_i64() {
                Some(id) => drop(self.responses.insert(id, message)),
                None => self.unexpected.push(message),
            },
            (None, None) => self.unexpected.push(message),
        }
    }

    fn hear(&mut self, method: &str, params: Value, message: Value) {
        match method {
            "textDocument/publishDiagnostics" => {
                let uri = params["uri"].as_str().unwrap_or_default().to_owned();
                self.diagnostics.insert(uri, params["diagnostics"].as_array().cloned().unwrap_or_default());
            }
            "fixLoop/status" => self.status = Some(params),
            "window/showMessage" => {
                let text = params["message"].as_str().unwrap_or_default().to_owned();
                self.messages.push_back((params["type"].as_i64().unwrap_or(0), text));
            }
            "window/logMessage" => {
                self.log.push(params["message"].as_str().unwrap_or_default().to_owned());
            }
            "$/progress" => {
                let token = params["token"].as_str().map(str::to_owned);
                // One editor rejects numbers as tokens.
                let token = token.unwrap_or_else(|| panic!("a progress token that is no string: {params}"));
                self.progress.entry(token).or_default().push(params["value"].clone());
            }
            _ => self.unexpected.push(message),
        }
    }

    fn serve(&mut self, method: &str, id: Value, params: Value) {
        let result = match method {
            "window/showMessageRequest" => {
                let options = params["actions"].as_array().into_iter().flatten();
                let options = options.filter_map(|action| action["title"].as_str().map(str::to_owned));
                let text = params["message"].as_str().unwrap_or_default().to_owned();
                self.questions.push_back(Question { id, text, options: options.collect() });
                return;
            }
            "window/workDoneProgress/create"
            | "client/registerCapability"
            | "client/unregisterCapability"
            | "workspace/codeLens/refresh"
            | "workspace/diagnostic/refresh" => Value::Null,
            "workspace/configuration" => {
                let count = params["items"].as_array().map_or(0, Vec::len);
                Value::from(vec![self.settings.clone(); count])
            }
            "workspace/workspaceFolders" => json!([{"uri": self.root_uri, "name": "repo"}]),
            "workspace/applyEdit" => {
                self.edits.push_back(params);
                json!({"applied": true})
            }
            "window/showDocument" => {
                self.shown.push_back(params);
                json!({"success": true})
            }
            _ => {
                self.unexpected.push(json!({"method": method, "params": params}));
                let error = json!({"code": -32601, "message": format!("{method} is not known here")});
                self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
                return;
            }
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// What there is to see when something is missing.
    fn history(&self) -> String {
        format!(
            "diagnostics: {:#?}\nstatus: {}\nquestions: {:?}\nmessages: {:?}\nprogress: {:?}\nlog:\n{}",
            self.diagnostics,
            self.status.as_ref().unwrap_or(&Value::Null),
            self.questions,
            self.messages,
            self.progress,
            self.log.join("\n"),
        )
    }
}

impl Drop for LspClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One message; `None` at the end of the stream.
fn read_message(reader: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) => return if length.is_none() { Ok(None) } else { Err("it ends in a header".to_owned()) },
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(format!("`{line}` is no header"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<usize>().map_err(|error| format!("`{line}`: {error}"))?);
        }
    }
    let mut body = vec![0; length.ok_or("a message without a length")?];
    reader.read_exact(&mut body).map_err(|error| format!("it ends in a message: {error}"))?;
    serde_json::from_slice(&body).map(Some).map_err(|error| error.to_string())
}
