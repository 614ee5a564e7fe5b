//! What the editor holds, so that no worker is sent at unsaved text and a save is told from a worker's write (R32).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::workspace::{ObjectId, RepoPath};

use super::api::{BufferEdit, BufferEvent};
use super::ledger::LoopId;
use crate::agents;
use crate::workspace::transplant;

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Debug)]
pub(super) struct Buffers {
    root: PathBuf,
    open: BTreeMap<String, Buffer>,
    /// Every save of this session, with its time.
    saves: Vec<(u64, RepoPath, ObjectId)>,
    /// The latest save of each file, with its time and bytes.
    latest: BTreeMap<RepoPath, (u64, Arc<[u8]>)>,
    /// Loops for which the user said to use the saved files.
    accepted: BTreeSet<LoopId>,
    /// The same for agents that read through the client.
    for_agents: agents::Buffers,
}

/// What the user saved in the editor: path and exact bytes.
pub(super) type Saved = Vec<(RepoPath, ObjectId)>;

/// The bytes of each file that the user saved, once.
pub(super) type SavedBytes = Vec<(RepoPath, Arc<[u8]>)>;

#[derive(Debug)]
struct Buffer {
    text: Arc<str>,
    /// The text of the file on which the unsaved edits stand: as last opened, saved, or merged.
    saved: Arc<str>,
    /// The ledger's revision when that was so.
    since: u64,
    offered: Option<Offered>,
}

/// What the editor is asked to make of a buffer whose file changed meanwhile.
#[derive(Debug)]
struct Offered {
    disk: Arc<str>,
    before: Arc<str>,
    after: Arc<str>,
    refused: bool,
}

/// How unsaved text stands to what is in the file now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// The file holds what the edits stand on.
    Nothing,
    /// The editor is asked to take both.
    Offered,
    /// It was, and did not.
    Refused,
    /// Both changed the same lines.
    Clash,
}

impl Buffers {
    pub fn below(root: &Path) -> Buffers {
        Buffers {
            root: root.to_owned(),
            open: BTreeMap::new(),
            saves: Vec::new(),
            latest: BTreeMap::new(),
            accepted: BTreeSet::new(),
            for_agents: agents::Buffers::new(|before, after, onto| transplant(before, after, onto).ok()),
        }
    }

    /// `revision` is the ledger's.
    pub fn take(&mut self, event: BufferEvent, revision: u64) {
        let path = match &event {
            BufferEvent::Opened { path, .. }
            | BufferEvent::Changed { path, .. }
            | BufferEvent::Saved { path, .. }
            | BufferEvent::Merged { path, .. }
            | BufferEvent::Closed { path } => path.clone(),
        };
        let fresh = |text: &Arc<str>| Buffer {
            saved: text.clone(),
            text: text.clone(),
            since: revision,
            offered: None,
        };
        match event {
            BufferEvent::Opened { path, text } => {
                self.open.insert(path, fresh(&text));
            }
            BufferEvent::Changed { path, text } => {
                let file = self.root.join(&path);
                let buffer = self.open.entry(path).or_insert_with(|| fresh(&text));
                buffer.text = text;
                buffer.find_base(&file, revision);
            }
            BufferEvent::Saved { path, text } => {
                if let Ok(saved) = RepoPath::new(&path) {
                    let bytes = bytes_of_save(&self.root.join(&path), &text);
                    self.saves.push((super::driver::now(), saved.clone(), ObjectId::of_bytes(&bytes)));
                    self.latest.insert(saved, (super::driver::now(), bytes.into()));
                }
                self.open.insert(path, fresh(&text));
            }
            BufferEvent::Merged { path, text, done } => {
                if let Some(buffer) = self.open.get_mut(&path) {
                    buffer.merged(&text, done, revision);
                }
            }
            BufferEvent::Closed { path } => {
                self.open.remove(&path);
            }
        }
        self.tell_agents(&path);
    }

    fn tell_agents(&self, path: &str) {
        match self.open.get(path) {
            Some(buffer) => self.for_agents.set(path, buffer.saved.clone(), buffer.text.clone()),
            None => self.for_agents.remove(path),
        }
    }

    // ------------------------------------------------------------ unsaved text over a changed file

