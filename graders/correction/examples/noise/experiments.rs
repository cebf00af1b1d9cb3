//! Which trainings are compared, and what an earlier simulation found of each. Owns the list; runs
//! nothing.
//!
//! The earlier simulation, written apart from this one, had the same size (16 prompts, 20 answers,
//! groups of 8, 200 steps, best of three learning rates) over 8 seeds, with a standard error of
//! about [`EARLIER_ERROR`].

use assay_correction::Rates;

use crate::noise::estimator::Estimator;
use crate::noise::training::{Assumed, Case};
use crate::noise::verifier::{Noise, Recheck};

/// Standard error of an accuracy of the earlier simulation.
pub(crate) const EARLIER_ERROR: f64 = 0.025;

/// One number of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    /// What was trained.
    pub(crate) case: Case,
    /// What the earlier simulation found.
    pub(crate) earlier: Option<f64>,
}

/// A table of trainings.
#[derive(Debug, Clone)]
pub(crate) struct Experiment {
    /// Heading.
    pub(crate) title: &'static str,
    /// First column's heading, then the others'.
    pub(crate) columns: Vec<&'static str>,
    /// Label and cells of each row.
    pub(crate) rows: Vec<(String, Vec<Option<Cell>>)>,
}

/// Rates written as constants, which are shares.
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

/// Earlier accuracies of [`Estimator::COLUMNS`] in [`CHANNELS`].
const ONE_CHANNEL: [[f64; 6]; 5] = [
    [0.827, 0.827, 0.780, 0.803, 0.827, 0.827],
    [0.809, 0.826, 0.768, 0.803, 0.810, 0.817],
    [0.735, 0.778, 0.778, 0.777, 0.764, 0.756],
    [0.804, 0.804, 0.764, 0.796, 0.841, 0.818],
    [0.817, 0.788, 0.753, 0.816, 0.806, 0.832],
];

/// The same after 100 steps at a learning rate of 0.03; none of the last column.
pub(crate) const HALFWAY: [[f64; 5]; 5] = [
    [0.523, 0.523, 0.409, 0.529, 0.538],
    [0.457, 0.472, 0.381, 0.470, 0.466],
    [0.341, 0.368, 0.328, 0.357, 0.356],
    [0.487, 0.487, 0.392, 0.489, 0.490],
    [0.404, 0.448, 0.376, 0.440, 0.444],
];

/// Half of the prompts graded without noise, half with much of it.
pub(crate) const HALVES: Noise = Noise::Halves(Rates::CLEAN, rates(0.2, 0.4));

/// How rates are written in tables.
pub(crate) fn label(rates: Rates) -> String {
    format!("({}, {})", rates.rho0, rates.rho1)
}

fn cell(case: Case, earlier: Option<f64>) -> Option<Cell> {
    Some(Cell { case, earlier })
}

