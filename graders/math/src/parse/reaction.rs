//! Chemical equations in one notation: `\ce{2H2 + O2 -> 2H2O}`, `2H_2 + O_2 \to 2H_2O`. Terms are
//! sorted, states of matter are dropped, and nothing is balanced.

use super::chemistry;
use super::printed::braced;
use crate::tree::Expr;

/// Longest text that is read as an equation, in bytes.
const MAX_BYTES: usize = 400;

/// Signs between the two sides. A sign that contains another one is before it.
const ARROWS: &[&str] = &[
    "\\longrightarrow",
    "\\rightarrow",
    "\\rightleftharpoons",
    "\\to",
    "<=>",
    "->",
    "→",
    "⟶",
    "⇌",
];

/// What may follow the formula of a term.
const STATES: &[&str] = &["(g)", "(l)", "(s)", "(aq)"];

/// Reads a whole text as a chemical equation.
pub(super) fn reaction(text: &str) -> Option<Expr> {
    let text = text.trim().trim_matches('$').trim_end_matches('.');
    if text.len() > MAX_BYTES {
        return None;
    }
    // Most texts have no element.
    if !text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let text = unwrapped(text);
    let (left, right) = ARROWS.iter().find_map(|arrow| text.split_once(arrow))?;
    let (left, right) = (side(left)?, side(right)?);
    // `B \to C` is not an equation of elements.
    let counted = |c: char| c.is_ascii_digit() || c == '^';
    (left.contains(counted) || right.contains(counted))
        .then(|| Expr::Text(format!("\\ce {left} = {right}").into()))
}

/// The argument of a command of style that has the whole text as its argument; else the text.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    ["\\ce{", "\\mathrm{", "\\text{"]
        .iter()
        .find_map(|command| braced(text.strip_prefix(command)?, MAX_BYTES))
        .filter(|(_, after)| after.is_empty())
        .map_or(text, |(inner, _)| inner)
}

/// The sorted terms of a side.
fn side(text: &str) -> Option<String> {
    let mut terms: Vec<String> = (terms(unwrapped(text)).into_iter())
        .map(term)
        .collect::<Option<_>>()?;
    terms.sort_unstable();
    Some(terms.join(" + "))
}

/// The parts between plus signs that are not charges: `Cu^2+ + 2e^-`, `H^{+}+OH^-`.
fn terms(text: &str) -> Vec<&str> {
    let (mut all, mut start, mut depth) = (Vec::new(), 0, 0i32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'+' => {
                let before = text.get(start..at).unwrap_or_default();
                let after = text.get(at + 1..).unwrap_or_default().trim_start();
                let raised = before.trim_end_matches(|c: char| c.is_ascii_digit());
                let last = after.is_empty() || after.starts_with('+');
                let is_charge =
                    depth > 0 || raised.ends_with('^') || last && !before.ends_with(' ');
                if !is_charge {
                    all.push(before);
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    all.extend(text.get(start..));
    all
}

/// `2\,\mathrm{H_2O}(l)` as `2 H2O`.
fn term(text: &str) -> Option<String> {
    let mut solid = text.replace([' ', '~', '↑', '↓'], "");
    for layout in ["\\,", "\\;", "\\!", "\\uparrow", "\\downarrow"] {
        solid = solid.replace(layout, "");
    }
    let plain = chemistry::without_styles(&solid)?.replace(['{', '}'], "");
    let mut plain = plain.as_str();
    while let Some(shorter) = STATES.iter().find_map(|state| plain.strip_suffix(state)) {
        plain = shorter.trim_end_matches('_');
    }
    let formula = plain.trim_start_matches(|c: char| c.is_ascii_digit() || c == '/');
    let count = plain.strip_suffix(formula)?;
    let written = match formula {
        "e^-" | "e-" => "e^-".to_owned(),
        formula => chemistry::written(formula)?,
    };
    Some(match count {
        "" | "1" => written,
        count => format!("{count} {written}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<String> {
        reaction(text).map(|equation| equation.to_string())
    }

    #[test]
    fn notations_of_an_equation_agree() {
        let expected = r#""\ce 2 H2 + O2 = 2 H2O""#;
        for text in [
            r"\ce{2H2 + O2 -> 2H2O}",
            r"2\text{H}_2 + \text{O}_2 \rightarrow 2\text{H}_2\text{O}",
            r"O_2+2H_2\to 2H_2O",
            "2H₂ + O₂ → 2H₂O",
            r"\mathrm{2H_2(g) + O_2(g) \longrightarrow 2H_2O(l)}",
        ] {
            assert_eq!(written(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(
            written(r"\ce{Cu^2+ + 2e- -> Cu}"),
            written(r"\text{Cu}^{2+} + 2e^- \to \text{Cu}")
        );
    }

    #[test]
    fn keeps_sides_and_coefficients() {
        let equation = written(r"\ce{2H2 + O2 -> 2H2O}");
        for text in [r"H_2 + O_2 \to H_2O", r"2H_2O \to 2H_2 + O_2"] {
            assert!(written(text).is_some(), "{text}");
            assert_ne!(written(text), equation, "{text}");
        }
        for text in [r"x \to 2", r"B \to C", "f: A → B"] {
            assert_eq!(written(text), None, "{text}");
        }
    }
}
