//! The trainings that are compared.

use assay_rewards::Rates;

use crate::noise::estimator::Estimator;
use crate::noise::training::{Assumed, Case};
use crate::noise::verifier::{Noise, Recheck};

/// A table of trainings.
#[derive(Debug, Clone)]
pub(crate) struct Experiment {
    /// Title of the table.
    pub(crate) title: &'static str,
    /// Column headings.
    pub(crate) columns: Vec<&'static str>,
    /// Label and trainings of each row.
    pub(crate) rows: Vec<(String, Vec<Option<Case>>)>,
}

/// Rates from constants in \[0, 1\].
pub(crate) const fn rates(rho0: f64, rho1: f64) -> Rates {
    Rates { rho0, rho1 }
}

/// The channels of the first table.
pub(crate) const CHANNELS: [Rates; 5] = [
    Rates::CLEAN,
    rates(0.1, 0.2),
    rates(0.2, 0.4),
    rates(0.0, 0.4),
    rates(0.3, 0.0),
];

/// Half of the prompts are graded without noise, half with (0.2, 0.4).
pub(crate) const HALVES: Noise = Noise::Halves(Rates::CLEAN, rates(0.2, 0.4));

/// Formats rates for tables.
pub(crate) fn label(rates: Rates) -> String {
    format!("({}, {})", rates.rho0, rates.rho1)
}

