//! Whether several answers side by side are one list. Knows the words and marks that join them;
//! reads no answer.
//!
//! Answers that stand together without a word between them are a list too: nothing says which of
//! them is meant, and a guess in the writer's favour would reward naming several.

use std::borrow::Cow;

use super::words::{Joiner, roles};

/// One answer of a possible list: the bytes it takes with its delimiters, and what it says.
pub(super) struct Member<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: Cow<'a, str>,
}

/// The last answers of `members` that form one list.
pub(super) struct Series<'a> {
    /// Index of the first member that belongs to it.
    pub(super) first: usize,
    /// The members as one answer.
    pub(super) text: Cow<'a, str>,
    /// How many different answers it holds.
    pub(super) distinct: usize,
}

/// Most answers that are read as one list: longer ones are cut, and are no better an answer for it.
pub(super) const MOST_MEMBERS: usize = 512;

/// Longest stretch between two members that may still join them, in bytes.
const LONGEST_GAP: usize = 160;

/// Longest name before an answer that goes into the list with it (`y_2 =`), in bytes.
const LONGEST_LABEL: usize = 24;

struct Link<'a> {
    joiner: Joiner,
    label: Option<&'a str>,
}

/// Reads the list that ends in the last of `members`; `None` where there are none.
pub(super) fn last<'a>(text: &'a str, members: &[Member<'a>]) -> Option<Series<'a>> {
    let mut first = members.len().checked_sub(1)?;
    let mut links = Vec::new();
    while first > 0 {
        let gap = &text[members[first - 1].end..members[first].start];
        let Some(link) = link(gap) else { break };
        links.push(link);
        first -= 1;
    }
    links.reverse();
    let run = &members[first..];
    let head_label = links
        .first()
        .and_then(|link| link.label)
        .and_then(|_| label_before(&text[..run[0].start]));
    let labelled = head_label.is_some() && links.iter().all(|link| link.label.is_some());

    let mut list = String::new();
    let mut seen = std::collections::HashSet::new();
    for (index, member) in run.iter().enumerate() {
        let label = if index == 0 {
            head_label
        } else {
            links[index - 1].label
        };
        if !labelled && !seen.insert(squeezed(&member.text)) {
            continue;
        }
        if index > 0 && !list.is_empty() {
            list.push_str(links[index - 1].joiner.as_str());
        }
        if let Some(label) = label.filter(|_| labelled) {
            list.push_str(label);
            list.push(' ');
        }
        list.push_str(&member.text);
    }
    let distinct = if labelled { run.len() } else { seen.len() };
    let text = if distinct == 1 {
        run[run.len() - 1].text.clone()
    } else {
        Cow::Owned(list)
    };
    Some(Series {
        first,
        text,
        distinct,
    })
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// How the stretch between two answers joins them; `None` where it says anything else.
fn link(gap: &str) -> Option<Link<'_>> {
    if gap.len() > LONGEST_GAP {
        return None;
    }
    let mut joined: Option<Joiner> = None;
    let mut rest = gap;
    loop {
        rest = after_noise(rest);
        let Some(first) = rest.chars().next() else {
            return Some(Link {
                joiner: joined.unwrap_or(Joiner::Comma),
                label: None,
            });
        };
        if first.is_numeric() {
            return None;
        }
        if first.is_alphabetic() || first == '\\' {
            let word = &rest[..word_length(rest)];
            // "y" joins in Spanish and names in `y_2 =`.
            let names = rest[word.len()..]
                .trim_start()
                .starts_with(['=', '_', '(', '^']);
            if let Some(found) = roles(word).joiner().filter(|_| !names) {
                joined = Some(joined.map_or(found, |before| before.max(found)));
            } else if !(joined.is_some() && roles(word).hedge()) {
                return Some(Link {
                    joiner: joined.unwrap_or(Joiner::Comma),
                    label: Some(label(rest)?),
                });
            }
            rest = &rest[word.len()..];
        } else {
            let found = if first == '=' {
                Joiner::Equals
            } else {
                Joiner::Comma
            };
            joined = Some(joined.map_or(found, |before| before.max(found)));
            rest = &rest[first.len_utf8()..];
        }
    }
}

/// The name that ends in `=` at the end of a gap, such as `y_2 =`.
fn label(rest: &str) -> Option<&str> {
    let rest = rest.trim_end_matches([' ', '$', '(', '\\']).trim_end();
    let name = rest.strip_suffix('=')?.trim_end();
    let plain = name.len() <= LONGEST_LABEL
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_{}()^'".contains(c));
    plain.then_some(rest)
}

/// The same before the first answer of a list, where prose may stand before the name.
fn label_before(before: &str) -> Option<&str> {
    let before = before.trim_end_matches([' ', '$']);
    let name_end = before.strip_suffix('=')?.trim_end();
    let start = name_end
        .char_indices()
        .rev()
        .take(LONGEST_LABEL + 1)
        .take_while(|(_, c)| c.is_alphanumeric() || "_{}()^'".contains(*c))
        .last()?
        .0;
    label(&before[start..])
}

fn word_length(rest: &str) -> usize {
    let head = usize::from(rest.starts_with('\\'));
    rest[head..]
        .find(|c: char| !c.is_alphabetic())
        .map_or(rest.len(), |end| (head + end).max(1))
}

/// Skips blank space, maths delimiters, emphasis and text commands: they neither join nor part.
fn after_noise(mut rest: &str) -> &str {
    const NOISE: &[&str] = &[
        "\\text", "\\mbox", "\\textrm", "\\mathrm", "\\quad", "\\qquad", "\\,", "\\;", "\\!",
        "\\ ", "\\\\", "\\(", "\\)", "\\[", "\\]", "$", "*", "{", "}", "~",
    ];
    loop {
        rest = rest.trim_start();
        let Some(shorter) = NOISE.iter().find_map(|noise| {
            let shorter = rest.strip_prefix(noise)?;
            let named = noise.ends_with(|c: char| c.is_alphabetic());
            let goes_on = shorter.starts_with(|c: char| c.is_alphabetic());
            (!(named && goes_on)).then_some(shorter)
        }) else {
            return rest;
        };
        rest = shorter;
    }
}
