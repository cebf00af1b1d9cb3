//! Compares two texts and reports the rule that decided. Does not know completions, tasks or
//! services.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::OnceLock;

use crate::budget::{Budget, Exhausted, STEPS};
use crate::canonical::{self, Canonical};
use crate::decide::rule::Rule;
use crate::decide::{self, Context};
use crate::difference::{self, Difference};
use crate::number::Rational;
use crate::options::{Options, Percent, Points, Rounding};
use crate::parse;
use crate::tree::Expr;
use crate::tree::charged::charge_visit;

/// Steps of reading a byte of an option: short pieces of text take up to 400 ns a token.
const READING_STEPS: u64 = 8;

/// Bytes of tokens and nodes for a byte of text, at most.
const READING_BYTES: u64 = 128;

/// Most alternatives of an answer that are compared with a gold one by one.
const MAX_ALTERNATIVES: usize = 4;

/// Longest answer that is searched for alternatives, in bytes.
const MAX_ALTERNATIVES_BYTES: usize = 400;

/// Approximate length to which the tree of an answer is cut for evidence, in bytes.
const MAX_READ: usize = 200;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Whether the answer is equivalent to the gold.
    pub equal: bool,
    /// The rule that decided.
    pub rule: Rule,
    /// Steps taken.
    pub steps: u64,
    /// Bytes written, freed ones included, that were charged to the budget.
    pub bytes: u64,
    /// Which normal form of the answer the evidence shows.
    form: AnswerForm,
}

/// A normal form of an answer. Its text takes work, so it is computed only for evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AnswerForm {
    /// None: the answer was not read, has the text of the gold, or exceeds the budget.
    None,
    /// That of the gold, which the answer equals.
    OfGold,
    /// That of its usual reading.
    Usual,
    /// That of another reading, which equals the gold.
    Other(Expr),
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
    /// The canonical form of the usual reading, once evidence needed it.
    canonical: OnceLock<Option<Canonical>>,
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

/// A text without the names of LaTeX commands.
fn without_commands(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
    }
    out
}

/// Whether a decimal of a gold is plainly a rounded value.
fn is_rounded(text: &str, value: &Rational, places: i64) -> bool {
    const MIN_PLACES: i64 = 2;
    let says = ["\\approx", "≈", "\\simeq", "≃"]
        .iter()
        .any(|sign| text.contains(sign));
    // Exact decimals of tasks are nearly always eighths.
    let is_eighth = value
        .mul(&Rational::small(8))
        .is_none_or(|eighths| eighths.is_integer());
    says || places >= MIN_PLACES && !is_eighth
}

impl Gold {
    /// Reads a gold.
    ///
    /// # Errors
    /// [`GoldError`] if no answer could be compared with it.
    pub fn read(text: &str, options: &Options) -> Result<Self, GoldError> {
        Self::read_within(text, options, &Budget::default())
    }

    /// Reads a gold within a budget that it shares with others.
    pub(crate) fn read_within(
        text: &str,
        options: &Options,
        budget: &Budget,
    ) -> Result<Self, GoldError> {
        let reading = parse::read(text).ok_or(GoldError::Unparsable)?;
        let signs = PercentSigns::of(&reading.expr);
        let decimals = match options.rounding {
            Rounding::Gold => parse::written_decimals(text),
            Rounding::Auto => parse::written_decimals(text)
                .into_iter()
                .filter(|(value, places)| is_rounded(text, value, *places))
                .collect(),
            Rounding::Exact => Vec::new(),
        };
        let own = budget.part(STEPS);
        let cx = Context::new(options, &own);
        let readings = std::iter::once(reading.expr)
            .chain(reading.others)
            .map(|expr| decide::normal(&expr, &cx))
            .collect::<Result<Vec<Expr>, _>>();
        let absorbed = budget.absorb(&own);
        let readings = absorbed
            .and(readings)
            .map_err(|Exhausted| GoldError::TooCostly)?;
        Ok(Self {
            text: text.to_owned(),
            plain: plain(text).into_owned(),
            readings,
            canonical: OnceLock::new(),
            decimals,
            signs,
        })
    }

