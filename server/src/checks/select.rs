//! Which checks belong to a finding (DESIGN 7.4), and which of those it asks for are refused (DESIGN 11).
//!
//! Order: the finding's own, configured ones whose `paths` match, discovered ones. Reads manifests and test files
//! through [`super::discover`]; runs nothing. A findings file is data: a command in it becomes a check only when it
//! equals a configured one or was approved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::discover::{self, Tools};
use super::readers::reader_of;
use super::{Check, CheckName, Command, DEFAULT_LIMIT, Kind, Origin, Reader, What, from_failures};

/// What selection needs to know of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingChecks {
    /// Relative to the root.
    pub file: Option<PathBuf>,
    pub related_files: Vec<PathBuf>,
    pub criterion: String,
    pub checks: Vec<FindingCheck>,
}

/// One entry of a finding's `checks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingCheck {
    Named(String),
    Command(Vec<String>),
    Absent(String),
    Present(String),
}

/// A `[[check]]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredCheck {
    pub name: String,
    pub command: Vec<String>,
    /// Globs relative to the root; `None`: every finding.
    pub paths: Option<Vec<String>>,
    pub kind: Kind,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
    pub timeout: Duration,
}

/// A check that a finding asks for and does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub what: String,
    pub why: String,
    /// The command that the user may approve.
    pub approvable: Option<Vec<String>>,
}

/// The checks of a finding, in order, without repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub checks: Vec<Check>,
    pub refused: Vec<Refused>,
}

/// Chooses the checks of one finding.
pub fn select(
    finding: &FindingChecks,
    configured: &[ConfiguredCheck],
    approved: &[Vec<String>],
    root: &Path,
    tools: &Tools,
) -> Selection {
    let mut selection = Selection::default();
    for entry in &finding.checks {
        match own(entry, finding, configured, approved) {
            Ok(check) => selection.add(check),
            Err(refused) => selection.refused.push(refused),
        }
    }
    let files: Vec<&Path> = finding.file.iter().chain(&finding.related_files).map(PathBuf::as_path).collect();
    for entry in configured {
        match applies(entry, &files) {
            Ok(true) => selection.add(configured_check(entry, Origin::Configured)),
            Ok(false) => {}
            Err(why) => selection.refused.push(Refused { what: entry.name.clone(), why, approvable: None }),
        }
    }
    let suites: Vec<Reader> =
        selection.checks.iter().filter_map(|check| whole_suite(check, configured)).collect();
    for check in discover::discover(root, &files, tools) {
        // The user has said how this runner is to be called; guessing would only run it twice.
        if !suites.contains(&check.reader) {
            selection.add(check);
        }
    }
    selection
}

/// The commands that a finding brings and that only the user may let run: neither configured nor approved yet.
pub fn to_approve(
    finding: &FindingChecks,
    configured: &[ConfiguredCheck],
    approved: &[Vec<String>],
) -> Vec<Vec<String>> {
    let refused = finding.checks.iter().filter_map(|entry| own(entry, finding, configured, approved).err());
    refused.filter_map(|refused| refused.approvable).collect()
}

/// The runner of a configured test check, whether the finding or its paths brought it in.
fn whole_suite(check: &Check, configured: &[ConfiguredCheck]) -> Option<Reader> {
    let is_configured = configured.iter().any(|entry| entry.command == check.argv());
    match &check.what {
        What::Command(command)
            if command.kind == Kind::Test && is_configured && check.reader != Reader::Any =>
        {
            Some(check.reader)
        }
        _ => None,
    }
}

impl Selection {
    fn add(&mut self, check: Check) {
        let key = check.key();
        if !self.checks.iter().any(|present| present.key() == key) {
            self.checks.push(check);
        }
    }
}

