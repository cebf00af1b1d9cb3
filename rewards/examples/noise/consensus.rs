//! Labels by consensus on generated groups with known golds: how often they are right by margin,
//! what the votes alone estimate, and what golds add.

use assay_base::Random;
use assay_rewards::votes::{Ballot, Vote, majority, mistaken, weighted_by_consistency};

use crate::noise::table::Table;
use crate::noise::training::spread;

/// Groups of each kind.
const GROUPS: u64 = 40_000;
/// Wrong answers of a prompt besides the most frequent one, each half as frequent as the one
/// before.
const OTHERS: usize = 6;
/// Lower bounds of the bins of margins.
const MARGINS: [f64; 6] = [0.0, 0.125, 0.25, 0.5, 0.75, 1.0];
/// Of one of so many groups, the gold is known.
const CHECKED: usize = 20;
/// Names of the answers; the first is right.
const NAMES: [&str; OTHERS + 2] = ["right", "w1", "w2", "w3", "w4", "w5", "w6", "w7"];

/// Which prompts a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prompts {
    /// The right answer is always the most probable one.
    Modal,
    /// Also prompts on which a wrong answer is the most probable one.
    Any,
}

/// Probabilities of the answers of a prompt: the right one p, logistic normal around 1/2; of the
/// others a favourite with a share that is uniform, the rest in halves.
fn prompt(prompts: Prompts, random: &mut Random) -> [f64; OTHERS + 2] {
    loop {
        let p = 1.0 / (1.0 + (-1.5 * random.normal()).exp());
        let favourite = random.uniform() * (1.0 - p);
        let mut rest = 1.0 - p - favourite;
        let mut shares = [0.0; OTHERS + 2];
        (shares[0], shares[1]) = (p, favourite);
        for share in &mut shares[2..] {
            *share = rest / 2.0;
            rest /= 2.0;
        }
        shares[1] += rest;
        let most = shares[1..].iter().copied().fold(0.0, f64::max);
        if prompts == Prompts::Any || p > most {
            return shares;
        }
    }
}

/// A group's vote, and whether its label is right.
#[derive(Debug, Clone, Copy)]
struct Labelled {
    margin: f64,
    error: f64,
    right: bool,
}

impl Labelled {
    fn of(vote: &Vote<'_>) -> Self {
        Self {
            margin: vote.margin,
            error: vote.error,
            right: vote.answer == NAMES[0],
        }
    }
}

