//! Amounts with a currency before them.

use super::parts::{literal, number_end};
use super::suffixed;
use crate::number::Rational;
use crate::parse::unit;
use crate::tree::Expr;

/// Currencies that precede their amount, longest first.
const CURRENCIES: &[&str] = &[
    "US$", "CN¥", "USD", "EUR", "GBP", "JPY", "RMB", "CNY", "INR", "Rs.", "Rs", "CHF", "KRW",
    "RUB", "$", "€", "£", "¥", "₹", "₩", "₽", "฿",
];

/// `$5`, `US$5`, `USD 5`, `$2.5 million`, `$5 per hour`.
pub(super) fn money(text: &str) -> Option<Expr> {
    let (currency, rest) = CURRENCIES
        .iter()
        .find_map(|name| text.strip_prefix(name).map(|rest| (*name, rest)))?;
    let rest = rest.trim_start();
    let (negative, rest) = match rest.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let end = number_end(rest);
    let (number, after) = rest.split_at_checked(end)?;
    let mut value = literal(number)?;
    if negative {
        value = -value;
    }
    let after = after.trim();
    let currency = currency.trim_end_matches('.');
    let named = |value: Expr| Expr::Quantity(Box::new(value), currency.into());
    // `$5 USD`, `$5 dollars`
    if after.is_empty()
        || after == "."
        || unit::units(after).is_some() && unit::units(after) == unit::units(currency)
    {
        return Some(named(value));
    }
    if after.starts_with("per ") || after.starts_with('/') {
        // Inside of a unit a dollar sign would delimit mathematics.
        let currency = if currency == "$" { "USD" } else { currency };
        let unit = format!("{currency} {after}");
        return unit::units(&unit).map(|_| Expr::Quantity(Box::new(value), unit.into()));
    }
    let thousands = match after {
        "k" | "K" => 1_000,
        "M" | "m" | "mm" | "MM" => 1_000_000,
        "B" | "b" => 1_000_000_000,
        _ => 0,
    };
    if thousands > 0 {
        return Some(named(Expr::Number(
            value.as_number()?.mul(&Rational::small(thousands))?,
        )));
    }
    match suffixed(value, after, false)? {
        value @ Expr::Number(_) => Some(named(value)),
        Expr::Quantity(value, unit) if unit::units(&unit) == unit::units(currency) => {
            Some(named(*value))
        }
        _ => None,
    }
}
