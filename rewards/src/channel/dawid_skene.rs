//! Error rates of several verifiers that graded the same items, without labels: the model of Dawid
//! and Skene (1979, doi 10.2307/2346806) for binary verdicts.
//!
//! It assumes conditional independence: given the truth, verifiers err independently. Verifiers
//! that share a method violate the assumption, and more items do not remove the resulting bias; a
//! small labelled set does.

use crate::Rates;

/// Verdicts of all verifiers on one item; `None` for a verifier without a verdict.
pub type Verdicts = Vec<Option<bool>>;

/// Result of [`fit`].
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Rates of each verifier.
    pub rates: Vec<Rates>,
    /// Share of items that are right, in (0, 1).
    pub right: f64,
    /// Probability that each item is right, in \[0, 1\].
    pub posterior: Vec<f64>,
    /// Number of iterations until convergence, at most 500.
    pub rounds: u32,
}

/// Why no rates can be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Two verifiers leave the rates undetermined.
    #[error("needs verdicts of at least three verifiers on the same items; found {0}")]
    TooFew(usize),
    /// There is no verdict.
    #[error("no item has a verdict")]
    NoItem,
}

/// Maximum number of iterations.
const ROUNDS: u32 = 500;

/// Distance of rates from 0 and 1, so that no single verdict makes an item certain.
const MARGIN: f64 = 1e-4;

/// Fits rates to verdicts by expectation maximisation, starting from the share of passes of each
/// item. It stops when no parameter changes by 1e-9 or more.
///
/// # Errors
/// [`FitError`] with fewer than three verifiers, or without any verdict.
pub fn fit(items: &[Verdicts]) -> Result<Fitted, FitError> {
    let verifiers = items.iter().map(Vec::len).max().unwrap_or(0);
    if items.iter().flatten().all(Option::is_none) {
        return Err(FitError::NoItem);
    }
    if verifiers < 3 {
        return Err(FitError::TooFew(verifiers));
    }
    let mut posterior: Vec<f64> = items.iter().map(pass_share).collect();
    let (mut rates, mut right) = maximise(items, &posterior, verifiers);
    let mut rounds = 0;
    while rounds < ROUNDS {
        rounds += 1;
        for (truth, verdicts) in posterior.iter_mut().zip(items) {
            *truth = expect(verdicts, &rates, right);
        }
        let (next, share) = maximise(items, &posterior, verifiers);
        let change = |a: &Rates, b: &Rates| (a.rho0 - b.rho0).abs().max((a.rho1 - b.rho1).abs());
        let max_change = rates
            .iter()
            .zip(&next)
            .map(|(a, b)| change(a, b))
            .fold((share - right).abs(), f64::max);
        (rates, right) = (next, share);
        if max_change < 1e-9 {
            break;
        }
    }
    Ok(Fitted {
        rates,
        right,
        posterior,
        rounds,
    })
}

/// Share of an item's verdicts that are passes; 1/2 without verdicts.
fn pass_share(verdicts: &Verdicts) -> f64 {
    let (mut passes, mut n) = (0.0, 0.0);
    for pass in verdicts.iter().flatten() {
        passes += f64::from(u8::from(*pass));
        n += 1.0;
    }
    if n > 0.0 { passes / n } else { 0.5 }
}

/// E step: probability that an item is right, given its verdicts.
fn expect(verdicts: &Verdicts, rates: &[Rates], right: f64) -> f64 {
    let mut logit = (right / (1.0 - right)).ln();
    for (verdict, rates) in verdicts.iter().zip(rates) {
        logit += match verdict {
            Some(true) => ((1.0 - rates.rho1) / rates.rho0).ln(),
            Some(false) => (rates.rho1 / (1.0 - rates.rho0)).ln(),
            None => 0.0,
        };
    }
    1.0 / (1.0 + (-logit).exp())
}

