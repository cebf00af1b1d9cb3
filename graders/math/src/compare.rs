//! Compares two texts and reports the rule that decided. Does not know completions, tasks or
//! services.

use std::borrow::Cow;

use crate::budget::{Budget, Exhausted};
use crate::decide::rule::Rule;
use crate::decide::{self, Context};
use crate::number::Rational;
use crate::options::{Options, Percent, Rounding};
use crate::parse;
use crate::tree::Expr;

/// Approximate length to which normal forms are cut for evidence, in bytes.
const MAX_SHOWN: usize = 500;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Whether the answer is equivalent to the gold.
    pub equal: bool,
    /// The rule that decided.
    pub rule: Rule,
    /// Steps taken.
    pub steps: u64,
    /// Normal form of the gold, if there is one.
    pub gold_normal: Option<String>,
    /// Normal form of the answer, if there is one.
    pub answer_normal: Option<String>,
}

/// Why a gold cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GoldError {
    /// It is empty or cannot be parsed.
    #[error("the gold cannot be read; write it as LaTeX, plain ASCII or words")]
    Unparsable,
    /// Its normal form exceeds the step budget.
    #[error("the gold needs more work than the step budget allows; write it in a simpler form")]
    TooCostly,
}

/// A gold that is parsed and normalised once.
#[derive(Debug, Clone)]
pub struct Gold {
    text: String,
    plain: String,
    readings: Vec<Expr>,
    decimals: Vec<(Rational, i64)>,
    signs: PercentSigns,
}

/// Which values of one side are written with percent signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PercentSigns {
    Nowhere,
    Everywhere,
    Somewhere,
}

impl PercentSigns {
    fn of(expr: &Expr) -> Self {
        fn each(expr: &Expr) -> bool {
            match expr {
                Expr::Percent(_) => true,
                Expr::Product(items) => {
                    matches!(items.as_slice(), [sign, Expr::Percent(_)] if sign.is_int(-1))
                }
                Expr::List(items) | Expr::Set(items) | Expr::Bracket(_, items, _) => {
                    items.iter().all(each)
                }
                Expr::Chain(sides, _) => sides.last().is_some_and(each),
                Expr::Where(inner, _) | Expr::PlusMinus { term: inner, .. } => each(inner),
                _ => false,
            }
        }
        if each(expr) {
            Self::Everywhere
        } else if expr.any(&|part| matches!(part, Expr::Percent(_))) {
            Self::Somewhere
        } else {
            Self::Nowhere
        }
    }
}

/// A text without its formatting: enclosing dollar signs, `\left` and `\right`, a final full stop.
/// Blanks inside stay: `1 2` is not `12`.
fn plain(text: &str) -> Cow<'_, str> {
    // A leading point stays: `.5` is not `5`.
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '$');
    let end = |c: char| c.is_whitespace() || c == '$';
    let text = text.trim_end_matches(end);
    // A single full stop ends a sentence; several are an ellipsis.
    let text = if text.ends_with("..") {
        text
    } else {
        text.strip_suffix('.').unwrap_or(text).trim_end_matches(end)
    };
    if text.contains("\\left") || text.contains("\\right") {
        let without_size_command = |text: &str, command: &str| {
            let mut out = String::with_capacity(text.len());
            let mut parts = text.split(command).peekable();
            while let Some(part) = parts.next() {
                out.push_str(part);
                // `\leftarrow` is another command.
                if parts
                    .peek()
                    .is_some_and(|next| next.starts_with(|c: char| c.is_ascii_alphabetic()))
                {
                    out.push_str(command);
                }
            }
            out
        };
        return Cow::Owned(without_size_command(
            &without_size_command(text, "\\left"),
            "\\right",
        ));
    }
    Cow::Borrowed(text)
}

