//! Draws labelled pairs from templates: a gold with texts that are equal to it and near misses that
//! are not. Numbers are drawn with seeds, so every run has the same pairs.

use assay_base::Random;

/// Draws of the numbers of each template.
const DRAWS: u64 = 3;

/// A gold with other texts. `<…>` is an integer expression in the letters `a` to `d`, whose values
/// are different and drawn from `from..=to`.
pub(crate) struct Template {
    pub(crate) kind: &'static str,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) gold: &'static str,
    pub(crate) equal: &'static [&'static str],
    pub(crate) unequal: &'static [&'static str],
}

/// A gold, an answer, and whether they are equal.
pub(crate) struct Pair {
    pub(crate) kind: &'static str,
    /// The texts of gold and answer in the template.
    pub(crate) templates: [&'static str; 2],
    pub(crate) gold: String,
    pub(crate) answer: String,
    pub(crate) equal: bool,
}

/// The pairs of some templates. The seeds are positions in the table, so a template that is added
/// at the end does not change the others.
pub(crate) fn pairs(templates: &[Template]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (seed, template) in (0..).zip(templates) {
        for draw in 0..DRAWS {
            let mut random = Random::stream(&[seed, draw]);
            let values = values(template, &mut random);
            let labelled = (template.equal.iter().map(|text| (text, true)))
                .chain(template.unequal.iter().map(|text| (text, false)));
            pairs.extend(labelled.map(|(text, equal)| Pair {
                kind: template.kind,
                templates: [template.gold, *text],
                gold: filled(template.gold, &values),
                answer: filled(text, &values),
                equal,
            }));
        }
    }
    pairs
}

/// Four different numbers.
fn values(template: &Template, random: &mut Random) -> [i64; 4] {
    let mut values = [template.from - 1; 4];
    for at in 0..values.len() {
        loop {
            let value = random.between(template.from, template.to);
            if !values.contains(&value) {
                values[at] = value;
                break;
            }
        }
    }
    values
}

/// The template with its numbers. `\lt` writes a relation, because `<` begins an expression.
fn filled(template: &str, values: &[i64; 4]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('<') {
        let (inner, after) = after.split_once('>').expect("an expression ends");
        out.push_str(before);
        out.push_str(&value(inner, values).to_string());
        rest = after;
    }
    out + rest
}

/// The value of a sum of products of letters and numbers, such as `a*b+2*c-1`.
fn value(text: &str, values: &[i64; 4]) -> i64 {
    let factor = |text: &str| match text.as_bytes() {
        [letter @ b'a'..=b'd'] => values[usize::from(letter - b'a')],
        _ => text.parse().expect("a letter or a number"),
    };
    let product = |text: &str| text.split('*').map(factor).product::<i64>();
    let signed = text.replace('-', "+-");
    signed
        .split('+')
        .filter(|term| !term.is_empty())
        .map(|term| match term.strip_prefix('-') {
            Some(term) => -product(term),
            None => product(term),
        })
        .sum()
}
