//! The rules a comparison may be decided by, each with its ground.

/// Which rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The texts are the same but for layout, and the gold parses.
    SameText,
    /// The trees are the same after exact arithmetic.
    SameTree,
    /// Two exact rationals.
    Rational,
    /// Two constants lie further apart than their certified error.
    Apart,
    /// Two algebraic numbers are closer than their separation bound allows two different ones to be
    /// (Burnikel, Fleischer, Mehlhorn and Schirra 2000).
    Algebraic,
    /// Two constants agree to the stated precision, see `crate::decide`.
    Precision,
    /// A limit, an integral or an infinite sum agrees, or not, as far as it is known, see
    /// `crate::decide::approach`.
    Approached,
    /// An integral without ends: both sides have, or have not, the same derivative.
    Antiderivative,
    /// Two rational functions agree, or not, at random points modulo random primes (Schwartz 1980,
    /// Zippel 1979).
    Identity,
    /// Two expressions agree, or not, at random points of their common domain.
    Sampled,
    /// Two equations are, or are not, multiples of each other.
    Equation,
    /// A value against a solved equation.
    Solved,
    /// Values of a parameter that runs through a set.
    Family,
    /// Ordered components one by one.
    Tuple,
    /// Components in any order.
    Unordered,
    /// Cell by cell.
    Matrix,
    /// Unions of intervals over the reals.
    RealSet,
    /// Chains of statements side by side.
    Chain,
    /// Words after typography.
    Text,
    /// Letters of a multiple choice.
    Choice,
    /// Quantities with their units.
    Unit,
    /// Numerals in a base.
    Base,
    /// Times of day and dates.
    Time,
    /// Ratios by cross-multiplication.
    Ratio,
    /// The task's tolerance or rounding.
    Tolerance,
    /// The kinds have nothing in common.
    Kind,
    /// The answer is written in a form that the task does not allow.
    Form,
    /// The answer does not parse.
    Unparsed,
    /// The step budget ran out.
    Budget,
}

impl Rule {
    /// Every rule.
    pub const ALL: &[Self] = &[
        Self::SameText,
        Self::SameTree,
        Self::Rational,
        Self::Apart,
        Self::Algebraic,
        Self::Precision,
        Self::Approached,
        Self::Antiderivative,
        Self::Identity,
        Self::Sampled,
        Self::Equation,
        Self::Solved,
        Self::Family,
        Self::Tuple,
        Self::Unordered,
        Self::Matrix,
        Self::RealSet,
        Self::Chain,
        Self::Text,
        Self::Choice,
        Self::Unit,
        Self::Base,
        Self::Time,
        Self::Ratio,
        Self::Tolerance,
        Self::Kind,
        Self::Form,
        Self::Unparsed,
        Self::Budget,
    ];

    /// The name in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameText => "same_text",
            Self::SameTree => "same_tree",
            Self::Rational => "rational",
            Self::Apart => "apart",
            Self::Algebraic => "algebraic",
            Self::Precision => "precision",
            Self::Approached => "approached",
            Self::Antiderivative => "antiderivative",
            Self::Identity => "identity",
            Self::Sampled => "sampled",
            Self::Equation => "equation",
            Self::Solved => "solved",
            Self::Family => "family",
            Self::Tuple => "tuple",
            Self::Unordered => "unordered",
            Self::Matrix => "matrix",
            Self::RealSet => "real_set",
            Self::Chain => "chain",
            Self::Text => "text",
            Self::Choice => "choice",
            Self::Unit => "unit",
            Self::Base => "base",
            Self::Time => "time",
            Self::Ratio => "ratio",
            Self::Tolerance => "tolerance",
            Self::Kind => "kind",
            Self::Form => "form",
            Self::Unparsed => "unparsed",
            Self::Budget => "budget",
        }
    }
}
