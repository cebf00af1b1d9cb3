//! Finds the classes that a C++ program defines, so that a preset does not define them again.

/// Whether a text defines a class, an alias or a macro of this name.
pub(crate) fn defines(text: &str, name: &str) -> bool {
    let (mut before, mut current) = ("", "");
    for next in words(text).chain([""]) {
        let is_definition = match before {
            "struct" | "class" => matches!(next, "{" | ":" | "final"),
            "using" => next == "=",
            "define" => true,
            _ => false,
        };
        if current == name && is_definition {
            return true;
        }
        (before, current) = (current, next);
    }
    false
}

/// The identifiers, numbers and other characters of a text, without comments and literals.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            let first = rest.chars().next()?;
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.find("*/").map_or(rest.len(), |end| end + 4)
            } else if first == '"' || first == '\'' {
                literal(rest, first)
            } else {
                let is_part = |character: char| character.is_alphanumeric() || character == '_';
                let end = rest.find(|character| !is_part(character));
                let length = match end.unwrap_or(rest.len()) {
                    0 => first.len_utf8(),
                    length => length,
                };
                let word = &rest[..length];
                if word.ends_with('R') && rest[length..].starts_with('"') {
                    rest = after_raw_string(&rest[length + 1..]);
                    continue;
                }
                rest = &rest[length..];
                // An apostrophe separates digits of a number.
                if first.is_ascii_digit() {
                    rest = rest.strip_prefix('\'').unwrap_or(rest);
                }
                return Some(word);
            };
            rest = &rest[length..];
        }
    })
}

/// The length of a literal, which ends at the end of the line at the latest.
fn literal(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return at,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// What follows a raw string. The text begins with the delimiter of the string.
fn after_raw_string(text: &str) -> &str {
    let Some((delimiter, rest)) = text.split_once('(') else {
        return "";
    };
    let end = format!("){delimiter}\"");
    rest.split_once(&end).map_or("", |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_definitions() {
        for text in [
            "struct ListNode {\n  int val;\n};",
            "class ListNode final { };",
            "struct ListNode:Base{};",
            "typedef struct ListNode { int val; } Node;",
            "using ListNode = Node<int>;",
            "#define ListNode Node",
            "char c = '\"'; int n = 1'000; struct ListNode{};",
            "const char *s = R\"x(struct)x\"; struct ListNode {};",
        ] {
            assert!(defines(text, "ListNode"), "{text}");
        }
        for text in [
            "",
            "/**\n * struct ListNode {\n */ ListNode *f();",
            "// struct ListNode {\nstruct ListNode;",
            "struct ListNode *next;",
            "\"struct ListNode {\"",
            "R\"(struct ListNode {)\"",
            "R\"(struct ListNode {",
            "/* struct ListNode {",
            "struct ListNodes {};",
            "struct Node { ListNode *next; };",
        ] {
            assert!(!defines(text, "ListNode"), "{text}");
        }
    }
}
