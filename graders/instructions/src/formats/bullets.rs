//! Bullet points and postscripts.

use crate::finding::Finding;
use crate::text::Text;
use crate::units::Unit;

/// Whether each point that starts with `*` has at least one point with `-` before the next one.
pub(super) fn sub_bullets(text: &Text<'_>) -> Finding {
    let mut points = 0;
    let mut last: Option<(usize, usize)> = None;
    let mut below = 0;
    let starts = |line: &str, mark: &str| {
        line.trim_start()
            .strip_prefix(mark)
            .is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('\t'))
    };
    for line in text.pieces(Unit::Lines) {
        if starts(&line.text, "*") {
            if let Some((start, end)) = last
                && below == 0
            {
                return Finding::new(false).excerpt(text.str, start..end);
            }
            points += 1;
            below = 0;
            last = Some((line.at.start, line.at.end));
        } else if starts(&line.text, "-") {
            below += 1;
        }
    }
    match last {
        Some((start, end)) if below == 0 => Finding::new(false).excerpt(text.str, start..end),
        last => Finding::new(last.is_some()).with("points", points),
    }
}

/// Marks that may precede a postscript on its line.
const MARKS: [char; 7] = ['*', '_', '>', '#', '"', '(', ' '];

/// Whether a line starts with the marker and text follows it. The full stops of `P.S.` and `P.P.S`
/// may be missing or followed by spaces.
pub(super) fn postscript(text: &str, marker: &str) -> Finding {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(|c| !matches!(c, '.' | ' '));
        kept.flat_map(char::to_lowercase).collect()
    };
    let abbreviation = letters(marker);
    let is_abbreviation = matches!(abbreviation.as_str(), "ps" | "pps");
    let mut at = 0;
    let mut found = None;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start_matches(MARKS).len());
        at += line.len();
        let rest = &text[start..at];
        let length = if is_abbreviation {
            abbreviated(rest, &abbreviation)
        } else {
            rest.get(..marker.len())
                .filter(|head| head.eq_ignore_ascii_case(marker))
                .map(str::len)
        };
        if let Some(length) = length
            && text[start + length..].chars().any(char::is_alphanumeric)
        {
            found = Some(start);
        }
    }
    match found {
        Some(start) => Finding::new(true).excerpt(text, start..text.len()),
        None => Finding::new(false).with("missing", marker),
    }
}

/// Length of `P.S.` with its letters at the start of a text, if a word does not continue it.
fn abbreviated(text: &str, letters: &str) -> Option<usize> {
    let mut wanted = letters.chars().peekable();
    let mut stops = 0;
    for (at, character) in text.char_indices() {
        match wanted.peek().copied() {
            Some(letter) if character.to_lowercase().eq([letter]) => {
                wanted.next();
            }
            Some(_) if character == '.' || character == ' ' => stops += 1,
            Some(_) => return None,
            None => return (stops > 0 && !character.is_alphanumeric()).then_some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_points_below() {
        let check = |text: &str| sub_bullets(&Text::new(text)).met;
        assert!(check("* one\n  - a\n* two\n  - b"));
        assert!(!check("* one\n  - a\n* two"));
        // A hyphen inside a word is not a point.
        assert!(!check("* well-known"));
        assert!(!check("nothing"));
    }

    #[test]
    fn a_postscript_starts_a_line_and_has_text() {
        assert!(postscript("Bye.\n\nP.S. Write soon", "P.S.").met);
        assert!(postscript("Bye.\n**P. P. S.** Write", "P.P.S").met);
        assert!(!postscript("Do not add a P.S. here", "P.S.").met);
        assert!(!postscript("Bye.\nP.S.", "P.S.").met);
        assert!(!postscript("Psychology is fun", "P.S.").met);
    }
}