    /// The text that it was read from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The normal forms of its readings, the usual one first.
    pub(crate) fn normal_forms(&self) -> &[Expr] {
        &self.readings
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
        // The canonical form, which is computed later, is about as large as the readings.
        2 * (self.text.len() + self.readings.iter().map(size).sum::<usize>())
    }

    /// Compares an answer with this gold.
    #[must_use]
    pub fn compare(&self, answer: &str, options: &Options) -> Comparison {
        self.compare_within(&Answer::of(answer, options), options, &Budget::default())
    }

    /// Compares an answer with this gold, within a budget that all golds share.
    pub(crate) fn compare_within(
        &self,
        answer: &Answer<'_>,
        options: &Options,
        budget: &Budget,
    ) -> Comparison {
        if !answer.allowed {
            return Comparison::of(false, Rule::Form);
        }
        if !self.plain.is_empty() && self.plain == answer.plain {
            return Comparison::of(true, Rule::SameText);
        }
        let Some(reading) = answer.reading() else {
            return Comparison::of(false, Rule::Unparsed);
        };
        // The normal form of the answer counts for each gold, but is computed once.
        let normal = answer.normal(reading, options, budget);
        let own = budget.part(STEPS.saturating_sub(normal.steps));
        let mut cx = Context::new(options, &own);
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
        let decided = match &normal.expr {
            Ok(expr) => match self.decide(expr, reading, &cx) {
                Ok((false, _)) if answer.offers_alternatives() => {
                    let rule = cx.rule();
                    self.equals_each(expr, &cx).map(|equal| {
                        if !equal {
                            cx.set_rule(rule);
                        }
                        (equal, None)
                    })
                }
                decided => decided,
            },
            Err(Exhausted) => Err(Exhausted),
        };
        let used = Comparison {
            steps: normal.steps + own.used(),
            bytes: normal.bytes + own.bytes_used(),
            ..Comparison::of(false, Rule::Budget)
        };
        match budget.absorb(&own).and(decided) {
            Ok((equal, other)) => Comparison {
                equal,
                rule: cx.rule(),
                form: match (other, &normal.expr) {
                    // Of equal answers the form is that of the gold.
                    _ if equal && cx.percent.is_none() && cx.rule() != Rule::Tolerance => {
                        AnswerForm::OfGold
                    }
                    (Some(other), _) => AnswerForm::Other(other),
                    (None, Ok(_)) => AnswerForm::Usual,
                    (None, Err(Exhausted)) => AnswerForm::None,
                },
                ..used
            },
            // The canonical forms may be cheaper than the comparison.
            Err(Exhausted) => match (self.canonical(options), &normal.expr) {
                (Some(gold), Ok(expr)) if gold.is_same(answer.canonical(expr, options)) => {
                    Comparison {
                        equal: true,
                        rule: Rule::SameTree,
                        form: AnswerForm::OfGold,
                        ..used
                    }
                }
                _ => used,
            },
        }
    }

    /// The canonical form of the usual reading.
    fn canonical(&self, options: &Options) -> Option<&Canonical> {
        let form = || Some(Canonical::of(self.readings.first()?, options));
        self.canonical.get_or_init(form).as_ref()
    }

    /// The first part in which an answer that was compared with this gold differs from it.
    pub(crate) fn difference(&self, answer: &Answer<'_>, options: &Options) -> Option<Difference> {
        let answer = answer.canonical(answer.usual()?, options);
        difference::first(
            self.canonical(options)?.expr.as_ref()?,
            answer.expr.as_ref()?,
        )
    }

    /// The texts of the normal forms of the gold and of an answer that was compared with it.
    /// Answers that are not equal have different texts: if only their canonical forms are equal,
    /// the comparison could not decide, and the texts are those of the normal forms.
    pub(crate) fn forms(
        &self,
        answer: &Answer<'_>,
        comparison: &Comparison,
        options: &Options,
    ) -> [Option<String>; 2] {
        let gold = || self.canonical(options).map(|gold| gold.text.clone());
        match (&comparison.form, answer.usual()) {
            (AnswerForm::OfGold, _) => [gold(), gold()],
            (AnswerForm::Other(other), _) => [gold(), Some(Canonical::of(other, options).text)],
            (AnswerForm::Usual, Some(usual)) => {
                let (gold, own) = (gold(), answer.canonical(usual, options));
                match self.readings.first() {
                    Some(reading) if !comparison.equal && gold.as_deref() == Some(&*own.text) => {
                        [reading, usual].map(|normal| Some(canonical::shown(normal)))
                    }
                    _ => [gold, Some(own.text.clone())],
                }
            }
            (AnswerForm::Usual | AnswerForm::None, _) => [None, None],
        }
    }

