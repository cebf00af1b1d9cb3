//! Unions, intersections and differences of intervals whose ends can be ordered.

use super::super::{Context, scalar};
use super::{Attempt, Interval, Limit, RealSet};
use crate::budget::Exhausted;
use crate::tree::SetOp;

/// Most intervals of one set; answers have few.
const MAX_PARTS: usize = 200;

/// Most pairs of intervals of which the intersections are computed.
const MAX_PAIRS: usize = 2_000;

/// Sorts the intervals by their lower ends and joins those that touch. `None` if the ends cannot be
/// ordered.
pub(crate) fn normalised(set: RealSet, cx: &Context<'_>) -> Attempt<RealSet> {
    if set.parts.len() < 2 {
        let mut set = set;
        // An empty interval, as in (3, 1).
        if let Some(Interval {
            low: Limit::At(low, low_closed),
            high: Limit::At(high, high_closed),
        }) = set.parts.first()
        {
            match scalar::compare(low, high, cx.budget)? {
                Some(1) => set.parts.clear(),
                Some(0) if !(*low_closed && *high_closed) => set.parts.clear(),
                _ => {}
            }
        }
        return Ok(Some(set));
    }
    if set.parts.len() > MAX_PARTS {
        return Ok(None);
    }
    let mut sorted: Vec<Interval> = Vec::with_capacity(set.parts.len());
    for part in set.parts {
        // Binary search: comparing ends is usually expensive.
        let (mut from, mut to) = (0, sorted.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            let Some(other) = sorted.get(middle) else {
                break;
            };
            match lower(&part.low, &other.low, cx)? {
                Some(true) => to = middle,
                Some(false) => from = middle + 1,
                None => return Ok(None),
            }
        }
        sorted.insert(from, part);
    }
    let mut parts: Vec<Interval> = Vec::with_capacity(sorted.len());
    for next in sorted {
        let Some(last) = parts.last_mut() else {
            parts.push(next);
            continue;
        };
        let Some(touches) = meets(&last.high, &next.low, cx)? else {
            return Ok(None);
        };
        if touches {
            match higher(&next.high, &last.high, cx)? {
                Some(true) => last.high = next.high,
                Some(false) => {}
                None => return Ok(None),
            }
        } else {
            parts.push(next);
        }
    }
    Ok(Some(RealSet { parts, ..set }))
}

/// Whether the lower end `a` is before the lower end `b`.
fn lower(a: &Limit, b: &Limit, cx: &Context<'_>) -> Attempt<bool> {
    Ok(match (a, b) {
        (Limit::Infinite, Limit::Infinite) => Some(false),
        (Limit::Infinite, _) => Some(true),
        (_, Limit::Infinite) => Some(false),
        (Limit::At(a, a_closed), Limit::At(b, b_closed)) => scalar::compare(a, b, cx.budget)?
            .map(|sign| sign < 0 || sign == 0 && *a_closed && !b_closed),
    })
}

/// Whether the upper end `a` is after the upper end `b`.
fn higher(a: &Limit, b: &Limit, cx: &Context<'_>) -> Attempt<bool> {
    Ok(match (a, b) {
        (_, Limit::Infinite) => Some(false),
        (Limit::Infinite, _) => Some(true),
        (Limit::At(a, a_closed), Limit::At(b, b_closed)) => scalar::compare(a, b, cx.budget)?
            .map(|sign| sign > 0 || sign == 0 && *a_closed && !b_closed),
    })
}

/// Whether there is no gap between an interval that ends at `high` and one that starts at `low`.
fn meets(high: &Limit, low: &Limit, cx: &Context<'_>) -> Attempt<bool> {
    Ok(match (high, low) {
        (Limit::Infinite, _) | (_, Limit::Infinite) => Some(true),
        (Limit::At(high, high_closed), Limit::At(low, low_closed)) => {
            scalar::compare(high, low, cx.budget)?
                .map(|sign| sign > 0 || sign == 0 && (*high_closed || *low_closed))
        }
    })
}