fn names(first: &'static str, estimators: &[Estimator]) -> Vec<&'static str> {
    std::iter::once(first)
        .chain(estimators.iter().map(|estimator| estimator.name()))
        .collect()
}

/// One channel for all prompts, with noise drawn at every call.
pub(crate) fn one_channel() -> Experiment {
    let row = |rates: Rates| {
        let cases = Estimator::COLUMNS
            .into_iter()
            .map(|estimator| Some(Case::new(Noise::Fresh(rates), estimator)));
        (label(rates), cases.collect())
    };
    Experiment {
        title: "One channel, fresh noise",
        columns: names("(rho0, rho1)", &Estimator::COLUMNS),
        rows: CHANNELS.into_iter().map(row).collect(),
    }
}

/// Estimators that are compared in batches of two channels.
pub(crate) const MIXED: [Estimator; 7] = [
    Estimator::Raw,
    Estimator::Backward,
    Estimator::Forward,
    Estimator::Mean,
    Estimator::Gain,
    Estimator::Z,
    Estimator::ZFix,
];

/// Two channels in every batch.
pub(crate) fn two_channels() -> Experiment {
    let row = |label: &str, assumed: Assumed| {
        let cases = MIXED.into_iter().map(|estimator| {
            let uses_rates = !matches!(estimator, Estimator::Raw | Estimator::Mean | Estimator::Z);
            let case = Case {
                assumed,
                ..Case::new(HALVES, estimator)
            };
            (uses_rates || assumed == Assumed::True).then_some(case)
        });
        (label.to_owned(), cases.collect())
    };
    Experiment {
        title: "Two channels: half of the prompts (0, 0), half (0.2, 0.4), fresh noise",
        columns: names("rates assumed", &MIXED),
        rows: vec![
            row("right", Assumed::True),
            row("swapped", Assumed::Swapped),
        ],
    }
}

/// The same answer always gets the same verdict.
pub(crate) fn persistent() -> Experiment {
    const COLUMNS: [Estimator; 4] = [
        Estimator::Mean,
        Estimator::Backward,
        Estimator::Forward,
        Estimator::ZFix,
    ];
    let row = |rates: Rates| {
        let fresh = Some(Case::new(Noise::Fresh(rates), Estimator::Mean));
        let persistent = COLUMNS
            .into_iter()
            .map(|estimator| Some(Case::new(Noise::Persistent(rates), estimator)));
        (
            label(rates),
            std::iter::once(fresh).chain(persistent).collect(),
        )
    };
    let mut columns = names("(rho0, rho1)", &COLUMNS);
    columns.insert(1, "fresh: mean");
    columns[2] = "persistent: mean";
    Experiment {
        title: "Persistent noise, one channel",
        columns,
        rows: vec![
            row(rates(0.1, 0.2)),
            row(rates(0.3, 0.0)),
            row(rates(0.0, 0.4)),
            row(rates(0.2, 0.4)),
        ],
    }
}

/// Judges against persistent noise.
pub(crate) fn persistent_rechecked() -> Experiment {
    let row = |label: &str, appeals: f64, audits: f64| {
        let case = Case {
            appeals: Recheck::of(appeals),
            audits: Recheck::of(audits),
            ..Case::new(Noise::Persistent(rates(0.1, 0.2)), Estimator::Mean)
        };
        (label.to_owned(), vec![Some(case)])
    };
    Experiment {
        title: "Persistent noise (0.1, 0.2), verdicts rechecked (judge: sensitivity 0.9, \
                specificity 0.98)",
        columns: vec!["rechecked", "mean"],
        rows: vec![
            row("nothing", 0.0, 0.0),
            row("50 % of negatives", 0.5, 0.0),
            row("50 % of positives", 0.0, 0.5),
            row("50 % of both", 0.5, 0.5),
            row("all negatives", 1.0, 0.0),
            row("all positives", 0.0, 1.0),
        ],
    }
}

/// Shares of negatives that are appealed where false negatives are systematic.
pub(crate) const APPEALED: [f64; 4] = [0.0, 0.25, 0.5, 1.0];

/// A verifier that never accepts the most frequent form of the right answer.
pub(crate) fn modal_form() -> Experiment {
    const COLUMNS: [Estimator; 4] = [
        Estimator::Mean,
        Estimator::Backward,
        Estimator::Forward,
        Estimator::ZFix,
    ];
    let unrechecked = COLUMNS
        .into_iter()
        .map(|estimator| Some(Case::new(Noise::ModalForm, estimator)));
    let mut rows = vec![("0 %".to_owned(), unrechecked.collect())];
    for share in APPEALED.into_iter().skip(1) {
        let case = Case {
            appeals: Recheck::of(share),
            ..Case::new(Noise::ModalForm, Estimator::Mean)
        };
        rows.push((
            format!("{} %", 100.0 * share),
            vec![Some(case), None, None, None],
        ));
    }
    let clean = Case::new(Noise::Fresh(Rates::CLEAN), Estimator::Mean);
    rows.push(("no noise".to_owned(), vec![Some(clean), None, None, None]));
    Experiment {
        title: "Systematic false negatives: the modal right form always rejected, negatives \
                appealed (judge: 0.9, 0.98)",
        columns: names("appealed", &COLUMNS),
        rows,
    }
}

/// Rates that differ from those of the channel, which are (0.1, 0.2).
pub(crate) fn wrong_rates() -> Experiment {
    const COLUMNS: [Estimator; 3] = [Estimator::Backward, Estimator::Forward, Estimator::ZFix];
    let row = |assumed: Rates| {
        let cases = COLUMNS.into_iter().map(|estimator| {
            Some(Case {
                assumed: Assumed::Given(assumed),
                ..Case::new(Noise::Fresh(rates(0.1, 0.2)), estimator)
            })
        });
        (
            format!("{}, J {:.1}", label(assumed), assumed.j()),
            cases.collect(),
        )
    };
    let assumed = [
        rates(0.1, 0.2),
        rates(0.0, 0.0),
        rates(0.0, 0.4),
        rates(0.3, 0.0),
        rates(0.2, 0.4),
        rates(0.3, 0.5),
        rates(0.6, 0.6),
    ];
    Experiment {
        title: "Wrong rates assumed of the channel (0.1, 0.2), fresh noise",
        columns: names("assumed", &COLUMNS),
        rows: assumed.into_iter().map(row).collect(),
    }
}

/// Channels with J of 0 or below.
pub(crate) fn without_information() -> Experiment {
    let row = |rates: Rates, estimators: [Option<Estimator>; 2]| {
        let cases = estimators
            .map(|estimator| estimator.map(|estimator| Case::new(Noise::Fresh(rates), estimator)));
        (
            format!("{}, J {:.1}", label(rates), rates.j()),
            cases.to_vec(),
        )
    };
    let (mean, backward) = (Some(Estimator::Mean), Some(Estimator::Backward));
    Experiment {
        title: "Channels without information, fresh noise",
        columns: names("(rho0, rho1)", &[Estimator::Mean, Estimator::Backward]),
        rows: vec![
            row(rates(0.5, 0.5), [mean, None]),
            row(rates(0.7, 0.5), [mean, backward]),
        ],
    }
}

/// All experiments, in the order of the output.
pub(crate) fn all() -> Vec<Experiment> {
    vec![
        one_channel(),
        two_channels(),
        persistent(),
        persistent_rechecked(),
        modal_form(),
        wrong_rates(),
        without_information(),
    ]
}
