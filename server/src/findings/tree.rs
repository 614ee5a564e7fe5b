//! The texts that findings are about, as this module is given them.
//!
//! Owns the rule which paths lie inside the root (DESIGN 5, 11, R04, R07). [`DiskTree`] reads files and follows links; it
//! never writes. What the editor has open and unsaved is laid over it with [`MemoryTree`] by whoever knows the buffers.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::anchor::LineMap;
use super::fingerprint::TextLines;

/// Why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathRefused {
    #[error("{path:?} leaves the workspace; only files inside it are worked on")]
    OutsideRoot { path: String },
    #[error("{path:?} lies inside .git, which no fix may touch")]
    InsideGit { path: String },
    #[error("{path:?} is a folder; a finding names a file")]
    Folder { path: String },
    #[error("{path:?} is no usable path; give one relative to the workspace")]
    Unusable { path: String },
}

/// Gives texts and resolves paths. Paths that come out of [`SourceText::resolve`] are relative to the root, with `/`.
pub trait SourceText {
    /// The path inside the root after links are resolved. A file that does not exist resolves as well.
    fn resolve(&self, path: &str) -> Result<String, PathRefused>;

    /// The present text of a resolved path; `None` where there is no such file or it is no text.
    fn text(&self, path: &str) -> Option<String>;

    /// The text of a resolved path in a revision; `None` where that is not known.
    fn text_at(&self, _revision: &str, _path: &str) -> Option<String> {
        None
    }
}

/// Looks everything up once: hundreds of findings are often about a handful of files.
pub(super) struct ReadOnce<'a> {
    tree: &'a dyn SourceText,
    resolved: Once<String, Result<String, PathRefused>>,
    texts: Once<String, Option<Rc<Lined>>>,
    /// By revision and path.
    revisions: Once<(String, String), Option<Rc<Lined>>>,
    maps: Once<(String, String), Option<Rc<LineMap>>>,
}

type Once<K, V> = RefCell<HashMap<K, V>>;

/// A text with its lines.
pub(super) struct Lined {
    pub text: String,
    pub lines: TextLines,
}

impl Lined {
    fn of(text: String) -> Rc<Self> {
        Rc::new(Lined { lines: TextLines::of(&text), text })
    }
}

impl<'a> ReadOnce<'a> {
    pub fn new(tree: &'a dyn SourceText) -> Self {
        ReadOnce {
            tree,
            resolved: RefCell::default(),
            texts: RefCell::default(),
            revisions: RefCell::default(),
            maps: RefCell::default(),
        }
    }

    pub fn resolve(&self, path: &str) -> Result<String, PathRefused> {
        let mut resolved = self.resolved.borrow_mut();
        resolved.entry(path.to_owned()).or_insert_with(|| self.tree.resolve(path)).clone()
    }

    pub fn text(&self, path: &str) -> Option<Rc<Lined>> {
        let mut texts = self.texts.borrow_mut();
        texts.entry(path.to_owned()).or_insert_with(|| self.tree.text(path).map(Lined::of)).clone()
    }

    pub fn text_at(&self, revision: &str, path: &str) -> Option<Rc<Lined>> {
        let key = (revision.to_owned(), path.to_owned());
        let mut revisions = self.revisions.borrow_mut();
        revisions.entry(key).or_insert_with(|| self.tree.text_at(revision, path).map(Lined::of)).clone()
    }
}

impl SourceText for ReadOnce<'_> {
    fn resolve(&self, path: &str) -> Result<String, PathRefused> {
        ReadOnce::resolve(self, path)
    }

    fn text(&self, path: &str) -> Option<String> {
        ReadOnce::text(self, path).map(|lined| lined.text.clone())
    }

    fn text_at(&self, revision: &str, path: &str) -> Option<String> {
        ReadOnce::text_at(self, revision, path).map(|lined| lined.text.clone())
    }
}