    /// Paths of unsaved text, and since which revision of the ledger it stands on what it stands on.
    pub fn unsaved(&self) -> Vec<(String, u64)> {
        let unsaved = self.open.iter().filter(|(_, buffer)| buffer.is_dirty());
        unsaved.map(|(path, buffer)| (path.clone(), buffer.since)).collect()
    }

    /// Compares unsaved text with the file, and finds what the editor is to be asked for.
    pub fn merge(&mut self, path: &str, revision: u64) -> Merge {
        let file = self.root.join(path);
        let Some(buffer) = self.open.get_mut(path) else { return Merge::Nothing };
        let merge = buffer.merge(&file, revision);
        self.tell_agents(path);
        merge
    }

    /// The unsaved text is what shall stand there, whatever is in the file.
    pub fn keep_text(&mut self, path: &str, revision: u64) {
        let file = self.root.join(path);
        if let Some(buffer) = self.open.get_mut(path)
            && let Some(disk) = text_in(&file, &buffer.text)
        {
            buffer.stand_on(disk.into(), revision);
        }
        self.tell_agents(path);
    }

    /// Both texts, where they differ, one below the other and marked.
    pub fn mark_both(&mut self, path: &str) {
        let file = self.root.join(path);
        if let Some(buffer) = self.open.get_mut(path)
            && let Some(disk) = text_in(&file, &buffer.text)
        {
            let after = marked(&buffer.text, &disk).into();
            let before = buffer.text.clone();
            buffer.offered = Some(Offered { disk: disk.into(), before, after, refused: false });
        }
    }

    /// What was refused may be asked for once more.
    pub fn offer_again(&mut self, path: &str) {
        if let Some(buffer) = self.open.get_mut(path) {
            buffer.offered = None;
        }
    }

    /// What the editor is asked to make of its buffers.
    pub fn edits(&self) -> Vec<BufferEdit> {
        let offered = self.open.iter().filter_map(|(path, buffer)| Some((path, buffer.offered.as_ref()?)));
        let wanted = offered.filter(|(_, offered)| !offered.refused);
        wanted
            .map(|(path, offered)| BufferEdit {
                path: path.clone(),
                before: offered.before.clone(),
                after: offered.after.clone(),
            })
            .collect()
    }

    /// The unsaved texts as they are at any time from now on.
    pub fn for_agents(&self) -> agents::Buffers {
        self.for_agents.clone()
    }

    /// The editor shows text that is in no file.
    pub fn is_dirty(&self, path: &str) -> bool {
        self.open.get(path).is_some_and(Buffer::is_dirty)
    }

    /// What was saved at `since` (milliseconds since the epoch) or later.
    pub fn saved_since(&self, since: u64) -> Saved {
        let late = self.saves.iter().filter(|(at, ..)| *at >= since);
        late.map(|(_, path, blob)| (path.clone(), *blob)).collect()
    }

    /// The bytes of the latest save of each file, if it was then or later.
    pub fn saved_bytes_since(&self, since: u64) -> SavedBytes {
        let late = self.latest.iter().filter(|(_, (at, _))| *at >= since);
        late.map(|(path, (_, bytes))| (path.clone(), bytes.clone())).collect()
    }

    pub fn accept_for(&mut self, id: LoopId) {
        self.accepted.insert(id);
    }

    pub fn is_accepted_for(&self, id: LoopId) -> bool {
        self.accepted.contains(&id)
    }

    pub fn forget(&mut self, id: LoopId) {
        self.accepted.remove(&id);
    }
}

impl Buffer {
    fn is_dirty(&self) -> bool {
        self.text != self.saved
    }

    fn stand_on(&mut self, disk: Arc<str>, revision: u64) {
        (self.saved, self.since, self.offered) = (disk, revision, None);
    }

    /// After a change: the editor may have read the file again, or taken what it was asked to take.
    fn find_base(&mut self, file: &Path, revision: u64) {
        if !self.is_dirty() {
            return;
        }
        if let Some(offered) = self.offered.take_if(|offered| offered.after == self.text) {
            self.stand_on(offered.disk, revision);
        } else if may_hold(file, &self.text) && text_in(file, &self.text).as_deref() == Some(&*self.text) {
            self.stand_on(self.text.clone(), revision);
        }
    }

