//! Error rates of several verifiers that graded the same items, without labels (Dawid and Skene
//! 1979, doi 10.2307/2346806), for verdicts that pass or not.
//!
//! It stands on conditional independence: given the truth, verifiers err apart from each other.
//! Verifiers of one family do not, and then more data does not help; a small set with labels does.

use crate::Rates;

/// Verdicts of all verifiers on one item; `None` where a verifier gave none.
pub type Verdicts = Vec<Option<bool>>;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Rates of each verifier.
    pub rates: Vec<Rates>,
    /// Share of items that are right.
    pub right: f64,
    /// Probability of being right, for each item.
    pub posterior: Vec<f64>,
    /// Rounds until nothing moved any more.
    pub rounds: u32,
}

/// Why nothing can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Two verifiers leave the rates undetermined.
    #[error("the method needs three verifiers or more on the same items: there are {0}")]
    TooFew(usize),
    /// No item.
    #[error("there is no item with a verdict")]
    NoItem,
}

/// Most rounds of expectation and maximisation.
const ROUNDS: u32 = 500;

/// Rates never reach 0 or 1, so that one surprise does not decide an item for good.
const MARGIN: f64 = 1e-4;

/// Fits rates to verdicts by expectation and maximisation, starting from the majority of each
/// item's verdicts.
///
/// # Errors
/// [`Unfit`] with fewer than three verifiers, or without a verdict.
pub fn fit(items: &[Verdicts]) -> Result<Fitted, Unfit> {
    let verifiers = items.iter().map(Vec::len).max().unwrap_or(0);
    if items.iter().flatten().all(Option::is_none) {
        return Err(Unfit::NoItem);
    }
    if verifiers < 3 {
        return Err(Unfit::TooFew(verifiers));
    }
    let mut posterior: Vec<f64> = items.iter().map(majority).collect();
    let (mut rates, mut right) = maximise(items, &posterior, verifiers);
    let mut rounds = 0;
    while rounds < ROUNDS {
        rounds += 1;
        for (truth, verdicts) in posterior.iter_mut().zip(items) {
            *truth = expect(verdicts, &rates, right);
        }
        let (next, share) = maximise(items, &posterior, verifiers);
        let moved = |a: &Rates, b: &Rates| (a.rho0 - b.rho0).abs().max((a.rho1 - b.rho1).abs());
        let most = rates
            .iter()
            .zip(&next)
            .map(|(a, b)| moved(a, b))
            .fold((share - right).abs(), f64::max);
        (rates, right) = (next, share);
        if most < 1e-9 {
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

fn majority(verdicts: &Verdicts) -> f64 {
    let (mut passes, mut n) = (0.0, 0.0);
    for pass in verdicts.iter().flatten() {
        passes += f64::from(u8::from(*pass));
        n += 1.0;
    }
    if n > 0.0 { passes / n } else { 0.5 }
}

/// Probability that an item is right, given its verdicts.
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

/// Rates and share of right items, given how likely each is right.
fn maximise(items: &[Verdicts], posterior: &[f64], verifiers: usize) -> (Vec<Rates>, f64) {
    let held = |share: f64| share.clamp(MARGIN, 1.0 - MARGIN);
    let rates = (0..verifiers).map(|verifier| {
        // A pseudo-verdict on each side keeps a verifier that met only one truth from having no
        // rate at all.
        let (mut right, mut refused, mut wrong, mut passed) = (1.0, 0.1, 1.0, 0.1);
        for (verdicts, truth) in items.iter().zip(posterior) {
            let Some(Some(pass)) = verdicts.get(verifier) else {
                continue;
            };
            let pass = f64::from(u8::from(*pass));
            right += truth;
            refused += truth * (1.0 - pass);
            wrong += 1.0 - truth;
            passed += (1.0 - truth) * pass;
        }
        Rates {
            rho0: held(passed / wrong),
            rho1: held(refused / right),
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
        held(judged.iter().sum::<f64>() / n.max(1.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pattern of three verdicts, as often as these rates make it among 100,000 items.
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
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of 100,000"
            )]
            let times = (share * 100_000.0).round() as usize;
            items.extend(std::iter::repeat_n(
                verdicts.iter().map(|pass| Some(*pass)).collect(),
                times,
            ));
        }
        items
    }

    #[test]
    fn independent_verifiers_are_found_out() {
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
        for (found, wanted) in fitted.rates.iter().zip(&truth) {
            assert!(
                (found.rho0 - wanted.rho0).abs() < 2e-3,
                "{found:?} {wanted:?}"
            );
            assert!(
                (found.rho1 - wanted.rho1).abs() < 2e-3,
                "{found:?} {wanted:?}"
            );
        }
        assert!((fitted.right - 0.4).abs() < 2e-3);
    }

    #[test]
    fn an_item_s_probability_follows_from_its_verdicts() {
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
    fn two_verifiers_are_not_enough() {
        assert_eq!(fit(&[vec![Some(true), Some(false)]]), Err(Unfit::TooFew(2)));
        assert_eq!(fit(&[vec![None, None, None]]), Err(Unfit::NoItem));
        assert_eq!(fit(&[]), Err(Unfit::NoItem));
    }
}
