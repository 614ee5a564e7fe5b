//! Tests that start real programs: the supervisor, check runners, agents.

mod agents;
mod checks;
mod process;
mod real_agents;
