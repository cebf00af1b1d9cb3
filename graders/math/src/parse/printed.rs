//! The printed form of a short LaTeX text: `50\text{ cm}^{2}` prints `50 cm^2`. The readers of
//! units, dates and number words use it, because they do not know commands.

/// Longest text that is printed, in bytes. Longer ones are not quantities, dates or numbers.
pub(crate) const MAX_BYTES: usize = 240;

/// Deepest nesting of fractions that is printed.
const MAX_DEPTH: usize = 4;

/// The printed text; `None` if it contains a command of mathematics.
pub(crate) fn printed(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    append(text, &mut out, MAX_DEPTH)?;
    Some(out)
}

fn append(text: &str, out: &mut String, depth: usize) -> Option<()> {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\\' => rest = command(rest, out, depth)?,
            '{' | '}' | '\u{200b}' | '`' => {}
            // A bare dollar sign delimits mathematics, but `US$5` is money.
            '$' if out.ends_with("US") => out.push('$'),
            '$' => {}
            '~' => out.push(' '),
            _ if c.is_whitespace() => out.push(' '),
            '′' | '’' | '\'' => raised(out, '\''),
            '″' | '”' | '“' | '"' => raised(out, '"'),
            '°' | 'º' | '˚' => raised(out, '°'),
            '℃' => out.push_str("°C"),
            '℉' => out.push_str("°F"),
            'µ' => out.push('μ'),
            '\u{2126}' => out.push('Ω'),
            '\u{212a}' => out.push('K'),
            '\u{212b}' => out.push('Å'),
            '￥' => out.push('¥'),
            '⋅' | '•' | '∙' | '*' | '×' => out.push('·'),
            '−' | '–' | '‑' => out.push('-'),
            '²' => out.push_str("^2"),
            '³' => out.push_str("^3"),
            '⁻' => out.push_str("^-"),
            '¹' if out.ends_with("^-") => out.push('1'),
            other => out.push(other),
        }
        // `⁻²` is one exponent.
        if let Some(stem) = out
            .strip_suffix("^-^2")
            .or_else(|| out.strip_suffix("^-^3"))
            .map(str::len)
        {
            let digit = out.pop();
            out.truncate(stem);
            out.push_str("^-");
            out.extend(digit);
        }
    }
    Some(())
}

/// A sign that is a superscript already: `^\circ` and `°` are the same.
fn raised(out: &mut String, sign: char) {
    if out.ends_with('^') {
        out.pop();
    }
    if sign == '\'' && out.ends_with('\'') {
        out.pop();
        out.push('"');
    } else {
        out.push(sign);
    }
}

/// Prints the command at the start of `rest` and returns the text after it.
fn command<'a>(rest: &'a str, out: &mut String, depth: usize) -> Option<&'a str> {
    let len = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    if len == 0 {
        let c = rest.chars().next()?;
        match c {
            ',' | ';' | ':' | ' ' | '>' => out.push(' '),
            '!' | '(' | ')' | '[' | ']' => {}
            '$' | '%' | '&' | '#' => out.push(c),
            _ => return None,
        }
        return rest.get(c.len_utf8()..);
    }
    let (name, after) = rest.split_at(len);
    // Blanks after a command's name are not printed.
    let after = after.trim_start();
    match name {
        "text" | "mathrm" | "textrm" | "rm" | "mbox" | "textbf" | "mathbf" | "bf" | "textit"
        | "mathit" | "textnormal" | "mathsf" | "textsf" | "texttt" | "mathtt" | "operatorname"
        | "left" | "right" | "displaystyle" | "unit" | "boldsymbol" | "bm" | "boxed" => {}
        "quad" | "qquad" | "thinspace" | "space" | "enspace" => out.push(' '),
        "cdot" | "times" | "cdotp" | "ast" => out.push('·'),
        "circ" | "degree" | "textdegree" => raised(out, '°'),
        "degreeCelsius" | "celsius" => out.push_str("°C"),
        "prime" => raised(out, '\''),
        "dprime" => raised(out, '"'),
        "Omega" | "ohm" | "textohm" => out.push('Ω'),
        "mu" | "micro" | "textmu" => out.push('μ'),
        "AA" | "angstrom" => out.push('Å'),
        "ell" => out.push('L'),
        "pounds" | "textsterling" => out.push('£'),
        "euro" | "texteuro" => out.push('€'),
        "yen" | "textyen" => out.push('¥'),
        "textdollar" => out.push('$'),
        "textcent" => out.push('¢'),
        "permil" | "textperthousand" => out.push('‰'),
        "percent" => out.push('%'),
        "colon" => out.push(':'),
        "frac" | "dfrac" | "tfrac" | "cfrac" => {
            let depth = depth.checked_sub(1)?;
            let (top, after) = argument(after)?;
            let (bottom, after) = argument(after)?;
            let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            if plain(top) && plain(bottom) {
                if out.ends_with(|c: char| c.is_ascii_digit()) {
                    out.push(' ');
                }
                out.push_str(top);
                out.push('/');
                out.push_str(bottom);
            } else {
                out.push('(');
                append(top, out, depth)?;
                out.push_str(")/(");
                append(bottom, out, depth)?;
                out.push(')');
            }
            return Some(after);
        }
        _ => return None,
    }
    Some(after)
}

/// The argument at the start of a text, without its braces, and the rest.
fn argument(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if !text.starts_with('{') {
        let c = text.chars().next().filter(char::is_ascii_alphanumeric)?;
        return text.split_at_checked(c.len_utf8());
    }
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((text.get(1..at)?.trim(), text.get(at + 1..)?));
                }
            }
            _ => {}
        }
    }
    None
}

/// The content of braces that have been opened, of at most `longest` bytes, and the rest.
pub(crate) fn braced(inner: &str, longest: usize) -> Option<(&str, &str)> {
    let mut depth = 1usize;
    for (at, byte) in inner.bytes().enumerate().take(longest) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((inner.get(..at)?, inner.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_commands() {
        assert_eq!(printed(r"50\text{ cm}^{2}").as_deref(), Some("50 cm^2"));
        assert_eq!(printed(r"25\,^{\circ} \text C").as_deref(), Some("25 ° C"));
        assert_eq!(
            printed(r"2\frac12\ \mu\mathrm{F}").as_deref(),
            Some("2 1/2 μF")
        );
        assert_eq!(
            printed(r"\frac{\text{miles}}{\text{hour}}").as_deref(),
            Some("(miles)/(hour)")
        );
        assert_eq!(printed("m s⁻²").as_deref(), Some("m s^-2"));
        assert_eq!(
            printed(r"30^\circ15^\prime30''").as_deref(),
            Some("30°15'30\"")
        );
        assert_eq!(printed(r"\sqrt{2}"), None);
    }
}
