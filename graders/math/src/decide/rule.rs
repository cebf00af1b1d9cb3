//! The rules that may decide a comparison.

macro_rules! rules {
    ($($variant:ident $name:literal: $meaning:literal;)*) => {
        /// The rule that decided a comparison.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(#[doc = $meaning] $variant,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in evidence.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What the rule compares, as a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }
        }
    };
}

rules! {
    SameText "same_text":
        "The texts are the same up to layout, and the gold can be read.";
    SameTree "same_tree":
        "The trees are the same after exact arithmetic.";
    Rational "rational":
        "Two exact rationals were compared.";
    Apart "apart":
        "The certified balls of two constants do not overlap.";
    Algebraic "algebraic":
        "Two algebraic numbers are closer than the separation bound of different ones (Burnikel, \
        Fleischer, Mehlhorn and Schirra 2000).";
    Precision "precision":
        "Two constants agree to the precision that is assumed to be sufficient.";
    Approached "approached":
        "Limits, definite integrals or infinite sums agree, or do not, to the precision that \
        approximation reaches.";
    Antiderivative "antiderivative":
        "Indefinite integrals: both sides have, or do not have, the same derivative.";
    Identity "identity":
        "Two rational functions agree, or do not, at random points modulo random primes (Schwartz \
        1980, Zippel 1979).";
    Sampled "sampled":
        "Two expressions agree, or do not, at random points of their common domain.";
    Equation "equation":
        "Two equations are, or are not, multiples of each other.";
    Solved "solved":
        "A value was compared with a solved equation.";
    Family "family":
        "Families of values with a parameter that runs through a set.";
    Tuple "tuple":
        "Components in order.";
    Unordered "unordered":
        "Components in any order.";
    Matrix "matrix":
        "Matrices, entry by entry.";
    RealSet "real_set":
        "Unions of intervals over the reals.";
    Chain "chain":
        "Chains of relations, side by side.";
    Condition "condition":
        "A condition restricts one of the answers, and the other one has none or another one.";
    Text "text":
        "Words, without their typography.";
    Choice "choice":
        "Letters of a multiple choice.";
    Unit "unit":
        "Quantities with their units.";
    Base "base":
        "Numerals in a base.";
    Time "time":
        "Times of day and dates.";
    Ratio "ratio":
        "Ratios by cross-multiplication.";
    Tolerance "tolerance":
        "The task's tolerance or rounding accepted the answer.";
    Kind "kind":
        "The two answers are of different kinds.";
    Form "form":
        "The answer is written in a form that the task does not allow.";
    Unparsed "unparsed":
        "The answer cannot be read.";
    Budget "budget":
        "The step budget ran out.";
}
