//! Importers: any findings file to ReviewOutput v1 (DESIGN 5 "Importers").
//!
//! Owns telling the formats apart and translating them. An importer never makes a verdict, a place or a command; what it
//! skips, guesses or clamps is in the notes. It never touches the tree except to read texts it is given, and never panics,
//! whatever the bytes are.

mod columns;
mod document;
mod envelope;
mod gaps;
mod github;
mod loose;
mod markdown;
mod rdjson;
mod rustc;
mod sarif;
mod sarif_fixes;
mod sarif_paths;
mod sarif_rules;

use serde::Serialize;
use serde_json::{Map, Value};

use super::finding::Note;
use super::review_output::{ReviewOutput, SCHEMA_VERSION};
use super::tree::{ReadOnce, SourceText};

use document::{Document, Place};

/// What a findings file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    ReviewOutput,
    Review,
    Sarif,
    Rdjson,
    GitHub,
    Gaps,
    Compiler,
}

/// A document in the form of the schema. Its JSON is what `fix-loop import --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Imported {
    pub review_output: ReviewOutput,
    /// Everything skipped, guessed or clamped.
    pub notes: Vec<Note>,
    #[serde(skip)]
    pub format: Format,
}

/// Why the bytes are no findings file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}:{column}: {message}")]
pub struct ImportError {
    pub name: String,
    /// From 1.
    pub line: u32,
    /// From 1, in code points.
    pub column: u32,
    pub message: String,
}

/// Imports a document without a tree to look into.
pub fn import(bytes: &[u8], name: &str) -> Result<Imported, ImportError> {
    read(bytes, name, None)
}

/// Imports a document about the files of a tree: paths are found in it, and columns are verified against its texts.
pub fn import_with(bytes: &[u8], name: &str, tree: &dyn SourceText) -> Result<Imported, ImportError> {
    read(bytes, name, Some(&ReadOnce::new(tree)))
}

/// The same, with every path and line put into the form in which it holds in that tree: this is what people are shown of a
/// document before it is anybody's work. A path that is refused stays as it is given, and is noted.
pub fn import_into(bytes: &[u8], name: &str, tree: &dyn SourceText) -> Result<Imported, ImportError> {
    let tree = ReadOnce::new(tree);
    let mut imported = read(bytes, name, Some(&tree))?;
    let notes = crate::findings::intake::settle(&mut imported.review_output, &tree);
    imported.notes.extend(notes);
    Ok(imported)
}

fn read(bytes: &[u8], name: &str, tree: Option<&dyn SourceText>) -> Result<Imported, ImportError> {
    let refuse = |(place, message): (Place, String)| ImportError {
        name: name.to_owned(),
        line: place.line,
        column: place.column,
        message,
    };
    let text = document::decode(bytes).map_err(refuse)?;
    let (mut review, format) = Reader { tree }.text(&text, 0).map_err(refuse)?;
    if review.source.is_none() && format == Format::GitHub {
        review.source = Some("github".to_owned());
    }
    Ok(Imported { notes: review.unread.notes.clone(), review_output: review, format })
}

/// What a value is not, and where: a failure of the whole document.
type Refusal = (Place, String);
type Found = Option<(ReviewOutput, Format)>;

/// How deep documents are unwrapped: an envelope in an envelope in a fence is real, more is an attack.
const DEEPEST: usize = 8;

#[derive(Clone, Copy)]
struct Reader<'a> {
    tree: Option<&'a dyn SourceText>,
}

