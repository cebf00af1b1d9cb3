//! Prompts with their tasks, and the order in which they are used. Independent of the policy model
//! and of grading.

mod lines;
mod pool;
mod selection;
mod source;
mod spread;

pub use self::lines::Lines;
pub use self::pool::Pool;
pub use self::selection::{SelectedPrompt, Selection, Strategy};
pub use self::spread::{Spread, group_spread};
pub use source::{DataError, Item, Source};
