//! Where a SARIF result is: `originalUriBaseIds` chains, percent-encoding, `index`-only artifacts (R04).

use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde_json::{Map, Value};

use crate::findings::tree::SourceText;

/// Longest chain of bases that is followed; a real one has two or three.
const LONGEST_CHAIN: usize = 16;

static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^([A-Za-z][A-Za-z0-9+.-]+):").expect("a constant pattern"));

/// A path, and what had to be guessed about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Located {
    /// `None` where the artifact is no file.
    pub path: Option<String>,
    pub given: Option<String>,
    pub why: Option<String>,
}

/// What a run says about its paths.
pub struct Paths<'a> {
    bases: Option<&'a Map<String, Value>>,
    artifacts: &'a [Value],
    working_directories: Vec<String>,
    tree: Option<&'a dyn SourceText>,
}

impl<'a> Paths<'a> {
    pub fn of(run: &'a Map<String, Value>, tree: Option<&'a dyn SourceText>) -> Self {
        let bases = run.get("originalUriBaseIds").and_then(Value::as_object);
        let artifacts = run.get("artifacts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut paths = Paths { bases, artifacts, working_directories: Vec::new(), tree };
        let invocations = run.get("invocations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for invocation in invocations {
            if let Some(Value::Object(directory)) = invocation.get("workingDirectory")
                && let Some(path) = paths.resolve(directory).path
            {
                paths.working_directories.push(with_slash(path));
            }
        }
        paths
    }

    /// The path of an `artifactLocation`.
    pub fn locate(&self, location: &Map<String, Value>) -> Located {
        let given = location.get("uri").and_then(Value::as_str).filter(|uri| !uri.trim().is_empty());
        let by_index;
        let location = match (given, location.get("index").and_then(Value::as_u64)) {
            (None, Some(index)) => {
                let artifact = usize::try_from(index).ok().and_then(|index| self.artifacts.get(index));
                match artifact.and_then(|artifact| artifact.get("location")).and_then(Value::as_object) {
                    Some(location) => {
                        by_index = location;
                        by_index
                    }
                    None => {
                        let why = format!("artifact {index} is not in the run's list of artifacts");
                        return Located { why: Some(why), ..Located::default() };
                    }
                }
            }
            _ => location,
        };
        let mut located = self.resolve(location);
        located.given = location.get("uri").and_then(Value::as_str).map(str::to_owned);
        if let (Some(tree), Some(path)) = (self.tree, located.path.clone()) {
            self.find_in(tree, location, &path, &mut located);
        }
        located
    }

    /// Finds the path in the tree. What another machine called the root is ours where the file is really there.
    fn find_in(
        &self,
        tree: &dyn SourceText,
        location: &Map<String, Value>,
        path: &str,
        located: &mut Located,
    ) {
        let exists = |path: &str| tree.resolve(path).ok().filter(|path| tree.text(path).is_some());
        if let Ok(resolved) = tree.resolve(path) {
            if tree.text(&resolved).is_some() || !path.starts_with('/') {
                located.path = Some(resolved);
                return;
            }
        } else if let Some(found) = location
            .get("uri")
            .and_then(Value::as_str)
            .filter(|uri| SCHEME.find(uri).is_none() && !uri.starts_with('/'))
            .map(decoded)
            .and_then(|relative| exists(&relative))
        {
            located.why =
                Some("its base is outside the workspace, and the file is in the workspace".to_owned());
            located.path = Some(found);
            return;
        }
        for directory in &self.working_directories {
            if let Some(found) = path.strip_prefix(directory.as_str()).and_then(exists) {
                located.why = Some("taken relative to the folder in which the tool ran".to_owned());
                located.path = Some(found);
                return;
            }
        }
    }

    fn resolve(&self, location: &Map<String, Value>) -> Located {
        let text = |key: &str| {
            location.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
        };
        let base_id = text("uriBaseId");
        let Some(uri) = text("uri") else {
            return match base_id {
                Some(id) => self.resolve_chain(String::new(), Some(id)),
                None => Located::default(),
            };
        };
        if let Some(scheme) = scheme_of(uri) {
            return match scheme.as_str() {
                "file" => Located { path: Some(file_path(uri)), ..Located::default() },
                _ => Located {
                    why: Some(format!("{uri:?} is no file of the workspace")),
                    ..Located::default()
                },
            };
        }
        if is_drive(uri) {
            return Located { path: Some(uri.replace('\\', "/")), ..Located::default() };
        }
        let path = decoded(uri);
        match base_id {
            None => Located { path: Some(path), ..Located::default() },
            Some(_) if path.starts_with('/') && self.is_inside(&path) => {
                Located { path: Some(path), ..Located::default() }
            }
            Some(id) => {
                let leading = path.starts_with('/');
                let mut located = self.resolve_chain(path.trim_start_matches('/').to_owned(), Some(id));
                if leading && located.why.is_none() {
                    located.why = Some("a path with a base is relative to it".to_owned());
                }
                located
            }
        }
    }

    fn is_inside(&self, path: &str) -> bool {
        self.tree.is_some_and(|tree| tree.resolve(path).is_ok())
    }

    /// Puts the bases in front, each with a slash, until one is absolute or unknown. An unknown base is the root.
    fn resolve_chain<'s>(&'s self, mut path: String, mut base_id: Option<&'s str>) -> Located {
        let mut seen: Vec<&'s str> = Vec::new();
        while let Some(id) = base_id {
            if seen.contains(&id) || seen.len() >= LONGEST_CHAIN {
                let why = format!(
                    "the base {id} is defined by itself, so the path is taken from the workspace root"
                );
                return Located { path: Some(path), why: Some(why), ..Located::default() };
            }
            seen.push(id);
            let Some(base) = self.bases.and_then(|bases| bases.get(id)) else {
                // Some tools put the folder itself where its name belongs.
                if scheme_of(id).as_deref() == Some("file") {
                    path = join(&file_path(id), &path);
                } else if id.starts_with('/') || is_drive(id) {
                    path = join(&id.replace('\\', "/"), &path);
                }
                break;
            };
            let uri = base.get("uri").and_then(Value::as_str).map(str::trim).filter(|uri| !uri.is_empty());
            base_id = base.get("uriBaseId").and_then(Value::as_str).filter(|id| !id.is_empty());
            let Some(uri) = uri else { continue };
            match scheme_of(uri) {
                Some(scheme) if scheme == "file" => {
                    path = join(&file_path(uri), &path);
                    break;
                }
                Some(_) => return unusable_base(id, uri, path),
                None if uri.starts_with(':') => return unusable_base(id, uri, path),
                None if is_drive(uri) => {
                    path = join(&uri.replace('\\', "/"), &path);
                    break;
                }
                None => {
                    let absolute = uri.starts_with('/');
                    path = join(&decoded(uri), &path);
                    if absolute {
                        break;
                    }
                }
            }
        }
        let path = Some(path).filter(|path| !path.is_empty());
        Located { path, ..Located::default() }
    }
}

