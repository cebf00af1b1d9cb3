//! Whether two functions agree at points: at random ones, and on every piece of their domain.
//!
//! A difference at a point is certain. An agreement counts only if the precision is sufficient to
//! see the smallest term: `1 + e^-500` is 1 to 700 bits.

use std::collections::BTreeMap;

use super::critical::Critical;
use super::evaluate::{NoValue, Point, ball};
use super::pieces::{Floats, Pieces, is_approximate};
use super::points::Points;
use super::rule::Rule;
use super::scalar::Decision;
use super::{integers, resolved, separation};
use crate::budget::{Budget, Exhausted};
use crate::normal::fold;
use crate::number::Rational;
use crate::number::ball::BallError;
use crate::number::residue::mix;
use crate::tree::charged::{identical, substituted};
use crate::tree::{Expr, Function};

/// Points of the domain at which two functions must agree.
pub(super) const REQUIRED_POINTS: usize = 4;

/// Most random points that are tried: many are outside of the domain.
pub(super) const MAX_ROUNDS: u64 = 24;

/// Random points that are tried before points on every piece if most are outside of the domain.
const FIRST_ROUNDS: u64 = 8;

/// Times that points on every piece are taken until there are enough in the domain.
const PASSES: u64 = 6;

/// Highest precision at the first points, at points on pieces, and at points that are taken again
/// because others are missing, in bits.
const FIRST_PREC: u64 = 500;
const MAX_PREC: u64 = 1_100;
const MAX_WEAK_PREC: u64 = 6_000;

/// Steps on pieces that count as one: true equalities have up to a hundred pieces.
const PIECES_SCALE: u64 = 4;

/// Precision of the signs that select the formula of a piece, in bits.
const SIGN_PREC: u64 = 128;

/// Precision of values after exact arithmetic, in bits.
const EXACT_PREC: u64 = 256;

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
    /// A function has no value here.
    Outside,
    /// The values cannot be computed or are not precise enough.
    Undecided,
}

/// What is known at a point to one precision.
enum Found {
    Known(Agreement),
    /// Values are not known well enough; exponentials need so many bits.
    Wide(u64),
}

/// The points that were compared without a difference.
#[derive(Debug, Default)]
struct Seen {
    /// Rounds of random points that were taken.
    rounds: u64,
    agreed: usize,
    /// Pieces on which both functions have the same formula.
    proved: usize,
    /// Pieces on which functions agree at a point.
    compared: usize,
    /// Points at which functions agree weakly, with the bits that they need.
    weak: Vec<(Vec<Rational>, u64)>,
    /// Values of a single variable at which functions agree.
    covered: Vec<Rational>,
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
    let floats = Floats::of(sides, &critical, points.symbols(), complex, budget)?;
    let pieces = Pieces {
        critical: &critical,
        symbols: points.symbols(),
        sizes: points.sizes(),
        places: points.places(),
        floats: &floats,
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
        let part = self.budget.part(self.budget.left() / 4);
        let different = integers::differ(self.a, self.b, self.points, &part);
        self.budget.absorb(&part)?;
        if different == Ok(true) {
            return Ok(false);
        }
        let mut seen = Seen::default();
        if self.differ_at_random(FIRST_ROUNDS, REQUIRED_POINTS, &mut seen)? {
            return Ok(false);
        }
        let critical = Critical::of(self.a, self.b, self.budget)?;
        // Pieces before other points, which may be expensive and prove nothing.
        let is_narrow = seen.agreed + seen.weak.len() < REQUIRED_POINTS;
        let is_late = is_narrow || critical.has_pieces;
        if is_late {
            // Every pass then visits the same pieces.
            seen.covered.clear();
        } else if self.differ_at_random(MAX_ROUNDS, self.points.rounds(), &mut seen)? {
            return Ok(false);
        }
        if self.differ_at_integers()? {
            return Ok(false);
        }
        if critical.has_pieces && critical.incomplete {
            return Ok(false);
        }
        let symbols = self.points.symbols();
        let floats = Floats::of((self.a, self.b), &critical, symbols, complex, self.budget)?;
        let pieces = Pieces {
            critical: &critical,
            symbols,
            sizes: self.points.sizes(),
            places: self.points.places(),
            floats: &floats,
            complex,
            resolution: self.extra,
            seed,
        };
        // Points outside of the pieces are enough if all pieces have the same formula.
        let (part, scale) = if critical.has_pieces {
            (self.budget.scaled(PIECES_SCALE), PIECES_SCALE)
        } else {
            (self.budget.part(self.budget.left() / 2), 1)
        };
        let visited = self.differ_on_pieces(pieces, &mut seen, &part);
        self.budget.absorb_scaled(&part, scale)?;
        match visited {
            Ok(true) => return Ok(false),
            Err(Exhausted) if critical.has_pieces => return Err(Exhausted),
            _ if seen.proved > 0 && seen.compared == 0 => return Ok(true),
            _ => {}
        }
        // The other rounds, as far as steps are left if there are enough points.
        if is_late && (critical.has_pieces || seen.agreed < REQUIRED_POINTS) {
            match self.differ_at_random(MAX_ROUNDS, self.points.rounds(), &mut seen) {
                Ok(false) => {}
                Ok(true) => return Ok(false),
                Err(Exhausted) if seen.agreed >= REQUIRED_POINTS => return Ok(true),
                Err(Exhausted) => return Err(Exhausted),
            }
        }
        self.agree_at_weak(seen)
    }

