//! The roles that a word may have in a sentence about an answer, found by one look-up in a table
//! built from [`languages`](super::languages) and [`phrases`](super::phrases). Does not scan text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::characters::is_spaced;
use crate::languages::LANGUAGES;
use crate::phrases::beliefs::{
    BELIEFS, COMPLEMENTIZERS, CONNECTIVES, DISBELIEFS, FIRSTS, NEGATORS, PRESUPPOSES, REFUSALS,
    RULES_OUT, TEMPTS, WAYS,
};
use crate::phrases::judgements::{ANSWER_NOUNS, FALSEHOODS, FALSELY, FORMERLY, TRUTHS};
use crate::phrases::predicates::{
    ACCEPTING_PHRASES, AUXILIARIES, FAILING_PHRASES, FAILURES, FILLERS, FITS, REFERS,
    REJECTING_PHRASES, REJECTIONS, TURNS,
};
use crate::phrases::qualifying::{EXCEPTS, EXCLUDES, QUALIFIES_BEFORE};
use crate::phrases::retractions::{INTERJECTIONS, OPENERS, WAITS};
use crate::phrases::{
    ANNOUNCES, CONSEQUENTS, FUNCTIONS, GUESSES, HEDGES, MODALS, NUMBERED, SUBORDINATES,
    SUPPOSITIONS, UNDERMINES, UNIT_ENDINGS, UNIT_PREFIXES, UNITS,
};
use crate::scales::POWERS;

/// How two answers of a list are joined. If several joiners are between them, the greatest decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Joiner {
    Comma,
    Equals,
    And,
    Or,
}

impl Joiner {
    /// How the joiner is written in the extracted list, in any language.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Comma => ", ",
            Self::Equals => " = ",
            Self::And => " and ",
            Self::Or => " or ",
        }
    }
}

/// Longest word of the tables, in bytes. Longer words have no role and are not looked up.
const MAX_WORD_BYTES: usize = 32;

/// The roles of a word, as a set of bits. A word may have several: "so" opens a conclusion and may
/// precede a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Roles(u64);

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Roles {
            $($(#[$doc])* pub(super) const fn $name(self) -> bool {
                self.0 & (1 << $bit) != 0
            })*
        }

        /// The bit of each role, named like its method.
        mod bit {
            $(
                #[expect(non_upper_case_globals, reason = "named like the method")]
                pub(super) const $name: u64 = 1 << $bit;
            )*
        }
    };
}

roles! {
    /// A verb between a subject and its value: "is".
    verb = 0;
    /// May be between the name of an answer and the verb: "the answer *to* …".
    between = 1;
    /// May precede a value without being part of it: "approximately".
    before_value = 2;
    /// Starts or names a conclusion: "therefore", "the total".
    conclusion = 3;
    /// Negates what follows: "not".
    negation = 4;
    /// Joins answers that apply together: "and".
    joins_and = 5;
    /// Joins alternatives: "or".
    joins_or = 6;
    /// After a number it continues the sentence and is not a unit: "5 because …".
    never_unit = 7;
    /// A unit or the first word of one.
    unit = 8;
    /// The first word of a unit of several words.
    unit_prefix = 9;
    /// A function or constant of mathematics.
    function = 10;
    /// Its number is a label and not a value: "step 3".
    numbered = 11;
    /// Weakens a joiner without changing it: "or perhaps".
    hedge = 12;
    /// Starts a clause about a value that was already stated: "because".
    subordinate = 13;
    /// Before a statement, changes its meaning: "if the answer is 5".
    undermines = 14;
    /// Announces an answer instead of being one: "as follows".
    announces = 15;
    /// The last word of a phrase that qualifies the value after it.
    ends_qualifier = 16;
    /// Makes its clause hypothetical: "if".
    supposition = 17;
    /// Starts the consequence of a hypothesis: "then".
    consequent = 18;
    /// Offers an alternative after a comma: "41, maybe 42".
    guess = 19;
    /// An interjection that may start a retraction: "wait".
    interjection = 20;
    /// May precede an interjection: "but wait".
    opener = 21;
    /// Denies the value before it: "42 *değil*".
    denies_after = 22;
    /// Between a part and its whole: "18 *of* 42".
    of = 23;
    /// Before the place of a value: "42 *when* n = 7".
    place = 24;
    /// Accepts the clause after it: "I do not *think* that".
    believes = 25;
    /// Denies the clause after it: "I *doubt* that".
    disbelieves = 26;
    /// Calls a clause or an answer false: "it is *false* that".
    falsehood = 27;
    /// Calls a clause or an answer right: "it is not *true* that".
    truth = 28;
    /// Its clause is true, negated or not: "it is not *hard* to see that".
    presupposes = 29;
    /// Negates a clause: "*nobody* would say that".
    negates_clause = 30;
    /// Negates the infinitive after it: "I *refuse* to believe".
    refuses = 31;
    /// Starts a clause of its own: "but".
    connective = 32;
    /// Starts a clause that is the object of a verb: "I doubt *that*".
    complementizer = 33;
    /// A noun for an answer: "a wrong *solution* gives".
    answer_noun = 34;
    /// Rejects the value before it: "42 is *extraneous*".
    rejects = 35;
    /// Rejects its subject: "42 *fails* the check".
    failure = 36;
    /// Accepts its subject: "42 does not *satisfy* the equation".
    fits = 37;
    /// May precede a predicate: "42 *must* be rejected".
    auxiliary = 38;
    /// Does not change a predicate: "a *common* mistake".
    filler = 39;
    /// Refers to the value before it: "42, *which* is wrong".
    refers = 40;
    /// May precede such a subject: "42, *but* that is wrong".
    turns = 41;
    /// Calls the statement around it a fault: "is *wrongly* said to be".
    falsely = 42;
    /// What was so in the past: "is no *longer*".
    formerly = 43;
    /// The last word of a phrase that excepts the value after it: "other *than*".
    ends_exception = 44;
    /// A way in which a clause could be true: "there is no *way* that".
    way = 45;
    /// Of a script without blanks between words: a part of a clause or a whole one.
    wide = 46;
    /// The last word of a phrase that excludes the value after it: "instead *of*".
    ends_exclusion = 47;
    /// The first word of a phrase that accepts or rejects the value before it: "*outside* the
    /// domain".
    begins_rejection = 48;
    /// The first word of a phrase that excludes its object: "*rule* out 42".
    begins_exclusion = 49;
    /// In a clause that may only suppose its value: "I *first* got", "one *might* think".
    tentative = 50;
}

