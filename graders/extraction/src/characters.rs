//! Character classes of prose with maths, and the length of numbers and subscripts. Does not look
//! at what precedes them.

/// Length of the number at the start of `rest`: digits with grouping, decimals, the mark of a
/// repeating decimal and an exponent.
pub(super) fn number_length(rest: &str) -> usize {
    let mut at = 0;
    loop {
        let digits = rest[at..]
            .find(|c: char| !c.is_numeric() || is_superscript(c))
            .unwrap_or(rest.len() - at);
        at += digits;
        let tail = &rest[at..];
        let numeric = |after: &str| after.starts_with(|c: char| c.is_numeric());
        // A mark continues the number only if a digit follows it: "6, 7" is two numbers, and the
        // dot of "It is 5." ends a sentence.
        let step = ["{,}", ",\\!", ".", ",", "'", "٫", "٬"]
            .into_iter()
            .find_map(|mark| {
                tail.strip_prefix(mark)
                    .filter(|after| numeric(after))
                    .map(|_| mark.len())
            });
        match step {
            Some(step) => at += step,
            None => break,
        }
    }
    // `0.\overline{3}`: the dot belongs to the number, the command is a separate token.
    let tail = &rest[at..];
    if [".\\overline{", ".\\bar{", ".\\dot{"]
        .iter()
        .any(|repeats| tail.starts_with(repeats))
    {
        at += 1;
    } else if let Some(after) = tail.strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['+', '-']));
        let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
        // "1e5" has an exponent, "3euro" does not.
        let ends = !after[sign + digits..].starts_with(|c: char| c.is_alphabetic());
        if digits > 0 && ends {
            at += 1 + sign + digits;
        }
    } else if tail.starts_with("...") {
        at += 3;
    } else if tail.starts_with('…') {
        at += '…'.len_utf8();
    }
    at.max(1)
}

/// Length of a subscript (`_1`, `_{12}`) or of primes after a name; 0 if there is none.
pub(super) fn subscript_length(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix('_') else {
        return rest.bytes().take_while(|byte| *byte == b'\'').count();
    };
    if let Some(braced) = after.strip_prefix('{') {
        const MAX_BYTES: usize = 16;
        return braced
            .bytes()
            .take(MAX_BYTES)
            .position(|byte| byte == b'}')
            .map_or(0, |length| length + 3);
    }
    let length = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if length == 0 { 0 } else { length + 1 }
}

/// Whether a character is a superscript digit.
pub(super) fn is_superscript(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹')
}

/// Whether a character is a name on its own: a Greek letter or the symbol of a constant, root or
/// set.
pub(super) fn is_name_symbol(c: char) -> bool {
    matches!(c, 'α'..='ω' | 'Α'..='Ω' | '∞' | '∅' | '√' | '∛' | 'ℝ' | 'ℤ' | 'ℚ' | 'ℕ' | 'ℂ')
}

/// Whether a character may be part of a word.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphabetic() || is_mark(c)
}

/// Whether a character is a combining mark, such as a vowel sign: part of a word but not
/// alphabetic.
pub(super) fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{900}'..='\u{903}'
            | '\u{93a}'..='\u{94f}'
            | '\u{9bc}'
            | '\u{9cd}'
            | '\u{64b}'..='\u{65f}'
            | '\u{200d}'
    )
}

/// Whether a character belongs to a script that does not separate words by blanks.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(
        c,
        '\u{2e80}'..='\u{2fdf}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Whether the script of this letter separates words by blanks. True for every character below
/// U+2E80, the first block of Chinese, Japanese and Korean scripts.
pub(super) fn is_spaced(c: char) -> bool {
    c < '\u{2e80}'
}
