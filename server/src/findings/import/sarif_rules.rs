//! What a SARIF result means: its rule, level, message and whether it still counts.

use serde_json::{Map, Value};

use crate::findings::finding::Severity;
use crate::findings::reading::severity_of;

type Object = Map<String, Value>;

/// The rules and overrides of a run.
pub struct Rules<'a> {
    driver: Option<&'a Value>,
    extensions: &'a [Value],
    invocations: &'a [Value],
}

/// A result's rule.
#[derive(Clone, Default)]
pub struct Rule<'a> {
    pub id: Option<String>,
    pub descriptor: Option<&'a Value>,
    component: Option<&'a Value>,
    index: Option<u64>,
}

fn list<'a>(value: Option<&'a Value>, key: &str) -> &'a [Value] {
    value.and_then(|value| value.get(key)).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
}

fn text<'a>(value: Option<&'a Value>, path: &[&str]) -> Option<&'a str> {
    path.iter()
        .try_fold(value?, |value, key| value.get(*key))?
        .as_str()
        .filter(|text| !text.trim().is_empty())
}

/// `CA1000/1` is a rule below CA1000.
fn is_rule(own: &str, id: &str) -> bool {
    id.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<'a> Rules<'a> {
    pub fn of(run: &'a Object) -> Self {
        let tool = run.get("tool");
        Rules {
            driver: tool.and_then(|tool| tool.get("driver")),
            extensions: list(tool, "extensions"),
            invocations: run.get("invocations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
        }
    }

    /// The rule by reference, index or id, in the driver or an extension.
    pub fn rule(&self, result: &'a Object) -> Rule<'a> {
        let reference = result.get("rule");
        let index = reference
            .and_then(|rule| rule.get("index"))
            .or_else(|| result.get("ruleIndex"))
            .and_then(Value::as_u64);
        let id = text(result.get("ruleId"), &[]).or_else(|| text(reference, &["id"]));
        let component = reference.and_then(|rule| rule.get("toolComponent"));
        let named = component.and_then(|component| {
            let at = component
                .get("index")
                .and_then(Value::as_u64)
                .and_then(|at| self.extensions.get(usize::try_from(at).ok()?));
            at.or_else(|| {
                let name = text(Some(component), &["name"])?;
                self.extensions.iter().find(|extension| text(Some(extension), &["name"]) == Some(name))
            })
        });
        let matches =
            |rule: &&Value| text(Some(rule), &["id"]).zip(id).is_some_and(|(own, id)| is_rule(own, id));
        let mut found = (None, named.or(self.driver));
        if let Some(index) = index.and_then(|index| usize::try_from(index).ok()) {
            let at_index = list(found.1, "rules").get(index);
            // An index that points at another rule than the id is wrong; the id counts.
            found.0 = at_index.filter(|rule| id.is_none() || matches(rule));
        }
        if found.0.is_none() && id.is_some() {
            let components = named.into_iter().chain(self.driver).chain(self.extensions);
            for component in components {
                if let Some(rule) = list(Some(component), "rules").iter().find(matches) {
                    found = (Some(rule), Some(component));
                    break;
                }
            }
        }
        let id = id.or_else(|| text(found.0, &["id"])).map(str::to_owned);
        Rule { id, descriptor: found.0, component: found.1, index }
    }

    /// The severity and the native word, from the result, the invocation and the rule (DESIGN 5, "level from rule and
    /// configuration"). A `security-severity` score can make it more severe, never less.
    pub fn severity(&self, result: &Object, rule: &Rule<'_>) -> (Severity, String) {
        let (severity, word) = self.level(result, rule);
        let scores = [result.get("properties"), rule.descriptor.and_then(|rule| rule.get("properties"))];
        let score: Option<f64> = scores.into_iter().find_map(|properties| {
            let score = properties?.get("security-severity")?;
            score.as_f64().or_else(|| score.as_str()?.trim().parse().ok())
        });
        let by_score = score.filter(|score| score.is_finite() && word != "none").map(|score| match score {
            score if score >= 9.0 => Severity::P0,
            score if score >= 7.0 => Severity::P1,
            score if score >= 4.0 => Severity::P2,
            _ => Severity::P3,
        });
        match (by_score, score) {
            (Some(by_score), Some(score)) if by_score < severity => {
                (by_score, format!("security-severity {score}"))
            }
            _ => (severity, word),
        }
    }

    fn level(&self, result: &Object, rule: &Rule<'_>) -> (Severity, String) {
        let given = result.get("level").and_then(Value::as_str).map(str::to_owned);
        let fails = matches!(result.get("kind").and_then(Value::as_str), None | Some("fail"));
        if given.is_none() && !fails {
            return (Severity::P3, "none".to_owned());
        }
        let level = given
            .or_else(|| self.overridden(result, rule))
            .or_else(|| text(rule.descriptor, &["defaultConfiguration", "level"]).map(str::to_owned));
        if level.is_none() {
            let own = result.get("properties");
            let word = ["issue_severity", "severity", "problem.severity", "priority"]
                .iter()
                .find_map(|key| text(own, &[key]).or_else(|| text(rule.descriptor, &["properties", key])));
            if let Some((severity, word)) = word.and_then(|word| Some((severity_of(word)?, word))) {
                return (severity, word.to_owned());
            }
        }
        let level = level.unwrap_or_else(|| "warning".to_owned());
        let severity = match level.as_str() {
            "error" => Severity::P1,
            "warning" => Severity::P2,
            _ => Severity::P3,
        };
        (severity, level)
    }

    /// A level that the invocation's configuration gives the rule.
    fn overridden(&self, result: &Object, rule: &Rule<'_>) -> Option<String> {
        let index = result
            .get("provenance")
            .and_then(|provenance| provenance.get("invocationIndex"))
            .and_then(Value::as_u64);
        let invocations = match index.and_then(|index| self.invocations.get(usize::try_from(index).ok()?)) {
            Some(invocation) => std::slice::from_ref(invocation),
            None => self.invocations,
        };
        invocations
            .iter()
            .flat_map(|invocation| list(Some(invocation), "ruleConfigurationOverrides"))
            .find_map(|entry| {
                let descriptor = entry.get("descriptor");
                let same_id = text(descriptor, &["id"])
                    .zip(rule.id.as_deref())
                    .is_some_and(|(own, id)| is_rule(own, id));
                let own_index =
                    descriptor.and_then(|descriptor| descriptor.get("index")).and_then(Value::as_u64);
                let other_component =
                    descriptor.is_some_and(|descriptor| descriptor.get("toolComponent").is_some());
                let same_index = own_index.is_some()
                    && own_index == rule.index
                    && !other_component
                    && descriptor.and_then(|descriptor| descriptor.get("id")).is_none();
                if !same_id && !same_index {
                    return None;
                }
                text(entry.get("configuration"), &["level"]).map(str::to_owned)
            })
    }

    /// The message with its arguments, from the result or from the rule.
    pub fn message(&self, result: &Object, rule: &Rule<'_>) -> String {
        let message = result.get("message");
        let template = text(message, &["text"]).or_else(|| text(message, &["markdown"])).or_else(|| {
            let id = text(message, &["id"])?;
            [
                (rule.descriptor, "messageStrings"),
                (rule.component, "globalMessageStrings"),
                (self.driver, "globalMessageStrings"),
            ]
            .into_iter()
            .find_map(|(value, key)| {
                text(value, &[key, id, "text"]).or_else(|| text(value, &[key, id, "markdown"]))
            })
        });
        let message_text = match template {
            Some(template) => filled(template, list(message, "arguments")),
            // A message that is a bare string is against the format, and clear.
            None => message.and_then(Value::as_str).map(str::to_owned).unwrap_or_default(),
        };
        if !message_text.trim().is_empty() {
            return message_text;
        }
        text(rule.descriptor, &["shortDescription", "text"])
            .or_else(|| text(rule.descriptor, &["fullDescription", "text"]))
            .or_else(|| text(rule.descriptor, &["name"]))
            .or(rule.id.as_deref())
            .unwrap_or_default()
            .to_owned()
    }
}

/// Replaces `{0}` by the arguments; `{{` and `}}` are braces.
fn filled(template: &str, arguments: &[Value]) -> String {
    let mut message = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        message.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let brace = &rest[at..=at];
        if after.starts_with(brace) {
            message.push_str(brace);
            rest = &after[1..];
            continue;
        }
        let argument = (brace == "{")
            .then(|| after.split_once('}'))
            .flatten()
            .and_then(|(number, rest)| Some((arguments.get(number.parse::<usize>().ok()?)?, rest)));
        match argument {
            Some((argument, after)) => {
                message.push_str(&argument.as_str().map_or_else(|| argument.to_string(), str::to_owned));
                rest = after;
            }
            None => {
                message.push_str(brace);
                rest = after;
            }
        }
    }
    message.push_str(rest);
    message
}

/// Why the document itself takes a result back; `None` where it stands.
pub fn taken_back(result: &Object) -> Option<String> {
    if result.get("baselineState").and_then(Value::as_str) == Some("absent") {
        return Some("absent: the tool no longer finds it".to_owned());
    }
    if let Some(kind @ ("pass" | "notApplicable")) = result.get("kind").and_then(Value::as_str) {
        return Some(format!("the result is of kind {kind}, which is no problem"));
    }
    let suppressions = result.get("suppressions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // A suppression that is under review or rejected does not hide a result; one that is accepted does.
    let accepted = suppressions.iter().find(|suppression| {
        let status = suppression.get("status").or_else(|| suppression.get("state")).and_then(Value::as_str);
        matches!(status, None | Some("accepted"))
    })?;
    let kind = text(Some(accepted), &["kind"]).unwrap_or("no kind given");
    Some(match text(Some(accepted), &["justification"]) {
        Some(justification) => format!("suppressed ({kind}): {justification}"),
        None => format!("suppressed ({kind})"),
    })
}
