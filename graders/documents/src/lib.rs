//! What models write instead of prose: JSON trees with exact numbers, how they compare, whether a
//! schema holds, and calls of tools in every text form models use. Shared by graders that read such
//! documents; gives no verdict.

pub mod calls;
pub mod json;
pub mod schema;

pub use json::{Broken, Json};
pub use schema::Schema;
