//! Words in a form in which they can be compared: what is left after typography and articles are gone.

/// Lower case, one blank between words, no punctuation, no articles, no LaTeX.
pub(crate) fn comparable(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == '\\' {
            let len = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let command = rest.get(..len).unwrap_or_default();
            let layout = matches!(
                command,
                "text"
                    | "textbf"
                    | "mathrm"
                    | "textit"
                    | "mbox"
                    | "mathbf"
                    | "textrm"
                    | "quad"
                    | "qquad"
                    | "textnormal"
                    | "boxed"
                    | "left"
                    | "right"
                    | "emph"
                    | "underline"
                    | "operatorname"
            );
            if !layout && len > 0 {
                plain.push('\\');
                plain.push_str(command);
            }
            plain.push(' ');
            rest = rest.get(len..).unwrap_or_default();
        } else if c.is_alphanumeric() {
            plain.extend(c.to_lowercase());
        } else if matches!(c, '+' | '-' | '*' | '/' | '^' | '=' | '<' | '>' | '_' | '%') {
            plain.push(c);
        } else if c == '\'' || c == '’' {
            // `don't` is one word.
        } else {
            plain.push(' ');
        }
    }
    let words = plain.replace('-', " ");
    let words: Vec<&str> = words.split_whitespace().filter(|word| !matches!(*word, "the" | "a" | "an")).collect();
    if words.is_empty() {
        return plain.trim().to_owned();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typography_and_articles_do_not_count() {
        assert_eq!(comparable(r"\text{The  Prism, again.}"), "prism again");
        assert_eq!(comparable("Right-angled"), "right angled");
        assert_eq!(comparable("A"), "a");
    }
}
