//! Calculations in the solution of a `math` row: an equation that is wrong (`arithmetic-slip`), or
//! a gold that the solution never reaches (`calculation-differs`).

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::probes::is_number;
use crate::reading::arithmetic::calculations;

pub(super) const SLIP: Code = code!("arithmetic-slip", Warning);
pub(super) const DIFFERS: Code = code!("calculation-differs", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("math"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    let Some(solution) = &subject.solution else {
        return;
    };
    let reasoning = reasoning(solution);
    let found = calculations(reasoning);
    if let Some(slip) = found.slip {
        let message = format!(
            "the solution says `{}`, but the left side is {}",
            slip.equation,
            shown(slip.value)
        );
        sink.add(&SLIP, &row.location, &row.key, message);
    }
    // Only a marked answer repeats a number that the reasoning has already reached. A box may be
    // the place of the last step.
    let gold = subject
        .math_gold()
        .filter(|gold| is_number(gold) && solution.contains(MARK));
    if let (Some(last), Some(gold)) = (found.last, gold)
        && gold
            .replace(',', "")
            .parse::<f64>()
            .is_ok_and(|value| !numbers(reasoning).any(|number| is_close(number, value)))
    {
        let message = format!(
            "the last calculation of the solution gives {}, and no number in it is the gold \
             `{gold}`",
            shown(last)
        );
        sink.add(&DIFFERS, &row.location, &row.key, message);
    }
}

/// The mark of the answer in solutions as those of GSM8K.
const MARK: &str = "####";

/// The solution before its final answer.
fn reasoning(solution: &str) -> &str {
    let end = solution.rfind(MARK).or_else(|| solution.rfind("\\boxed"));
    end.map_or(solution, |end| &solution[..end])
}

/// The numbers of a text, negative after a minus sign.
fn numbers(text: &str) -> impl Iterator<Item = f64> + '_ {
    let mut from = 0;
    let parts = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
    parts.filter_map(move |part| {
        let at = from + text[from..].find(part)?;
        from = at + part.len();
        let number = part.trim_matches(['.', ',']).replace(',', "");
        let value: f64 = number.parse().ok()?;
        Some(if text[..at].ends_with('-') {
            -value
        } else {
            value
        })
    })
}

/// Whether a number is the value, its percentage or its rounding to a whole number. The minus sign
/// of a number may be an operator, so it only matters for a negative value.
fn is_close(number: f64, value: f64) -> bool {
    if value < 0.0 && number >= 0.0 {
        return false;
    }
    let (number, value) = (number.abs(), value.abs());
    let near = |other: f64| (number - other).abs() <= 1e-9 * other.max(1.0);
    near(value)
        || near(value * 100.0)
        || near(value / 100.0)
        || (number - value).abs() < 1.0 && number.fract() != 0.0
}

fn shown(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