impl Reader<'_> {
    /// A document as text: JSON, several JSON values, prose with JSON in it, or a gap list.
    fn text(self, text: &str, depth: usize) -> Result<(ReviewOutput, Format), Refusal> {
        match document::parse(text)? {
            Document::Values(values) => match self.values(values, depth)? {
                Some(found) => Ok(found),
                None => Err((Place::START, UNKNOWN.to_owned())),
            },
            Document::Candidates(candidates) => {
                // A report often quotes other JSON first, so the last candidate that is a review counts.
                let mut refusal = None;
                for values in candidates.into_iter().rev() {
                    match self.values(values, depth) {
                        Ok(Some(found)) => return Ok(found),
                        Ok(None) => {}
                        Err(why) => refusal = refusal.or(Some(why)),
                    }
                }
                match gaps::from_text(text) {
                    Some(review) => Ok((review, Format::Gaps)),
                    None => Err(refusal.unwrap_or((Place::START, UNKNOWN.to_owned()))),
                }
            }
            Document::Text => match gaps::from_text(text) {
                Some(review) => Ok((review, Format::Gaps)),
                None => Err((Place::START, UNKNOWN.to_owned())),
            },
        }
    }

    fn values(self, mut values: Vec<Value>, depth: usize) -> Result<Found, Refusal> {
        if values.len() == 1 {
            let value = values.pop().unwrap_or(Value::Null);
            return self.value(value, depth);
        }
        if values.iter().all(rdjson::is_line) {
            return Ok(Some((rdjson::read_lines(&values, self.tree), Format::Rdjson)));
        }
        if values.iter().all(rustc::is_line) {
            return Ok(Some((rustc::read(&values, self.tree), Format::Compiler)));
        }
        if values.iter().all(Value::is_array) {
            // `gh api --paginate` writes one list after the other.
            let joined = values.into_iter().flat_map(|value| match value {
                Value::Array(items) => items,
                _ => Vec::new(),
            });
            return self.value(Value::Array(joined.collect()), depth);
        }
        self.value(Value::Array(values), depth)
    }

    fn value(self, value: Value, depth: usize) -> Result<Found, Refusal> {
        if depth > DEEPEST {
            return Ok(None);
        }
        match value {
            Value::Object(object) => self.object(object, depth),
            Value::Array(items) => self.array(items, depth),
            Value::String(text) if text.contains(['{', '[']) => self.text(&text, depth + 1).map(Some),
            _ => Ok(None),
        }
    }

    fn object(self, object: Map<String, Value>, depth: usize) -> Result<Found, Refusal> {
        let at_start = |message: String| (Place::START, message);
        let value = Value::Object(object);
        let Value::Object(object) = &value else { return Ok(None) };
        let says_v1 = object.get("schema_version").and_then(Value::as_str) == Some(SCHEMA_VERSION);
        if says_v1 || object.contains_key("schema_version") && object.contains_key("findings") {
            let review = ReviewOutput::from_value(&value).map_err(at_start)?;
            return Ok(Some((review, Format::ReviewOutput)));
        }
        // `null`: the producer says that it could not give its runs.
        let says_sarif = || object.get("version").is_some_and(Value::is_string);
        if object.get("runs").is_some_and(|runs| runs.is_array() || runs.is_null() && says_sarif()) {
            return sarif::read(object, self.tree)
                .map(|review| Some((review, Format::Sarif)))
                .map_err(at_start);
        }
        if rdjson::is_document(object) {
            return Ok(Some((rdjson::read(object, self.tree), Format::Rdjson)));
        }
        if rdjson::is_line(&value) {
            return Ok(Some((rdjson::read_lines(std::slice::from_ref(&value), self.tree), Format::Rdjson)));
        }
        if rustc::is_line(&value) {
            let review = rustc::read(std::slice::from_ref(&value), self.tree);
            return Ok(Some((review, Format::Compiler)));
        }
        if let Some(review) = github::read(&value, self.tree).map_err(at_start)? {
            return Ok(Some((review, Format::GitHub)));
        }
        if let Some(review) = gaps::from_object(object) {
            return Ok(Some((review, Format::Gaps)));
        }
        if let Some(message) = envelope::failure(object) {
            return Err(at_start(message));
        }
        for inner in envelope::contents(object) {
            if let Some(found) = self.value(inner, depth + 1)? {
                return Ok(Some(found));
            }
        }
        Ok(loose::read_object(object).map(|review| (review, Format::Review)))
    }

    fn array(self, items: Vec<Value>, depth: usize) -> Result<Found, Refusal> {
        if let Some(inner) = envelope::last_answer(&items).map_err(|message| (Place::START, message))? {
            return self.value(inner, depth + 1);
        }
        if !items.is_empty() && items.iter().all(Value::is_array) {
            let joined = items.into_iter().flat_map(|value| match value {
                Value::Array(items) => items,
                _ => Vec::new(),
            });
            return self.array(joined.collect(), depth + 1);
        }
        let value = Value::Array(items);
        if let Some(review) = github::read(&value, self.tree).map_err(|message| (Place::START, message))? {
            return Ok(Some((review, Format::GitHub)));
        }
        let Value::Array(items) = &value else { return Ok(None) };
        if !items.is_empty() && items.iter().all(rdjson::is_line) {
            return Ok(Some((rdjson::read_lines(items, self.tree), Format::Rdjson)));
        }
        if !items.is_empty() && items.iter().all(rustc::is_line) {
            return Ok(Some((rustc::read(items, self.tree), Format::Compiler)));
        }
        Ok(loose::read_list(items).map(|review| (review, Format::Review)))
    }
}

const UNKNOWN: &str = "no findings are recognised here; ReviewOutput v1, a review in JSON, SARIF 2.1.0, rdjson, GitHub review \
                       comments, messages of rustc and clippy, and gap lists are read";