fn names(first: &'static str, estimators: &[Estimator]) -> Vec<&'static str> {
    std::iter::once(first)
        .chain(estimators.iter().map(|estimator| estimator.name()))
        .collect()
}

/// One channel for all prompts, noise anew at every call.
pub(crate) fn one_channel() -> Experiment {
    let row = |(rates, earlier): (Rates, [f64; 6])| {
        let cells = Estimator::COLUMNS.into_iter().zip(earlier);
        let cells = cells.map(|(estimator, number)| {
            cell(Case::new(Noise::Fresh(rates), estimator), Some(number))
        });
        (label(rates), cells.collect())
    };
    Experiment {
        title: "One channel, fresh noise",
        columns: names("(rho0, rho1)", &Estimator::COLUMNS),
        rows: CHANNELS.into_iter().zip(ONE_CHANNEL).map(row).collect(),
    }
}

/// Estimators that are compared where two channels meet in a batch.
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
    let row = |label: &str, assumed: Assumed, earlier: [Option<f64>; 7]| {
        let cells = MIXED.into_iter().zip(earlier).map(|(estimator, earlier)| {
            let uses_rates = !matches!(estimator, Estimator::Raw | Estimator::Mean | Estimator::Z);
            let case = Case {
                assumed,
                ..Case::new(HALVES, estimator)
            };
            (uses_rates || assumed == Assumed::True).then_some(Cell { case, earlier })
        });
        (label.to_owned(), cells.collect())
    };
    let right = [
        Some(0.794),
        Some(0.796),
        Some(0.747),
        Some(0.779),
        None,
        Some(0.779),
        Some(0.822),
    ];
    let swapped = [
        None,
        Some(0.748),
        None,
        None,
        Some(0.721),
        None,
        Some(0.739),
    ];
    Experiment {
        title: "Two channels: half of the prompts (0, 0), half (0.2, 0.4), fresh noise",
        columns: names("rates assumed", &MIXED),
        rows: vec![
            row("right", Assumed::True, right),
            row("swapped", Assumed::Swapped, swapped),
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
    let case = |rates, estimator| Case::new(Noise::Persistent(rates), estimator);
    let row = |rates: Rates, fresh: f64, earlier: f64| {
        let fresh = cell(Case::new(Noise::Fresh(rates), Estimator::Mean), Some(fresh));
        let cells = COLUMNS.into_iter().map(|estimator| {
            cell(
                case(rates, estimator),
                (estimator == Estimator::Mean).then_some(earlier),
            )
        });
        (label(rates), std::iter::once(fresh).chain(cells).collect())
    };
    let mut columns = names("(rho0, rho1)", &COLUMNS);
    columns.insert(1, "fresh: mean");
    columns[2] = "persistent: mean";
    Experiment {
        title: "Persistent noise, one channel",
        columns,
        rows: vec![
            row(rates(0.1, 0.2), 0.803, 0.587),
            row(rates(0.3, 0.0), 0.816, 0.371),
            row(rates(0.0, 0.4), 0.796, 0.704),
            row(rates(0.2, 0.4), 0.777, 0.311),
        ],
    }
}

/// Judges against persistent noise.
pub(crate) fn persistent_rechecked() -> Experiment {
    let row = |label: &str, appeals: f64, audits: f64, earlier: Option<f64>| {
        let case = Case::new(Noise::Persistent(rates(0.1, 0.2)), Estimator::Mean);
        let case = Case {
            appeals: Recheck::of(appeals),
            audits: Recheck::of(audits),
            ..case
        };
        (label.to_owned(), vec![cell(case, earlier)])
    };
    Experiment {
        title: "Persistent noise (0.1, 0.2), verdicts rechecked (judge: sensitivity 0.9, \
                specificity 0.98)",
        columns: vec!["rechecked", "mean"],
        rows: vec![
            row("nothing", 0.0, 0.0, Some(0.587)),
            row("50 % of negatives", 0.5, 0.0, Some(0.626)),
            row("50 % of positives", 0.0, 0.5, None),
            row("50 % of both", 0.5, 0.5, None),
            row("all negatives", 1.0, 0.0, None),
            row("all positives", 0.0, 1.0, None),
        ],
    }
}

/// Shares of negatives that are appealed where false negatives are systematic.
pub(crate) const APPEALED: [f64; 4] = [0.0, 0.25, 0.5, 1.0];

/// A verifier that never accepts the modal form of the right answer.
pub(crate) fn modal_form() -> Experiment {
    const COLUMNS: [Estimator; 4] = [
        Estimator::Mean,
        Estimator::Backward,
        Estimator::Forward,
        Estimator::ZFix,
    ];
    // Earlier as a range, 0.71 to 0.72.
    let unrechecked = COLUMNS
        .into_iter()
        .map(|estimator| cell(Case::new(Noise::ModalForm, estimator), Some(0.715)));
    let mut rows = vec![("0 %".to_owned(), unrechecked.collect())];
    for (share, earlier) in APPEALED.into_iter().skip(1).zip([0.763, 0.780, 0.826]) {
        let case = Case {
            appeals: Recheck::of(share),
            ..Case::new(Noise::ModalForm, Estimator::Mean)
        };
        rows.push((
            format!("{} %", 100.0 * share),
            vec![cell(case, Some(earlier)), None, None, None],
        ));
    }
    let clean = cell(
        Case::new(Noise::Fresh(Rates::CLEAN), Estimator::Mean),
        Some(0.803),
    );
    rows.push(("no noise".to_owned(), vec![clean, None, None, None]));
    Experiment {
        title: "Systematic false negatives: the modal right form always rejected, negatives \
                appealed (judge: 0.9, 0.98)",
        columns: names("appealed", &COLUMNS),
        rows,
    }
}

/// Rates that are not those of the channel, which is (0.1, 0.2).
pub(crate) fn wrong_rates() -> Experiment {
    const COLUMNS: [Estimator; 3] = [Estimator::Backward, Estimator::Forward, Estimator::ZFix];
    let row = |assumed: Rates, earlier: [Option<f64>; 3]| {
        let cells = COLUMNS
            .into_iter()
            .zip(earlier)
            .map(|(estimator, earlier)| {
                let case = Case::new(Noise::Fresh(rates(0.1, 0.2)), estimator);
                cell(
                    Case {
                        assumed: Assumed::Given(assumed),
                        ..case
                    },
                    earlier,
                )
            });
        (
            format!("{}, J {:.1}", label(assumed), assumed.j()),
            cells.collect(),
        )
    };
    let known = [Some(0.826), Some(0.768), Some(0.817)];
    let inverted = [Some(0.022), Some(0.80), Some(0.022)];
    let near = [None; 3];
    Experiment {
        title: "Wrong rates assumed of the channel (0.1, 0.2), fresh noise",
        columns: names("assumed", &COLUMNS),
        rows: vec![
            row(rates(0.1, 0.2), known),
            row(rates(0.0, 0.0), near),
            row(rates(0.0, 0.4), near),
            row(rates(0.3, 0.0), near),
            row(rates(0.2, 0.4), near),
            row(rates(0.3, 0.5), near),
            row(rates(0.6, 0.6), inverted),
        ],
    }
}

/// Channels through which nothing comes, or the opposite.
pub(crate) fn without_information() -> Experiment {
    let row = |rates: Rates, mean: f64, backward: Option<f64>| {
        let case = |estimator| Case::new(Noise::Fresh(rates), estimator);
        let backward = backward.and_then(|earlier| cell(case(Estimator::Backward), Some(earlier)));
        let label = format!("{}, J {:.1}", label(rates), rates.j());
        (
            label,
            vec![cell(case(Estimator::Mean), Some(mean)), backward],
        )
    };
    Experiment {
        title: "Channels without information, fresh noise",
        columns: names("(rho0, rho1)", &[Estimator::Mean, Estimator::Backward]),
        rows: vec![
            row(rates(0.5, 0.5), 0.170, None),
            row(rates(0.7, 0.5), 0.077, Some(0.355)),
        ],
    }
}

/// All of them, in the order of the output.
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