impl Gold {
    /// Reads a gold.
    ///
    /// # Errors
    /// [`GoldError`] if no answer could be compared with it.
    pub fn read(text: &str, options: &Options) -> Result<Self, GoldError> {
        let reading = parse::read(text).ok_or(GoldError::Unparsable)?;
        let signs = PercentSigns::of(&reading.expr);
        let decimals = match options.rounding {
            Rounding::Gold => parse::written_decimals(text),
            Rounding::Exact => Vec::new(),
        };
        let budget = Budget::default();
        let cx = Context::new(options, &budget);
        let mut readings = Vec::with_capacity(2);
        for expr in std::iter::once(reading.expr).chain(reading.others) {
            readings.push(decide::normal(&expr, &cx).map_err(|Exhausted| GoldError::TooCostly)?);
        }
        Ok(Self {
            text: text.to_owned(),
            plain: plain(text).into_owned(),
            readings,
            decimals,
            signs,
        })
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first reading.
    pub(crate) fn reading(&self) -> Option<&Expr> {
        self.readings.first()
    }

    /// Approximate size in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        fn size(expr: &Expr) -> usize {
            96 + expr.children().map(size).sum::<usize>()
                + expr
                    .as_number()
                    .map_or(0, |value| usize::try_from(value.bits() / 8).unwrap_or(0))
        }
        self.text.len() * 2 + self.readings.iter().map(size).sum::<usize>()
    }

    /// Compares an answer with this gold.
    #[must_use]
    pub fn compare(&self, answer: &str, options: &Options) -> Comparison {
        let finished = |equal, rule, steps| Comparison {
            equal,
            rule,
            steps,
            gold_normal: None,
            answer_normal: None,
        };
        if !options.form.allows(answer) {
            return finished(false, Rule::Form, 1);
        }
        if !self.plain.is_empty() && self.plain == plain(answer) {
            return finished(true, Rule::SameText, 1);
        }
        let Some(reading) = parse::read(answer) else {
            return finished(false, Rule::Unparsed, 1);
        };
        let budget = Budget::default();
        let mut cx = Context::new(options, &budget);
        cx.decimals = &self.decimals;
        cx.percent = match (options.percent, self.signs, PercentSigns::of(&reading.expr)) {
            (Percent::Loose, PercentSigns::Nowhere, PercentSigns::Everywhere) => {
                Some(Rational::small(100))
            }
            (Percent::Loose, PercentSigns::Everywhere, PercentSigns::Nowhere) => {
                Some(Rational::ratio(1, 100))
            }
            _ => None,
        };
        match self.decide(&reading, &cx) {
            Ok((equal, normal)) => Comparison {
                equal,
                rule: cx.rule(),
                steps: budget.used(),
                gold_normal: self.readings.first().map(|gold| gold.shown(MAX_SHOWN)),
                answer_normal: Some(normal.shown(MAX_SHOWN)),
            },
            Err(Exhausted) => finished(false, Rule::Budget, budget.used()),
        }
    }

    fn decide(
        &self,
        reading: &parse::Reading,
        cx: &Context<'_>,
    ) -> Result<(bool, Expr), Exhausted> {
        let normal = decide::normal(&reading.expr, cx)?;
        let Some(gold) = self.readings.first() else {
            return Ok((false, normal));
        };
        if decide::same(gold, &normal, cx)? {
            return Ok((true, normal));
        }
        let rule = cx.rule();
        // Commas and letters may be ambiguous: try each reading of one side with each of the other.
        for other_gold in self.readings.iter().skip(1) {
            if decide::same(other_gold, &normal, cx)? {
                return Ok((true, normal));
            }
        }
        for other in &reading.others {
            let other = decide::normal(other, cx)?;
            for gold in &self.readings {
                if decide::same(gold, &other, cx)? {
                    return Ok((true, other));
                }
            }
        }
        cx.set_rule(rule);
        Ok((false, normal))
    }
}

/// Compares two texts. A gold that cannot be read equals no answer.
#[must_use]
pub fn equivalent(gold: &str, answer: &str, options: &Options) -> Comparison {
    match Gold::read(gold, options) {
        Ok(gold) => gold.compare(answer, options),
        Err(bad) => Comparison {
            equal: false,
            rule: match bad {
                GoldError::Unparsable => Rule::Unparsed,
                GoldError::TooCostly => Rule::Budget,
            },
            steps: 0,
            gold_normal: None,
            answer_normal: None,
        },
    }
}
