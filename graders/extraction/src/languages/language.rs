//! The words of a language, by their role.

/// Words of one language, in lower case.
pub(crate) struct Language {
    /// Code and English name, as a task may specify them.
    pub(crate) names: &'static [&'static str],
    /// Names of an answer: "the *answer* is 5", "*答案*：5".
    pub(crate) answer: &'static [&'static str],
    /// Names that are too short to be safe unless the language is known: "*R*: 5".
    pub(crate) answer_if_known: &'static [&'static str],
    /// Verbs between the name and the value: "the answer *is* 5".
    pub(crate) verb: &'static [&'static str],
    /// Words that may be between name and verb: "the answer *to the question* is 5".
    pub(crate) between: &'static [&'static str],
    /// Words before a value that are not part of it: "is *approximately* 5".
    pub(crate) before_value: &'static [&'static str],
    /// Words that start or name a conclusion: "*therefore* …", "the *result* …".
    pub(crate) conclusion: &'static [&'static str],
    /// Negations: "It is *not* B."
    pub(crate) not: &'static [&'static str],
    /// Conjunctions between answers that apply together.
    pub(crate) and: &'static [&'static str],
    /// Conjunctions between alternatives.
    pub(crate) or: &'static [&'static str],
    /// Words that may follow a number but are not its unit: "5 *because* …".
    pub(crate) never_unit: &'static [&'static str],
    /// Denials after a value, in languages that put them there: "42 *değil*". In scripts without
    /// blanks, the start of such a word: "42*ではな*く".
    pub(crate) not_after: &'static [&'static str],
    /// Prepositions between a part and its whole: "18 *of* 42".
    pub(crate) of: &'static [&'static str],
    /// Words before the place of a value: "42 *when* n = 7". In scripts without blanks, the end of
    /// such a word.
    pub(crate) place: &'static [&'static str],
    /// The verb follows the value, so that the value may follow the name directly: "Cevap *42*'dir".
    pub(crate) verb_last: bool,
}

impl Language {
    pub(super) const EMPTY: Self = Self {
        names: &[],
        answer: &[],
        answer_if_known: &[],
        verb: &[],
        between: &[],
        before_value: &[],
        conclusion: &[],
        not: &[],
        and: &[],
        or: &[],
        never_unit: &[],
        not_after: &[],
        of: &[],
        place: &[],
        verb_last: false,
    };
}
