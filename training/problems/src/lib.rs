//! Problems to learn from, made by rule, with the tasks that grade them. Owns no completion and no
//! grading.
//!
//! A [`Family`] is a rule with a difficulty, and knows how many problems it has. They come in an
//! order drawn from a seed, each once a round, and are made when they are asked for, so that no set
//! of problems is kept anywhere. A [`Mixture`] draws from several families in fixed shares.
//!
//! # What is held out
//!
//! [`Split::of`] decides by a hash of the problem itself, never of its number, its seed or the
//! configuration that made it: a problem that is held out of one family is held out of every family
//! of its kind, however they are configured. The hash is taken of a canonical text, which problems
//! share whose answers follow from each other by changing places: the factors of a product, the
//! terms of a sum, the numbers of a list to sort. So `47+85` and `85+47` are two problems and
//! always on the same side, while `a-b` and `b-a` may be on two.
//!
//! # Example
//!
//! ```
//! use assay_problems::{Mixture, Split};
//!
//! let json = r#"[{"family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"]}]"#;
//! let mixture: Mixture = serde_json::from_str(json)?;
//! let problem = mixture.endless(Split::Train, 7).next().expect("two digits have problems to train on");
//! assert!(problem.prompt.ends_with('='));
//! assert_eq!(problem.task["type"], "structured");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod arithmetic;
mod error;
mod expression;
mod family;
mod form;
mod mixture;
mod modular;
mod permutation;
mod python;
mod range;
mod rank;
mod sorting;
mod split;
mod sql;
mod tokens;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

pub use arithmetic::Arithmetic;
pub use error::FamilyError;
pub use expression::Operator;
pub use family::{Family, Problems};
pub use form::Form;
pub use mixture::{Drawn, Mixture, Share};
pub use modular::Modular;
pub use python::Python;
pub use sorting::{Direction, Sorting};
pub use split::Split;
pub use sql::Sql;
pub use tokens::Tokens;

/// A problem with the task that grades it. As JSON it is a line of a file of prompts: `prompt`,
/// `task`, `prompt_key`, `solution`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// What the policy is asked.
    pub prompt: String,
    /// The task of the service that grades a completion.
    pub task: Value,
    /// Stable and unique: the same prompt with the same task has it in every run, and no other has.
    /// The service's `prompt_key`.
    #[serde(rename = "prompt_key")]
    pub key: String,
    /// A completion that earns 1.
    pub solution: String,
}

/// Writes problems as JSON, one a line.
///
/// # Errors
/// When the writer fails.
pub fn write(problems: impl IntoIterator<Item = Problem>, mut to: impl Write) -> io::Result<()> {
    for problem in problems {
        serde_json::to_writer(&mut to, &problem)?;
        to.write_all(b"\n")?;
    }
    to.flush()
}