fn unusable_base(id: &str, uri: &str, path: String) -> Located {
    let why =
        format!("the base {id} is {uri:?}, which is no folder, so the path is taken from the workspace root");
    Located { path: Some(path), why: Some(why), ..Located::default() }
}

fn scheme_of(uri: &str) -> Option<String> {
    SCHEME.captures(uri).map(|found| found[1].to_ascii_lowercase())
}

fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\')
}

/// `file:///C:/a%20b` and `file:/a` as paths.
fn file_path(uri: &str) -> String {
    let rest = &uri[uri.find(':').map_or(0, |at| at + 1)..];
    let rest = match rest.strip_prefix("//") {
        // An authority other than localhost is a machine, and its path is not ours: kept, so that it is refused.
        Some(rest) if rest.starts_with('/') => rest,
        Some(rest) => {
            rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(&uri[5..])
        }
        None => rest,
    };
    let path = decoded(rest);
    match path.strip_prefix('/') {
        Some(drive) if is_drive(drive) => drive.to_owned(),
        _ => path,
    }
}

/// Percent-decoding, once. What is no UTF-8 then was not meant that way.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

fn with_slash(mut path: String) -> String {
    if !path.ends_with('/') {
        path.push('/');
    }
    path
}

fn join(base: &str, path: &str) -> String {
    if path.is_empty() { base.to_owned() } else { format!("{}{path}", with_slash(base.to_owned())) }
}
