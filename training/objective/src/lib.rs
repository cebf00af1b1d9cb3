//! What a policy is trained towards. Owns advantages made of rewards, and the one loss with its
//! axes and presets. Owns no model and no optimiser: it sees log-probabilities.
//!
//! The loss of a batch is
//!
//! ```text
//! L = AGGREGATION over tokens of [ weight * keep * -(advantage * surrogate) + sum of penalties ] - entropy * H
//! ```
//!
//! and every word of it is an axis of [`Objective`]: which recorded policy the ratio is
//! [anchored](Policy) to, its [`Level`], the [`Surrogate`] (the rule that clips), the
//! [`Correction`] that weighs, the [`Masks`] that keep, the [`Penalty`]s, what [`Demonstrations`]
//! are, the [`Aggregation`], and the [`Advantage`] estimator. [`PRESETS`] names points of that
//! space.
//!
//! # Micro-batches
//!
//! A batch may be cut by rows into pieces. [`Objective::totals`] looks once at the whole batch and
//! holds every denominator, quantile and normaliser; the losses of the pieces, each with those
//! totals, *sum* to the loss of the whole, and so do their gradients.
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
//! let current = Current { logp: logp.as_tensor().clone(), entropy: Some(logp.as_tensor().neg()?) };
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
mod masks;
mod metrics;
mod objective;
mod pacs;
mod penalty;
mod presets;
mod settings;
pub mod staleness;
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
pub use masks::{Masks, OffPolicy};
pub use metrics::Metrics;
pub use objective::{Loss, Needs, Objective};
pub use pacs::Standing;
pub use penalty::{Estimator, Penalty};
pub use presets::{PRESETS, Preset};
pub use surrogate::{Divergence, Side, Surrogate, Through};
pub use totals::Totals;
