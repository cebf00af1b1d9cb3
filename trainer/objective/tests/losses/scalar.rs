//! The loss as loops over plain numbers, written from the published formulas. Log-probabilities are
//! given twice: `logp` for terms with a gradient, and `still`, which finite differences do not
//! change, for terms without one.

use assay_objective::{
    Aggregation, Beyond, Comparison, Demonstrations, Divergence, DivergenceEstimator, Imitation,
    Level, Objective, Penalty, PolicyVersion, Side, Span, Surrogate, Through,
};

use super::batches::{Numbers, Rows};

/// A batch with changed and unchanged log-probabilities.
pub(crate) struct Scalar<'a> {
    pub(crate) numbers: &'a Numbers,
    pub(crate) objective: &'a Objective,
    pub(crate) logp: Rows,
    pub(crate) still: &'a Rows,
}

fn clip(x: f64, low: f64, high: f64) -> f64 {
    x.max(low).min(high)
}

impl Scalar<'_> {
    fn imitates(&self, row: usize) -> bool {
        let imitated = matches!(
            self.objective.demonstrations,
            Demonstrations::Imitated { .. }
        );
        imitated && self.numbers.demonstrations[row] > 0.5
    }

    /// Tokens of a row in the policy loss.
    fn tokens(&self, row: usize) -> Vec<usize> {
        if self.imitates(row) {
            return Vec::new();
        }
        (0..5)
            .filter(|token| self.numbers.mask[row][*token] > 0.5)
            .collect()
    }

    fn count(&self) -> f64 {
        (0..6).map(|row| self.tokens(row).len() as f64).sum()
    }

    fn rows(&self) -> Vec<usize> {
        (0..6).filter(|row| !self.tokens(*row).is_empty()).collect()
    }

    fn recorded(&self, policy: PolicyVersion) -> &Rows {
        match policy {
            PolicyVersion::Old => &self.numbers.old,
            PolicyVersion::Behaviour => &self.numbers.behaviour,
            PolicyVersion::Reference => &self.numbers.reference,
            PolicyVersion::Teacher => &self.numbers.teacher,
        }
    }

    fn mean(&self, row: usize, x: impl Fn(usize) -> f64) -> f64 {
        let tokens = self.tokens(row);
        tokens.iter().map(|token| x(*token)).sum::<f64>() / tokens.len() as f64
    }

    fn ratio(&self, logp: &Rows, row: usize, token: usize) -> f64 {
        let anchor = self.recorded(self.objective.anchor);
        let sequence = |logp: &Rows| self.mean(row, |token| logp[row][token] - anchor[row][token]);
        match self.objective.level {
            Level::Token => logp[row][token] - anchor[row][token],
            Level::Sequence => sequence(logp),
            Level::SequenceToken => {
                sequence(self.still) + logp[row][token] - self.still[row][token]
            }
        }
        .exp()
    }

    fn ppo(a: f64, r: f64, low: f64, high: f64, dual: Option<f64>) -> f64 {
        let gain = (r * a).min(clip(r, low, high) * a);
        if a < 0.0 {
            gain.max(dual.unwrap_or(f64::INFINITY) * a)
        } else {
            gain
        }
    }

    /// The surrogate objective A f of a token.
    fn gain(&self, row: usize, token: usize) -> f64 {
        let a = self.numbers.advantages[row];
        let (l, still) = (self.logp[row][token], self.still[row][token]);
        let anchor = self.recorded(self.objective.anchor)[row][token];
        let (r, r_still) = (
            self.ratio(&self.logp, row, token),
            self.ratio(self.still, row, token),
        );
        if let Demonstrations::Shaped { gamma } = self.objective.demonstrations
            && self.numbers.demonstrations[row] > 0.5
        {
            return a * gamma.map_or(l.exp(), |gamma| l.exp() / (l.exp() + gamma));
        }
        match self.objective.surrogate {
            Surrogate::Ppo { low, high, dual } => Self::ppo(a, r, 1.0 - low, 1.0 + high, dual),
            Surrogate::Gppo { low, high, dual } => {
                let slope = r / r_still;
                if a < 0.0 && dual.is_some_and(|dual| r_still > dual) {
                    return a * dual.unwrap();
                }
                let bounds = ((1.0 - low) * slope, (1.0 + high) * slope);
                (r * a).min(clip(r, bounds.0, bounds.1) * a)
            }
            Surrogate::Cispo { low, high } => a * clip(r_still, low, high) * l,
            Surrogate::Dcpo { low, high, cap } => {
                let p = anchor.exp();
                let most = (0.5 + 0.5 * (1.0 + 4.0 * high / p).sqrt()).min(cap);
                let least = 0.5 + 0.5 * (1.0 - 4.0 * low / p).max(0.0).sqrt();
                Self::ppo(a, r, least, most, Some(cap))
            }
            Surrogate::Sapo { positive, negative } => {
                let heat = if a > 0.0 { positive } else { negative };
                a * 4.0 / heat / (1.0 + (-heat * (r - 1.0)).exp())
            }
            Surrogate::TrustRegion {
                divergence,
                side,
                low,
                high,
                cap,
                through,
            } => {
                let (p, q) = (still.exp(), anchor.exp());
                let far = match divergence {
                    Divergence::Tv => (p - q).abs(),
                    Divergence::Kl => q * (q / p).ln() + (1.0 - q) * ((1.0 - q) / (1.0 - p)).ln(),
                };
                let (up, down) = (p > q && far > high, p < q && far > low);
                let out = match side {
                    Side::Pushed => (a > 0.0 && up) || (a <= 0.0 && down),
                    Side::Both => up || down,
                    Side::Low => down,
                };
                let capped = r_still.min(cap.unwrap_or(f64::INFINITY));
                match (out, through) {
                    (true, _) => 0.0,
                    (false, Through::LogProbability) => a * capped * l,
                    (false, Through::Ratio) => a * capped * r / r_still,
                }
            }
            Surrogate::Vespo { positive, negative } => {
                let log: f64 = self
                    .tokens(row)
                    .iter()
                    .map(|t| self.still[row][*t] - self.anchor(row, *t))
                    .sum();
                let [k, lambda] = if a >= 0.0 { positive } else { negative };
                a * log.exp().powf(k) * (lambda * (1.0 - log.exp())).exp() * l
            }
            Surrogate::Reinforce { temperature } => a * l / (1.0 + temperature),
            Surrogate::Gmpo { low, high } => {
                let limited = |t: usize| {
                    let x = self.logp[row][t] - self.anchor(row, t);
                    if a > 0.0 { x.min(high) } else { x.max(-low) }
                };
                a * self.mean(row, limited).exp()
            }
            Surrogate::Pacs { .. } => 0.0,
        }
    }

    fn anchor(&self, row: usize, token: usize) -> f64 {
        self.recorded(self.objective.anchor)[row][token]
    }

    fn span(&self, span: Span, row: usize, token: usize) -> f64 {
        let log = |token: usize| self.numbers.old[row][token] - self.numbers.behaviour[row][token];
        match span {
            Span::Token => log(token).exp(),
            Span::Sequence => self.tokens(row).into_iter().map(log).sum::<f64>().exp(),
            Span::Geometric => self.mean(row, log).exp(),
        }
    }

    fn weight(&self, row: usize, token: usize) -> f64 {
        let correction = &self.objective.correction;
        let high = correction.high.unwrap_or(f64::INFINITY);
        let mut weight = correction
            .weight
            .map_or(1.0, |span| self.span(span, row, token));
        match correction.beyond {
            _ if correction.weight.is_none() => {}
            Beyond::Truncate => weight = clip(weight, correction.low, high),
            Beyond::Drop if weight < correction.low || weight > high => weight = 0.0,
            Beyond::Drop => {}
        }
        if let Some(gate) = correction.gate {
            let ratio = self.span(gate.span, row, token);
            if ratio < gate.low || ratio > gate.high.unwrap_or(f64::INFINITY) {
                weight = 0.0;
            }
        }
        weight
    }

    fn mean_weight(&self) -> f64 {
        let of_row = |row: usize| self.mean(row, |token| self.weight(row, token));
        let rows = self.rows();
        match (
            self.objective.correction.normalize,
            self.objective.correction.weight,
        ) {
            (false, _) => 1.0,
            (true, Some(Span::Sequence | Span::Geometric)) => {
                rows.iter().map(|row| of_row(*row)).sum::<f64>() / rows.len() as f64
            }
            (true, _) => {
                rows.iter()
                    .map(|row| of_row(*row) * self.tokens(*row).len() as f64)
                    .sum::<f64>()
                    / self.count()
            }
        }
    }

    fn kept(&self, row: usize, token: usize) -> bool {
        let masks = self.objective.masks;
        let informative = masks.top_entropy.is_none_or(|share| {
            let all = self
                .rows()
                .into_iter()
                .flat_map(|row| self.tokens(row).into_iter().map(move |t| (row, t)));
            let mut all: Vec<f64> = all
                .map(|(row, t)| self.numbers.recorded_entropy[row][t])
                .collect();
            all.sort_by(f64::total_cmp);
            let at = (1.0 - share) * (all.len() - 1) as f64;
            let (below, part) = (at.floor() as usize, at.fract());
            let above = all[(below + 1).min(all.len() - 1)];
            self.numbers.recorded_entropy[row][token] >= all[below] + part * (above - all[below])
        });
        let fresh = masks.off_policy.is_none_or(|mask| {
            let from = self.recorded(mask.from);
            let drift = self.mean(row, |token| from[row][token] - self.still[row][token]);
            self.numbers.advantages[row] >= 0.0 || drift <= mask.threshold
        });
        informative && fresh
    }

    fn penalty(&self, penalty: &Penalty, row: usize, token: usize) -> f64 {
        let from = self.recorded(penalty.from)[row][token];
        let estimate = |d: f64| {
            let value = match penalty.estimator {
                DivergenceEstimator::K1 => d,
                DivergenceEstimator::K2 => d * d / 2.0,
                DivergenceEstimator::K3 => (-d).exp() + d - 1.0,
                DivergenceEstimator::Abs => d.abs(),
            };
            penalty
                .clamp
                .map_or(value, |clamp| clip(value, -clamp, clamp))
        };
        let (d, still) = (self.logp[row][token] - from, self.still[row][token] - from);
        let value = if penalty.straight_through {
            estimate(still) + (d * d - still * still) / 2.0
        } else {
            estimate(d)
        };
        let ratio = if penalty.importance {
            self.ratio(&self.logp, row, token)
        } else {
            1.0
        };
        penalty.coefficient * value * ratio
    }

    fn pacs(&self, beta: f64, comparison: Comparison, balanced: bool) -> f64 {
        let rows = self.rows();
        let reward = |row: usize| {
            let sum: f64 = self
                .tokens(row)
                .iter()
                .map(|t| self.logp[row][*t] - self.anchor(row, *t))
                .sum();
            beta * sum
        };
        let cross_entropy = |row: &usize| {
            let row = *row;
            let peers: Vec<usize> = rows
                .iter()
                .copied()
                .filter(|peer| self.numbers.groups[*peer] == self.numbers.groups[row])
                .collect();
            let n = peers.len() as f64;
            let mean = peers.iter().map(|peer| reward(*peer)).sum::<f64>() / n;
            let variance = peers
                .iter()
                .map(|peer| (reward(*peer) - mean).powi(2))
                .sum::<f64>()
                / (n - 1.0);
            let x = match comparison {
                Comparison::None => reward(row),
                Comparison::LeaveOneOut => (reward(row) - mean) * n / (n - 1.0),
                Comparison::ZScore => (reward(row) - mean) / (variance.sqrt() + 1e-6),
            };
            let y = self.numbers.scores[row];
            let same = peers
                .iter()
                .filter(|peer| (self.numbers.scores[**peer] > 0.5) == (y > 0.5))
                .count() as f64;
            let weight = if balanced && same < n {
                n / (2.0 * same)
            } else {
                1.0
            };
            let p = 1.0 / (1.0 + (-x).exp());
            -weight * (y * p.ln() + (1.0 - y) * (1.0 - p).ln())
        };
        rows.iter().map(cross_entropy).sum::<f64>() / rows.len() as f64
    }

    fn aggregate(&self, x: impl Fn(usize, usize) -> f64) -> f64 {
        let rows = self.rows();
        let n = rows.len() as f64;
        let sum = |row: usize| {
            self.tokens(row)
                .into_iter()
                .map(|token| x(row, token))
                .sum::<f64>()
        };
        let total: f64 = rows.iter().map(|row| sum(*row)).sum();
        match self.objective.aggregation {
            Aggregation::TokenMean {} => total / self.count(),
            Aggregation::TokenSum {} => total,
            Aggregation::SeqMeanTokenMean {} => {
                rows.iter()
                    .map(|row| sum(*row) / self.tokens(*row).len() as f64)
                    .sum::<f64>()
                    / n
            }
            Aggregation::SeqMeanTokenSum {} => total / n,
            Aggregation::SeqMeanTokenSumNorm { length } => total / n / length.unwrap_or(5.0),
        }
    }

    /// The loss.
    pub(crate) fn loss(&self) -> f64 {
        let mean_weight = self.mean_weight();
        let policy = |row: usize, token: usize| {
            let kept = if self.kept(row, token) { 1.0 } else { 0.0 };
            let weight = self.weight(row, token) / mean_weight;
            -kept * weight * self.gain(row, token)
        };
        let mut loss = match self.objective.surrogate {
            Surrogate::Pacs {
                beta,
                comparison,
                balanced,
            } => self.pacs(beta, comparison, balanced),
            _ => self.aggregate(policy),
        };
        for penalty in &self.objective.penalties {
            loss += self.aggregate(|row, token| self.penalty(penalty, row, token));
        }
        if let Demonstrations::Imitated { share, weight } = self.objective.demonstrations {
            let (mut sum, mut count) = (0.0, 0.0);
            for row in (0..6).filter(|row| self.imitates(*row)) {
                for token in (0..5).filter(|token| self.numbers.mask[row][*token] > 0.5) {
                    let p = self.still[row][token].exp();
                    let weight = if weight == Imitation::Plain {
                        1.0
                    } else {
                        p * (1.0 - p)
                    };
                    sum -= weight * self.logp[row][token];
                    count += 1.0;
                }
            }
            loss = (1.0 - share) * loss + share * sum / count;
        }
        let entropy: f64 = self
            .rows()
            .iter()
            .flat_map(|row| {
                self.tokens(*row)
                    .into_iter()
                    .map(|t| self.numbers.entropy[*row][t])
            })
            .sum();
        loss - self.objective.entropy * entropy / self.count()
    }
}
