//! What comes in from outside: the editor's buffers, findings to import, checks that are run for their failures.

use super::api::{BufferEvent, NoticeLevel, Refusal, RefusalKind, Reply};
use super::checking;
use super::commands::{Answer, done};
use super::driver::{Driver, Internal};
use super::ledger::LoopId;
use super::own_questions::Asked;

impl Driver {
    pub(super) fn take_buffer(&mut self, number: u64, event: BufferEvent) {
        self.buffers_taken = number;
        self.inbox.buffer(&event);
        self.buffers.take(event, self.state.revision);
        let clean: Vec<LoopId> = self
            .own_questions
            .iter()
            .filter_map(|question| match &question.asked {
                Asked::DirtyBuffer { r#loop, paths }
                    if !paths.iter().any(|path| self.buffers.is_dirty(path)) =>
                {
                    Some(*r#loop)
                }
                _ => None,
            })
            .collect();
        self.own_questions.retain(
            |question| !matches!(&question.asked, Asked::DirtyBuffer { r#loop, .. } if clean.contains(r#loop)),
        );
    }

    pub(super) fn import(&mut self, source: &str) -> Result<Reply, Refusal> {
        let path = self.setup.root.join(source);
        let bytes = std::fs::read(&path).map_err(|error| Refusal {
            kind: RefusalKind::Unknown,
            message: format!("{} cannot be read: {error}", path.display()),
        })?;
        let tree = crate::findings::DiskTree::new(&self.setup.root);
        let imported = crate::findings::import_into(&bytes, source, &tree)
            .map_err(|error| Refusal { kind: RefusalKind::Unknown, message: format!("{source}: {error}") })?;
        let count = imported.review_output.findings.len();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("import").to_owned();
        self.put_into_inbox(&stem, &imported.review_output)?;
        done(format!("{count} findings from {source}, {} notes", imported.notes.len()))
    }

    /// Writes a ReviewOutput into the inbox, whole or not at all.
    pub(super) fn put_into_inbox(
        &mut self,
        stem: &str,
        output: &crate::findings::ReviewOutput,
    ) -> Result<(), Refusal> {
        let folder = self.setup.root.join(".fix-loop/findings");
        let safe: String =
            stem.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let written = (|| -> std::io::Result<()> {
            std::fs::create_dir_all(&folder)?;
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            serde_json::to_writer_pretty(&mut file, output)?;
            file.persist(folder.join(format!("{safe}.json"))).map_err(|error| error.error)?;
            Ok(())
        })();
        written.map_err(|error| Refusal {
            kind: RefusalKind::Environment,
            message: format!("{} cannot be written: {error}", folder.display()),
        })?;
        self.reload();
        Ok(())
    }

    pub(super) fn run_for_failures(&mut self, name: String, answer: Answer) {
        let refused = self.can_write().err().or_else(|| {
            (!self.is_trusted()).then(|| Refusal {
                kind: RefusalKind::Environment,
                message: "this workspace is not trusted: `fix-loop trust` lets its commands run".into(),
            })
        });
        if let Some(refusal) = refused {
            if let Some(answer) = answer {
                let _ = answer.send(Err(refusal));
            }
            return;
        }
        let tools = super::act::Tools {
            workspace: self.workspace.clone().expect("can_write holds only with a workspace"),
            supervisor: self.setup.supervisor.clone(),
            config: self.config.clone(),
            buffers: crate::agents::Buffers::none(),
            agent: None,
        };
        let messages = self.messages.clone();
        self.notice(NoticeLevel::Info, None, format!("running check {name}"));
        tokio::spawn(async move {
            let result = checking::failures_as_findings(&tools, &name).await;
            let _ =
                messages.send(super::api::Message::Internal(Internal::FromCheck { name, result, answer }));
        });
    }

    pub(super) fn take_failures(
        &mut self,
        name: &str,
        result: Result<crate::findings::ReviewOutput, String>,
    ) -> Result<Reply, Refusal> {
        let output = result.map_err(|message| Refusal { kind: RefusalKind::Unknown, message })?;
        let count = output.findings.len();
        self.put_into_inbox(&format!("check-{name}"), &output)?;
        done(match count {
            0 => format!("check {name} passes: no findings"),
            1 => format!("check {name}: 1 failing test is now a finding"),
            _ => format!("check {name}: {count} failing tests are now findings"),
        })
    }
}
