//! Runs every experiment and formats the output.

use assay_charts::DrawError;

use crate::noise::chart;
use crate::noise::estimator::{Estimator, GROUP};
use crate::noise::experiments::{self, CHANNELS, Experiment, HALVES, MIXED, label};
use crate::noise::moments::{Moments, moments};
use crate::noise::policy::{ANSWERS, FEATURES, PROMPTS, START, World};
use crate::noise::table::{Outcomes, Table, with_error};
use crate::noise::theory;
use crate::noise::training::{Case, LEARNING_RATES, Mean, STEPS, outcomes, spread};
use crate::noise::verifier::{Noise, modal_share};

/// Number of batches per seed for the batch cosine.
const BATCHES: u32 = 200;

/// The text and the SVG chart.
///
/// # Errors
/// As [`chart::svg`].
pub(crate) fn report(seeds: u64) -> Result<(String, String), DrawError> {
    let experiments = experiments::all();
    let mut cases: Vec<Case> = Vec::new();
    for case in experiments
        .iter()
        .flat_map(|experiment| &experiment.rows)
        .flat_map(|(_, cases)| cases)
        .flatten()
    {
        if !cases.contains(case) {
            cases.push(*case);
        }
    }
    let known = outcomes(&cases, seeds);
    let outcomes = Outcomes(cases.into_iter().zip(known).collect());

    let modal: Vec<f64> = (0..seeds)
        .map(|seed| modal_share(&World::new(seed)))
        .collect();
    let mut text = format!(
        "# Noise of verifiers in training\n\n{PROMPTS} prompts with {ANSWERS} answers, a softmax \
         policy of {FEATURES} shared weights, groups of {GROUP}, {STEPS} steps of Adam on policy, \
         the best of the learning rates {LEARNING_RATES:?}. Accuracy before training {START}. \
         Numbers are means over {seeds} seeds ± one standard error.\n"
    );
    for experiment in &experiments {
        section(&mut text, experiment.title, &outcomes.table(experiment));
    }
    section(
        &mut text,
        "One channel after 100 steps at a learning rate of 0.03",
        &halfway(&outcomes),
    );
    section(
        &mut text,
        "Gradient before training: bias cosine, batch cosine, SNR",
        &gradients(seeds),
    );
    section(
        &mut text,
        "Samples for the same SNR, mean baseline: formula / drawn",
        &theory::inflation(),
    );
    section(
        &mut text,
        "Variance of constant baselines, best baseline = 1: formula / drawn",
        &theory::baselines(),
    );
    section(
        &mut text,
        "Rates after rechecks: formula / drawn",
        &theory::residual(),
    );
    section(
        &mut text,
        "Groups of 8 that look mixed: formula / drawn",
        &theory::mixed_groups(),
    );
    section(
        &mut text,
        "Appeals for rho1 to ± 0.05, positives known: formula",
        &theory::appeals(),
    );

    text.push_str(&format!(
        "\nThe modal right form is {:.3} of the right answers.\n",
        Mean::of(&modal).value
    ));
    let svg = chart::svg(&outcomes, seeds)?;
    Ok((text, svg))
}

fn section(text: &mut String, title: &str, table: &Table) {
    text.push_str(&format!("\n## {title}\n\n{table}"));
}

fn halfway(outcomes: &Outcomes) -> Table {
    let Experiment { columns, rows, .. } = experiments::one_channel();
    let mut table = Table::new(columns);
    for (label, cases) in rows {
        let texts = cases.iter().flatten().map(|case| {
            let halfway = outcomes
                .of(case)
                .map(|outcome| outcome.halfway)
                .unwrap_or_default();
            with_error(halfway)
        });
        table.row(std::iter::once(label).chain(texts));
    }
    table
}

