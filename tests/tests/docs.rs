//! What the documentation shows is what the program does.
//!
//! `FIX_LOOP_UPDATE_DOCS=1` writes the graphs and schemas anew instead of comparing them; with one test at a time.

use std::fs;
use std::path::PathBuf;

use fix_loop::config::Config;
use fix_loop_tests::{Repo, repository_root};

fn documents() -> Vec<PathBuf> {
    let root = repository_root();
    let docs = fs::read_dir(root.join("docs")).expect("there is a folder docs");
    let docs = docs.map(|entry| entry.expect("it can be listed").path());
    let markdown = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut all: Vec<PathBuf> = markdown.chain([root.join("README.md")]).collect();
    all.sort();
    all
}

/// The fenced blocks of one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    text.split(opening.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn the_graph_is_the_programs_own(document: &str, protocol: &str) {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let path = repository_root().join(document);
    let text = fs::read_to_string(&path).expect("docs/protocols.md is there");
    let graph = repo.fix_loop(["protocol", protocol, "--format", "mermaid"]).expect(0).stdout;
    let (begin, end) = (format!("<!-- graph {protocol} -->\n"), "<!-- end -->");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{path:?} has no {begin}"));
    let (_, after) = rest.split_once(end).expect("each graph has an end");
    let renewed = format!("{before}{begin}```mermaid\n{}\n```\n{end}{after}", graph.trim_end());
    if std::env::var_os("FIX_LOOP_UPDATE_DOCS").is_some() {
        fs::write(&path, renewed).expect("the file can be written");
    } else {
        assert!(text == renewed, "{document} is not what the program prints; see tests/tests/docs.rs");
    }
}

#[test]
fn the_graph_of_bounded_is_the_programs_own() {
    the_graph_is_the_programs_own("docs/protocols.md", "bounded");
    the_graph_is_the_programs_own("README.md", "bounded");
}

#[test]
fn the_graph_of_converge_is_the_programs_own() {
    the_graph_is_the_programs_own("docs/protocols.md", "converge");
}

#[test]
fn the_graph_of_rereview_is_the_programs_own() {
    the_graph_is_the_programs_own("docs/protocols.md", "rereview");
}

#[test]
fn every_configuration_in_the_documentation_is_valid() {
    let mut count = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).expect("it is there");
        for block in blocks(&text, "toml") {
            let repo = Repo::empty();
            repo.write("fix-loop.toml", block);
            if let Err(error) = Config::load(repo.root(), None, None) {
                panic!("{}: {error}\n{block}", path.display());
            }
            count += 1;
        }
    }
    assert!(count >= 3, "the documentation shows {count} configurations");
}

#[test]
fn the_published_schemas_are_what_the_program_prints() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    for name in ["config", "findings"] {
        let printed = repo.fix_loop(["schema", name]).expect(0).json();
        assert!(printed.get("$schema").is_some(), "{name} says which JSON Schema it is");
        is_published(name, &printed);
    }
}

#[test]
fn the_published_schemas_of_reports_are_those_that_agents_are_given() {
    for (name, schema) in fix_loop::agents::schema::all_schemas() {
        is_published(&name, &schema);
    }
}

fn is_published(name: &str, schema: &serde_json::Value) {
    let path = repository_root().join(format!("server/schemas/{name}.json"));
    if std::env::var_os("FIX_LOOP_UPDATE_DOCS").is_some() {
        let text = serde_json::to_string_pretty(schema).expect("JSON can be written");
        fs::write(&path, text + "\n").expect("the file can be written");
    }
    let Ok(text) = fs::read_to_string(&path) else { panic!("{} is not there", path.display()) };
    let published: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(&published, schema, "{}", path.display());
}

#[test]
fn the_published_schema_of_briefs_is_that_of_the_type() {
    // Every brief that an end-to-end test looks at is held against it: see `Agent::briefs`.
    is_published("brief", &fix_loop::agents::brief::schema());
}

#[test]
fn a_brief_that_lacks_something_does_not_fit_its_schema() {
    let schema = fix_loop::agents::brief::schema();
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let text = fs::read_to_string(repository_root().join("docs/agents.md")).expect("it is there");
    let shown: serde_json::Value = serde_json::from_str(blocks(&text, "json")[0]).expect("it is JSON");
    assert_eq!(validator.validate(&shown).map_err(|error| error.to_string()), Ok(()), "docs/agents.md");
    for (key, wrong) in
        [("role", "boss".into()), ("round", 0.into()), ("findings", 1.into()), ("scope", "a.py".into())]
    {
        let mut brief = shown.clone();
        brief[key] = wrong;
        assert!(!validator.is_valid(&brief), "{key}");
        brief.as_object_mut().expect("an object").remove(key);
        assert!(!validator.is_valid(&brief), "without {key}");
    }
}

#[test]
fn every_file_that_the_documentation_links_to_is_there() {
    let link = regex::Regex::new(r"\]\(([^)#:]+)(#[^)]*)?\)").expect("a valid expression");
    for path in documents() {
        let text = fs::read_to_string(&path).expect("it is there");
        for found in link.captures_iter(&text) {
            let target = path.parent().expect("a file has a folder").join(&found[1]);
            assert!(target.exists(), "{} links to {}", path.display(), &found[1]);
        }
    }
}
