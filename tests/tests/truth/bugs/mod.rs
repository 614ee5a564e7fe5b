//! The bugs: six small programs, each wrong in one place.
//!
//! Owns the sources, their tests, and the hidden truth of each: a program outside of every repository that says of a
//! source whether the bug is gone and whether the rest still works. Nothing here knows about agents or `fix-loop`.

mod cart;
mod durations;
mod leap;
mod pages;
mod slug;
mod span;

pub const ALL: [&Bug; 6] = [&pages::BUG, &durations::BUG, &slug::BUG, &cart::BUG, &span::BUG, &leap::BUG];

/// How the check of a bug comes to be its check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The finding names it.
    Finding,
    /// A `[[check]]` whose paths match.
    Configured,
    /// Nobody named it.
    Discovered,
}

/// One edit: the one place where `.0` stands becomes `.1`.
pub type Edit = (&'static str, &'static str);

pub struct Bug {
    pub name: &'static str,
    pub source: &'static str,
    pub tests: &'static str,
    /// Where the bug is, from 1.
    pub line: u32,
    pub title: &'static str,
    pub comment: &'static str,
    pub origin: Origin,
    /// Runs its tests; the configured check, unless it is left to be discovered.
    pub command: &'static [&'static str],
    /// Files beside the source and its tests.
    pub more: &'static [(&'static str, &'static str)],
    /// The whole source. Its last line is where the user has staged work of their own.
    pub text: &'static str,
    /// The statement that is wrong.
    pub wrong: &'static str,
    pub right: &'static str,
    /// Two more statements that are wrong, and differ.
    pub wrong_again: [&'static str; 2],
    /// What answers the covering test's own inputs and nothing else.
    pub special: [&'static str; 2],
    /// What neither compiles nor loads.
    pub broken: [&'static str; 2],
    /// Breaks the other function.
    pub regression: [Edit; 2],
    /// The tests of the other function: two of them.
    pub other_tests: &'static str,
    /// The test that fails because of the bug, and how it is hung into the file.
    pub covering: &'static str,
    pub hook: &'static str,
    /// Makes the covering test expect what is wrong.
    pub weaken_covering: Edit,
    /// Takes an assertion out of a test of the other function, or the whole test.
    pub weaken_other: Edit,
    pub delete_other: &'static str,
    /// What has to go from the source when the test file goes.
    pub with_test_file: Option<&'static str>,
    /// The hidden truth: its file name and text. It is called with the path of a source.
    pub truth: (&'static str, &'static str),
}

impl Bug {
    /// The test file, with or without the test that covers the bug.
    pub fn tests_text(&self, covered: bool) -> String {
        let covering = if covered { self.covering } else { "" };
        self.other_tests.replace(self.hook, &format!("{covering}{}", self.hook))
    }

    /// The user's own line at the end of the source.
    pub fn users_line(&self) -> (String, String) {
        let line = |text: &str| format!("{} {text}\n", self.comment);
        (line("end"), line("end, and a line of mine that is staged"))
    }

    pub fn whole_text(&self) -> String {
        format!("{}\n{}", self.text, self.users_line().0)
    }

    /// The program and arguments of its truth, without the source.
    pub fn judge(&self, python: &str, folder: &std::path::Path) -> Vec<String> {
        let file = folder.join(self.truth.0).display().to_string();
        match self.truth.0.rsplit('.').next() {
            Some("py") => vec![python.to_owned(), "-S".into(), file],
            Some("mjs") => vec!["node".into(), file],
            _ => vec!["sh".into(), file],
        }
    }
}
