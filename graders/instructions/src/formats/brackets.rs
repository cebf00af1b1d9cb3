//! Nested brackets and quotation marks.

use crate::finding::Finding;

/// Brackets that are closed in order, nested to at least `levels`.
pub(super) fn nested(text: &str, levels: usize) -> Finding {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut deepest = 0;
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' | '{' => open.push((character, 1)),
            ')' | ']' | '}' => {
                let opening = match character {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                // The depth below a pair counts only when the pair is closed.
                let Some((_, depth)) = open.pop().filter(|(own, _)| *own == opening) else {
                    open.clear();
                    continue;
                };
                deepest = deepest.max(depth);
                if deepest >= levels {
                    return Finding::new(true).with("levels", depth).with("end", at + 1);
                }
                if let Some((_, outer)) = open.last_mut() {
                    *outer = (*outer).max(depth + 1);
                }
            }
            _ => {}
        }
    }
    Finding::new(false)
        .with("levels", deepest)
        .with("min", levels)
}

/// Double and single quotation marks that alternate, nested to at least `levels`. An apostrophe
/// between letters is not a quotation mark.
pub(super) fn quotes(text: &str, levels: usize) -> Finding {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut deepest = 0;
    let mut before = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let mark = match character {
            '"' | '“' | '”' => '"',
            '\'' | '‘' | '’' => '\'',
            other => {
                before = Some(other);
                continue;
            }
        };
        let letter = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
        let after = characters.peek().map(|(_, next)| *next);
        let is_apostrophe = mark == '\'' && letter(before) && letter(after);
        before = Some(character);
        if is_apostrophe {
            continue;
        }
        if open.last().is_some_and(|(own, _)| *own == mark) {
            let depth = open.pop().map_or(0, |(_, depth)| depth);
            deepest = deepest.max(depth);
            if deepest >= levels {
                return Finding::new(true)
                    .with("levels", depth)
                    .with("end", at + character.len_utf8());
            }
            if let Some((_, outer)) = open.last_mut() {
                *outer = (*outer).max(depth + 1);
            }
        } else {
            open.push((mark, 1));
        }
    }
    Finding::new(false)
        .with("levels", deepest)
        .with("min", levels)
}

/// Whether words follow each quoted phrase before the next one and before the end.
pub(super) fn explained(text: &str) -> Finding {
    let mut is_quoted = false;
    let mut closed: Option<usize> = None;
    let mut phrases = 0;
    let mut has_words = false;
    for (at, character) in text.char_indices() {
        let is_mark = matches!(character, '"' | '“' | '”');
        if !is_mark {
            has_words |= character.is_alphabetic();
            continue;
        }
        if is_quoted {
            closed = Some(at);
            phrases += 1;
        } else if let Some(end) = closed
            && !has_words
        {
            return Finding::new(false).excerpt(text, end..text.len());
        }
        is_quoted = !is_quoted;
        has_words = false;
    }
    match closed {
        Some(end) if !has_words => Finding::new(false).excerpt(text, end..text.len()),
        _ => Finding::new(true).with("phrases", phrases),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_levels_of_closed_pairs() {
        assert!(nested("(a [b {c (d [e])}])", 5).met);
        assert!(!nested("(((((", 5).met);
        // Five pairs side by side are one level.
        assert!(!nested("() () () () ()", 5).met);
        assert!(!nested("((((( a ] b )", 5).met);
    }

    #[test]
    fn quotes_alternate_and_apostrophes_are_none() {
        assert!(quotes("\"He said 'she said \"no\" to me' today\"", 3).met);
        assert!(!quotes("It's Anna's book, isn't it", 1).met);
        assert!(!quotes("\"a\" 'b' \"c\"", 3).met);
    }

    #[test]
    fn phrases_need_words_after_them() {
        assert!(explained("\"Carpe diem\" means seize the day.").met);
        assert!(!explained("\"Carpe diem\" \"Veni\" means I came.").met);
        assert!(!explained("He said \"no\".").met);
    }
}
