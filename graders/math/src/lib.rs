//! Grader `math`: is the answer equivalent to the gold? Owns parsing, normal forms and equality of
//! mathematical answers. Finding the answer in a completion belongs to `assay_extraction`.
//!
//! # What it checks
//!
//! Numbers, expressions, equations, inequalities, intervals, sets, tuples, lists, matrices,
//! quantities, money, ratios, numerals in a base, dates, times, numbers in words, multiple choice
//! and words, written in LaTeX, plain ASCII or Unicode. Numbers are exact. Constants with radicals
//! are proved equal by a separation bound; other constants must agree within `2^-256` beyond the
//! size of the numbers in them. Rational functions must agree at random points modulo random 61-bit
//! primes, other functions at random points of their domain. Each grade names the rule that
//! decided.
//!
//! # What it refuses
//!
//! Rounding that the task does not allow, equations that would have to be solved, alternatives (`5
//! or 6` for `5`), false chains (`8 = 7` for `7`), and different interval ends, units or names.
//! Work is charged to a step budget, so the time for any input is bounded and no verdict depends on
//! the load of the machine. An answer that cannot be decided within the budget is wrong.
//!
//! # Known false positives
//!
//! - `3,85` equals `3.85` as well as the list of 3 and 85: a comma between digits is ambiguous.
//! - `(1, 2)` equals the bare list `1, 2`, because many completions write a tuple like that.
//! - `7 red apples` equals 7: up to three plain words after a number may name what is counted,
//!   unless one of them negates, compares, calculates or offers an alternative. The list of such
//!   words is finite.
//! - If neither the task nor the gold has the text of an option, its letter may be followed by any
//!   text that does not retract it.
//! - `H_2O` equals `OH_2`: read as names with indices, both are the same product.
//! - `7 m` equals 7, because it may also be seven times m; `7m` does not.
//! - `10 pounds` equals both `£10` and `10 lb`, `¥10` both ten yen and ten yuan, and `01/02/2024`
//!   both possible days.
//! - Functions with jumps, poles and waves are compared where their pieces are found: near 0, near
//!   the numbers in them, and on a coarse grid elsewhere.
//! - Expressions are compared where both are real, so `ln(x²)` equals `2 ln x`, although only for
//!   positive x.
//!
//! # Known false negatives
//!
//! - Synonyms outside a short table (yes and true, no solution, weekdays).
//! - Golds with more than the answer needs, except one plain sentence about a name (`Anna wins` for
//!   `Anna`).
//! - Names of up to three letters in another case (`LI` for `Li`), because `CO` is not `Co`.
//! - Integrals of integrals, infinite limits and infinite products are compared as written;
//!   inequalities are solved only if they are linear.
//! - Texts with more than 200 operators that apply to the result of another one without brackets
//!   (`x!!` has one) are not read.
//! - With `choices`, the letter of an option followed by other words than its text.
//! - Labelled values in another order, if the other side has no labels.
//!
//! # Example
//!
//! ```
//! use assay_math::{Options, equivalent};
//!
//! let found = equivalent(r"\frac{\sqrt{3}}{3}", "1/sqrt(3)", &Options::default());
//! assert!(found.equal);
//! assert_eq!(found.rule.as_str(), "algebraic");
//! assert!(!equivalent("7", "8 = 7", &Options::default()).equal);
//! ```

pub mod budget;
#[cfg(test)]
extern crate self as assay_math;

mod canonical;
mod compare;
mod decide;
mod difference;
mod evidence;
mod explain;
mod grade;
mod normal;
mod number;
mod options;
mod parse;
mod prepare;
mod spec;
mod task;
pub mod tree;

pub use compare::{Comparison, Gold, GoldError, equivalent, normal_form};
pub use decide::rule::Rule;
pub use explain::explain;
pub use number::Rational;
pub use options::{Options, Order, Percent, Points, Rounding, Tolerance, Units};
pub use parse::{MAX_TEXT, Reading, read};
pub use prepare::MathGrader;
pub use spec::SPEC;
