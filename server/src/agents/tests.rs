mod parsing;
mod prompts;
mod streams;
mod suggestions;

pub(in crate::agents) use streams::job;
