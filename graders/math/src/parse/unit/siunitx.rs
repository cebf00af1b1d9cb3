//! The commands of the LaTeX package siunitx, such as `\SI{10}{\meter\per\second}`, as plain LaTeX
//! (siunitx manual, version 3).

use std::borrow::Cow;

use super::super::printed;

/// Prefixes and units by their macros; the first [`PREFIXES`] are prefixes.
const MACROS: &[(&str, &str)] = &[
    ("pico", "p"),
    ("nano", "n"),
    ("micro", "u"),
    ("milli", "m"),
    ("centi", "c"),
    ("deci", "d"),
    ("hecto", "h"),
    ("kilo", "k"),
    ("mega", "M"),
    ("giga", "G"),
    ("tera", "T"),
    ("meter", "m"),
    ("metre", "m"),
    ("gram", "g"),
    ("kilogram", "kg"),
    ("second", "s"),
    ("ampere", "A"),
    ("kelvin", "K"),
    ("mole", "mol"),
    ("newton", "N"),
    ("joule", "J"),
    ("watt", "W"),
    ("pascal", "Pa"),
    ("volt", "V"),
    ("coulomb", "C"),
    ("hertz", "Hz"),
    ("ohm", "Ω"),
    ("siemens", "S"),
    ("farad", "F"),
    ("henry", "H"),
    ("tesla", "T"),
    ("weber", "Wb"),
    ("litre", "L"),
    ("liter", "L"),
    ("minute", "min"),
    ("hour", "h"),
    ("day", "d"),
    ("degree", "°"),
    ("degreeCelsius", "°C"),
    ("celsius", "°C"),
    ("electronvolt", "eV"),
    ("bar", "bar"),
    ("tonne", "t"),
    ("hectare", "ha"),
    ("radian", "rad"),
    ("percent", "%"),
    ("km", "km"),
    ("cm", "cm"),
    ("mm", "mm"),
    ("m", "m"),
    ("s", "s"),
    ("kg", "kg"),
];

/// Number of prefixes at the start of [`MACROS`].
const PREFIXES: usize = 11;

/// Most commands of one text that are rewritten.
const MAX_COMMANDS: usize = 64;

/// The text with the commands of siunitx as plain LaTeX.
pub(crate) fn rewritten(text: &str) -> Cow<'_, str> {
    const COMMANDS: &[&str] = &["\\SI", "\\qty", "\\num", "\\ang", "\\si", "\\unit"];
    let begins = |at: usize| {
        text.get(at..)
            .is_some_and(|rest| COMMANDS.iter().any(|own| rest.starts_with(own)))
    };
    if !text.match_indices('\\').any(|(at, _)| begins(at)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    for _ in 0..MAX_COMMANDS {
        let Some((at, command)) = COMMANDS
            .iter()
            .filter_map(|command| rest.find(&format!("{command}{{")).map(|at| (at, *command)))
            .min()
        else {
            break;
        };
        let Some(after) = rest.get(at + command.len()..) else {
            break;
        };
        out.push_str(rest.get(..at).unwrap_or_default());
        let Some((first, after)) = argument(after) else {
            out.push_str(command);
            rest = after;
            continue;
        };
        rest = after;
        match command {
            "\\num" => out.push_str(first),
            "\\ang" => angle(first, &mut out),
            "\\si" | "\\unit" => unit(first, &mut out),
            _ => {
                out.push_str(first);
                if let Some((second, after)) = argument(rest) {
                    unit(second, &mut out);
                    rest = after;
                }
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Longest argument of these commands, in bytes.
const MAX_ARGUMENT_BYTES: usize = 200;

/// The argument in braces at the start of a text, and the rest.
fn argument(text: &str) -> Option<(&str, &str)> {
    printed::braced(text.strip_prefix('{')?, MAX_ARGUMENT_BYTES)
}

/// `45`, `30;15;30`.
fn angle(text: &str, out: &mut String) {
    for (part, mark) in text.split(';').zip(["^{\\circ}", "'", "''"]) {
        if !part.trim().is_empty() {
            out.push_str(part.trim());
            out.push_str(mark);
        }
    }
}

/// Writes out macros; other text is copied.
fn unit(text: &str, out: &mut String) {
    out.push_str("\\text{ ");
    let mut rest = text;
    let mut below = false;
    // The power from a macro before the unit.
    let mut raised = 1;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        let len = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        rest = after.trim_start();
        match name {
            "per" => below = true,
            "square" => raised = 2,
            "cubic" => raised = 3,
            "squared" | "cubed" | "tothe" => {}
            "" | "cdot" => out.push('·'),
            _ => {
                let symbol = MACROS
                    .iter()
                    .find(|(own, _)| *own == name)
                    .map_or(name, |(_, symbol)| symbol);
                out.push_str(symbol);
                let is_prefix = MACROS.iter().take(PREFIXES).any(|(own, _)| *own == name);
                if is_prefix {
                    continue;
                }
                let mut power = std::mem::replace(&mut raised, 1);
                if let Some(after) = rest.strip_prefix("\\squared") {
                    (power, rest) = (2, after);
                } else if let Some(after) = rest.strip_prefix("\\cubed") {
                    (power, rest) = (3, after);
                } else if let Some((digits, after)) =
                    rest.strip_prefix("\\tothe").and_then(argument)
                    && let Ok(own) = digits.trim().parse()
                {
                    (power, rest) = (own, after);
                }
                if std::mem::take(&mut below) {
                    power = -power;
                }
                if power != 1 {
                    out.push_str(&format!("^{{{power}}}"));
                }
                out.push(' ');
            }
        }
    }
    out.push_str(rest);
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_commands() {
        assert_eq!(rewritten(r"\SI{10}{m/s}"), r"10\text{ m/s}");
        assert_eq!(
            rewritten(r"\SI{10}{\kilo\meter\per\second\squared}"),
            r"10\text{ km s^{-2} }"
        );
        assert_eq!(rewritten(r"\num{1e3}+\ang{30;15}"), r"1e3+30^{\circ}15'");
        assert_eq!(rewritten(r"\sin x"), r"\sin x");
    }
}
