//! The editor's settings as a source: the same keys, without those that name commands.
//!
//! A folder that somebody sends can carry editor settings, so nothing in them may choose a program or its environment
//! (DESIGN 10, 11). Such keys are set aside with a note; they are never an error, since an editor may apply one set of
//! settings to many folders.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::keys::ConfigFile;
use super::{ConfigError, source, validate};

/// Stands where a file's path stands in messages.
pub(super) const NAME: &str = "editor settings (fixLoop)";

/// Keys that belong to the client, not to the server.
const OF_THE_CLIENT: [&str; 2] = ["server", "trace"];

/// Keys of an agent that choose what runs, with which arguments and with which secrets.
const NAMING_COMMANDS: [&str; 7] =
    ["command", "env", "pass_env", "preset", "kind", "model_args", "effort_args"];

/// Keys of a role that choose what an agent that may run commands is told to do.
const INSTRUCTING: [&str; 1] = ["brief"];

pub(super) fn parse(value: &Value, notes: &mut Vec<String>) -> Result<ConfigFile, ConfigError> {
    let refuse = |message: String| ConfigError { file: PathBuf::from(NAME), line: 0, column: 0, message };
    let mut object = match without_nulls(value) {
        Value::Null => return Ok(ConfigFile::default()),
        Value::Object(object) => object,
        _ => return Err(refuse("must be an object with the keys of fix-loop.toml".to_owned())),
    };
    // Some clients send the section, others the object that holds it.
    if let Some(Value::Object(inner)) = object.get("fixLoop") {
        object = inner.clone();
    }
    for key in OF_THE_CLIENT {
        object.remove(key);
    }
    set_aside_commands(&mut object, notes);
    // One key after the other, since serde_json does not say where an error is.
    for (key, value) in &object {
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        if let Err(error) = serde_json::from_value::<ConfigFile>(Value::Object(alone)) {
            return Err(refuse(format!("{key}: {}", source::explain(&error.to_string()))));
        }
    }
    let parsed: ConfigFile = serde_json::from_value(Value::Object(object))
        .map_err(|error| refuse(source::explain(&error.to_string())))?;
    validate::file(&parsed).map_err(|fault| refuse(format!("{}: {}", fault.dotted(), fault.message)))?;
    Ok(parsed)
}

/// Editors send `null` for a setting that is not set.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn set_aside_commands(object: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let mut note = |key: String| {
        notes.push(format!(
            "the editor setting `fixLoop.{key}` was ignored: what names a command or instructs an agent comes only from fix-loop.toml or your \
             own fix-loop/config.toml"
        ));
    };
    if object.remove("check").is_some() {
        note("check".to_owned());
    }
    if let Some(Value::Object(roles)) = object.get_mut("roles") {
        for (name, role) in roles {
            let Value::Object(role) = role else { continue };
            for key in INSTRUCTING {
                if role.remove(key).is_some() {
                    note(format!("roles.{name}.{key}"));
                }
            }
        }
    }
    let Some(Value::Object(agents)) = object.get_mut("agents") else { return };
    for (name, agent) in agents.iter_mut() {
        let Value::Object(agent) = agent else { continue };
        for key in NAMING_COMMANDS {
            if agent.remove(key).is_some() {
                note(format!("agents.{name}.{key}"));
            }
        }
    }
    // An agent that only the settings name, and of which nothing is left, is not there at all.
    agents.retain(|_, agent| agent.as_object().is_none_or(|agent| !agent.is_empty()));
}
