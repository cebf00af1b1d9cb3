//! Mutations of right programs: one operator, constant, condition, returned value or statement is
//! changed. A mutation need not be wrong, so those that pass are compared with the right program on
//! generated inputs (`difference`).

mod difference;
mod languages;
mod lexer;

use languages::Negation;
use lexer::{Kind, Token, tokens};

pub(crate) use difference::NEW_TEST;
pub(super) use difference::difference;
pub(super) use languages::{CPP, JAVASCRIPT, Lexicon, PYTHON};

/// Maximum number of mutations of a program. More are sampled evenly over its text.
const MAX_MUTATIONS: usize = 16;

/// Maximum length of a program that is changed, in bytes.
const MAX_PROGRAM: usize = 64 << 10;

/// A change of a program: the bytes from `start` to `end` are replaced.
struct Change {
    start: usize,
    end: usize,
    text: String,
    line: usize,
    description: String,
}

/// The changed programs, each with its description, in the order of their places.
pub(super) fn mutations(source: &str, lexicon: &Lexicon) -> Vec<(String, String)> {
    if source.len() > MAX_PROGRAM {
        return Vec::new();
    }
    let tokens = tokens(source, lexicon);
    let mut changes = Vec::new();
    for line in lines(&tokens) {
        let line = &tokens[line];
        if line[0].text == "if" && line.get(1).is_some_and(|token| token.text == "__name__") {
            break;
        }
        if lexicon.skipped_lines.contains(&line[0].text) {
            continue;
        }
        changes.extend(statement(line, lexicon));
        for at in 0..line.len() {
            changes.extend(token(source, line, at, lexicon));
        }
    }
    let count = changes.len();
    let chosen = count.min(MAX_MUTATIONS);
    let changes = (0..chosen).map(|at| &changes[at * count / chosen]);
    changes
        .map(|change| {
            let Change {
                start,
                end,
                text,
                line,
                description,
            } = change;
            let program = format!("{}{text}{}", &source[..*start], &source[*end..]);
            (format!("{description} in line {line}"), program)
        })
        .collect()
}

/// The ranges of the tokens of each line, without its end.
fn lines(tokens: &[Token<'_>]) -> Vec<std::ops::Range<usize>> {
    let (mut lines, mut start) = (Vec::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::LineEnd {
            lines.push(start..at);
            start = at + 1;
        }
    }
    lines.push(start..tokens.len());
    lines.retain(|line| !line.is_empty());
    lines
}

/// A change of the statement that the line is: what it returns, or the whole.
fn statement(line: &[Token<'_>], lexicon: &Lexicon) -> Option<Change> {
    let (first, last) = (line.first()?, line.last()?);
    let ends = |token: &Token<'_>| {
        if token.text == ";" {
            token.start
        } else {
            token.end()
        }
    };
    let change = |start, text: &str, description| Change {
        start,
        end: ends(last),
        text: text.to_owned(),
        line: first.line,
        description,
    };
    if first.text == "return" {
        let (value, other) = (line.get(1)?, lexicon.other_return?);
        let is_whole = !matches!(last.kind, Kind::Open) && value.text != other && value.text != ";";
        return is_whole.then(|| change(value.start, other, format!("`return` of `{other}`")));
    }
    let is_removable = first.kind == Kind::Word
        && !lexicon.keywords.contains(&first.text)
        && !matches!(last.text, ":" | "{" | ",")
        && line.iter().all(|token| !matches!(token.text, "{" | "}"))
        && (lexicon.no_statement == "pass" || last.text == ";");
    let assigns = |token: &Token<'_>| {
        token.kind == Kind::Operator
            && token.text.len() > 1
            && token.text.ends_with('=')
            && !matches!(token.text, "==" | "!=" | "<=" | ">=" | "===" | "!==" | ":=")
    };
    let is_call = line.get(1).is_some_and(|token| token.text == ".")
        && line.get(3).is_some_and(|token| token.text == "(")
        && !line
            .iter()
            .any(|token| token.text == "=" && token.depth == 0);
    let removes = is_removable && (is_call || line.iter().any(assigns));
    let without = if lexicon.no_statement == "pass" {
        "pass"
    } else {
        ""
    };
    removes.then(|| change(first.start, without, "a removed statement".to_owned()))
}

/// A change of one token.
fn token(source: &str, line: &[Token<'_>], at: usize, lexicon: &Lexicon) -> Option<Change> {
    let token = &line[at];
    let replace = |text: &str| Change {
        start: token.start,
        end: token.end(),
        text: text.to_owned(),
        line: token.line,
        description: format!("`{}` to `{text}`", token.text),
    };
    match token.kind {
        Kind::Operator => {
            let (_, to) = lexicon
                .binary
                .iter()
                .find(|(from, _)| *from == token.text)?;
            has_left_side(line, at, lexicon).then(|| replace(to))
        }
        Kind::Number => {
            let number: u64 = token.text.parse().ok()?;
            Some(replace(&number.checked_add(1)?.to_string()))
        }
        Kind::Word if token.text == "if" => condition(source, line, at, lexicon),
        Kind::Word => {
            let before = at.checked_sub(1).map_or("", |before| line[before].text);
            let (_, to) = lexicon.words.iter().find(|(from, _)| *from == token.text)?;
            // A name such as `max` may also be an attribute or an argument.
            let is_name = line.get(at + 1).is_some_and(|next| next.text == "=");
            (!is_name && (before != "." || lexicon.negation == Negation::Brackets))
                .then(|| replace(to))
        }
        _ => None,
    }
}

/// Whether the operator is binary.
fn has_left_side(line: &[Token<'_>], at: usize, lexicon: &Lexicon) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &line[before]) else {
        return false;
    };
    match before.kind {
        Kind::Word => !lexicon.keywords.contains(&before.text),
        Kind::Number | Kind::Quote | Kind::Close => true,
        _ => false,
    }
}

/// The negation of the condition after the `if` at `at`.
fn condition(source: &str, line: &[Token<'_>], at: usize, lexicon: &Lexicon) -> Option<Change> {
    let (keyword, first) = (&line[at], line.get(at + 1)?);
    let rest = &line[at + 1..];
    let (end, negated) = match lexicon.negation {
        Negation::Python => {
            let ends = |token: &&Token<'_>| {
                token.depth < keyword.depth
                    || token.depth == keyword.depth
                        && matches!(token.text, ":" | "else" | "for" | "if")
            };
            let end = rest
                .iter()
                .find(ends)
                .map_or(line.last()?.end(), |token| token.start);
            (end, "not (")
        }
        Negation::Brackets => {
            let is_end = |token: &&Token<'_>| token.text == ")" && token.depth < first.depth;
            (rest.iter().find(is_end)?.end(), "(!")
        }
    };
    let text = source.get(first.start..end)?.trim_end();
    (!text.is_empty()).then(|| Change {
        start: first.start,
        end: first.start + text.len(),
        text: format!("{negated}{text})"),
        line: keyword.line,
        description: "a negated condition".to_owned(),
    })
}

#[cfg(test)]
mod tests;
