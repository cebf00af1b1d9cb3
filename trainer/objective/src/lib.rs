//! Training objectives. Owns the advantages computed from rewards and one configurable loss with
//! its presets. Owns no model and no optimiser: the inputs are log-probabilities.
//!
//! The loss of a batch is
//!
//! ```text
//! L = AGGREGATION over tokens of
//!         [ weight * keep * -(advantage * surrogate) + sum of penalties ]
//!     - entropy * H
//! ```
//!
//! Each part is a field (an axis) of [`Objective`]: the [`PolicyVersion`] in the denominator of the
//! importance ratio (the anchor), the [`Level`] of the ratio, the [`Surrogate`] (the clipping
//! rule), the [`Correction`] weights, the [`Masks`], the [`Penalty`] list, the treatment of
//! [`Demonstrations`], the [`Aggregation`], and the [`Advantage`] estimator. [`PRESETS`] lists
//! published combinations by name.
//!
//! # Micro-batches
//!
//! A batch can be split by rows into micro-batches. [`Objective::totals`] computes every
//! denominator, quantile and normaliser once, from the whole batch. The losses of the
//! micro-batches, computed with these totals, *sum* to the loss of the whole batch, and so do
//! their gradients.
//!
//! # Example
//!
//! ```
//! use assay_objective::{Batch, Current, Objective};
//! use candle_core::{Device, Tensor, Var};
//!
//! let objective: Objective = serde_json::from_str(r#"{"preset": "dapo", "entropy": 0.01}"#)?;
//! let device = Device::Cpu;
//! let logp = Var::new(&[[-0.5f32, -1.0], [-2.0, 0.0]], &device)?;
//! let mask = Tensor::new(&[[1f32, 1.0], [1.0, 0.0]], &device)?;
//! let mut batch = Batch::new(mask, Tensor::new(&[1f32, -1.0], &device)?);
//! batch.old = Some(logp.as_detached_tensor());
//! let entropy = Some(logp.as_tensor().neg()?);
//! let current = Current { logp: logp.as_tensor().clone(), entropy };
//! let totals = objective.totals(&batch)?;
//! let loss = objective.loss(&current, &batch, &totals)?;
//! assert!(loss.loss.backward()?.get(&logp).is_some());
//! assert_eq!(loss.metrics.get("clip_ratio/region_mean"), Some(0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod advantage;
mod aggregation;
mod batch;
mod correction;
mod demonstrations;
mod error;
mod level;
mod loss;
mod masks;
mod metrics;
mod objective;
mod pacs;
mod penalty;
mod presets;
mod settings;
pub mod staleness;
mod sums;
mod surrogate;
mod tensor;
mod totals;

pub use advantage::{Advantage, Advantages, Prompt, Sample};
pub use aggregation::Aggregation;
pub use batch::{Batch, Current, PolicyVersion};
pub use correction::{Beyond, Correction, Gate, Span};
pub use demonstrations::{Demonstrations, Imitation};
pub use error::ObjectiveError;
pub use level::Level;
pub use loss::Loss;
pub use masks::{Masks, OffPolicy};
pub use metrics::Metrics;
pub use objective::{Objective, RequiredInputs};
pub use pacs::Comparison;
pub use penalty::{DivergenceEstimator, Penalty};
pub use presets::{PRESETS, Preset};
pub use surrogate::{Divergence, Side, Surrogate, Through};
pub use totals::Totals;
