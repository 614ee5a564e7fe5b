//! Tests that start real programs: the supervisor, check runners, agents.

mod acp;
mod agents;
mod checks;
mod process;
mod real_agents;
