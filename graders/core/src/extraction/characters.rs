//! What characters are in prose with maths, and how far a number or a subscript reaches. Knows
//! nothing of what stands before it.

/// Length of the number at the start of `rest`: digits with grouping, decimals, a repeated-decimal
/// ellipsis and an exponent.
pub(super) fn number_length(rest: &str) -> usize {
    let mut at = 0;
    loop {
        let digits = rest[at..]
            .find(|c: char| !c.is_numeric() || is_superscript(c))
            .unwrap_or(rest.len() - at);
        at += digits;
        let tail = &rest[at..];
        let numeric = |after: &str| after.starts_with(|c: char| c.is_numeric());
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
    let tail = &rest[at..];
    if [".\\overline{", ".\\bar{", ".\\dot{"]
        .iter()
        .any(|repeats| tail.starts_with(repeats))
    {
        at += 1;
    } else if let Some(after) = tail.strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['+', '-']));
        let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
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

/// Length of `_1`, `_{12}` or primes after a name.
pub(super) fn subscript_length(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix('_') else {
        return rest.bytes().take_while(|byte| *byte == b'\'').count();
    };
    if let Some(braced) = after.strip_prefix('{') {
        const LONGEST: usize = 16;
        return braced
            .bytes()
            .take(LONGEST)
            .position(|byte| byte == b'}')
            .map_or(0, |length| length + 3);
    }
    let length = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if length == 0 { 0 } else { length + 1 }
}

pub(super) fn is_superscript(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹')
}

pub(super) fn is_name_symbol(c: char) -> bool {
    matches!(c, 'α'..='ω' | 'Α'..='Ω' | '∞' | '∅' | '√' | '∛' | 'ℝ' | 'ℤ' | 'ℚ' | 'ℕ' | 'ℂ')
}

pub(super) fn is_letter(c: char) -> bool {
    c.is_alphabetic() || is_mark(c)
}

/// Vowel signs and the like, which are part of a word and not alphabetic.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{64b}'..='\u{65f}' | '\u{200d}')
}

/// Scripts that write without blanks between words.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether words of this letter's script are parted by blanks.
pub(super) fn is_spaced(c: char) -> bool {
    c < '\u{2e80}'
}