    /// Whether a difference was found at random points. Stops before round `end`, or when there are
    /// enough points and `target` points with those that need more precision.
    fn differ_at_random(
        &self,
        end: u64,
        target: usize,
        seen: &mut Seen,
    ) -> Result<bool, Exhausted> {
        while seen.rounds < end {
            if seen.agreed >= REQUIRED_POINTS && seen.agreed + seen.weak.len() >= target {
                break;
            }
            let round = seen.rounds;
            seen.rounds += 1;
            let values = self.points.values(round, self.budget)?;
            let mut found = self.at(&values, round, 192, FIRST_PREC)?;
            if found == Agreement::Agreed && seen.agreed == 0 {
                // One point at a higher precision, for differences that are tiny nearly everywhere.
                found = self.at(&values, round, 640, MAX_PREC)?;
            }
            match found {
                Agreement::Different => return Ok(true),
                Agreement::Agreed => {
                    seen.agreed += 1;
                    if let [value] = values.as_slice() {
                        seen.covered.push(value.clone());
                    }
                }
                Agreement::Weak(bits) => seen.weak.push((values, bits)),
                Agreement::Outside | Agreement::Undecided => {}
            }
        }
        Ok(false)
    }

    /// Whether two functions agree at enough points, with those at which they may have small terms.
    fn agree_at_weak(&self, seen: Seen) -> Result<bool, Exhausted> {
        let mut agreed = seen.agreed;
        for (values, bits) in seen.weak {
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
                    Agreement::Weak(_) | Agreement::Outside | Agreement::Undecided => {}
                }
            }
        }
        Ok(agreed >= REQUIRED_POINTS)
    }

    /// Whether a difference was found on a piece.
    fn differ_on_pieces(
        &self,
        mut pieces: Pieces<'_, '_>,
        seen: &mut Seen,
        budget: &Budget,
    ) -> Result<bool, Exhausted> {
        let has_pieces = pieces.critical.has_pieces;
        let has_jumps = [self.a, self.b].iter().any(|side| side.any(&is_jump));
        let negatives = has_pieces || !pieces.complex;
        let limit = if has_pieces { MAX_WEAK_PREC } else { MAX_PREC };
        let sampling = Sampling { budget, ..*self };
        let covered = std::mem::take(&mut seen.covered);
        // With one variable, a pass visits the same pieces as the one before.
        let repeats = pieces.symbols.len() == 1 && covered.is_empty();
        let mut outside = Vec::new();
        let mut different = false;
        for pass in 0..PASSES {
            pieces.seed = mix(pieces.seed);
            let base = self.points.values(pass, budget)?;
            let covered = if pass == 0 { covered.as_slice() } else { &[] };
            let mut piece = 0;
            pieces.visit(&base, covered, budget, &mut |values, within| {
                piece += usize::from(within);
                if !negatives && values.iter().any(Rational::is_negative)
                    || pass > 0 && (!within || repeats && outside.contains(&piece))
                {
                    return Ok(false);
                }
                if within && has_pieces && sampling.is_proved(values, pass)? {
                    seen.proved += 1;
                    seen.agreed += 1;
                    return Ok(false);
                }
                if has_pieces && !within && values.iter().any(is_approximate) {
                    different = has_jumps && sampling.differ_at_end(values, pass)?
                        || sampling.differ_once(values, pass)?;
                    return Ok(different);
                }
                let mut found = sampling.at(values, pass, 128, limit)?;
                if found == Agreement::Undecided && has_pieces {
                    found = sampling.exactly(values)?;
                }
                if found == Agreement::Undecided
                    && has_jumps
                    && !within
                    && sampling.differ_at_end(values, pass)?
                {
                    found = Agreement::Different;
                }
                match found {
                    Agreement::Different => different = true,
                    // Another piece says nothing about this one.
                    Agreement::Weak(_) | Agreement::Undecided if within && has_pieces => {
                        different = true;
                    }
                    Agreement::Agreed if within => {
                        seen.agreed += 1;
                        seen.compared += 1;
                    }
                    Agreement::Weak(bits) => seen.weak.push((values.to_vec(), bits)),
                    Agreement::Outside if within => outside.push(piece),
                    Agreement::Agreed | Agreement::Outside | Agreement::Undecided => {}
                }
                Ok(different)
            })?;
            let is_proved = seen.proved > 0 && seen.compared == 0;
            if different || is_proved || seen.agreed >= REQUIRED_POINTS {
                break;
            }
        }
        Ok(different)
    }

    /// Whether both functions have the same formula on the piece of these values.
    fn is_proved(&self, values: &[Rational], round: u64) -> Result<bool, Exhausted> {
        let point = self.points.point(values, round, SIGN_PREC + self.extra);
        resolved::same(self.a, self.b, &point, self.budget)
    }

    /// Whether the functions differ at a point to a precision at which ends are known.
    fn differ_once(&self, values: &[Rational], round: u64) -> Result<bool, Exhausted> {
        let found = self.once(values, round, EXACT_PREC / 2 + self.extra, MAX_PREC)?;
        Ok(matches!(found, Found::Known(Agreement::Different)))
    }

    /// Whether the functions differ at an irrational end of a piece.
    fn differ_at_end(&self, values: &[Rational], round: u64) -> Result<bool, Exhausted> {
        let point = self.points.point(values, round, EXACT_PREC + self.extra);
        resolved::differ_at_end(self.a, self.b, &point, self.budget)
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

    /// What is known at a point, to at most `limit` bits for small terms.
    fn at(
        &self,
        values: &[Rational],
        round: u64,
        prec: u64,
        limit: u64,
    ) -> Result<Agreement, Exhausted> {
        let most = MAX_WEAK_PREC + self.extra;
        let mut prec = prec + self.extra;
        for _ in 0..3 {
            match self.once(values, round, prec, limit)? {
                Found::Known(found) => return Ok(found),
                // Balls that are far too wide say nothing about the precision that is needed.
                Found::Wide(_) if prec >= most => break,
                Found::Wide(needed) => prec = (2 * prec).max(needed).min(most),
            }
        }
        Ok(Agreement::Undecided)
    }

    /// What is known at a point to one precision.
    fn once(
        &self,
        values: &[Rational],
        round: u64,
        prec: u64,
        limit: u64,
    ) -> Result<Found, Exhausted> {
        let known = |found| Ok(Found::Known(found));
        let point = self.points.point(values, round, prec);
        let (left, right) = match (
            ball(self.a, &point, self.budget),
            ball(self.b, &point, self.budget),
        ) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => {
                return Err(Exhausted);
            }
            // Functions that are not evaluated are equal only as trees, and a piecewise definition
            // has a row wherever the other function has a value.
            (Err(NoValue::Unsupported), _)
            | (_, Err(NoValue::Unsupported))
            | (Err(NoValue::NoRow), Ok(_))
            | (Ok(_), Err(NoValue::NoRow)) => return known(Agreement::Different),
            (Err(NoValue::AtPoint(BallError::Undefined)), _)
            | (_, Err(NoValue::AtPoint(BallError::Undefined)))
            | (Err(NoValue::NoRow), Err(NoValue::NoRow)) => return known(Agreement::Outside),
            _ => return known(Agreement::Undecided),
        };
        let Ok(difference) = left.sub(&right, prec) else {
            return known(Agreement::Undecided);
        };
        if !difference.contains_zero() {
            return known(Agreement::Different);
        }
        let size = left.magnitude().max(right.magnitude()).max(0);
        let required = i64::try_from(prec / 2).unwrap_or(96).max(96);
        let close = difference.is_zero() || difference.magnitude() <= size.saturating_sub(required);
        let needed = point.growth().saturating_add(MARGIN);
        if close && (needed <= prec + MARGIN / 2 || difference.is_zero()) {
            return known(Agreement::Agreed);
        }
        if close && needed > limit + self.extra {
            return known(Agreement::Weak(needed));
        }
        Ok(Found::Wide(needed))
    }

    /// What is known with the values in place of the symbols, after exact arithmetic: balls do not
    /// show that `x - 1/3` is 0 at 1/3, where `sgn(x - 1/3)` has a value of its own.
    fn exactly(&self, values: &[Rational]) -> Result<Agreement, Exhausted> {
        self.points.charge(self.budget)?;
        let numbers: BTreeMap<&str, Expr> = (self.points.symbols().iter().zip(values))
            .map(|((name, _), value)| (*name, Expr::Number(value.clone())))
            .collect();
        let constant = |side: &Expr| {
            let constant = substituted(side, &|name| numbers.get(name), self.budget)?;
            fold(&constant, self.budget)
        };
        let (left, right) = (constant(self.a)?, constant(self.b)?);
        if identical(&left, &right, self.budget)? {
            return Ok(Agreement::Agreed);
        }
        let mut prec = EXACT_PREC + self.extra;
        let mut found = self.constants(&left, &right, prec)?;
        if let Agreement::Weak(bits) = found {
            prec = bits.saturating_add(MARGIN).min(MAX_WEAK_PREC);
            found = self.constants(&left, &right, prec)?;
        }
        Ok(match found {
            Agreement::Weak(_) => Agreement::Undecided,
            found => found,
        })
    }

    /// What is known about two constants to a precision.
    fn constants(&self, left: &Expr, right: &Expr, prec: u64) -> Result<Agreement, Exhausted> {
        let point = Point::of_constant(self.points.is_complex(), prec);
        let [left, right] = [left, right].map(|side| ball(side, &point, self.budget));
        let (left, right) = match (left, right) {
            (Ok(left), Ok(right)) => (left, right),
            (Err(NoValue::Exhausted), _) | (_, Err(NoValue::Exhausted)) => return Err(Exhausted),
            (Err(NoValue::AtPoint(BallError::Undefined)), _)
            | (_, Err(NoValue::AtPoint(BallError::Undefined))) => return Ok(Agreement::Outside),
            _ => return Ok(Agreement::Undecided),
        };
        Ok(match left.sub(&right, prec) {
            Ok(difference) if !difference.contains_zero() => Agreement::Different,
            Ok(difference) if difference.is_zero() => Agreement::Agreed,
            Ok(difference) => {
                let size = left.magnitude().max(right.magnitude()).max(0);
                let limit = size.saturating_sub(i64::try_from(prec / 2).unwrap_or(i64::MAX));
                if difference.magnitude() > limit {
                    Agreement::Undecided
                } else if point.growth() <= prec {
                    Agreement::Agreed
                } else {
                    Agreement::Weak(point.growth())
                }
            }
            Err(_) => Agreement::Undecided,
        })
    }
}

/// Whether a part may have a value of its own at a single point.
fn is_jump(part: &Expr) -> bool {
    match part {
        Expr::Call(Function::Sign | Function::Floor | Function::Ceil, _) | Expr::Cases(_) => true,
        Expr::Power(pair) => pair.0.is_int(0),
        _ => false,
    }
}