    fn merged(&mut self, text: &str, done: bool, revision: u64) {
        match self.offered.take_if(|offered| *offered.after == *text) {
            // The change itself may be on its way still.
            Some(offered) if done => self.stand_on(offered.disk, revision),
            Some(offered) => self.offered = Some(Offered { refused: true, ..offered }),
            None => {}
        }
    }

    fn merge(&mut self, file: &Path, revision: u64) -> Merge {
        let Some(disk) = text_in(file, &self.text) else { return Merge::Nothing };
        if *disk == *self.saved {
            self.offered = None;
            return Merge::Nothing;
        }
        if *disk == *self.text {
            self.stand_on(disk.into(), revision);
            return Merge::Nothing;
        }
        if let Some(offered) = &self.offered
            && *offered.disk == *disk
            && offered.before == self.text
        {
            return if offered.refused { Merge::Refused } else { Merge::Offered };
        }
        self.offered = None;
        let both = transplant(self.saved.as_bytes(), disk.as_bytes(), self.text.as_bytes());
        let Some(after) = both.ok().and_then(|both| String::from_utf8(both).ok()) else {
            return Merge::Clash;
        };
        let disk: Arc<str> = disk.into();
        if *after == *self.text {
            self.stand_on(disk, revision);
            return Merge::Nothing;
        }
        self.offered = Some(Offered { disk, before: self.text.clone(), after: after.into(), refused: false });
        Merge::Offered
    }
}

/// Whether a file of this size can hold the text at all, be it with a byte order mark and other line ends.
fn may_hold(file: &Path, text: &str) -> bool {
    let lines = text.bytes().filter(|&byte| byte == b'\n').count();
    let (least, most) = (text.len().saturating_sub(lines), text.len() + lines + BYTE_ORDER_MARK.len());
    std::fs::metadata(file).is_ok_and(|metadata| (least..=most).contains(&(metadata.len() as usize)))
}

/// What the file holds, as the editor would show it beside `like`: without a byte order mark, with the same line ends.
/// `None` where there is no file, or none in UTF-8.
fn text_in(file: &Path, like: &str) -> Option<String> {
    let held = String::from_utf8(std::fs::read(file).ok()?).ok()?;
    let held = held.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&held);
    Some(with_line_ends_of(held, like))
}

fn with_line_ends_of(text: &str, like: &str) -> String {
    match (text.contains("\r\n"), like.contains("\r\n")) {
        (true, false) if like.contains('\n') => text.replace("\r\n", "\n"),
        (false, true) => text.replace('\n', "\r\n"),
        _ => text.to_owned(),
    }
}

/// The bytes that a save of this text wrote. The file may hold other ones again already.
fn bytes_of_save(file: &Path, text: &str) -> Vec<u8> {
    let Ok(held) = std::fs::read(file) else { return text.into() };
    if text_in(file, text).as_deref() == Some(text) {
        return held;
    }
    let held = String::from_utf8_lossy(&held);
    let mark = if held.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { "" };
    format!("{mark}{}", with_line_ends_of(text, &held)).into_bytes()
}

