//! Checks a text against a rule, and reports what decided.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Value, json};

use crate::finding::{Finding, MAX_EXCERPT};
use crate::limits::whole;
use crate::rule::{At, Count, Countable, Measure, Needle, Rule};
use crate::text::Text;
use crate::units::{Unit, has_empty_part};

/// Positions of counted things in evidence.
const MAX_POSITIONS: usize = 3;

impl Rule {
    /// Checks a text.
    pub(crate) fn check(&self, text: &Text<'_>) -> Finding {
        match self {
            Self::All(rules) => {
                let mut last = Finding::new(true);
                for rule in rules {
                    last = rule.check(text);
                    if !last.met {
                        break;
                    }
                }
                last
            }
            Self::Any(rules) => {
                let mut last = Finding::new(false);
                for rule in rules {
                    last = rule.check(text);
                    if last.met {
                        break;
                    }
                }
                last
            }
            Self::Not(rule) => {
                let found = rule.check(text);
                Finding {
                    met: !found.met,
                    ..found
                }
            }
            Self::Count(count) => count.check(text),
            Self::Share { part, of, limits } => {
                let (part, of) = (part.number(text).0, of.number(text).0);
                let percent = 100.0 * part / of.max(1.0);
                let mut found = Finding::new(of > 0.0 && limits.contains(percent))
                    .with("percent", whole(percent))
                    .with("count", whole(part))
                    .with("of", whole(of));
                limits.show(&mut found.facts);
                found
            }
            Self::Contains(needles) => contains(needles, text),
            Self::Equals { text: own, case } => {
                let given = text.str.trim();
                let equal = if *case {
                    given == own
                } else {
                    given.to_lowercase() == own.to_lowercase()
                };
                Finding::new(equal)
                    .with("expected_bytes", own.len())
                    .with("bytes", given.len())
            }
            Self::Position { unit, at, rule } => at_position(text, *unit, *at, rule),
            Self::Neighbours { unit, relation } => {
                let pieces = text.pieces(*unit);
                let broken = pieces
                    .windows(2)
                    .find(|pair| !relation.holds(&pair[0].text, &pair[1].text));
                match broken {
                    Some(pair) => {
                        Finding::new(false).excerpt(text.str, pair[0].at.start..pair[1].at.end)
                    }
                    None => Finding::new(!pieces.is_empty()),
                }
                .with("unit", unit.as_str())
                .with("count", pieces.len())
            }
            Self::Format(format) => format.check(text),
        }
    }
}

fn contains(needles: &[Needle], text: &Text<'_>) -> Finding {
    let mut positions = Vec::new();
    for needle in needles {
        match needle.regex.find(text.str) {
            Some(found) if positions.len() < MAX_POSITIONS => {
                positions.push(json!([found.start(), found.end()]));
            }
            Some(_) => {}
            None => return Finding::new(false).with("missing", shortened(&needle.text)),
        }
    }
    Finding::new(true).with("at", positions)
}

fn at_position(text: &Text<'_>, unit: Unit, at: At, rule: &Rule) -> Finding {
    let pieces = text.pieces(unit);
    let check = |index: usize| {
        let piece = &pieces[index];
        let found = rule.check(&Text::new(&piece.text));
        let met = found.met;
        let mut outer = Finding::new(met)
            .with("unit", unit.as_str())
            .with("number", index + 1);
        if !met {
            outer.facts.extend(found.facts);
        }
        outer.excerpt(text.str, piece.at.clone())
    };
    let single = |index: Option<usize>| {
        index.filter(|index| *index < pieces.len()).map_or_else(
            || {
                Finding::new(false)
                    .with("unit", unit.as_str())
                    .with("count", pieces.len())
            },
            check,
        )
    };
    let each = |step: usize| {
        let mut numbers = (step - 1..pieces.len()).step_by(step);
        let count = numbers.len();
        match numbers.by_ref().map(check).find(|found| !found.met) {
            Some(found) => found,
            None => Finding::new(count > 0)
                .with("unit", unit.as_str())
                .with("count", count),
        }
    };
    match at {
        At::Start(index) => single(Some(index)),
        At::End(index) => single(pieces.len().checked_sub(index + 1)),
        At::Each => each(1),
        At::Every(step) => each(step),
    }
}

impl Count {
    fn check(&self, text: &Text<'_>) -> Finding {
        let (number, positions, most) = self.number(text);
        let has_empty =
            matches!(&self.what, Countable::Units { unit, .. } if has_empty_part(text.str, *unit));
        let mut found =
            Finding::new(self.limits.contains(number) && !has_empty).with("count", whole(number));
        if let Countable::Units { unit, .. } = &self.what {
            found = found.with("unit", unit.as_str());
        }
        if has_empty {
            found = found.with("empty_part", true);
        }
        if let Some(most) = most {
            found = found.with("repeated", shortened(&most));
        }
        self.limits.show(&mut found.facts);
        found.with("at", positions)
    }

    /// The number of things in a text, the positions of the first ones, and the thing that is
    /// repeated most if that is the measure.
    pub(crate) fn number(&self, text: &Text<'_>) -> (f64, Vec<Value>, Option<String>) {
        let mut tally = Tally::new(self.measure);
        match &self.what {
            Countable::Units {
                unit,
                list,
                matching,
            } => {
                for piece in text.pieces(*unit) {
                    let counts = list.as_ref().is_none_or(|list| {
                        let lower = lower(&piece.text);
                        list.binary_search_by(|word| word.as_str().cmp(&lower))
                            .is_ok()
                    });
                    if counts
                        && matching
                            .as_ref()
                            .is_none_or(|regex| regex.is_match(&piece.text))
                    {
                        tally.add(&piece.text, piece.at.clone());
                    }
                }
            }
            Countable::Texts(needles) => {
                for found in needles
                    .iter()
                    .flat_map(|needle| needle.regex.find_iter(text.str))
                {
                    tally.add(found.as_str(), found.range());
                }
            }
            Countable::Pattern(regex) => {
                for found in regex.find_iter(text.str) {
                    tally.add(found.as_str(), found.range());
                }
            }
        }
        tally.result()
    }
}

/// Counts things as they are found.
struct Tally {
    measure: Measure,
    total: usize,
    each: HashMap<String, usize>,
    positions: Vec<Value>,
}

impl Tally {
    fn new(measure: Measure) -> Self {
        Self {
            measure,
            total: 0,
            each: HashMap::new(),
            positions: Vec::new(),
        }
    }

    fn add(&mut self, text: &str, at: Range<usize>) {
        self.total += 1;
        if self.positions.len() < MAX_POSITIONS {
            self.positions.push(json!([at.start, at.end]));
        }
        if self.measure != Measure::All {
            *self.each.entry(lower(text).into_owned()).or_default() += 1;
        }
    }

    fn result(self) -> (f64, Vec<Value>, Option<String>) {
        match self.measure {
            Measure::All => (self.total as f64, self.positions, None),
            Measure::Distinct => (self.each.len() as f64, self.positions, None),
            Measure::MostRepeated => {
                // Of equally frequent ones the first in order, so that evidence is deterministic.
                let most = self
                    .each
                    .into_iter()
                    .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
                match most {
                    Some((text, count)) => (count as f64, self.positions, Some(text)),
                    None => (0.0, self.positions, None),
                }
            }
        }
    }
}

/// A word in lower case.
fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

/// The start of a text, for evidence.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_EXCERPT).collect()
}
