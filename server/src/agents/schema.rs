//! The JSON Schemas of reports: published in `server/schemas`, told in every prompt, and passed to agents that take one.
//!
//! Each is one flat object, because neither of the big services takes alternatives at the top: a fixer's scope request and
//! the footer of `converge` are keys beside the others. What belongs together is checked when the report is parsed.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::footer::Footer;
use super::report::*;
use super::role::{ProtocolName, Role};

/// The schema of what a role reports in a protocol.
pub fn schema(role: Role, protocol: ProtocolName) -> Value {
    let mut object = match role {
        Role::Fixer | Role::Recoverer => {
            let mut object = object_of::<FixReport>();
            if protocol != ProtocolName::Rereview {
                add(&mut object, object_of::<ScopeRequest>());
            }
            object.remove("required");
            object
        }
        Role::Verifier => object_of::<ReviewReport>(),
        Role::Reviewer if protocol == ProtocolName::Rereview => object_of::<GateReport>(),
        Role::FinalGate => object_of::<GateReport>(),
        Role::Reviewer => object_of::<ReviewReport>(),
        Role::Checker => object_of::<CheckReport>(),
        Role::Closer => object_of::<CloseReport>(),
        Role::Diagnoser => object_of::<DiagnosisReport>(),
    };
    if has_footer(role, protocol) {
        add(&mut object, object_of::<Footer>());
        let required = object.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(names) = required {
            // A fixer may ask for scope instead; every other worker of these ends with its footer.
            let footer: &[&str] = if role.may_edit() { &[] } else { &["phase", "status"] };
            names.extend(footer.iter().map(|name| json!(name)));
        }
    }
    if role == Role::Verifier {
        require(&mut object, &["id", "verdict", "evidence"]);
    }
    object.insert("title".into(), json!(format!("{} report, {protocol}", role.as_str())));
    Value::Object(object)
}

/// Who ends with the `WORKER_RESULT` footer (DESIGN 6, 8): the workers of `converge`, and every checker.
pub(super) fn has_footer(role: Role, protocol: ProtocolName) -> bool {
    match role {
        Role::Checker => true,
        Role::Fixer | Role::Recoverer | Role::Reviewer | Role::Closer => protocol == ProtocolName::Converge,
        Role::Verifier | Role::Diagnoser | Role::FinalGate => false,
    }
}

/// The name under which a schema is published, without extension.
pub fn schema_name(role: Role, protocol: ProtocolName) -> String {
    format!("report-{}-{}", role.as_str().replace('_', "-"), protocol.as_str())
}

/// The roles that occur in a protocol.
pub fn roles(protocol: ProtocolName) -> &'static [Role] {
    match protocol {
        ProtocolName::Bounded => &[Role::Fixer, Role::Verifier, Role::Checker],
        ProtocolName::Converge => {
            &[Role::Reviewer, Role::Checker, Role::Fixer, Role::Closer, Role::Recoverer]
        }
        ProtocolName::Rereview => {
            &[Role::Fixer, Role::Reviewer, Role::Diagnoser, Role::FinalGate, Role::Checker]
        }
    }
}

/// All published schemas with their names.
pub fn all_schemas() -> Vec<(String, Value)> {
    ProtocolName::ALL
        .iter()
        .flat_map(|&protocol| {
            roles(protocol).iter().map(move |&role| (schema_name(role, protocol), schema(role, protocol)))
        })
        .collect()
}

/// The same schema for services that demand that every key is required and no other is allowed: what may be left out
/// may be null instead, and the keywords they refuse are gone.
pub fn strict(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "title"
            | "default"
            | "format"
            | "minimum"
            | "maximum"
            | "$schema"
            | "required"
            | "additionalProperties" => {}
            "properties" => {
                let required = map.get("required").and_then(Value::as_array);
                let is_required =
                    |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
                let properties: Map<String, Value> = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, property)| {
                        let property = strict(property);
                        (name.clone(), if is_required(name) { property } else { or_null(property) })
                    })
                    .collect();
                out.insert("required".into(), properties.keys().cloned().collect::<Vec<_>>().into());
                out.insert("additionalProperties".into(), false.into());
                out.insert("properties".into(), Value::Object(properties));
            }
            "items" => {
                out.insert(key.clone(), strict(value));
            }
            "anyOf" => {
                let options = value.as_array().into_iter().flatten().map(strict).collect();
                out.insert(key.clone(), Value::Array(options));
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(out)
}

fn or_null(mut schema: Value) -> Value {
    let absent = json!({ "type": "null" });
    if let Some(Value::Array(options)) = schema.get_mut("anyOf") {
        if !options.contains(&absent) {
            options.push(absent);
        }
        return schema;
    }
    if schema.get("enum").is_none() {
        match schema.get_mut("type") {
            Some(Value::Array(kinds)) => {
                if !kinds.contains(&json!("null")) {
                    kinds.push(json!("null"));
                }
                return schema;
            }
            Some(kind) => {
                *kind = json!([kind.clone(), "null"]);
                return schema;
            }
            None => {}
        }
    }
    let description = schema.as_object_mut().and_then(|map| map.remove("description"));
    let mut out = json!({ "anyOf": [schema, absent] });
    if let Some(description) = description {
        out["description"] = description;
    }
    out
}

/// The schema of a type, without references and without formats that only this generator knows.
fn object_of<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    match plain(schema.to_value()) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn plain(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            // Descriptions are wrapped in the source; in the schema they are one line.
            let map = map.into_iter().filter(|(key, _)| !matches!(key.as_str(), "format" | "default")).map(
                |(key, value)| match (key.as_str(), &value) {
                    ("description", Value::String(text)) => (key, Value::String(text.replace('\n', " "))),
                    _ => (key, plain(value)),
                },
            );
            Value::Object(map.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        other => other,
    }
}

/// Adds the properties of another object schema; those that are there already stay.
fn add(object: &mut Map<String, Value>, other: Map<String, Value>) {
    let Some(Value::Object(more)) = other.get("properties").cloned() else { return };
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, property) in more {
        properties.entry(name).or_insert(property);
    }
}

fn require(object: &mut Map<String, Value>, names: &[&str]) {
    let item = object
        .get_mut("properties")
        .and_then(|properties| properties.get_mut("findings"))
        .and_then(|findings| findings.get_mut("items"))
        .and_then(Value::as_object_mut);
    if let Some(item) = item {
        item.insert("required".into(), json!(names));
    }
}
