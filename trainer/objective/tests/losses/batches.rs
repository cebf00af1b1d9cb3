//! Batches of random numbers with fixed seeds.

use assay_base::Random;
use assay_objective::{Batch, Current, Loss, Objective, Totals};
use candle_core::{Device, Tensor, Var};

pub(crate) type Rows = Vec<Vec<f64>>;

/// A batch of two groups with three rows of up to five tokens.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    pub(crate) logp: Rows,
    pub(crate) old: Rows,
    pub(crate) behaviour: Rows,
    pub(crate) reference: Rows,
    pub(crate) teacher: Rows,
    pub(crate) entropy: Rows,
    pub(crate) recorded_entropy: Rows,
    pub(crate) mask: Rows,
    pub(crate) advantages: Vec<f64>,
    pub(crate) demonstrations: Vec<f64>,
    pub(crate) scores: Vec<f64>,
    pub(crate) groups: Vec<usize>,
}

impl Numbers {
    /// Log-probabilities with ratios of roughly 0.1 to 10, and a mask with a gap in one row.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::stream(&[7, seed]);
        let mut rows = |center: f64, spread: f64| -> Rows {
            (0..6)
                .map(|_| {
                    (0..5)
                        .map(|_| (center + spread * random.normal()).min(-0.01))
                        .collect()
                })
                .collect()
        };
        let logp = rows(-1.2, 0.6);
        let mut near = |spread: f64| -> Rows {
            let noise = rows(-10.0, spread);
            let moved = |(row, noise): (&Vec<f64>, &Vec<f64>)| {
                row.iter()
                    .zip(noise)
                    .map(|(x, noise)| (x + noise + 10.0).min(-0.01))
                    .collect()
            };
            logp.iter().zip(&noise).map(moved).collect()
        };
        let (old, behaviour, reference, teacher) = (near(0.5), near(0.5), near(0.4), near(0.7));
        let positive = |rows: Rows| {
            rows.into_iter()
                .map(|row| row.into_iter().map(f64::abs).collect())
                .collect()
        };
        let (entropy, recorded_entropy) = (positive(near(0.5)), positive(near(0.5)));
        let lengths = [5, 3, 4, 1, 5, 2];
        let live = |length: usize| {
            (0..5)
                .map(|at| f64::from(u8::from(at < length)))
                .collect::<Vec<_>>()
        };
        let mut mask: Rows = lengths.into_iter().map(live).collect();
        mask[4][2] = 0.0;
        Self {
            logp,
            old,
            behaviour,
            reference,
            teacher,
            entropy,
            recorded_entropy,
            mask,
            advantages: vec![1.3, -0.7, -0.6, 0.9, -1.4, 0.5],
            demonstrations: vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            scores: vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0],
            groups: vec![0, 0, 0, 1, 1, 1],
        }
    }

    pub(crate) fn batch(&self) -> Batch {
        let tensor = |rows: &Rows| Tensor::new(rows.clone(), &Device::Cpu).unwrap();
        let column = |numbers: &Vec<f64>| Tensor::new(numbers.as_slice(), &Device::Cpu).unwrap();
        let mut batch = Batch::new(tensor(&self.mask), column(&self.advantages));
        batch.old = Some(tensor(&self.old));
        batch.behaviour = Some(tensor(&self.behaviour));
        batch.reference = Some(tensor(&self.reference));
        batch.teacher = Some(tensor(&self.teacher));
        batch.entropy = Some(tensor(&self.recorded_entropy));
        batch.demonstrations = Some(column(&self.demonstrations));
        batch.scores = Some(column(&self.scores));
        batch.groups = self.groups.clone();
        batch
    }

    /// The loss of the whole batch, with gradients by log-probabilities and by entropies.
    pub(crate) fn loss(&self, objective: &Objective) -> Evaluated {
        let batch = self.batch();
        let totals = objective.totals(&batch).unwrap();
        self.piece(objective, &totals, 0, self.logp.len())
    }

    /// The loss of some rows with the totals of the whole batch.
    pub(crate) fn piece(
        &self,
        objective: &Objective,
        totals: &Totals,
        start: usize,
        count: usize,
    ) -> Evaluated {
        let var = |rows: &Rows| {
            Var::from_tensor(&Tensor::new(rows.clone(), &Device::Cpu).unwrap()).unwrap()
        };
        let (logp, entropy) = (var(&self.logp), var(&self.entropy));
        let cut = |var: &Var| var.as_tensor().narrow(0, start, count).unwrap();
        let current = Current {
            logp: cut(&logp),
            entropy: Some(cut(&entropy)),
        };
        let batch = self.batch().rows(start, count).unwrap();
        let Loss { loss, metrics } = objective.loss(&current, &batch, totals).unwrap();
        let slopes = loss.backward().unwrap();
        let of = |var: &Var| match slopes.get(var) {
            Some(slope) => slope.to_vec2().unwrap(),
            None => var.as_tensor().zeros_like().unwrap().to_vec2().unwrap(),
        };
        Evaluated {
            value: loss.to_scalar().unwrap(),
            by_logp: of(&logp),
            by_entropy: of(&entropy),
            metrics,
        }
    }
}

pub(crate) struct Evaluated {
    pub(crate) value: f64,
    pub(crate) by_logp: Rows,
    pub(crate) by_entropy: Rows,
    pub(crate) metrics: assay_objective::Metrics,
}

pub(crate) fn distance(a: &Rows, b: &Rows) -> f64 {
    let pairs = a.concat().into_iter().zip(b.concat());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |most, next| {
        if next.is_nan() {
            f64::INFINITY
        } else {
            most.max(next)
        }
    })
}
