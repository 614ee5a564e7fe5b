//! `import`, `init`, `protocol`, `schema`: commands that only read and print.

use std::io::Read;
use std::path::Path;

use serde_json::json;

use fix_loop::config::{self, Protocol};
use fix_loop::{findings, protocol};

use super::exit::{Exit, Failure, Outcome};
use super::{Format, GraphFormat, Place, SchemaOf, print, session};

/// The bytes of a findings file; `-` is stdin.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::input(format!("stdin cannot be read: {error}")))?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(|error| Failure::input(format!("{} cannot be read: {error}", path.display())))
}

/// A findings file of any known format, about the files of this workspace.
pub fn parse(bytes: &[u8], path: &Path, root: &Path) -> Result<findings::Imported, Failure> {
    let name = path.display().to_string();
    findings::import_into(bytes, &name, &findings::DiskTree::new(root))
        .map_err(|error| Failure::input(format!("{name}:{}:{}: {}", error.line, error.column, error.message)))
}

pub async fn import(source: &str, place: &Place, format: Format) -> Outcome {
    let root = session::root(place)?;
    let imported = if source.starts_with("https://") || source.starts_with("http://") {
        let file = pull_request(source, &root).await?;
        parse(&bytes_of(file.path())?, file.path(), &root)?
    } else {
        parse(&bytes_of(Path::new(source))?, Path::new(source), &root)?
    };
    match format {
        Format::Json => {
            print::json(&json!({"review_output": imported.review_output, "notes": imported.notes}))?
        }
        Format::Text => {
            print::json(&imported.review_output)?;
            for note in &imported.notes {
                tell!("{note}");
            }
        }
    }
    Ok(Exit::Done)
}

/// The review comments of a pull request, by the `gh` program, in a file that lives as long as it is held.
pub async fn pull_request(url: &str, root: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let read = fix_loop::engine::pull_request(url, root, &session::supervisor()?).await?;
    if let Some(note) = read.note {
        tell!("{note}");
    }
    hold("pull-request-", &read.comments)
}

/// Findings that came from elsewhere, in a file that lives as long as it is held.
pub fn hold(prefix: &str, bytes: &[u8]) -> Result<tempfile::NamedTempFile, Failure> {
    let mut file = tempfile::Builder::new()
        .prefix(prefix)
        .suffix(".json")
        .tempfile()
        .map_err(|error| Failure::environment(format!("no temporary file can be made: {error}")))?;
    std::io::Write::write_all(&mut file, bytes).map_err(|error| {
        Failure::environment(format!("{} cannot be written: {error}", file.path().display()))
    })?;
    Ok(file)
}

pub fn init(place: &Place, format: Format) -> Outcome {
    let root = session::root(place)?;
    let path = root.join("fix-loop.toml");
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    match made.and_then(|mut file| std::io::Write::write_all(&mut file, config::INIT_TEMPLATE.as_bytes())) {
        Ok(()) => {
            tell!("wrote {}", path.display());
            if format == Format::Json {
                print::json(&json!({"wrote": path.display().to_string()}))?;
            }
            Ok(Exit::Done)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Failure::input(format!("{} is there already; it is left as it is", path.display())))
        }
        Err(error) => Err(Failure::environment(format!("{} cannot be written: {error}", path.display()))),
    }
}

pub fn graph(name: Protocol, format: GraphFormat) -> Outcome {
    let graph = protocol::graph(name.as_str())
        .ok_or_else(|| Failure::input(format!("there is no state graph of {}", name.as_str())))?;
    match format {
        GraphFormat::Mermaid => print::stdout(&graph)?,
        // The same edges, one a line, without the diagram's frame.
        GraphFormat::Text => print::stdout(&format!("{}\n", edges(&graph).join("\n")))?,
        GraphFormat::Json => {
            let transitions: Vec<_> = edges(&graph).into_iter().filter_map(transition).collect();
            print::json(&json!({"protocol": name.as_str(), "transitions": transitions}))?;
        }
    }
    Ok(Exit::Done)
}

fn edges(graph: &str) -> Vec<&str> {
    graph.lines().map(str::trim).filter(|line| line.contains("-->")).collect()
}

/// `from --> to : event, event`; `[*]` is before the start and after the end.
fn transition(edge: &str) -> Option<serde_json::Value> {
    let (from, rest) = edge.split_once(" --> ")?;
    let (to, events) = rest.split_once(" : ").unwrap_or((rest, ""));
    let events: Vec<&str> = events.split(", ").filter(|event| !event.is_empty()).collect();
    Some(json!({"from": from, "to": to, "events": events}))
}

pub fn schema(of: SchemaOf) -> Outcome {
    let schema = match of {
        SchemaOf::Config => config::schema(),
        SchemaOf::Findings => findings::schema(),
    };
    print::json(&schema)?;
    Ok(Exit::Done)
}
