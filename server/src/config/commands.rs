//! The fingerprint of everything in a configuration that decides which program runs, and how (DESIGN 11).

use serde_json::json;
use sha2::{Digest, Sha256};

use super::Config;

/// Hex sha256 of a canonical text. Anything that could make another program run, or the same one with another
/// environment, changes it; a budget, a model or a limit of time does not.
pub(super) fn hash(config: &Config) -> String {
    let checks: Vec<_> = config
        .checks
        .iter()
        .map(|check| json!([check.name, check.command, check.cwd, check.env.iter().collect::<Vec<_>>()]))
        .collect();
    let agents: Vec<_> = config
        .agents
        .iter()
        .map(|(name, agent)| {
            json!([
                name,
                agent.kind,
                agent.preset,
                agent.command,
                agent.model_args,
                agent.effort_args,
                agent.env.iter().collect::<Vec<_>>(),
                agent.pass_env,
            ])
        })
        .collect();
    // A role that only says which model it wants chooses no program.
    let chosen = config.roles.iter().filter(|(_, settings)| settings.agent.is_some());
    let roles: Vec<_> = chosen.map(|(role, settings)| json!([role, settings.agent])).collect();
    // Arrays only, so that the order of keys can never matter.
    let canonical = json!(["fix-loop commands v1", checks, agents, roles]).to_string();
    hex::encode(Sha256::digest(canonical))
}
