//! Whether two functions agree at points: at random ones, and on every piece of their domain.
//!
//! A difference at a point is certain. An agreement counts only if the precision is sufficient to
//! see the smallest term: `1 + e^-500` is 1 to 700 bits.

use super::critical::Critical;
use super::evaluate::{NoValue, Point, ball};
use super::pieces::Pieces;
use super::points::Points;
use super::rule::Rule;
use super::scalar::Decision;
use super::separation;
use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::number::residue::mix;
use crate::tree::Expr;

/// Points of the domain at which two functions must agree.
pub(super) const REQUIRED_POINTS: usize = 4;

/// Most random points that are tried: many are outside of the domain.
pub(super) const MAX_ROUNDS: u64 = 24;

/// Times that points on every piece are taken until there are enough in the domain.
const PASSES: u64 = 6;

/// Highest precision at the first points, at points on pieces, and at points that are taken again
/// because others are missing, in bits.
const FIRST_PREC: u64 = 500;
const MAX_PREC: u64 = 1_100;
const MAX_WEAK_PREC: u64 = 6_000;

/// Bits to which values agree beyond the exponentials in them.
const MARGIN: u64 = 128;

/// What is known about two functions at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Different,
    Agreed,
    /// They agree, but to a precision at which small terms are not seen: exponentials need so many
    /// bits.
    Weak(u64),
    /// A function has no value here, or it cannot be decided.
    Unknown,
}

struct Sampling<'a> {
    a: &'a Expr,
    b: &'a Expr,
    points: &'a Points<'a>,
    /// Precision that the numbers in the functions need beyond the usual one.
    extra: u64,
    budget: &'a Budget,
}

/// Whether two functions are equal.
pub(super) fn sampled(a: &Expr, b: &Expr, complex: bool, budget: &Budget) -> Decision {
    let seed = super::scalar::seed(a, b, budget)?;
    let points = Points::of(a, b, seed, complex);
    let bound = separation::bound(a, b, budget)?;
    // The numbers in the functions count, so that `sin x + 10^-100` differs from `sin x`.
    let height = bound.bits.min(2_000);
    let extra = if bound.proved {
        0
    } else {
        height - separation::ASSUMED_BITS.min(height)
    };
    let sampling = Sampling {
        a,
        b,
        points: &points,
        extra,
        budget,
    };
    Ok((sampling.decide(seed, complex)?, Rule::Sampled))
}

/// Whether two functions with pieces differ on one of them: `different` compares them at a point,
/// where a difference is certain.
pub(super) fn differ_on_pieces<'a>(
    sides: (&Expr, &Expr),
    points: &Points<'a>,
    complex: bool,
    prec: u64,
    budget: &Budget,
    different: &mut dyn FnMut(&Point<'a>) -> Result<bool, Exhausted>,
) -> Result<bool, Exhausted> {
    let critical = Critical::of(sides.0, sides.1, budget)?;
    if !critical.has_pieces || critical.incomplete {
        return Ok(critical.has_pieces);
    }
    let pieces = Pieces {
        critical: &critical,
        symbols: points.symbols(),
        sizes: points.sizes(),
        complex,
        resolution: 0,
        seed: points.seed(),
    };
    let mut found = false;
    let base = points.values(0, budget)?;
    pieces.visit(&base, &[], budget, &mut |values, _| {
        found = different(&points.point(values, 0, prec))?;
        Ok(found)
    })?;
    Ok(found)
}

impl<'a> Sampling<'a> {
    fn decide(&self, seed: u64, complex: bool) -> Result<bool, Exhausted> {
        let target = self.points.rounds();
        let mut agreed = 0;
        let mut weak = Vec::new();
        let mut covered = Vec::new();
        for round in 0..MAX_ROUNDS {
            let values = self.points.values(round, self.budget)?;
            let mut found = self.at(&values, round, 192, FIRST_PREC)?;
            if found == Agreement::Agreed && agreed == 0 {
                // One point at a higher precision, for differences that are tiny nearly everywhere.
                found = self.at(&values, round, 640, MAX_PREC)?;
            }
            match found {
                Agreement::Different => return Ok(false),
                Agreement::Agreed => {
                    agreed += 1;
                    if let [value] = values.as_slice() {
                        covered.push(value.clone());
                    }
                }
                Agreement::Weak(bits) => weak.push((values, bits)),
                Agreement::Unknown => {}
            }
            if agreed >= REQUIRED_POINTS && agreed + weak.len() >= target {
                break;
            }
        }
        if self.differ_at_integers()? {
            return Ok(false);
        }
        let critical = Critical::of(self.a, self.b, self.budget)?;
        if critical.has_pieces && critical.incomplete {
            return Ok(false);
        }
        let pieces = Pieces {
            critical: &critical,
            symbols: self.points.symbols(),
            sizes: self.points.sizes(),
            complex,
            resolution: self.extra,
            seed,
        };
        // Points outside of the pieces are enough if all pieces have the same formula.
        let part = self.budget.part(if critical.has_pieces {
            self.budget.left()
        } else {
            self.budget.left() / 2
        });
        let visited = self.visit_pieces(pieces, &covered, &mut agreed, &mut weak, &part);
        self.budget.absorb(&part)?;
        match visited {
            Ok(true) => return Ok(false),
            Err(Exhausted) if critical.has_pieces => return Err(Exhausted),
            _ => {}
        }
        for (values, bits) in weak {
            if agreed >= REQUIRED_POINTS {
                break;
            }
            // Exponents near 0 first, which need less precision.
            let scale = Rational::ratio(1, 1 << (bits.min(1 << 40).ilog2() - 5));
            let symbols = self.points.symbols().iter();
            let smaller: Option<Vec<Rational>> = symbols
                .zip(&values)
                .map(|((_, whole), value)| if *whole { None } else { value.mul(&scale) })
                .collect();
            for (values, limit) in smaller
                .map(|values| (values, MAX_PREC))
                .into_iter()
                .chain([(values, MAX_WEAK_PREC)])
            {
                match self.at(&values, 0, 192, limit)? {
                    Agreement::Different => return Ok(false),
                    Agreement::Agreed => {
                        agreed += 1;
                        break;
                    }
                    Agreement::Weak(_) | Agreement::Unknown => {}
                }
            }
        }
        Ok(agreed >= REQUIRED_POINTS)
    }

