//! Prompts for programs that take `@name` in a prompt as an order: to read that file into it, to search the tree for it, to
//! hand over to a subagent, to fetch that address. The text of findings is data (DESIGN 11), and diffs are full of `@`.

/// The same text, in which no `@` is an order. What is changed for that is said to the model.
pub(super) fn shielded(text: &str) -> String {
    if !text.contains('@') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 256);
    out.push_str("(Below, each at sign has a backslash before it that is not in the real text: read \\@ as the sign alone.)\n\n");
    for char in text.chars() {
        if char == '@' {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_at_sign_is_left_that_is_an_order() {
        let text = "see @src/secret.py, @https://example.org/x and @@ -5 +5 @@\n\\@already, \\\\@twice";
        let shielded = shielded(text);
        let ordered: Vec<_> =
            shielded.match_indices('@').filter(|(at, _)| !shielded[..*at].ends_with('\\')).collect();
        assert!(ordered.is_empty(), "{ordered:?}");
        assert_eq!(shielded.split_once("\n\n").expect("it begins with a note").1.replace("\\@", "@"), text);
        assert_eq!(super::shielded("nothing here"), "nothing here");
    }
}
