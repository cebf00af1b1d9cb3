//! Backbone settings in `config.json`: sizes, positions and sliding windows. Every field that
//! affects an output is either read or rejected.

mod bert;
mod decoder;
mod family;
mod fields;
mod modernbert;
mod rope;

pub use bert::BertConfig;
pub use decoder::DecoderConfig;
pub use family::{BackboneConfig, Family};
pub use fields::Fields;
pub use modernbert::ModernBertConfig;
pub use rope::{Rope, Scaling};
