//! The output: every experiment run and written down. Owns the order of the tables and their words.

use crate::noise::chart;
use crate::noise::estimator::{Estimator, GROUP};
use crate::noise::experiments::{
    self, CHANNELS, EARLIER_ERROR, Experiment, HALFWAY, HALVES, MIXED, label,
};
use crate::noise::moments::{Moments, moments};
use crate::noise::policy::{ANSWERS, FEATURES, PROMPTS, START, World};
use crate::noise::table::{Outcomes, Table, beside};
use crate::noise::theory;
use crate::noise::training::{Case, LEARNING_RATES, Mean, STEPS, outcomes, spread};
use crate::noise::verifier::{Noise, modal_share};

/// Batches drawn a seed for the batch cosine.
const BATCHES: u32 = 200;

/// The text and the picture.
pub(crate) fn report(seeds: u64) -> (String, String) {
    let experiments = experiments::all();
    let mut cases: Vec<Case> = Vec::new();
    for cell in experiments
        .iter()
        .flat_map(|experiment| &experiment.rows)
        .flat_map(|(_, cells)| cells)
        .flatten()
    {
        if !cases.contains(&cell.case) {
            cases.push(cell.case);
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
         Numbers are means over {seeds} seeds ± one standard error; in brackets an earlier \
         simulation, written apart from this one: 8 seeds, standard error about {EARLIER_ERROR}. \
         The number and size of the features, the spread of the logits, the number of right \
         answers and the learning rates were chosen so that accuracies in one channel, also at \
         step 100, the SNR and the share of the modal form come near the earlier ones; the other \
         tables were left as they came out.\n"
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

    let (compared, apart) = outcomes.agreement(&experiments, seeds);
    text.push_str(&format!(
        "\n## Agreement\n\nThe modal right form is {:.3} of the right answers (earlier 0.53). Of \
         {compared} accuracies, {} differ from the earlier one by more than two standard errors \
         of the difference.\n",
        Mean::of(&modal).value,
        apart.len()
    ));
    for line in apart {
        text.push_str(&format!("- {line}\n"));
    }
    let svg = chart::svg(&outcomes, seeds);
    (text, svg)
}

fn section(text: &mut String, title: &str, table: &Table) {
    text.push_str(&format!("\n## {title}\n\n{table}"));
}

fn halfway(outcomes: &Outcomes) -> Table {
    let Experiment { columns, rows, .. } = experiments::one_channel();
    let mut table = Table::new(columns);
    for ((label, cells), earlier) in rows.into_iter().zip(HALFWAY) {
        let texts = cells.iter().flatten().enumerate().map(|(at, cell)| {
            let halfway = outcomes
                .of(&cell.case)
                .map(|outcome| outcome.halfway)
                .unwrap_or_default();
            beside(halfway, earlier.get(at).copied())
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

/// Earlier of two channels, in the order of [`MIXED`]: bias cosine, batch cosine, SNR.
const EARLIER: [[Option<f64>; 3]; 7] = [
    [Some(0.922), None, None],
    [Some(0.999), None, None],
    [Some(0.922), None, None],
    [Some(0.922), Some(0.464), Some(0.339)],
    [None, Some(0.342), Some(0.132)],
    [Some(0.906), None, Some(0.323)],
    [Some(0.997), None, Some(0.099)],
];

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
        let texts = MIXED.into_iter().zip(EARLIER).map(|(estimator, earlier)| {
            let found = mean_moments(&Case::new(noise, estimator), seeds, BATCHES);
            let numbers = [found.bias_cosine, found.batch_cosine, found.snr];
            let texts = numbers.iter().zip(earlier).map(|(number, earlier)| {
                let earlier = earlier.filter(|_| noise == HALVES);
                earlier.map_or_else(
                    || format!("{number:.3}"),
                    |earlier| format!("{number:.3} [{earlier:.3}]"),
                )
            });
            texts.collect::<Vec<_>>().join(", ")
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
    fn noise_of_one_channel_does_not_turn_the_gradient() {
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
    fn two_channels_turn_it_unless_each_is_divided_by_its_j() {
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
    fn appeals_bring_back_what_no_correction_does() {
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
    fn an_assumed_j_below_zero_inverts_training() {
        let given = crate::noise::training::Assumed::Given(experiments::rates(0.6, 0.6));
        let case = Case {
            assumed: given,
            ..Case::new(Noise::Fresh(CHANNELS[1]), Estimator::Backward)
        };
        assert!(run(&case, 0.1, 0)[1] < START);
    }
}