impl Roles {
    /// Whether the word may change the verdict of the clause after it. Nearly all words do not.
    pub(super) const fn judges(self) -> bool {
        const ANY: u64 = bit::negation
            | bit::believes
            | bit::disbelieves
            | bit::falsehood
            | bit::truth
            | bit::negates_clause
            | bit::refuses
            | bit::falsely
            | bit::formerly
            | bit::way
            | bit::begins_exclusion
            | bit::wide;
        self.0 & ANY != 0
    }

    /// Whether the word may change the verdict of the value before it. Nearly all words do not.
    pub(super) const fn refutes(self) -> bool {
        const ANY: u64 = bit::negation
            | bit::negates_clause
            | bit::denies_after
            | bit::rejects
            | bit::disbelieves
            | bit::failure
            | bit::begins_rejection
            | bit::wide;
        self.0 & ANY != 0
    }

    /// The joiner that the word is, if any. "or" decides if a word is both.
    pub(super) const fn joiner(self) -> Option<Joiner> {
        if self.joins_or() {
            Some(Joiner::Or)
        } else if self.joins_and() {
            Some(Joiner::And)
        } else {
            None
        }
    }
}

/// The roles of every word of the tables.
static TABLE: LazyLock<HashMap<&'static str, Roles>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Roles> = HashMap::new();
    let mut add = |words: &[&'static str], bit: u64| {
        for word in words {
            table.entry(word).or_default().0 |= bit;
        }
    };
    for language in LANGUAGES {
        add(language.verb, bit::verb);
        add(language.between, bit::between);
        add(language.before_value, bit::before_value);
        add(language.conclusion, bit::conclusion);
        add(language.not, bit::negation);
        add(language.and, bit::joins_and);
        add(language.or, bit::joins_or);
        add(language.never_unit, bit::never_unit);
        add(language.not_after, bit::denies_after);
        add(language.of, bit::of);
        add(language.place, bit::place);
        add(language.answer, bit::answer_noun);
    }
    add(UNITS, bit::unit);
    add(UNIT_PREFIXES, bit::unit | bit::unit_prefix);
    for (_, words) in POWERS {
        add(words, bit::unit | bit::unit_prefix);
    }
    add(FUNCTIONS, bit::function);
    add(NUMBERED, bit::numbered);
    add(HEDGES, bit::hedge);
    add(SUBORDINATES, bit::subordinate);
    add(UNDERMINES, bit::undermines);
    add(ANNOUNCES, bit::announces);
    add(SUPPOSITIONS, bit::supposition);
    add(CONSEQUENTS, bit::consequent);
    add(GUESSES, bit::guess);
    add(INTERJECTIONS, bit::interjection);
    add(WAITS, bit::interjection);
    add(OPENERS, bit::opener);
    add(BELIEFS, bit::believes);
    add(DISBELIEFS, bit::disbelieves);
    add(FALSEHOODS, bit::falsehood | bit::rejects);
    add(TRUTHS, bit::truth | bit::fits);
    add(PRESUPPOSES, bit::presupposes);
    add(NEGATORS, bit::negates_clause);
    add(REFUSALS, bit::refuses);
    add(CONNECTIVES, bit::connective);
    add(COMPLEMENTIZERS, bit::complementizer);
    add(ANSWER_NOUNS, bit::answer_noun);
    add(REJECTIONS, bit::rejects);
    add(FAILURES, bit::failure);
    add(FITS, bit::fits);
    add(AUXILIARIES, bit::auxiliary);
    add(FILLERS, bit::filler);
    add(REFERS, bit::refers);
    add(TURNS, bit::turns);
    add(FALSELY, bit::falsely);
    add(FORMERLY, bit::formerly);
    add(WAYS, bit::way);
    add(MODALS, bit::tentative);
    add(TEMPTS, bit::tentative);
    add(FIRSTS, bit::tentative);
    add(&["would"], bit::tentative);
    let first_word = |phrase: &&'static str| phrase.split(' ').next().unwrap_or(phrase);
    for phrases in [REJECTING_PHRASES, FAILING_PHRASES, ACCEPTING_PHRASES] {
        for phrase in phrases {
            add(&[first_word(phrase)], bit::begins_rejection);
        }
    }
    // "anything but right", "too large"
    add(&["anything", "too"], bit::begins_rejection);
    for phrase in RULES_OUT {
        add(&[first_word(phrase)], bit::begins_exclusion);
    }
    let last_word = |phrase: &&'static str| phrase.rsplit(' ').next().unwrap_or(phrase);
    for phrase in QUALIFIES_BEFORE {
        add(&[last_word(phrase)], bit::ends_qualifier);
    }
    for phrase in EXCLUDES {
        add(&[last_word(phrase)], bit::ends_exclusion);
    }
    for phrase in EXCEPTS {
        add(&[last_word(phrase)], bit::ends_exception);
    }
    table
});

