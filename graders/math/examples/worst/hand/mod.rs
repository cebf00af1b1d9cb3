//! Worst cases that were written by hand, each an attack on one part of the grader.

mod copies;
mod expressions;
mod floods;
mod functions;
mod names;
mod numbers;
mod texts;

/// An attack.
pub(crate) struct Attack {
    /// What it attacks, as the report calls it.
    pub(crate) name: &'static str,
    /// The answer.
    pub(crate) text: String,
    /// Nearly the same answer, where another than one with a digit changed is meant.
    pub(crate) variant: Option<String>,
}

/// A name and a text of about so many parts.
type Family = (&'static str, fn(u64) -> String);

/// Numbers of parts of the families.
const PARTS: [u64; 5] = [6, 24, 150, 2_000, 30_000];

/// Longest text of a family, in bytes.
const MAX_FAMILY_BYTES: usize = 128_000;

fn repeated(text: &str, times: u64) -> String {
    text.repeat(usize::try_from(times).unwrap_or(0))
}

fn nested(open: &str, times: u64, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", repeated(open, times), repeated(close, times))
}

fn joined(range: impl Iterator<Item = u64>, between: &str, item: impl Fn(u64) -> String) -> String {
    range.map(item).collect::<Vec<_>>().join(between)
}

/// The numbers below `count`, in an irregular order.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    // 7919 is a prime that divides none of the counts here.
    (0..count).map(move |k| (k * 7919 + 13) % count)
}

fn square_matrix(environment: &str, size: u64, entry: impl Fn(u64, u64) -> String) -> String {
    let rows = joined(0..size, r"\\", |row| {
        joined(0..size, "&", |column| entry(row, column))
    });
    format!(r"\begin{{{environment}}}{rows}\end{{{environment}}}")
}

/// Digits without a pattern.
fn digits(count: u64, seed: u64) -> String {
    let mut state = seed;
    let mut text = String::new();
    for _ in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push(char::from(
            b'1' + u8::try_from((state >> 33) % 9).unwrap_or(0),
        ));
    }
    text
}

/// All attacks.
pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = Vec::new();
    for part in [
        numbers::large_numbers(),
        numbers::close_numbers(),
        numbers::series(),
        numbers::radicals(),
        expressions::algebra(),
        expressions::collections(),
        expressions::ranges(),
        texts::long_texts(),
    ] {
        all.extend(part.into_iter().map(|(name, text)| Attack {
            name,
            text,
            variant: None,
        }));
    }
    all.extend(
        texts::pairs()
            .into_iter()
            .map(|(name, text, variant)| Attack {
                name,
                text,
                variant: Some(variant),
            }),
    );
    for family in [
        copies::matrices(),
        copies::tuples(),
        copies::derivatives(),
        names::lookups(),
        names::pairs(),
        names::numbers(),
        floods::floods(),
        functions::pieces(),
        functions::sequences(),
    ] {
        for (name, text) in family {
            all.extend(sizes(text).into_iter().map(|text| Attack {
                name,
                text,
                variant: None,
            }));
        }
    }
    all
}

/// The texts of a family by the numbers of [`PARTS`], up to the longest allowed, and that one.
fn sizes(text: fn(u64) -> String) -> Vec<String> {
    let mut texts: Vec<String> = Vec::with_capacity(PARTS.len());
    for parts in PARTS {
        let mut parts = parts;
        let mut next = text(parts);
        while next.len() > MAX_FAMILY_BYTES {
            parts /= 2;
            next = text(parts);
        }
        if !texts.contains(&next) {
            texts.push(next);
        }
    }
    texts
}
