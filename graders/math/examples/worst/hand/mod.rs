//! Worst cases that were written by hand, each an attack on one part of the grader.

mod expressions;
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

fn nested(open: &str, times: usize, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
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
fn digits(count: usize, seed: u64) -> String {
    let mut state = seed;
    let mut text = String::with_capacity(count);
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
    all
}