    /// Whether the gold is one value and equals each alternative of an answer: `3/4 or 0.75`.
    fn equals_each(&self, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
        let (Some(gold), Expr::List(items)) = (self.readings.first(), answer) else {
            return Ok(false);
        };
        if matches!(gold, Expr::List(_)) || items.len() > MAX_ALTERNATIVES {
            return Ok(false);
        }
        for item in items {
            if !decide::equivalent(gold, item, cx)? {
                return Ok(false);
            }
        }
        Ok(!items.is_empty())
    }

    /// Whether the answer is equivalent, and its normal form if it is that of another reading.
    fn decide(
        &self,
        normal: &Expr,
        reading: &parse::Reading,
        cx: &Context<'_>,
    ) -> Result<(bool, Option<Expr>), Exhausted> {
        let Some(gold) = self.readings.first() else {
            return Ok((false, None));
        };
        if decide::equivalent(gold, normal, cx)? {
            return Ok((true, None));
        }
        let rule = cx.rule();
        // Commas and letters may be ambiguous: try each reading of one side with each of the other.
        for other_gold in self.readings.iter().skip(1) {
            if decide::equivalent(other_gold, normal, cx)? {
                return Ok((true, None));
            }
        }
        for other in &reading.others {
            let other = decide::normal(other, cx)?;
            for gold in &self.readings {
                if decide::equivalent(gold, &other, cx)? {
                    return Ok((true, Some(other)));
                }
            }
        }
        cx.set_rule(rule);
        Ok((false, None))
    }
}

impl Comparison {
    /// A comparison that took no work worth counting.
    fn of(equal: bool, rule: Rule) -> Self {
        Self {
            equal,
            rule,
            steps: 1,
            bytes: 0,
            form: AnswerForm::None,
        }
    }
}

/// An answer that is compared with several golds: it is read and normalised at most once.
pub(crate) struct Answer<'a> {
    text: &'a str,
    points: Points,
    plain: Cow<'a, str>,
    allowed: bool,
    reading: OnceCell<Option<parse::Reading>>,
    normal: OnceCell<Normal>,
    canonical: OnceCell<Canonical>,
}

/// The normal form of an answer, and what it took.
struct Normal {
    expr: Result<Expr, Exhausted>,
    steps: u64,
    bytes: u64,
}

impl<'a> Answer<'a> {
    /// An answer that is read when a comparison needs it.
    pub(crate) fn of(text: &'a str, options: &Options) -> Self {
        Self {
            text,
            points: options.points,
            plain: plain(text),
            allowed: options.form.allows(text),
            reading: OnceCell::new(),
            normal: OnceCell::new(),
            canonical: OnceCell::new(),
        }
    }

    /// Whether it may be several alternatives: `3/4 or 0.75`.
    fn offers_alternatives(&self) -> bool {
        let words = self.text.split(|c: char| !c.is_alphabetic());
        self.text.len() <= MAX_ALTERNATIVES_BYTES && words.into_iter().any(|word| word == "or")
    }

    fn reading(&self) -> Option<&parse::Reading> {
        let read = || {
            let mut reading = parse::read(self.text)?;
            if self.points == Points::Either
                && let Some(whole) = parse::with_points_between_thousands(self.text)
                && let Some(whole) = parse::read(&whole)
            {
                reading.others.push(whole.expr);
            }
            Some(reading)
        };
        self.reading.get_or_init(read).as_ref()
    }

    /// The normal form of its usual reading, if a comparison needed it and the budget allowed it.
    fn usual(&self) -> Option<&Expr> {
        self.normal_form()?.as_ref().ok()
    }

    /// The normal form of its usual reading, if a comparison needed it.
    pub(crate) fn normal_form(&self) -> Option<&Result<Expr, Exhausted>> {
        self.normal.get().map(|normal| &normal.expr)
    }

