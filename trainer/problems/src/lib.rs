//! Generated training problems with the tasks that grade them. Owns no completions and no grading.
//!
//! A [`Family`] generates problems of one kind and difficulty and has a known size. Problems are
//! iterated in an order drawn from a seed, each once per round, and built on request, so that no
//! set of problems is stored. A [`Mixture`] draws from several families in fixed shares.
//!
//! # Held-out problems
//!
//! [`Split::of`] decides by a hash of the problem itself, not of its number, its seed or its
//! configuration: a problem that is held out in one family is held out in every family of its kind,
//! with any options. The hash is computed from a canonical text, which is equal for problems
//! that differ only in the order of the factors of a product, of the terms of a sum, or of the
//! numbers to sort. So `47+85` and `85+47` are two problems that are always in the same part, while
//! `a-b` and `b-a` can be in different parts.
//!
//! # Example
//!
//! ```
//! use assay_problems::{Mixture, Split};
//!
//! let json = r#"[{"family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"]}]"#;
//! let mixture: Mixture = serde_json::from_str(json)?;
//! let problem = mixture.endless(Split::Train, 7).next().expect("there are training problems");
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
mod problem;
mod python;
mod range;
mod rank;
mod rule;
mod sorting;
mod split;
mod sql;
mod tokenizer;

use std::io::{self, Write};

pub use arithmetic::Arithmetic;
pub use error::FamilyError;
pub use expression::Operator;
pub use family::{Family, Problems};
pub use form::Form;
pub use mixture::{Drawn, Mixture, Share};
pub use modular::Modular;
pub use problem::Problem;
pub use python::Python;
pub use sorting::{Direction, Sorting};
pub use split::Split;
pub use sql::Sql;
pub use tokenizer::CharacterTokenizer;

/// Writes problems as JSON, one per line.
///
/// # Errors
/// The writer fails.
pub fn write(problems: impl IntoIterator<Item = Problem>, mut to: impl Write) -> io::Result<()> {
    for problem in problems {
        serde_json::to_writer(&mut to, &problem)?;
        to.write_all(b"\n")?;
    }
    to.flush()
}