impl ReadOnce<'_> {
    /// Where the lines of a revision's text are in the present one.
    pub fn line_map(&self, revision: &str, path: &str) -> Option<Rc<LineMap>> {
        let key = (revision.to_owned(), path.to_owned());
        let made = || {
            let (old, new) = (self.text_at(revision, path)?, self.text(path)?);
            Some(Rc::new(LineMap::between(&old.text, &new.text)))
        };
        let known = self.maps.borrow().get(&key).cloned();
        known.unwrap_or_else(|| self.maps.borrow_mut().entry(key).or_insert_with(made).clone())
    }
}

/// The files under a folder.
#[derive(Clone, Debug)]
pub struct DiskTree {
    root: PathBuf,
    given_root: PathBuf,
}

/// Larger files have no lines worth citing, and reading them would stall the editor.
const LARGEST_TEXT: u64 = 32 * 1024 * 1024;

impl DiskTree {
    /// Both spellings of the root are accepted in absolute paths, the given one and the one without links (R07).
    pub fn new(root: &Path) -> Self {
        let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_path_buf());
        let canonical = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
        DiskTree { root: canonical, given_root: absolute }
    }

    /// The root without links.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl SourceText for DiskTree {
    fn resolve(&self, path: &str) -> Result<String, PathRefused> {
        let exists = |candidate: &str| self.root.join(candidate).symlink_metadata().is_ok();
        // Spaces around a path are a slip of whoever wrote it, unless there is such a file.
        let given = if path.trim() != path && !path.contains(['\0', '\n', '\r']) && exists(path) {
            path.to_owned()
        } else {
            cleaned(path)?
        };
        // Backslashes are separators only where the path is not a file as it stands.
        let given = if given.contains('\\') && !exists(&given) { given.replace('\\', "/") } else { given };
        if is_windows_absolute(&given) && !cfg!(windows) {
            return Err(PathRefused::OutsideRoot { path: path.to_owned() });
        }
        let candidate = Path::new(&given);
        let full = match candidate.strip_prefix(&self.given_root) {
            Ok(inside) => self.root.join(inside),
            Err(_) => self.root.join(candidate),
        };
        let resolved = without_links(&full, MOST_LINKS)
            .ok_or_else(|| PathRefused::Unusable { path: path.to_owned() })?;
        let inside = resolved
            .strip_prefix(&self.root)
            .map_err(|_| PathRefused::OutsideRoot { path: path.to_owned() })?;
        let relative = relative_name(inside, path)?;
        if resolved.is_dir() {
            return Err(PathRefused::Folder { path: path.to_owned() });
        }
        Ok(relative)
    }

    fn text(&self, path: &str) -> Option<String> {
        let full = self.root.join(path);
        let about = full.metadata().ok()?;
        // A FIFO or a device would block for ever.
        if !about.is_file() || about.len() > LARGEST_TEXT {
            return None;
        }
        Some(decoded(std::fs::read(full).ok()?))
    }
}

/// As many links in a row as Linux follows.
const MOST_LINKS: usize = 40;

/// Resolves links in the part of the path that exists, and takes the rest as it is written. `None` where links lead in a
/// circle. A dangling link counts by where it points, which may lie behind further links.
fn without_links(full: &Path, links: usize) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in full.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => {
                resolved.push(part);
                if !resolved.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
                    continue;
                }
                resolved = match resolved.canonicalize() {
                    Ok(target) => target,
                    Err(_) if links == 0 => return None,
                    Err(_) => {
                        let target = std::fs::read_link(&resolved).ok()?;
                        resolved.pop();
                        without_links(&resolved.join(target), links - 1)?
                    }
                };
            }
        }
    }
    Some(resolved)
}

fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The path as it may be joined to the root: a `file:` URI is decoded once, `./` is dropped.
fn cleaned(path: &str) -> Result<String, PathRefused> {
    let unusable = || PathRefused::Unusable { path: path.to_owned() };
    let text = path.trim();
    let text = match text.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file://") => {
            let rest = text[7..].strip_prefix("localhost").unwrap_or(&text[7..]);
            percent_encoding::percent_decode_str(rest).decode_utf8().map_err(|_| unusable())?.into_owned()
        }
        _ => text.to_owned(),
    };
    if text.is_empty() || text.contains('\0') || text.chars().any(|c| c == '\n' || c == '\r') {
        return Err(unusable());
    }
    Ok(text)
}

