//! Real programs: agents.