/// M step: rates and share of right items, given the probability of each item to be right.
fn maximise(items: &[Verdicts], posterior: &[f64], verifiers: usize) -> (Vec<Rates>, f64) {
    let clamp = |share: f64| share.clamp(MARGIN, 1.0 - MARGIN);
    let rates = (0..verifiers).map(|verifier| {
        // Pseudo-counts for each truth keep the rate defined for a verifier that saw answers of one
        // truth only.
        let (mut right, mut rejected, mut wrong, mut passed) = (1.0, 0.1, 1.0, 0.1);
        for (verdicts, truth) in items.iter().zip(posterior) {
            let Some(Some(pass)) = verdicts.get(verifier) else {
                continue;
            };
            let pass = f64::from(u8::from(*pass));
            right += truth;
            rejected += truth * (1.0 - pass);
            wrong += 1.0 - truth;
            passed += (1.0 - truth) * pass;
        }
        Rates {
            rho0: clamp(passed / wrong),
            rho1: clamp(rejected / right),
        }
    });
    let judged: Vec<f64> = items
        .iter()
        .zip(posterior)
        .filter(|(verdicts, _)| verdicts.iter().any(Option::is_some))
        .map(|(_, truth)| *truth)
        .collect();
    let n = super::window::count(judged.len() as u64);
    (
        rates.collect(),
        clamp(judged.iter().sum::<f64>() / n.max(1.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pattern of three verdicts, repeated by its expected count in 100,000 items.
    fn expected(rates: &[Rates; 3], right: f64) -> Vec<Verdicts> {
        let mut items = Vec::new();
        for pattern in 0..8u8 {
            let verdicts: Vec<bool> = (0..3).map(|bit| pattern >> bit & 1 == 1).collect();
            let given = |truth: bool| -> f64 {
                let one = |(pass, rates): (&bool, &Rates)| {
                    let passing = if truth { 1.0 - rates.rho1 } else { rates.rho0 };
                    if *pass { passing } else { 1.0 - passing }
                };
                verdicts.iter().zip(rates).map(one).product()
            };
            let share = right * given(true) + (1.0 - right) * given(false);
            // A share of 100,000.
            let times = (share * 100_000.0).round() as usize;
            items.extend(std::iter::repeat_n(
                verdicts.iter().map(|pass| Some(*pass)).collect(),
                times,
            ));
        }
        items
    }

    #[test]
    fn recovers_the_rates_of_independent_verifiers() {
        let truth = [
            Rates {
                rho0: 0.05,
                rho1: 0.2,
            },
            Rates {
                rho0: 0.2,
                rho1: 0.1,
            },
            Rates {
                rho0: 0.1,
                rho1: 0.3,
            },
        ];
        let fitted = fit(&expected(&truth, 0.4)).unwrap();
        for (found, expected) in fitted.rates.iter().zip(&truth) {
            assert!(
                (found.rho0 - expected.rho0).abs() < 2e-3,
                "{found:?} {expected:?}"
            );
            assert!(
                (found.rho1 - expected.rho1).abs() < 2e-3,
                "{found:?} {expected:?}"
            );
        }
        assert!((fitted.right - 0.4).abs() < 2e-3);
    }

    #[test]
    fn posterior_of_an_item_follows_bayes_rule() {
        // 0.4 * 0.8 * 0.9 * 0.3 = 0.0864 against 0.6 * 0.05 * 0.2 * 0.9 = 0.0054
        let rates = [
            Rates {
                rho0: 0.05,
                rho1: 0.2,
            },
            Rates {
                rho0: 0.2,
                rho1: 0.1,
            },
            Rates {
                rho0: 0.1,
                rho1: 0.3,
            },
        ];
        let posterior = expect(&vec![Some(true), Some(true), Some(false)], &rates, 0.4);
        assert!((posterior - 0.0864 / (0.0864 + 0.0054)).abs() < 1e-12);
        assert!((expect(&vec![None, None, None], &rates, 0.4) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn needs_three_verifiers_and_a_verdict() {
        assert_eq!(
            fit(&[vec![Some(true), Some(false)]]),
            Err(FitError::TooFew(2))
        );
        assert_eq!(fit(&[vec![None, None, None]]), Err(FitError::NoItem));
        assert_eq!(fit(&[]), Err(FitError::NoItem));
    }

    #[test]
    fn no_share_of_right_items_is_certain() {
        for (pass, right) in [(true, 1.0 - 1e-4), (false, 1e-4)] {
            let fitted = fit(&vec![vec![Some(pass); 3]; 4]).unwrap();
            assert!((fitted.right - right).abs() < 1e-12, "{}", fitted.right);
            assert!(
                fitted
                    .posterior
                    .iter()
                    .all(|truth| *truth > 0.0 && *truth < 1.0)
            );
        }
    }
}