/// Both texts in one, with marks around what differs, as git makes them.
fn marked(mine: &str, theirs: &str) -> String {
    let (mine, theirs): (Vec<&str>, Vec<&str>) =
        (mine.split_inclusive('\n').collect(), theirs.split_inclusive('\n').collect());
    let shorter = mine.len().min(theirs.len());
    let above = mine.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let below =
        mine.iter().rev().zip(theirs.iter().rev()).take(shorter - above).take_while(|(a, b)| a == b).count();
    let end = if mine.concat().contains("\r\n") { "\r\n" } else { "\n" };
    let part = |lines: &[&str]| {
        let text = lines.concat();
        if text.is_empty() || text.ends_with('\n') { text } else { format!("{text}{end}") }
    };
    let (mine_between, theirs_between) =
        (part(&mine[above..mine.len() - below]), part(&theirs[above..theirs.len() - below]));
    format!(
        "{}<<<<<<< your text{end}{mine_between}======={end}{theirs_between}>>>>>>> the fix{end}{}",
        mine[..above].concat(),
        mine[mine.len() - below..].concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_dirty_while_it_differs_from_what_was_saved() {
        let text = |text: &str| -> Arc<str> { text.into() };
        let mut buffers = Buffers::below(Path::new("/nonexistent"));
        let path = || "a.py".to_string();
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Opened { path: path(), text: text("x") }, 0);
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Changed { path: path(), text: text("y") }, 0);
        assert!(buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Changed { path: path(), text: text("x") }, 0);
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Changed { path: path(), text: text("z") }, 0);
        buffers.take(BufferEvent::Saved { path: path(), text: text("z") }, 0);
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Saved { path: path(), text: text("w") }, 0);
        assert_eq!(buffers.saved_since(0).len(), 2);
        assert!(buffers.saved_since(u64::MAX).is_empty());
        buffers.take(BufferEvent::Closed { path: path() }, 0);
        assert!(!buffers.is_dirty("a.py"));
    }

    #[test]
    fn agents_see_unsaved_text_with_what_was_changed_on_disk_and_none_that_is_saved() {
        let text = |text: &str| -> Arc<str> { text.into() };
        let mut buffers = Buffers::below(Path::new("/nonexistent"));
        let path = || "a.py".to_string();
        let agents = buffers.for_agents();
        let saved = "one\ntwo\nthree\nfour\n";
        buffers.take(BufferEvent::Opened { path: path(), text: text(saved) }, 0);
        assert_eq!(agents.shown("a.py", saved), None);
        buffers.take(BufferEvent::Changed { path: path(), text: text("mine\ntwo\nthree\nfour\n") }, 0);
        assert_eq!(agents.shown("a.py", saved).as_deref(), Some("mine\ntwo\nthree\nfour\n"));
        let fixed = "one\ntwo\nTHREE\nfour\n";
        assert_eq!(agents.shown("a.py", fixed).as_deref(), Some("mine\ntwo\nTHREE\nfour\n"));
        assert_eq!(agents.shown("b.py", saved), None);
        let (shown, written) = ("mine\ntwo\nthree\nfour\n", "mine\ntwo\nthree\nFOUR\n");
        assert_eq!(agents.to_file(shown, written, fixed).as_deref(), Some("one\ntwo\nTHREE\nFOUR\n"));
        assert_eq!(agents.to_file(shown, "theirs\ntwo\nthree\nfour\n", fixed), None, "the user's own line");
        buffers.take(BufferEvent::Saved { path: path(), text: text("mine\ntwo\nthree\nfour\n") }, 0);
        assert_eq!(agents.shown("a.py", saved), None);
        buffers.take(BufferEvent::Changed { path: path(), text: text("more\n") }, 0);
        buffers.take(BufferEvent::Closed { path: path() }, 0);
        assert_eq!(agents.shown("a.py", saved), None, "what was not saved is gone with its buffer");
    }

    /// A file `a.txt` on disk, open in an editor, whose text was changed.
    fn typed(disk: &str, text: &str) -> (tempfile::TempDir, Buffers) {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.txt"), disk).unwrap();
        let mut buffers = Buffers::below(folder.path());
        let shown = disk.trim_start_matches(BYTE_ORDER_MARK);
        buffers.take(BufferEvent::Opened { path: "a.txt".into(), text: shown.into() }, 0);
        buffers.take(BufferEvent::Changed { path: "a.txt".into(), text: text.into() }, 0);
        (folder, buffers)
    }

    fn fixed(folder: &tempfile::TempDir, text: &str) {
        std::fs::write(folder.path().join("a.txt"), text).unwrap();
    }

    #[test]
    fn unsaved_text_over_a_changed_file_is_merged_or_asked_about() {
        let disk = "one\nBAD\nthree\n";
        let cases = [
            ("one\nBAD\nmine\n", disk, Merge::Nothing, None),
            ("one\nBAD\nmine\n", "one\nGOOD\nthree\n", Merge::Offered, Some("one\nGOOD\nmine\n")),
            ("one\nWORSE\nthree\n", "one\nGOOD\nthree\n", Merge::Clash, None),
            // The user typed the very fix, and more.
            ("one\nGOOD\nthree\n", "one\nGOOD\nthree\n", Merge::Nothing, None),
        ];
        for (text, now, merge, after) in cases {
            let (folder, mut buffers) = typed(disk, text);
            fixed(&folder, now);
            assert_eq!(buffers.merge("a.txt", 1), merge, "{text:?} over {now:?}");
            assert_eq!(buffers.merge("a.txt", 1), merge, "the same once more");
            let edits: Vec<String> = buffers.edits().iter().map(|edit| edit.after.to_string()).collect();
            assert_eq!(edits.first().map(String::as_str), after, "{text:?} over {now:?}");
        }
    }

    #[test]
    fn line_ends_and_byte_order_marks_are_no_difference() {
        let (folder, mut buffers) = typed("\u{feff}one\r\nBAD\r\nthree\r\n", "one\nBAD\nmine\n");
        fixed(&folder, "\u{feff}one\r\nGOOD\r\nthree\r\n");
        // The editor shows `\n` where the file has `\r\n`: what it was opened with is not comparable by bytes.
        buffers.take(BufferEvent::Changed { path: "a.txt".into(), text: "one\nGOOD\nthree\n".into() }, 0);
        assert!(!buffers.is_dirty("a.txt"), "the editor read the file again");
    }

    #[test]
    fn what_the_editor_took_is_not_offered_again_and_what_it_refused_is_when_asked() {
        let (folder, mut buffers) = typed("one\nBAD\nthree\n", "one\nBAD\nmine\n");
        fixed(&folder, "one\nGOOD\nthree\n");
        assert_eq!(buffers.merge("a.txt", 1), Merge::Offered);
        let told =
            |done| BufferEvent::Merged { path: "a.txt".into(), text: "one\nGOOD\nmine\n".into(), done };
        buffers.take(told(false), 1);
        assert_eq!((buffers.merge("a.txt", 1), buffers.edits()), (Merge::Refused, Vec::new()));
        buffers.offer_again("a.txt");
        assert_eq!(buffers.merge("a.txt", 1), Merge::Offered);
        // The answer comes before the change itself.
        buffers.take(told(true), 1);
        assert_eq!((buffers.merge("a.txt", 1), buffers.edits()), (Merge::Nothing, Vec::new()));
        buffers.take(BufferEvent::Changed { path: "a.txt".into(), text: "one\nGOOD\nmine\n".into() }, 1);
        assert_eq!(buffers.merge("a.txt", 1), Merge::Nothing);
        assert!(buffers.is_dirty("a.txt"), "it is not saved yet");
    }

    #[test]
    fn on_a_clash_the_text_is_kept_or_both_are_marked_and_nothing_is_lost() {
        let (folder, mut buffers) = typed("one\nBAD\nthree\n", "one\nMINE\nthree\n");
        fixed(&folder, "one\nGOOD\nthree\n");
        assert_eq!(buffers.merge("a.txt", 1), Merge::Clash);
        buffers.mark_both("a.txt");
        assert_eq!(
            &*buffers.edits()[0].after,
            "one\n<<<<<<< your text\nMINE\n=======\nGOOD\n>>>>>>> the fix\nthree\n"
        );
        assert_eq!(buffers.merge("a.txt", 1), Merge::Offered);
        buffers.keep_text("a.txt", 1);
        assert_eq!((buffers.merge("a.txt", 1), buffers.edits()), (Merge::Nothing, Vec::new()));
        assert!(buffers.is_dirty("a.txt"));
        for (mine, theirs) in
            [("", "a\n"), ("a", "b"), ("a\nb", "a\nc\nb"), ("a\n", "a\n\n"), ("x\r\n", "y\r\n")]
        {
            let both = marked(mine, theirs);
            for line in mine.lines().chain(theirs.lines()) {
                assert!(both.lines().any(|known| known == line), "{line:?} of {mine:?} and {theirs:?}");
            }
        }
    }

    #[test]
    fn a_save_is_known_by_the_bytes_that_it_wrote_whatever_stands_there_now() {
        let (folder, mut buffers) = typed("\u{feff}one\r\n", "two\r\n");
        let save = |buffers: &mut Buffers| {
            buffers.take(BufferEvent::Saved { path: "a.txt".into(), text: "two\r\n".into() }, 0);
            let saved = buffers.saved_bytes_since(0);
            assert_eq!(saved.len(), 1, "one for each file");
            saved[0].1.to_vec()
        };
        fixed(&folder, "\u{feff}two\r\n");
        assert_eq!(save(&mut buffers), "\u{feff}two\r\n".as_bytes());
        fixed(&folder, "\u{feff}a worker was here\r\n");
        assert_eq!(save(&mut buffers), "\u{feff}two\r\n".as_bytes());
        assert!(buffers.saved_bytes_since(u64::MAX).is_empty());
    }
}
