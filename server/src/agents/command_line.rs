//! The whole command line of a coding agent, from its preset and what one turn of one role needs.

use super::agent::{Cli, SchemaVia};
use super::run::Job;
use super::transcript::path_of;

/// The whole command line of one turn.
pub(super) fn arguments(
    cli: &Cli,
    job: &Job,
    editing: bool,
    text: &str,
    schema_argument: Option<&str>,
    session: Option<&str>,
) -> Vec<String> {
    let mut argv = cli.program.clone();
    argv.extend(cli.arguments.iter().cloned());
    let rules = cli.reading_rules.as_ref().map(|(extension, _)| {
        path_of(&job.transcript_dir, &job.brief.worker, extension).to_string_lossy().into_owned()
    });
    let role = if editing { &cli.editing } else { &cli.reading };
    argv.extend(role.iter().map(|argument| match &rules {
        Some(rules) => argument.replace("{rules}", rules),
        None => argument.clone(),
    }));
    if editing && !job.also_writes.is_empty() {
        let folders = serde_json::json!(job.also_writes).to_string();
        argv.extend(cli.also_writes.iter().map(|argument| argument.replace("{folders}", &folders)));
    }
    let mut with = |template: &[String], name: &str, value: Option<&str>| {
        if let Some(value) = value {
            argv.extend(template.iter().map(|argument| argument.replace(name, value)));
        }
    };
    with(&cli.model, "{model}", job.model.as_deref());
    with(&cli.effort, "{effort}", job.effort.as_deref());
    if let SchemaVia::Inline(template) | SchemaVia::File(template) = &cli.schema {
        with(template, "{schema}", schema_argument);
    }
    with(&cli.resume, "{session}", session);
    with(&cli.prompt, "{prompt}", Some(text));
    argv
}