/// The union of several sets; `None` if they have different subjects or domains.
pub(crate) fn united(sets: Vec<RealSet>, cx: &Context<'_>) -> Attempt<RealSet> {
    let mut subject = None;
    let within = sets.first().and_then(|set| set.within);
    let mut parts = Vec::new();
    for set in sets {
        match (&subject, set.subject) {
            (Some(own), Some(other)) if *own != other => return Ok(None),
            (None, other) => subject = other,
            _ => {}
        }
        if set.within != within {
            return Ok(None);
        }
        parts.extend(set.parts);
    }
    normalised(
        RealSet {
            subject,
            parts,
            within,
        },
        cx,
    )
}

/// Combines two sets; `None` if they have different subjects or domains, or their ends cannot be
/// ordered.
pub(crate) fn combined(op: SetOp, a: &RealSet, b: &RealSet, cx: &Context<'_>) -> Attempt<RealSet> {
    let subject = match (&a.subject, &b.subject) {
        (Some(a), Some(b)) if a != b => return Ok(None),
        (Some(own), _) | (_, Some(own)) => Some(own.clone()),
        _ => None,
    };
    if a.within.is_some() && b.within.is_some() && a.within != b.within {
        return Ok(None);
    }
    let within = a.within.or(b.within);
    let parts = match op {
        SetOp::Union => a.parts.iter().chain(&b.parts).cloned().collect(),
        SetOp::Intersection => match intersection(&a.parts, &b.parts, cx)? {
            Some(parts) => parts,
            None => return Ok(None),
        },
        SetOp::Difference => {
            let mut parts = a.parts.clone();
            for hole in &b.parts {
                let mut outside = Vec::new();
                if let Limit::At(value, closed) = &hole.low {
                    outside.push(Interval {
                        low: Limit::Infinite,
                        high: Limit::At(value.clone(), !closed),
                    });
                }
                if let Limit::At(value, closed) = &hole.high {
                    outside.push(Interval {
                        low: Limit::At(value.clone(), !closed),
                        high: Limit::Infinite,
                    });
                }
                match intersection(&parts, &outside, cx)? {
                    Some(left) => parts = left,
                    None => return Ok(None),
                }
            }
            parts
        }
    };
    normalised(
        RealSet {
            subject,
            parts,
            within,
        },
        cx,
    )
}

fn intersection(a: &[Interval], b: &[Interval], cx: &Context<'_>) -> Attempt<Vec<Interval>> {
    let mut parts = Vec::new();
    if a.len() * b.len() > MAX_PAIRS {
        return Ok(None);
    }
    cx.budget.charge(100 * a.len() as u64 * b.len() as u64)?;
    for a in a {
        for b in b {
            let (Some(low_first), Some(high_first)) =
                (lower(&a.low, &b.low, cx)?, higher(&a.high, &b.high, cx)?)
            else {
                return Ok(None);
            };
            let part = Interval {
                low: if low_first {
                    b.low.clone()
                } else {
                    a.low.clone()
                },
                high: if high_first {
                    b.high.clone()
                } else {
                    a.high.clone()
                },
            };
            if let (Limit::At(low, low_closed), Limit::At(high, high_closed)) =
                (&part.low, &part.high)
            {
                match scalar::compare(low, high, cx.budget)? {
                    Some(1) => continue,
                    Some(0) if !(*low_closed && *high_closed) => continue,
                    Some(_) => {}
                    // Symbolic ends, as in `a < x < b`, are taken to be in order if each is from
                    // one side.
                    None if matches!(a.high, Limit::Infinite)
                        && matches!(b.low, Limit::Infinite)
                        || matches!(b.high, Limit::Infinite)
                            && matches!(a.low, Limit::Infinite) => {}
                    None => return Ok(None),
                }
            }
            parts.push(part);
        }
    }
    Ok(Some(parts))
}

/// Whether two sets are equal: the same intervals, and the same subject if both have one.
pub(crate) fn same(a: &RealSet, b: &RealSet, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if let (Some(a), Some(b)) = (&a.subject, &b.subject)
        && a != b
    {
        return Ok(false);
    }
    if a.within != b.within || a.parts.len() != b.parts.len() {
        return Ok(false);
    }
    for (a, b) in a.parts.iter().zip(&b.parts) {
        for (a, b) in [(&a.low, &b.low), (&a.high, &b.high)] {
            let equal = match (a, b) {
                (Limit::Infinite, Limit::Infinite) => true,
                (Limit::At(a, a_closed), Limit::At(b, b_closed)) => {
                    a_closed == b_closed && cx.same_values(a, b)?
                }
                _ => false,
            };
            if !equal {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