/// Means over seeds of the moments of a case.
pub(crate) fn mean_moments(case: &Case, seeds: u64, batches: u32) -> Moments {
    let worlds: Vec<u64> = (0..seeds).collect();
    let found = spread(&worlds, |seed| moments(case, *seed, batches));
    let mean =
        |of: fn(&Moments) -> f64| found.iter().map(of).sum::<f64>() / found.len().max(1) as f64;
    Moments {
        bias_cosine: mean(|moments| moments.bias_cosine),
        batch_cosine: mean(|moments| moments.batch_cosine),
        snr: mean(|moments| moments.snr),
    }
}

fn gradients(seeds: u64) -> Table {
    let mut table = Table::new(
        ["channel"]
            .into_iter()
            .chain(MIXED.into_iter().map(Estimator::name)),
    );
    let noises = CHANNELS
        .into_iter()
        .map(|rates| (label(rates), Noise::Fresh(rates)));
    for (label, noise) in noises.chain([("half and half".to_owned(), HALVES)]) {
        let texts = MIXED.into_iter().map(|estimator| {
            let found = mean_moments(&Case::new(noise, estimator), seeds, BATCHES);
            let numbers = [found.bias_cosine, found.batch_cosine, found.snr];
            numbers.map(|number| format!("{number:.3}")).join(", ")
        });
        table.row(std::iter::once(label).chain(texts));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::training::run;
    use crate::noise::verifier::Recheck;

    fn bias(noise: Noise, estimator: Estimator) -> f64 {
        mean_moments(&Case::new(noise, estimator), 6, 0).bias_cosine
    }

    #[test]
    fn noise_of_one_channel_preserves_the_direction_of_the_gradient() {
        for rates in CHANNELS {
            for estimator in [
                Estimator::Raw,
                Estimator::Backward,
                Estimator::Forward,
                Estimator::Mean,
                Estimator::Z,
            ] {
                let cosine = bias(Noise::Fresh(rates), estimator);
                assert!(cosine >= 0.99, "{rates:?} {}: {cosine}", estimator.name());
            }
        }
    }

    #[test]
    fn two_channels_preserve_the_direction_only_if_divided_by_their_j() {
        for estimator in [
            Estimator::Raw,
            Estimator::Mean,
            Estimator::Forward,
            Estimator::Z,
        ] {
            assert!(bias(HALVES, estimator) < 0.95, "{}", estimator.name());
        }
        for estimator in [Estimator::Backward, Estimator::Gain, Estimator::ZFix] {
            assert!(bias(HALVES, estimator) > 0.99, "{}", estimator.name());
        }
    }

    #[test]
    fn unbiased_gradients_of_two_channels_are_noisier() {
        let snr = |estimator| mean_moments(&Case::new(HALVES, estimator), 6, 0).snr;
        assert!(snr(Estimator::Gain) < 0.6 * snr(Estimator::Mean));
    }

    #[test]
    fn appeals_help_against_systematic_errors_and_corrections_do_not() {
        let accuracy = |case: Case| (0..8).map(|seed| run(&case, 0.1, seed)[1]).sum::<f64>() / 8.0;
        let corrected = [
            Estimator::Mean,
            Estimator::Backward,
            Estimator::Forward,
            Estimator::ZFix,
        ]
        .map(|estimator| accuracy(Case::new(Noise::ModalForm, estimator)));
        let appealed = accuracy(Case {
            appeals: Recheck::of(1.0),
            ..Case::new(Noise::ModalForm, Estimator::Mean)
        });
        assert!(
            corrected.iter().all(|corrected| *corrected < appealed),
            "{corrected:?} {appealed}"
        );
    }

    #[test]
    fn an_assumed_j_below_zero_reverses_training() {
        let given = crate::noise::training::Assumed::Given(experiments::rates(0.6, 0.6));
        let case = Case {
            assumed: given,
            ..Case::new(Noise::Fresh(CHANNELS[1]), Estimator::Backward)
        };
        assert!(run(&case, 0.1, 0)[1] < START);
    }
}
