//! The texts of options in the form in which they are compared.

use unicode_normalization::UnicodeNormalization;

/// A text in lower case, with compatibility variants unified, without marks of Markdown and LaTeX
/// around it, with single spaces, and without punctuation at its ends and an article at its start.
pub(crate) fn comparable(text: &str) -> String {
    let lower = text.nfkc().collect::<String>().to_lowercase();
    let plain = lower
        .replace("\\text{", "")
        .replace("\\mathrm{", "")
        .replace("\\textbf{", "")
        .replace(['*', '`', '$', '{', '}', '"', '“', '”'], "");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let joined = words.join(" ");
    let bare = joined.trim_matches(|c: char| {
        c.is_ascii_punctuation() && !"-+%°".contains(c) || "。，、！？".contains(c)
    });
    let bare = bare.trim();
    ["the ", "a ", "an "]
        .iter()
        .find_map(|article| bare.strip_prefix(article))
        .unwrap_or(bare)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_marks_case_and_articles() {
        assert_eq!(comparable(" **The  River**. "), "river");
        assert_eq!(comparable(r"$\text{ice}$"), "ice");
        assert_eq!(comparable("-3"), "-3");
    }
}
