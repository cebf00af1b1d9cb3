//! What a word means for an answer: one look-up for each word, in the tables of
//! [`languages`](super::languages) and [`phrases`](super::phrases). Reads no text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::LANGUAGES;
use super::phrases::{
    ANNOUNCES, CONSEQUENTS, FUNCTIONS, GUESSES, HEDGES, INTERJECTIONS, NUMBERED, OPENERS,
    QUALIFIES_BEFORE, SUBORDINATES, SUPPOSES, UNDERMINES, UNIT_ENDINGS, UNIT_PREFIXES, UNITS,
};

/// What stands between two answers of one list. The order says which wins where several stand
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Joiner {
    Comma,
    Equals,
    And,
    Or,
}

impl Joiner {
    /// How a list spells it, whatever the language of the text.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Comma => ", ",
            Self::Equals => " = ",
            Self::And => " and ",
            Self::Or => " or ",
        }
    }
}

/// Longest word of the tables, in bytes: longer words mean nothing and are not looked up.
const LONGEST: usize = 32;

/// The parts a word can play.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Roles(u32);

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Roles {
            $($(#[$doc])* pub(super) const fn $name(self) -> bool {
                self.0 & (1 << $bit) != 0
            })*
        }

        /// The bit of each role, named as its method.
        mod bit {
            $(#[expect(non_upper_case_globals, reason = "named as the method")] pub(super) const $name: u32 = 1 << $bit;)*
        }
    };
}

roles! {
    /// A verb between a name or subject and what it is.
    verb = 0;
    /// May stand between an answer's name and the verb.
    between = 1;
    /// May stand before a value without being part of it.
    before_value = 2;
    /// Opens or names a conclusion.
    conclusion = 3;
    /// Denies what follows.
    denies = 4;
    /// Joins answers that hold together.
    joins_and = 5;
    /// Joins alternatives.
    joins_or = 6;
    /// After a number, a word of the sentence and no unit.
    no_unit = 7;
    /// A unit, or the first word of one.
    unit = 8;
    /// The first word of a unit of several words.
    unit_prefix = 9;
    /// A function or constant of mathematics.
    function = 10;
    /// Its number counts and names: "step 3".
    numbered = 11;
    /// Softens a joiner.
    hedge = 12;
    /// Opens a clause about a value already named.
    subordinate = 13;
    /// Before a statement, makes it say something else.
    undermines = 14;
    /// Announces an answer rather than being one.
    announces = 15;
    /// The last word of a phrase that qualifies the value after it.
    ends_qualifier = 16;
    /// Only supposes what follows it in its clause.
    supposes = 17;
    /// Opens what follows from a supposition.
    consequent = 18;
    /// Offers another answer after a comma.
    guesses = 19;
    /// Interrupts, and opens a sentence that may take back what was said.
    interjects = 20;
    /// May stand before an interjection.
    opens = 21;
}

impl Roles {
    /// What the word joins, if it is a joiner.
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

static TABLE: LazyLock<HashMap<&'static str, Roles>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Roles> = HashMap::new();
    let mut add = |words: &[&'static str], bit: u32| {
        for word in words {
            table.entry(word).or_default().0 |= bit;
        }
    };
    for language in LANGUAGES {
        add(language.verb, bit::verb);
        add(language.between, bit::between);
        add(language.before_value, bit::before_value);
        add(language.conclusion, bit::conclusion);
        add(language.not, bit::denies);
        add(language.and, bit::joins_and);
        add(language.or, bit::joins_or);
        add(language.no_unit, bit::no_unit);
    }
    add(UNITS, bit::unit);
    add(UNIT_PREFIXES, bit::unit | bit::unit_prefix);
    add(FUNCTIONS, bit::function);
    add(NUMBERED, bit::numbered);
    add(HEDGES, bit::hedge);
    add(SUBORDINATES, bit::subordinate);
    add(UNDERMINES, bit::undermines);
    add(ANNOUNCES, bit::announces);
    add(SUPPOSES, bit::supposes);
    add(CONSEQUENTS, bit::consequent);
    add(GUESSES, bit::guesses);
    add(INTERJECTIONS, bit::interjects);
    add(OPENERS, bit::opens);
    for phrase in QUALIFIES_BEFORE {
        add(
            &[phrase.rsplit(' ').next().unwrap_or(phrase)],
            bit::ends_qualifier,
        );
    }
    table
});

/// The parts `word`, in any case, can play.
pub(super) fn roles(word: &str) -> Roles {
    if word.len() > LONGEST {
        return Roles::default();
    }
    let word = lower(word);
    let mut roles = TABLE.get(&*word).copied().unwrap_or_default();
    if UNIT_ENDINGS.iter().any(|ending| word.ends_with(ending)) {
        roles.0 |= bit::unit;
    }
    roles
}

/// The names of an answer, with those that need `language` to be known where it is.
pub(super) fn answer_names(language: Option<&str>) -> impl Iterator<Item = &'static str> {
    let known = language.map(str::to_lowercase);
    LANGUAGES.iter().flat_map(move |entry| {
        let matches = known
            .as_deref()
            .is_some_and(|known| entry.names.contains(&known));
        let short: &[&str] = if matches { entry.answer_if_known } else { &[] };
        entry.answer.iter().chain(short).copied()
    })
}

/// Lower case with plain apostrophes, without allocating for words that have both.
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
    fn a_word_is_found_in_any_case_and_may_play_several_parts() {
        assert!(roles("IS").verb() && roles("ist").verb() && roles("是").verb());
        assert!(roles("CAN’T").denies());
        assert_eq!(roles("Oder").joiner(), Some(Joiner::Or));
        assert!(roles("kilometres").unit() && !roles("apples").unit());
        assert_eq!(roles(&"a".repeat(100)), Roles::default());
    }

    #[test]
    fn no_word_of_the_tables_is_too_long_to_be_found() {
        assert!(TABLE.keys().all(|word| word.len() <= LONGEST));
    }

    #[test]
    fn short_names_need_their_language() {
        assert!(!answer_names(None).any(|name| name == "r"));
        assert!(answer_names(Some("French")).any(|name| name == "r"));
    }
}