fn ballot(answer: usize, model: &'static str, weight: f64) -> Ballot<'static> {
    Ballot {
        answer: Some(NAMES[answer]),
        model: Some(model),
        weight,
    }
}

/// The labels of groups of `size` answers; ties have none.
fn labels(prompts: Prompts, size: usize, seed: u64) -> Vec<Labelled> {
    let mut random = Random::stream(&[seed, size as u64, 21]);
    let mut group = || {
        let shares = prompt(prompts, &mut random);
        let answers = (0..size).map(|_| ballot(random.index(&shares), "a", 1.0));
        let ballots: Vec<_> = answers.collect();
        let vote = majority(&ballots)?;
        (vote.margin > 0.0).then(|| Labelled::of(&vote))
    };
    (0..GROUPS).filter_map(|_| group()).collect()
}

fn mean(labels: &[&Labelled], of: impl Fn(&Labelled) -> f64) -> f64 {
    labels.iter().map(|label| of(label)).sum::<f64>() / labels.len().max(1) as f64
}

fn wrong(label: &Labelled) -> f64 {
    f64::from(u8::from(!label.right))
}

/// Rows by margin: labels, wrong ones, their estimated error, the difference, and the same with the
/// share of mistaken prompts that golds show.
fn by_margin(all: &[Labelled]) -> Table {
    let checked: Vec<&Labelled> = all.iter().step_by(CHECKED).collect();
    let found = checked.iter().filter(|label| !label.right).count() as u64;
    let estimated = mean(&checked, |label| label.error);
    let share = mistaken(found, checked.len() as u64, estimated).map_or(0.0, |share| share.value);
    let with_golds = |label: &Labelled| label.error + (1.0 - label.error) * share;
    let mut table = Table::new([
        "margin",
        "labels",
        "wrong",
        "estimated",
        "bias",
        "with golds",
        "bias",
    ]);
    let mut row = |name: String, labels: &[&Labelled]| {
        let truth = mean(labels, wrong);
        let (alone, golds) = (mean(labels, |label| label.error), mean(labels, with_golds));
        let numbers = [truth, alone, alone - truth, golds, golds - truth];
        let signed = |at: usize| at == 2 || at == 4;
        let cells = numbers.iter().enumerate().map(|(at, number)| {
            if signed(at) {
                format!("{number:+.3}")
            } else {
                format!("{number:.3}")
            }
        });
        table.row([name, labels.len().to_string()].into_iter().chain(cells));
    };
    for (at, low) in MARGINS.iter().enumerate() {
        let high = MARGINS.get(at + 1).copied().unwrap_or(f64::INFINITY);
        let inside: Vec<&Labelled> = all
            .iter()
            .filter(|label| (*low..high).contains(&label.margin))
            .collect();
        let name = if *low < 1.0 {
            format!("{low} to {high}")
        } else {
            "1".to_owned()
        };
        if !inside.is_empty() {
            row(name, &inside);
        }
    }
    row("all".to_owned(), &all.iter().collect::<Vec<_>>());
    table
}

/// Shares of wrong labels by kind of vote. Two models answer, of which the second is right less
/// often, and less consistent. The confidence of an answer is a number in (0, 1) that is higher for
/// right answers, by `signal` standard deviations of its log-odds.
fn kinds(signal: f64) -> [f64; 3] {
    let mut random = Random::stream(&[(10.0 * signal) as u64, 22]);
    let mut found = [(0.0, 0.0); 3];
    for _ in 0..GROUPS {
        let good = prompt(Prompts::Any, &mut random);
        let flat = good.map(|share| 0.4 * share + 0.6 / (OTHERS + 2) as f64);
        let mut ballots = Vec::new();
        for (model, shares) in [("a", good), ("b", flat)] {
            for _ in 0..4 {
                let answer = random.index(&shares);
                let shift = if answer == 0 { signal } else { 0.0 };
                let confidence = 1.0 / (1.0 + (-(random.normal() + shift)).exp());
                ballots.push(ballot(answer, model, confidence));
            }
        }
        let plain: Vec<_> = ballots
            .iter()
            .map(|ballot| Ballot {
                weight: 1.0,
                ..*ballot
            })
            .collect();
        let votes = [
            majority(&plain),
            majority(&ballots),
            weighted_by_consistency(&plain),
        ];
        for ((wrong, all), vote) in found.iter_mut().zip(votes) {
            let Some(vote) = vote.filter(|vote| vote.margin > 0.0) else {
                continue;
            };
            *all += 1.0;
            *wrong += f64::from(u8::from(vote.answer != NAMES[0]));
        }
    }
    found.map(|(wrong, all)| wrong / f64::max(all, 1.0))
}

/// All tables, as Markdown.
pub(crate) fn report() -> String {
    let mut text = format!(
        "# Labels by consensus\n\n{GROUPS} groups of each kind. `wrong` is the share of wrong \
         labels, `estimated` the mean error by the votes alone, `with golds` that with the share \
         of mistaken prompts by the golds of one of {CHECKED} groups. Ties have no label.\n"
    );
    let kinds_of_prompts = [
        (Prompts::Modal, "the right answer is the most probable one"),
        (Prompts::Any, "any prompt"),
    ];
    let jobs: Vec<_> = kinds_of_prompts
        .into_iter()
        .flat_map(|(prompts, title)| [8, 32].map(|size| (prompts, title, size)))
        .collect();
    let tables = spread(&jobs, |(prompts, _, size)| {
        by_margin(&labels(*prompts, *size, *prompts as u64))
    });
    for ((_, title, size), table) in jobs.iter().zip(tables) {
        text.push_str(&format!("\n## Groups of {size}, {title}\n\n{table}"));
    }
    let mut table = Table::new([
        "confidence of right answers",
        "ttrl",
        "ttrl with confidence",
        "rlccf",
    ]);
    let signals = [0.0, 1.0, 2.0];
    for (signal, found) in signals
        .iter()
        .zip(spread(&signals, |signal| kinds(*signal)))
    {
        let name = format!("+{signal} standard deviations");
        let cells = found.map(|share| format!("{share:.3}"));
        table.row(std::iter::once(name).chain(cells));
    }
    text.push_str(&format!(
        "\n## Share of wrong labels, 4 answers of a good model and 4 of a weak one\n\n{table}"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_an_upper_bound_where_the_right_answer_is_most_probable() {
        let labels = labels(Prompts::Modal, 8, 1);
        let all: Vec<&Labelled> = labels.iter().collect();
        assert!(mean(&all, |label| label.error) > mean(&all, wrong));
        let sure: Vec<&Labelled> = labels.iter().filter(|label| label.margin > 0.7).collect();
        assert!(mean(&sure, wrong) < 0.01);
    }

    #[test]
    fn golds_remove_most_of_the_bias_where_prompts_mislead() {
        let labels = labels(Prompts::Any, 32, 1);
        let all: Vec<&Labelled> = labels.iter().collect();
        let (truth, error) = (mean(&all, wrong), mean(&all, |label| label.error));
        assert!(error < truth - 0.1, "{error} {truth}");
        let found = labels.iter().filter(|label| !label.right).count() as u64;
        let share = mistaken(found, labels.len() as u64, error).unwrap();
        let with_golds = error + (1.0 - error) * share.value;
        assert!((with_golds - truth).abs() < 0.01, "{with_golds} {truth}");
    }
}
