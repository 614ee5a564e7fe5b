//! JUnit XML, as pytest writes it with `-o junit_family=xunit1` and as others do.

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};

/// One `<testcase>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    pub classname: String,
    pub name: String,
    pub file: Option<String>,
    /// As written: pytest counts from 0.
    pub line: Option<u32>,
    pub verdict: Verdict,
    /// Message and text of the failure.
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    #[default]
    Passed,
    Failed,
    Error,
    Skipped,
}

/// All test cases of a report; `None` if it is no complete XML.
pub(super) fn cases(xml: &str) -> Option<Vec<Case>> {
    let mut reader = Reader::from_str(xml);
    let mut cases = Vec::new();
    let mut current: Option<Case> = None;
    let mut inside = false;
    let mut depth = 0usize;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                depth += 1;
                open(&tag, &mut current, &mut inside);
            }
            Event::Empty(tag) => {
                open(&tag, &mut current, &mut inside);
                if tag.name().as_ref() == "testcase" {
                    cases.extend(current.take());
                } else {
                    inside = false;
                }
            }
            Event::End(tag) => {
                depth = depth.checked_sub(1)?;
                match tag.name().as_ref() {
                    "testcase" => cases.extend(current.take()),
                    "failure" | "error" | "skipped" => inside = false,
                    _ => {}
                }
            }
            Event::Text(text) if inside => {
                if let Some(case) = &mut current {
                    case.text.push_str(&text);
                }
            }
            Event::GeneralRef(reference) if inside => {
                if let Some(case) = &mut current {
                    match reference.resolve_char_ref() {
                        Ok(Some(c)) => case.text.push(c),
                        _ => case.text.push_str(resolve_predefined_entity(&reference).unwrap_or_default()),
                    }
                }
            }
            Event::CData(data) if inside => {
                if let Some(case) = &mut current {
                    case.text.push_str(&data);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    (depth == 0).then_some(cases)
}

fn open(tag: &BytesStart<'_>, current: &mut Option<Case>, inside: &mut bool) {
    let attribute = |name: &str| -> Option<String> {
        let value = tag.try_get_attribute(name).ok().flatten()?;
        let raw = value.value.into_owned();
        Some(unescape(&raw).map(|text| text.into_owned()).unwrap_or(raw))
    };
    match tag.name().as_ref() {
        "testcase" => {
            *current = Some(Case {
                classname: attribute("classname").unwrap_or_default(),
                name: attribute("name").unwrap_or_default(),
                file: attribute("file"),
                line: attribute("line").and_then(|line| line.parse().ok()),
                ..Case::default()
            });
        }
        "failure" | "error" | "skipped" => {
            let Some(case) = current else { return };
            let verdict = match tag.name().as_ref() {
                "failure" => Verdict::Failed,
                "error" => Verdict::Error,
                _ => Verdict::Skipped,
            };
            // A test that passed and then failed in its teardown has both; the worse one stays.
            if case.verdict == Verdict::Passed || verdict != Verdict::Skipped {
                case.verdict = verdict;
            }
            if let Some(message) = attribute("message") {
                case.text.push_str(&message);
                case.text.push('\n');
            }
            *inside = true;
        }
        _ => {}
    }
}
