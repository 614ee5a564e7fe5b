//! `import`, `init`, `protocol`, `schema`: commands that only read and print.

use std::io::Read;
use std::path::Path;

use serde_json::json;

use fix_loop::config::{self, Protocol};
use fix_loop::{findings, protocol};

use super::exit::{Exit, Failure, Outcome};
use super::{Format, GraphFormat, Place, SchemaOf, print, session};

/// A findings file of any known format.
pub fn read_findings(path: &Path) -> Result<findings::Imported, Failure> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::input(format!("stdin cannot be read: {error}")))?;
        bytes
    } else {
        std::fs::read(path)
            .map_err(|error| Failure::input(format!("{} cannot be read: {error}", path.display())))?
    };
    parse(&bytes, &path.display().to_string())
}

fn parse(bytes: &[u8], name: &str) -> Result<findings::Imported, Failure> {
    findings::import(bytes, name)
        .map_err(|error| Failure::input(format!("{name}:{}:{}: {}", error.line, error.column, error.message)))
}

pub async fn import(source: &str, place: &Place, format: Format) -> Outcome {
    let imported = if source.starts_with("https://") || source.starts_with("http://") {
        let root = session::root(place)?;
        let file = pull_request(source, &root).await?;
        read_findings(file.path())?
    } else {
        read_findings(Path::new(source))?
    };
    match format {
        Format::Json => {
            print::json(&json!({"review_output": imported.review_output, "notes": imported.notes}))?
        }
        Format::Text => {
            print::json(&imported.review_output)?;
            for note in &imported.notes {
                eprintln!("{note}");
            }
        }
    }
    Ok(Exit::Done)
}

/// The review comments of a pull request, by the `gh` program, in a file that lives as long as it is held.
pub async fn pull_request(url: &str, root: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let comments = fix_loop::engine::pull_request_comments(url, root, &session::supervisor()?)
        .await
        .map_err(Failure::environment)?;
    let mut file = tempfile::Builder::new()
        .prefix("pull-request-")
        .suffix(".json")
        .tempfile()
        .map_err(|error| Failure::environment(format!("no temporary file can be made: {error}")))?;
    std::io::Write::write_all(&mut file, &comments).map_err(|error| {
        Failure::environment(format!("{} cannot be written: {error}", file.path().display()))
    })?;
    Ok(file)
}

pub fn init(place: &Place) -> Outcome {
    let root = session::root(place)?;
    let path = root.join("fix-loop.toml");
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    match made.and_then(|mut file| std::io::Write::write_all(&mut file, config::INIT_TEMPLATE.as_bytes())) {
        Ok(()) => {
            eprintln!("wrote {}", path.display());
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
        GraphFormat::Text => {
            let lines: Vec<&str> = graph.lines().map(str::trim).filter(|line| line.contains("-->")).collect();
            print::stdout(&format!("{}\n", lines.join("\n")))?;
        }
    }
    Ok(Exit::Done)
}

pub fn schema(of: SchemaOf) -> Outcome {
    let schema = match of {
        SchemaOf::Config => config::schema(),
        SchemaOf::Findings => findings::schema(),
    };
    print::json(&schema)?;
    Ok(Exit::Done)
}
