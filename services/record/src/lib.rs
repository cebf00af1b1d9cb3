//! The data of the record: grades, bodies, events, counts, charts, keys, audit, and the trait
//! [`store::Store`] by which they are written and read. Contains no database; `assay-store`
//! implements the trait.

pub mod access;
pub mod appeal;
pub mod body;
pub mod channel;
pub mod chart;
pub mod dataset_check;
pub mod entry;
pub mod event;
pub mod grade;
pub mod names;
pub mod pair;
pub mod prompt_history;
pub mod retention;
pub mod rollup;
pub mod store;
pub mod sum;

pub use appeal::Appeal;
pub use body::{Body, BodyKind};
pub use entry::{Claim, Entry, RequestKey, SealedReply};
pub use event::Event;
pub use grade::GradeRecord;
pub use prompt_history::Visit;
