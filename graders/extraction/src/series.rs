//! Decides whether adjacent answers form one list. Knows the words and marks that join answers;
//! does not read the answers.
//!
//! Answers without a word between them form a list too. The text does not say which one it means,
//! and a guess in its favour would reward naming several.

use std::borrow::Cow;

use crate::word_roles::{Joiner, roles};

/// One answer of a possible list: its byte range with delimiters, and its text.
pub(super) struct Member<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: Cow<'a, str>,
}

/// The members at the end of the text that form one list.
pub(super) struct Series<'a> {
    /// Index of the first member of the list.
    pub(super) first: usize,
    /// The members as one answer.
    pub(super) text: Cow<'a, str>,
    /// Number of different answers.
    pub(super) distinct: usize,
}

/// Maximum number of answers that are read as one list. A truncated list is wrong, as the complete
/// list would be.
pub(super) const MAX_MEMBERS: usize = 512;

/// Longest text between two members that may join them, in bytes.
const MAX_GAP_BYTES: usize = 160;

/// Longest label before an answer (`y_2 =`) that is kept in the list, in bytes.
const MAX_LABEL_BYTES: usize = 24;

/// How two adjacent members are joined, and the label of the second.
struct Link<'a> {
    joiner: Joiner,
    label: Option<&'a str>,
}

/// Reads the list that ends with the last of `members`; `None` if there are no members.
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
    // Labels are kept only if every member has one: "p = 2 and q = 3".
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

/// Text without white space, to compare answers.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// How the text between two answers joins them; `None` if it contains anything else.
fn link(gap: &str) -> Option<Link<'_>> {
    if gap.len() > MAX_GAP_BYTES {
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
        // A number between two answers is a value that belongs to neither.
        if first.is_numeric() {
            return None;
        }
        if first.is_alphabetic() || first == '\\' {
            let word = &rest[..word_length(rest)];
            // "y" is a conjunction in Spanish and a name in `y_2 =`.
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

/// The label at the end of a gap, such as `y_2 =`. It must be a short name and nothing else.
fn label(rest: &str) -> Option<&str> {
    let rest = rest.trim_end_matches([' ', '$', '(', '\\']).trim_end();
    let name = rest.strip_suffix('=')?.trim_end();
    let plain = name.len() <= MAX_LABEL_BYTES
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_{}()^'".contains(c));
    plain.then_some(rest)
}

/// The label before the first answer of a list. Prose may precede it.
fn label_before(before: &str) -> Option<&str> {
    let before = before.trim_end_matches([' ', '$']);
    let name_end = before.strip_suffix('=')?.trim_end();
    let start = name_end
        .char_indices()
        .rev()
        .take(MAX_LABEL_BYTES + 1)
        .take_while(|(_, c)| c.is_alphanumeric() || "_{}()^'".contains(*c))
        .last()?
        .0;
    label(&before[start..])
}

/// Length of the word or command at the start of `rest`.
fn word_length(rest: &str) -> usize {
    let head = usize::from(rest.starts_with('\\'));
    rest[head..]
        .find(|c: char| !c.is_alphabetic())
        .map_or(rest.len(), |end| (head + end).max(1))
}

/// Skips white space, maths delimiters, emphasis and text commands, which neither join nor
/// separate.
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
            let continues = shorter.starts_with(|c: char| c.is_alphabetic());
            (!(named && continues)).then_some(shorter)
        }) else {
            return rest;
        };
        rest = shorter;
    }
}
