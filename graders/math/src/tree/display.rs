//! Renders a tree as text for evidence, with brackets around every operation.

use std::fmt;

use super::{Constant, Date, End, Expr, SetOp};

fn joined(f: &mut fmt::Formatter<'_>, items: &[Expr], between: &str) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(between)?;
        }
        fmt::Display::fmt(item, f)?;
    }
    Ok(())
}

/// The base or exponent of a power. Sums and products have brackets of their own.
fn operand(f: &mut fmt::Formatter<'_>, expr: &Expr, is_exponent: bool) -> fmt::Result {
    let plain = match expr {
        Expr::Number(value) => value.is_integer() && (is_exponent || !value.is_negative()),
        Expr::Power(_) | Expr::Percent(_) | Expr::PlusMinus { .. } => false,
        _ => true,
    };
    if plain {
        fmt::Display::fmt(expr, f)
    } else {
        write!(f, "({expr})")
    }
}

/// A rendering for evidence, with brackets around every operation.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grouped = |f: &mut fmt::Formatter<'_>, open: &str, items: &[Expr], between, close| {
            f.write_str(open)?;
            joined(f, items, between)?;
            f.write_str(close)
        };
        match self {
            Self::Number(value) => fmt::Display::fmt(value, f),
            Self::Constant(Constant::Pi) => f.write_str("pi"),
            Self::Constant(Constant::E) => f.write_str("e"),
            Self::Constant(Constant::I) => f.write_str("i"),
            Self::Constant(Constant::Infinity) => f.write_str("oo"),
            Self::Symbol(name) | Self::Word(name) | Self::Huge(name) => f.write_str(name),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Sum(items) => grouped(f, "(", items, " + ", ")"),
            Self::Product(items) => grouped(f, "(", items, "*", ")"),
            Self::Power(pair) => {
                operand(f, &pair.0, false)?;
                f.write_str("^")?;
                operand(f, &pair.1, true)
            }
            Self::Call(function, items) => {
                write!(f, "{}", format!("{function:?}").to_lowercase())?;
                grouped(f, "(", items, ", ", ")")
            }
            Self::Apply(name, items) => {
                f.write_str(name)?;
                grouped(f, "(", items, ", ", ")")
            }
            Self::PlusMinus { upper_minus, term } => {
                write!(f, "{}{term}", if *upper_minus { "∓" } else { "±" })
            }
            Self::Percent(inner) => write!(f, "{inner}%"),
            Self::Quantity(inner, unit) => write!(f, "{inner} {unit}"),
            Self::Based(digits, base) => write!(f, "{digits}_{base}"),
            Self::Ratio(items) => joined(f, items, ":"),
            Self::Time(seconds) => write!(
                f,
                "{:02}:{:02}:{:02}",
                seconds / 3600,
                seconds / 60 % 60,
                seconds % 60
            ),
            Self::Date(date) => {
                write!(f, "{date}")?;
                if date.ambiguous {
                    write!(f, " or {}", date.swapped())
                } else {
                    Ok(())
                }
            }
            Self::Chain(items, relations) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(relation) = at.checked_sub(1).and_then(|at| relations.get(at)) {
                        write!(f, " {relation:?} ")?;
                    }
                    fmt::Display::fmt(item, f)?;
                }
                Ok(())
            }
            Self::Bracket(open, items, close) => {
                f.write_str(match open {
                    End::Round => "(",
                    End::Square => "[",
                    End::Angle => "<",
                })?;
                joined(f, items, ", ")?;
                f.write_str(match close {
                    End::Round => ")",
                    End::Square => "]",
                    End::Angle => ">",
                })
            }
            Self::Set(items) => grouped(f, "{", items, ", ", "}"),
            Self::List(items) => joined(f, items, ", "),
            Self::SetBuilder(member, conditions) => {
                write!(f, "{{{member} | ")?;
                joined(f, conditions, ", ")?;
                f.write_str("}")
            }
            Self::SetOp(op, items) => joined(
                f,
                items,
                match op {
                    SetOp::Union => " ∪ ",
                    SetOp::Intersection => " ∩ ",
                    SetOp::Difference => " \\ ",
                },
            ),
            Self::Named(set) => write!(f, "{set:?}"),
            Self::Matrix(rows) | Self::Cases(rows) => {
                f.write_str("[")?;
                for (at, row) in rows.iter().enumerate() {
                    if at > 0 {
                        f.write_str("; ")?;
                    }
                    joined(f, row, ", ")?;
                }
                f.write_str("]")
            }
            Self::Bound(binder, name, items) => {
                write!(f, "{binder:?}[{name}]")?;
                grouped(f, "(", items, ", ", ")")
            }
            Self::Ellipsis => f.write_str("…"),
            Self::Choice(letter, text) if text.is_empty() => write!(f, "({letter})"),
            Self::Choice(letter, text) => write!(f, "({letter}) {text}"),
            Self::Where(inner, text) => write!(f, "{inner}, {text}"),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(year) = self.year {
            write!(f, "{year:04}-")?;
        }
        write!(f, "{:02}", self.month)?;
        self.day.map_or(Ok(()), |day| write!(f, "-{day:02}"))
    }
}
