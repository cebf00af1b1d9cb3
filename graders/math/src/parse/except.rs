//! All real numbers except some, in words: `all real numbers except 3` is `ℝ \ {3}`.

/// Longest text that is read, in bytes.
const MAX_BYTES: usize = 200;

/// Words or signs before the numbers that are excluded. One that begins another is after it.
const EXCLUSIONS: &[&str] = &[
    "except for",
    "except",
    "excluding",
    "other than",
    "\\neq",
    "\\ne",
    "≠",
];

const ALL: &[&str] = &[
    "all real numbers",
    "all reals",
    "all real",
    "all real values",
    "all real values of",
    "every real number",
    "set of all real numbers",
];

/// The text as a difference of sets, if it excludes numbers from the reals.
pub(super) fn rewritten(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES || !text.contains("real") {
        return None;
    }
    let (before, mark, after) = EXCLUSIONS.iter().find_map(|mark| {
        text.split_once(mark)
            .map(|(before, after)| (before, mark, after))
    })?;
    let opened = before.matches('{').count() > before.matches('}').count();
    let before = before
        .replace("\\text", " ")
        .replace(['{', '}', '$', ','], " ");
    let mut words: Vec<&str> = before.split_whitespace().collect();
    let name = words.pop_if(|word| word.len() == 1);
    if !ALL.contains(&words.join(" ").to_lowercase().as_str()) {
        return None;
    }
    let numbers = if opened {
        after.replacen('}', " ", 1)
    } else {
        after.to_owned()
    };
    let numbers = numbers.replace("\\text{ and }", ",").replace(" and ", ",");
    let numbers = numbers
        .trim()
        .trim_end_matches(['.', '$'])
        .trim_start_matches('$')
        .trim();
    // `except x = 3`
    let numbers = match (numbers.split_once('='), name) {
        (Some((own, value)), name) if name.is_none_or(|name| own.trim() == name) => {
            (own.trim().len() == 1).then_some(value.trim())?
        }
        (Some(_), _) => return None,
        (None, None) if mark.starts_with(['\\', '≠']) => return None,
        (None, _) => numbers,
    };
    let plain = |c: char| c.is_ascii_digit() || " +-/.,".contains(c);
    let constant = ["\\frac", "\\sqrt", "\\pi", "\\dfrac", "{", "}"]
        .iter()
        .fold(numbers.to_owned(), |rest, part| rest.replace(part, ""));
    let is_list = constant.chars().all(plain) && numbers.contains(|c: char| c.is_alphanumeric());
    let balanced = numbers.matches('{').count() == numbers.matches('}').count();
    (is_list && balanced).then(|| format!("\\mathbb{{R}} \\setminus \\{{{numbers}\\}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes_numbers() {
        for (text, numbers) in [
            (r"\text{all real numbers except } 3", "3"),
            ("All real numbers except x = -2", "-2"),
            (r"\text{all real } x \neq \frac{1}{2}", r"\frac{1}{2}"),
            (r"\text{all real numbers except 1 and 2}", "1,2"),
        ] {
            let set = rewritten(text);
            assert_eq!(
                set,
                Some(format!(r"\mathbb{{R}} \setminus \{{{numbers}\}}")),
                "{text}"
            );
        }
        for text in [
            "all real numbers except y",
            "all real numbers except negative ones",
            r"\text{no real } x \neq 3",
            "a real number except 3",
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
    }
}