/// The roles of `word`, in any case.
pub(super) fn roles(word: &str) -> Roles {
    if word.len() > MAX_WORD_BYTES {
        let wide = !word.starts_with(is_spaced);
        return Roles(if wide { bit::wide } else { 0 });
    }
    let word = lower(word);
    let mut roles = TABLE.get(&*word).copied().unwrap_or_default();
    if word.ends_with("n't") {
        roles.0 |= bit::negation;
    }
    if word.ends_with("'d") {
        roles.0 |= bit::tentative;
    }
    if !word.starts_with(is_spaced) {
        roles.0 |= bit::wide;
    }
    if UNIT_ENDINGS.iter().any(|ending| word.ends_with(ending)) {
        roles.0 |= bit::unit;
    }
    roles
}

/// The names of an answer in all languages. The short names of `language` are included only if it
/// is given.
pub(super) fn answer_names(language: Option<&str>) -> impl Iterator<Item = &'static str> {
    let language = language.map(str::to_lowercase);
    LANGUAGES.iter().flat_map(move |entry| {
        let matches = language
            .as_deref()
            .is_some_and(|language| entry.names.contains(&language));
        let short: &[&str] = if matches { entry.answer_if_known } else { &[] };
        entry.answer.iter().chain(short).copied()
    })
}

/// The word in lower case with plain apostrophes. Does not allocate if it is already in this form.
pub(super) fn lower(word: &str) -> Cow<'_, str> {
    let plain = if word.is_ascii() {
        !word.bytes().any(|byte| byte.is_ascii_uppercase())
    } else {
        !word.chars().any(|c| c.is_uppercase() || c == '’')
    };
    if plain {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase().replace('’', "'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_words_in_any_case_with_all_their_roles() {
        assert!(roles("IS").verb() && roles("ist").verb() && roles("是").verb());
        assert!(roles("CAN’T").negation());
        assert_eq!(roles("Oder").joiner(), Some(Joiner::Or));
        assert!(roles("kilometres").unit() && !roles("apples").unit());
        assert_eq!(roles(&"a".repeat(100)), Roles::default());
    }

    #[test]
    fn finds_the_longest_words_of_the_tables() {
        assert!(TABLE.keys().all(|word| word.len() <= MAX_WORD_BYTES));
    }

    #[test]
    fn requires_language_for_short_names() {
        assert!(!answer_names(None).any(|name| name == "r"));
        assert!(answer_names(Some("French")).any(|name| name == "r"));
    }
}
