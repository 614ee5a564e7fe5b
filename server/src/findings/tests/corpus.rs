//! Real findings files of other people's tools. They are not part of this repository: `FIX_LOOP_CORPUS` says where they
//! are, and the tests skip with a message where they are not.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

fn corpus() -> Option<PathBuf> {
    let given = std::env::var_os("FIX_LOOP_CORPUS").map(PathBuf::from);
    let folder =
        given.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"));
    if folder.join("index.tsv").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: there is no corpus in {}", folder.display());
    None
}

/// The files with the format that the index gives them.
fn files(folder: &std::path::Path) -> Vec<(String, String, Vec<u8>)> {
    let index = std::fs::read_to_string(folder.join("index.tsv")).expect("an index");
    index
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut columns = line.split('\t');
            let (name, format) = (columns.next()?, columns.nth(1)?);
            let bytes = std::fs::read(folder.join(name)).ok()?;
            Some((name.to_owned(), format.to_owned(), bytes))
        })
        .collect()
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused_for_what_it_is() {
    let Some(folder) = corpus() else { return };
    use crate::findings::import::Format;
    for (name, format, bytes) in files(&folder) {
        let expected = match format.as_str() {
            "sarif-2.1.0" => Some(Format::Sarif),
            "rdjson" | "rdjsonl" => Some(Format::Rdjson),
            "github-review-comments" | "github-graphql" => Some(Format::GitHub),
            "llm-json" => Some(Format::Review),
            _ => None,
        };
        let read = import(&bytes, &name);
        assert_eq!(read.as_ref().ok().map(|imported| imported.format), expected, "{name}: {read:?}");
        let Ok(imported) = read else { continue };
        for finding in &imported.review_output.findings {
            assert!(!finding.title.trim().is_empty(), "{name}");
            assert_eq!(finding.verdict, None, "{name}");
            assert!(finding.checks.is_empty(), "{name}");
            assert!(!finding.severity.is_worked_on() || finding.criterion.is_some(), "{name}");
            assert!(finding.line_start.is_none() || finding.file.is_some(), "{name}");
        }
        let written = serde_json::to_value(&imported.review_output).unwrap();
        assert_eq!(
            ReviewOutput::from_value(&written).unwrap().findings,
            imported.review_output.findings,
            "{name}"
        );
        let taken = intake(&[(name.as_str().into(), imported.review_output.clone())], &MemoryTree::default());
        let listed = taken.unconfirmed.len() + taken.ignored.len();
        let given = imported.review_output.findings.len() + imported.review_output.unread.left_out.len();
        assert_eq!((listed, taken.workable.len(), taken.refused.len()), (given, 0, 0), "{name}");
    }
}

#[test]
fn the_corpus_gives_the_findings_that_are_in_it() {
    let Some(folder) = corpus() else { return };
    let counts: BTreeMap<String, (usize, usize)> = files(&folder)
        .into_iter()
        .filter_map(|(name, _, bytes)| {
            let review = import(&bytes, &name).ok()?.review_output;
            Some((name, (review.findings.len(), review.unread.left_out.len())))
        })
        .collect();
    for (name, expected) in [
        ("sarif/suppression-states.sarif", (2, 3)),
        ("sarif/tutorial-suppressions.sarif", (4, 5)),
        ("sarif/codeql-java-large.sarif", (72, 0)),
        ("sarif/polyspace-445.sarif", (445, 0)),
        ("sarif/three-runs-category.sarif", (13, 0)),
        ("sarif/semgrep-nosemgrep-suppressed.sarif", (1, 1)),
        ("sarif/snyk-code-empty.sarif", (0, 0)),
        ("rdjson/reviewdog-custom.rdjson", (15, 0)),
        ("rdjson/reviewdog-suggestions.rdjsonl", (10, 0)),
        ("github/livereview-44.json", (38, 0)),
        ("github/copilot-coderabbit-outdated-subset.json", (73, 0)),
        ("llm/claude-p-envelope-fenced.json", (8, 0)),
        ("llm/gemini-fence-inside-string.json", (9, 0)),
        ("llm/nested-agent-reviews.json", (2, 0)),
        ("llm/verdict-only-no-findings.json", (0, 0)),
    ] {
        assert_eq!(counts.get(name), Some(&expected), "{name}");
    }
}

#[test]
fn broken_files_of_the_corpus_are_refused_at_the_exact_place() {
    let Some(folder) = corpus() else { return };
    for (name, line, column) in [
        ("llm/broken-unescaped-quotes.json", 18, 31),
        ("sarif/eclair-bad-escape.sarif", 1, 21_398),
        ("llm/empty-file.json", 1, 1),
        ("github/graphql-errors.json", 1, 1),
    ] {
        let bytes = std::fs::read(folder.join(name)).expect("a file of the corpus");
        let error = import(&bytes, name).expect_err(name);
        assert_eq!((error.line, error.column), (line, column), "{error}");
    }
}

#[test]
fn suggestions_of_real_tools_are_applied_to_the_text_they_were_made_for() {
    let Some(folder) = corpus() else { return };
    for (report, source, path) in [
        ("toolrun/biome.rdjson", "toolrun/src-emoji-bom-crlf.js", "dir with space/é😀.js"),
        ("toolrun/ruff.rdjson", "toolrun/src-emoji-crlf.py", "/ws/sp ace é.py"),
        ("toolrun/ruff.sarif", "toolrun/src-emoji-crlf.py", "/ws/sp ace é.py"),
    ] {
        let text = std::fs::read_to_string(folder.join(source)).expect("the source");
        let bytes = std::fs::read(folder.join(report)).expect("the report");
        let mut applied = 0;
        for finding in import(&bytes, report).expect(report).review_output.findings {
            if finding.suggestion.is_empty() {
                continue;
            }
            let fixed = apply_edits_against(&text, Some(&text), path, &finding.suggestion).expect(report);
            assert_eq!(
                fixed.matches('\n').count(),
                fixed.matches("\r\n").count(),
                "{report}: line endings stay"
            );
            assert_eq!(fixed.starts_with('\u{feff}'), text.starts_with('\u{feff}'), "{report}");
            applied += 1;
        }
        assert!(applied >= 3, "{report}: {applied}");
    }
}