    /// Whether a difference was found on a piece.
    fn visit_pieces(
        &self,
        mut pieces: Pieces<'_, '_>,
        covered: &[Rational],
        agreed: &mut usize,
        weak: &mut Vec<(Vec<Rational>, u64)>,
        budget: &Budget,
    ) -> Result<bool, Exhausted> {
        let negatives = pieces.critical.has_pieces || !pieces.complex;
        let sampling = Sampling { budget, ..*self };
        let mut different = false;
        for pass in 0..PASSES {
            pieces.seed = mix(pieces.seed);
            let base = self.points.values(pass, budget)?;
            let covered = if pass == 0 { covered } else { &[] };
            pieces.visit(&base, covered, budget, &mut |values, within| {
                if !negatives && values.iter().any(Rational::is_negative) || pass > 0 && !within {
                    return Ok(false);
                }
                match sampling.at(values, pass, 128, MAX_PREC)? {
                    Agreement::Different => different = true,
                    Agreement::Agreed if within => *agreed += 1,
                    Agreement::Weak(bits) => weak.push((values.to_vec(), bits)),
                    Agreement::Agreed | Agreement::Unknown => {}
                }
                Ok(different)
            })?;
            if different || *agreed >= REQUIRED_POINTS {
                break;
            }
        }
        Ok(different)
    }

    /// Whether two functions of integers differ near a number in them or at larger ones.
    fn differ_at_integers(&self) -> Result<bool, Exhausted> {
        let part = self.budget.part(self.budget.left() / 3);
        let sampling = Sampling {
            budget: &part,
            ..*self
        };
        let mut different = false;
        for values in self.points.integers() {
            match sampling.at(&values, 0, 128, MAX_PREC) {
                Ok(Agreement::Different) => {
                    different = true;
                    break;
                }
                Ok(_) => {}
                // Sums with many terms are compared at small integers only.
                Err(Exhausted) => break,
            }
        }
        self.budget.absorb(&part)?;
        Ok(different)
    }

    fn at(
        &self,
        values: &[Rational],
        round: u64,
        prec: u64,
        limit: u64,
    ) -> Result<Agreement, Exhausted> {
        let mut prec = prec + self.extra;
        for _ in 0..3 {
            let point = self.points.point(values, round, prec);
            let (left, right) = match (
                ball(self.a, &point, self.budget),
                ball(self.b, &point, self.budget),
            ) {
                (Ok(left), Ok(right)) => (left, right),
                (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => {
                    return Err(Exhausted);
                }
                // Functions that are not evaluated are equal only as trees, and a piecewise
                // definition has a row wherever the other function has a value.
                (Err(NoValue::Unsupported), _)
                | (_, Err(NoValue::Unsupported))
                | (Err(NoValue::NoRow), Ok(_))
                | (Ok(_), Err(NoValue::NoRow)) => {
                    return Ok(Agreement::Different);
                }
                _ => return Ok(Agreement::Unknown),
            };
            let Ok(difference) = left.sub(&right, prec) else {
                return Ok(Agreement::Unknown);
            };
            if !difference.contains_zero() {
                return Ok(Agreement::Different);
            }
            let size = left.magnitude().max(right.magnitude()).max(0);
            let required = i64::try_from(prec / 2).unwrap_or(96).max(96);
            let close =
                difference.is_zero() || difference.magnitude() <= size.saturating_sub(required);
            let needed = point.growth().saturating_add(MARGIN);
            if close && (needed <= prec + MARGIN / 2 || difference.is_zero()) {
                return Ok(Agreement::Agreed);
            }
            if close && needed > limit + self.extra {
                return Ok(Agreement::Weak(needed));
            }
            prec = (2 * prec).max(needed);
        }
        Ok(Agreement::Unknown)
    }
}