    /// The tree of its usual reading as text, if that is not obvious: commas or letters have
    /// several meanings, or the tree does not contain all letters and digits of the answer. `None`
    /// if the answer is a number in digits, or was not read.
    pub(crate) fn read_as(&self) -> Option<String> {
        let reading = self.reading.get()?.as_ref()?;
        let written = without_commands(self.text);
        let digits = !written.chars().any(char::is_alphabetic);
        if digits && matches!(reading.expr, Expr::Number(_)) {
            return None;
        }
        let shown = reading.expr.shown(MAX_READ);
        let count = |text: &str, one: char| text.chars().filter(|c| *c == one).count();
        let is_kept = |one: char| count(&written, one) <= count(&shown, one);
        let obvious = reading.others.is_empty()
            && (written.len() > MAX_READ
                || written.chars().filter(|c| c.is_alphanumeric()).all(is_kept));
        (!obvious).then_some(shown)
    }

    /// The text of the canonical form of its usual reading; `None` if it is not in the required
    /// form, cannot be read, or exceeds the budget.
    pub(crate) fn usual_form(&self, options: &Options, budget: &Budget) -> Option<&str> {
        let reading = self.reading().filter(|_| self.allowed)?;
        let normal = self.normal(reading, options, budget).expr.as_ref().ok()?;
        Some(&self.canonical(normal, options).text)
    }

    /// The canonical form of its normal form.
    fn canonical(&self, normal: &Expr, options: &Options) -> &Canonical {
        self.canonical
            .get_or_init(|| Canonical::of(normal, options))
    }

    fn normal(&self, reading: &parse::Reading, options: &Options, budget: &Budget) -> &Normal {
        let mut first = false;
        let normal = self.normal.get_or_init(|| {
            first = true;
            let own = budget.part(STEPS);
            let expr = decide::normal(&reading.expr, &Context::new(options, &own));
            let expr = budget.absorb(&own).and(expr);
            Normal {
                expr,
                steps: own.used(),
                bytes: own.bytes_used(),
            }
        });
        if !first && let Ok(expr) = &normal.expr {
            // Comparing with one more gold visits the answer a few times. Without steps left, the
            // comparison ends at its first charge.
            let _ = charge_visit(expr, 1, budget);
        }
        normal
    }
}

/// Compares two texts. A gold that cannot be read equals no answer.
#[must_use]
pub fn equivalent(gold: &str, answer: &str, options: &Options) -> Comparison {
    compared(Gold::read(gold, options), |gold| {
        gold.compare(answer, options)
    })
}

/// The text of the canonical form of an answer; `None` if it cannot be read.
#[must_use]
pub fn normal_form(text: &str, options: &Options) -> Option<String> {
    let read = Gold::read(text, options).ok()?;
    read.canonical(options).map(|form| form.text.clone())
}

/// Charges reading texts of this length in bytes.
pub(crate) fn charge_reading(bytes: usize, budget: &Budget) -> Result<(), Exhausted> {
    budget.charge(READING_STEPS * bytes as u64)?;
    budget.charge_bytes(READING_BYTES * bytes as u64)
}

/// Compares two texts within the budget of a comparison that they are a part of. Reading them is
/// charged too.
pub(crate) fn equivalent_within(
    gold: &str,
    answer: &str,
    options: &Options,
    budget: &Budget,
) -> Result<bool, Exhausted> {
    charge_reading(gold.len() + answer.len(), budget)?;
    let found = compared(Gold::read_within(gold, options, budget), |gold| {
        gold.compare_within(&Answer::of(answer, options), options, budget)
    });
    if budget.is_exhausted() {
        return Err(Exhausted);
    }
    Ok(found.equal)
}

fn compared(gold: Result<Gold, GoldError>, compare: impl FnOnce(Gold) -> Comparison) -> Comparison {
    match gold {
        Ok(gold) => compare(gold),
        Err(bad) => Comparison {
            steps: 0,
            ..Comparison::of(
                false,
                match bad {
                    GoldError::Unparsable => Rule::Unparsed,
                    GoldError::TooCostly => Rule::Budget,
                },
            )
        },
    }
}
