//! Bounded excerpts of text that somebody else wrote.

/// The head of a text, at most `limit` characters, with the number of those left out named.
pub(super) fn head(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => {
            let left_out = text[at..].chars().count();
            format!("{} [… {left_out} characters left out]", text[..at].trim_end())
        }
    }
}

/// Head and tail of a text, at most about `limit` characters.
pub(super) fn ends(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let first: String = text.chars().take(limit / 2).collect();
    let last: String = text.chars().skip(count - limit / 2).collect();
    format!("{first}\n[… {} characters left out …]\n{last}", count - limit / 2 * 2)
}

/// The last non-empty line, cleaned of control codes and at most `limit` characters: what programs say when they fail.
pub(super) fn last_line(text: &str, limit: usize) -> String {
    let text = crate::process::clean(text);
    head(text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default(), limit)
}

/// What happened, and what was said last.
pub(super) fn with_last(message: String, last_words: &str) -> String {
    if last_words.is_empty() { message } else { format!("{message}; last: {last_words}") }
}