/// The check that a `[[check]]` entry describes.
pub fn configured_check(entry: &ConfiguredCheck, origin: Origin) -> Check {
    let reader = match entry.kind {
        Kind::Test => reader_of(&entry.command),
        Kind::Lint | Kind::Typecheck | Kind::Build => Reader::Plain,
    };
    Check {
        name: CheckName::new(&entry.name),
        what: What::Command(Command {
            argv: entry.command.clone(),
            wider: None,
            cwd: entry.cwd.clone(),
            env: entry.env.clone(),
            limit: entry.timeout,
            kind: entry.kind,
        }),
        origin,
        reader,
        focus: None,
    }
}

fn own(
    entry: &FindingCheck,
    finding: &FindingChecks,
    configured: &[ConfiguredCheck],
    approved: &[Vec<String>],
) -> Result<Check, Refused> {
    let refuse = |what: &str, why: String| Refused { what: what.to_owned(), why, approvable: None };
    match entry {
        FindingCheck::Named(name) => {
            let Some(found) = configured.iter().find(|check| check.name == *name) else {
                let near = configured
                    .iter()
                    .map(|check| (strsim::damerau_levenshtein(&check.name, name), &check.name))
                    .min()
                    .filter(|(distance, _)| *distance <= name.chars().count().max(3) / 2);
                let hint = near.map_or(String::new(), |(_, near)| format!("; did you mean `{near}`?"));
                return Err(refuse(name, format!("fix-loop.toml has no [[check]] named `{name}`{hint}")));
            };
            let mut check = configured_check(found, Origin::Finding);
            check.focus = from_failures::test_of_criterion(&finding.criterion).map(str::to_owned);
            Ok(check)
        }
        FindingCheck::Command(argv) => {
            if let Some(found) = configured.iter().find(|check| check.command == *argv) {
                return Ok(configured_check(found, Origin::Finding));
            }
            let shown = argv.join(" ");
            if argv.is_empty() {
                return Err(refuse("command", "the command is empty".to_owned()));
            }
            if !approved.contains(argv) {
                return Err(Refused {
                    what: shown,
                    why: "a findings file is data: this command is no configured check, and has not been approved"
                        .to_owned(),
                    approvable: Some(argv.clone()),
                });
            }
            Ok(Check {
                name: CheckName::new(shown),
                what: What::Command(Command {
                    argv: argv.clone(),
                    wider: None,
                    cwd: PathBuf::new(),
                    env: BTreeMap::new(),
                    limit: DEFAULT_LIMIT,
                    kind: Kind::Test,
                }),
                origin: Origin::Finding,
                reader: reader_of(argv),
                focus: None,
            })
        }
        FindingCheck::Absent(pattern) | FindingCheck::Present(pattern) => {
            let absent = matches!(entry, FindingCheck::Absent(_));
            let word = if absent { "absent" } else { "present" };
            let Some(file) = finding.file.clone() else {
                return Err(refuse(pattern, format!("`{word}` needs a finding with a file")));
            };
            let pattern = pattern.clone();
            let name = CheckName::new(format!("{word} `{pattern}`"));
            let what = if absent { What::Absent { pattern, file } } else { What::Present { pattern, file } };
            Ok(Check { name, what, origin: Origin::Finding, reader: Reader::Plain, focus: None })
        }
    }
}

fn applies(entry: &ConfiguredCheck, files: &[&Path]) -> Result<bool, String> {
    let Some(patterns) = &entry.paths else { return Ok(true) };
    let globs = globs(patterns)?;
    Ok(files.iter().any(|file| globs.is_match(file)))
}

/// `src/*.py` stays in its folder; a pattern without a slash matches at any depth; a folder means all in it.
fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    let mut add = |pattern: &str| -> Result<(), String> {
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("`{pattern}` in its paths is not a valid glob: {}", error.kind()))?;
        builder.add(glob);
        Ok(())
    };
    for pattern in patterns {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
        add(pattern)?;
        if !pattern.contains('/') {
            add(&format!("**/{pattern}"))?;
        }
        if !pattern.ends_with("**") {
            add(&format!("{pattern}/**"))?;
        }
    }
    builder.build().map_err(|error| error.to_string())
}