fn is_windows_absolute(path: &str) -> bool {
    let mut chars = path.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    drive && matches!(chars.next(), Some('/' | '\\')) || path.starts_with("//") || path.starts_with(r"\\")
}

/// The relative path with `/`, refused where it names the root itself or leads into `.git`.
fn relative_name(inside: &Path, given: &str) -> Result<String, PathRefused> {
    let mut names = Vec::new();
    for part in inside.components() {
        match part {
            Component::Normal(name) => {
                let name = name.to_str().ok_or_else(|| PathRefused::Unusable { path: given.to_owned() })?;
                if is_git_folder(name) {
                    return Err(PathRefused::InsideGit { path: given.to_owned() });
                }
                names.push(name);
            }
            Component::CurDir => {}
            _ => return Err(PathRefused::OutsideRoot { path: given.to_owned() }),
        }
    }
    if names.is_empty() {
        return Err(PathRefused::Folder { path: given.to_owned() });
    }
    Ok(names.join("/"))
}

/// The names under which file systems that fold case, or drop trailing dots, would find `.git`.
fn is_git_folder(name: &str) -> bool {
    let folded = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    folded == ".git" || folded == "git~1"
}

/// Text of a file. Bytes that are no UTF-8 do not keep a finding from having lines.
fn decoded(bytes: Vec<u8>) -> String {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// Texts held in memory: the editor's open buffers over another tree, or a whole tree in a test.
#[derive(Default)]
pub struct MemoryTree<'a> {
    texts: BTreeMap<String, String>,
    revisions: BTreeMap<(String, String), String>,
    under: Option<&'a dyn SourceText>,
}

impl<'a> MemoryTree<'a> {
    /// A tree of these texts alone, by relative path.
    pub fn of<P: Into<String>, T: Into<String>>(texts: impl IntoIterator<Item = (P, T)>) -> Self {
        let texts = texts.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        MemoryTree { texts, revisions: BTreeMap::new(), under: None }
    }

    /// These texts in front of those of another tree, which also resolves the paths.
    pub fn over(under: &'a dyn SourceText, texts: BTreeMap<String, String>) -> Self {
        MemoryTree { texts, revisions: BTreeMap::new(), under: Some(under) }
    }

    /// Adds the text of a path in a revision.
    pub fn at(mut self, revision: &str, path: &str, text: &str) -> Self {
        self.revisions.insert((revision.to_owned(), path.to_owned()), text.to_owned());
        self
    }
}

impl SourceText for MemoryTree<'_> {
    fn resolve(&self, path: &str) -> Result<String, PathRefused> {
        if let Some(under) = self.under {
            return under.resolve(path);
        }
        let given = cleaned(path)?;
        let mut depth = 0_i64;
        for part in Path::new(&given).components() {
            depth += match part {
                Component::ParentDir => -1,
                Component::CurDir => 0,
                Component::Normal(_) => 1,
                _ => return Err(PathRefused::OutsideRoot { path: path.to_owned() }),
            };
            if depth < 0 {
                return Err(PathRefused::OutsideRoot { path: path.to_owned() });
            }
        }
        if is_windows_absolute(&given) {
            return Err(PathRefused::OutsideRoot { path: path.to_owned() });
        }
        relative_name(&lexical(Path::new(&given)), path)
    }

    fn text(&self, path: &str) -> Option<String> {
        self.texts.get(path).cloned().or_else(|| self.under?.text(path))
    }

    fn text_at(&self, revision: &str, path: &str) -> Option<String> {
        let key = (revision.to_owned(), path.to_owned());
        self.revisions.get(&key).cloned().or_else(|| self.under?.text_at(revision, path))
    }
}
