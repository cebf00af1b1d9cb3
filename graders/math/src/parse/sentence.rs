//! Plain sentences with an answer: their subject (`Anna wins`) or their last word (`The … is odd`).
//!
//! Sentences that negate, compare, offer an alternative or name more than one subject have no
//! single answer.

use super::text;

/// Longest subject, in words.
const MAX_SUBJECT: usize = 3;

/// Longest sentence that is read, in bytes.
const MAX_SENTENCE: usize = 400;

/// Whether a word negates, restricts or weakens a sentence.
fn qualifies(word: &str) -> bool {
    const QUALIFIERS: &str = "not no never cannot cant wont dont doesnt didnt isnt arent wasnt \
        werent hasnt havent shouldnt wouldnt couldnt nor neither none nobody nothing without \
        except but or if unless only when while than though although however lose loses lost \
        losing loser fail fails failed failing false wrong incorrect unable impossible unless \
        either both fewer less worse maybe perhaps may might could possibly probably instead \
        rather";
    QUALIFIERS.split(' ').any(|other| other == word)
}

/// Whether a word after a subject is its verb. A list, because endings are not enough: `right
/// angles` and `right angled` are not sentences.
fn is_verb(word: &str) -> bool {
    const VERBS: &str = "is are was were has have had will would can must should shall does did \
        always wins won win gets got get plays played moves moved goes went takes took makes made \
        receives received gives gave runs ran finishes finished leads led arrives arrived scores \
        scored pays paid earns earned sits sat stands stood serves served lies lied tells told \
        knows knew starts started begins began comes came holds held owns owned keeps kept needs \
        needed wants wanted works worked reads read writes wrote speaks spoke words says weighs \
        weighed costs cost chooses chose draws drew reaches reached passes passed ends ended eats \
        ate buys bought sells sold picks picked guesses guessed stays stayed lives lived visits \
        visited walks walked helps helped spends spent collects collected completes completed \
        belongs belonged";
    VERBS.split(' ').any(|verb| verb == word)
}

/// Whether a word refers to something named before.
fn is_pronoun(word: &str) -> bool {
    const PRONOUNS: &str = "it this that these those there they he she we you i who what which \
        one some all each every any everyone everybody someone answer result solution value";
    PRONOUNS.split(' ').any(|other| other == word)
}

/// Whether `sentence` is about `subject` only: `Anna wins the game` is about `Anna`.
pub(crate) fn is_about(sentence: &str, subject: &str) -> bool {
    let about = |text: &str| {
        text::comparable(text)
            .split(' ')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if sentence.len() > MAX_SENTENCE || predicate(sentence).is_some() {
        return false;
    }
    let spoken = text::plain_words(sentence);
    let mut words: Vec<&str> = spoken.split(' ').collect();
    if matches!(words.first(), Some(&("The" | "the" | "A" | "An"))) {
        words.remove(0);
    }
    let subject = about(subject);
    let single = subject.iter().all(|word| word.chars().count() < 2);
    if single || subject.len() > MAX_SUBJECT || subject.first().is_none_or(|word| is_pronoun(word))
    {
        return false;
    }
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    if subject.len() + 1 > lower.len() || !lower.starts_with(&subject) {
        return false;
    }
    let said = words.get(subject.len()..).unwrap_or_default();
    let names = |word: &&str| {
        word.starts_with(char::is_uppercase) || word.contains(|c: char| !c.is_alphabetic())
    };
    lower.get(subject.len()).is_some_and(|word| is_verb(word))
        && !lower.iter().any(|word| qualifies(word))
        && !said.iter().any(names)
}

/// The one word that a sentence says of its subject: `odd` in `The function is odd`.
pub(crate) fn predicate(sentence: &str) -> Option<String> {
    if sentence.len() > MAX_SENTENCE {
        return None;
    }
    let spoken = text::plain_words(sentence);
    let mut words = spoken.split(' ');
    if !matches!(words.next(), Some("The" | "the" | "This" | "this")) {
        return None;
    }
    let words: Vec<&str> = words.collect();
    let is = words
        .iter()
        .position(|word| matches!(*word, "is" | "are"))?;
    let word = *words.get(is + 1)?;
    let alone = is > 0 && is + 2 == words.len() && word.chars().all(char::is_alphabetic);
    (alone && !words.iter().any(|word| qualifies(&word.to_lowercase()))).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_subject_of_sentence() {
        assert!(is_about("Mars has the longer year", "Mars"));
        assert!(is_about("The red team finished before noon.", "red team"));
        assert!(is_about(r"\text{Clara has a winning strategy}", "Clara"));
    }

    #[test]
    fn rejects_qualified_sentences_and_other_names() {
        assert!(!is_about("Mars did not reach it", "Mars"));
        assert!(!is_about("The red team finished before noon.", "the red"));
        assert!(!is_about("Clara loses", "Clara"));
        assert!(!is_about("Clara beats Dora", "Clara"));
        assert!(!is_about("Clara and Dora win", "Clara"));
        assert!(!is_about("The red team leads the blue Team", "red team"));
        assert!(!is_about("Clara wins if she starts", "Clara"));
        assert!(!is_about("It is odd", "It"));
        assert!(!is_about("Right angles", "right"));
        assert!(!is_about("Right angled triangles", "right"));
        assert!(!is_about("Clara has 3 pens", "Clara"));
    }

    #[test]
    fn finds_predicate_of_sentence() {
        assert_eq!(
            predicate(r"The triangle with sides $a$ and $b$ is isosceles.").as_deref(),
            Some("isosceles")
        );
        assert_eq!(predicate("The triangle is not isosceles"), None);
        assert_eq!(predicate("The triangle is isosceles if it fits"), None);
        assert!(!is_about("The triangle is isosceles", "triangle"));
    }
}
