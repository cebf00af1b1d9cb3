//! The rules that may decide a comparison.

/// The rule that decided a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The texts are the same up to layout, and the gold can be read.
    SameText,
    /// The trees are the same after exact arithmetic.
    SameTree,
    /// Two exact rationals were compared.
    Rational,
    /// The certified balls of two constants do not overlap.
    Apart,
    /// Two algebraic numbers are closer than the separation bound of different ones (Burnikel,
    /// Fleischer, Mehlhorn and Schirra 2000).
    Algebraic,
    /// Two constants agree to the precision that `crate::decide` assumes to be sufficient.
    Precision,
    /// Limits, definite integrals or infinite sums agree, or do not, to the precision of
    /// `crate::decide::approach`.
    Approached,
    /// Indefinite integrals: both sides have, or do not have, the same derivative.
    Antiderivative,
    /// Two rational functions agree, or do not, at random points modulo random primes (Schwartz
    /// 1980, Zippel 1979).
    Identity,
    /// Two expressions agree, or do not, at random points of their common domain.
    Sampled,
    /// Two equations are, or are not, multiples of each other.
    Equation,
    /// A value was compared with a solved equation.
    Solved,
    /// Families of values with a parameter that runs through a set.
    Family,
    /// Components in order.
    Tuple,
    /// Components in any order.
    Unordered,
    /// Matrices, entry by entry.
    Matrix,
    /// Unions of intervals over the reals.
    RealSet,
    /// Chains of relations, side by side.
    Chain,
    /// Words, without their typography.
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
    /// The task's tolerance or rounding accepted the answer.
    Tolerance,
    /// The two answers are of different kinds.
    Kind,
    /// The answer is written in a form that the task does not allow.
    Form,
    /// The answer cannot be read.
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
