//! Grader `math`: is the answer equivalent to the gold? Owns parsing, normal forms and equality of
//! mathematical answers; where the answer stands in a completion is `assay_core::extraction`'s
//! knowledge.
//!
//! # What it checks
//!
//! Numbers, expressions, equations, inequalities, intervals, sets, tuples, lists, matrices,
//! quantities, money, ratios, numerals in a base, dates, times, numbers in words, multiple choice
//! and words, written in LaTeX, plain ASCII or Unicode. Numbers are exact; constants with radicals
//! are proved equal by a separation bound; other constants agree within `2^-256` beyond the size of
//! the numbers in them; rational functions agree at random points modulo random 61-bit primes,
//! other functions at random points of their domain. Each grade names the rule that decided.
//!
//! # What it refuses
//!
//! Rounding nobody asked for, solving equations, alternatives (`5 or 6` for `5`), false chains (`8
//! = 7` for `7`), intervals whose ends differ, units that differ, names that differ. Work is
//! charged to a step budget, so no input is slow and no verdict depends on the machine's load; what
//! cannot be decided within it is wrong.
//!
//! # BallResult false positives
//!
//! - `1,22` equals `1.22` as well as the list of 1 and 22: a comma between digits is ambiguous.
//! - `(1, 2)` equals the bare list `1, 2`, which many completions write for a tuple.
//! - `7 red apples` equals 7: up to three plain words after a number say what is counted, unless
//!   one of them negates, compares, calculates or offers something else, and the list of such words
//!   is finite.
//! - Where neither the task nor the gold gives an option's text, a letter may be followed by any
//!   text that takes nothing back.
//! - `H_2O` equals `OH_2`: as names with indices they are one product.
//! - `7 m` is seven metres as well as seven times m, so it equals 7; `7m` does not.
//! - `10 pounds` equals `£10` and `10 lb`; `¥10` equals ten yen and ten yuan; `01/02/2024` equals
//!   either day.
//! - Functions with jumps are compared at random points and at ten simple fractions; a difference
//!   elsewhere is not seen.
//! - Expressions are compared where both are real, so `ln(x²)` equals `2 ln x`, which holds for
//!   positive x.
//!
//! # BallResult false negatives
//!
//! - Words that mean the same but are not the same words, outside a short table (yes and true, no
//!   solution, weekdays).
//! - A gold that states more than the answer needs, unless it is one plain sentence about a name
//!   (`Anna wins` for `Anna`).
//! - Names of up to three letters in another case (`LI` for `Li`), because `CO` is not `Co`.
//! - Integrals over integrals, infinite limits and infinite products are compared as written;
//!   inequalities are solved only where linear.
//! - Texts in which more than 200 operators stand upon other operators of one operand (`x!!` has
//!   one) are not read.
//! - With `choices`, an option's letter followed by other words than the option's own.
//! - Labelled values in another order than a bare list's.
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
mod compare;
mod decide;
mod evidence;
mod grade;
mod normal;
mod number;
mod options;
mod parse;
mod prepare;
mod spec;
mod task;
pub mod tree;

pub use compare::{BadGold, Comparison, Gold, equivalent};
pub use decide::rule::Rule;
pub use number::Rational;
pub use options::{Options, Order, Percent, Rounding, Tolerance, Units};
pub use parse::{MAX_TEXT, Reading, read};
pub use prepare::MathGrader;
pub use spec::SPEC;
