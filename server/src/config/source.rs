//! One file: read, parsed, and refused at the exact place where it is wrong.

use std::io::Read;
use std::path::Path;

use super::keys::ConfigFile;
use super::{ConfigError, place, validate};

/// More than any configuration; keeps a mistaken file from being read whole.
const LARGEST: u64 = 1024 * 1024;

/// The text of a file, or nothing when there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |message: String| ConfigError { file: path.to_path_buf(), line: 0, column: 0, message };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
    };
    let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
    if !regular {
        return Err(unreadable("is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable("is larger than 1 MiB, which no configuration is".to_owned()));
    }
    match String::from_utf8(bytes) {
        // A byte order mark is no part of the text, and would shift the columns of the first line.
        Ok(text) => Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let (line, column) = place::of_byte(&text, valid);
            Err(ConfigError {
                file: path.to_path_buf(),
                line,
                column,
                message: "is not UTF-8 from here on; save it as UTF-8".to_owned(),
            })
        }
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Parses and checks one file on its own.
pub(super) fn parse(path: &Path, text: &str) -> Result<ConfigFile, ConfigError> {
    let at = |byte: usize, message: String| {
        let (line, column) = place::of_byte(text, byte);
        ConfigError { file: path.to_path_buf(), line, column, message }
    };
    let parsed: ConfigFile = toml::from_str(text).map_err(|error| {
        let byte = error.span().map_or(0, |span| span.start);
        at(byte, explain(error.message()))
    })?;
    if let Err(fault) = validate::file(&parsed) {
        let byte = place::of_value(text, &fault.keys).map_or(0, |span| span.start);
        return Err(at(byte, fault.message));
    }
    Ok(parsed)
}

/// Adds to a deserializer's message what the reader needs next: the nearest known word, or how a command is written.
pub(super) fn explain(message: &str) -> String {
    let first_line = message.lines().next().unwrap_or(message);
    let first_line = first_line.replace("unknown field", "unknown key");
    let first_line = first_line.replace("unknown variant", "unknown value");
    if first_line.starts_with("unknown ") {
        let words: Vec<&str> = first_line.split('`').skip(1).step_by(2).collect();
        if let Some((given, known)) = words.split_first() {
            return match nearest(given, known) {
                Some(near) => format!("{first_line}; did you mean `{near}`?"),
                None => first_line,
            };
        }
    }
    if let Some(given) = first_line.split_once("string \"").map(|(_, rest)| rest)
        && let Some((given, _)) = given.split_once("\", expected a sequence")
    {
        // Most lists are of globs or paths; what has several words is a command.
        return match given.contains(' ') {
            true => format!("{first_line}; write a list, such as [\"pytest\", \"-q\"], never a shell string"),
            false => format!("{first_line}; write a list: [\"{given}\"]"),
        };
    }
    first_line
}

/// The known word nearest to a misspelt one, if any is near at all.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let given = given.replace('-', "_").to_lowercase();
    known
        .iter()
        .map(|word| (strsim::jaro_winkler(&given, word), *word))
        .filter(|(likeness, _)| *likeness >= 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}
