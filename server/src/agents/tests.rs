mod parsing;
mod prompts;
mod streams;
mod suggestions;
