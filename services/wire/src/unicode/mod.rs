//! Handles lone surrogates in JSON texts, such as `"\ud800"`, which are valid JSON but cannot be
//! represented in a Rust string.
//!
//! They occur when a model's output is cut in the middle of a character, and Python's `json` sends
//! them. In text that is only graded or stored they are read as U+FFFD, with a warning; in fields
//! that affect grading, such as a task, they are an error. Bodies are searched for them only after
//! parsing failed, so other bodies pay no cost.

use std::borrow::Cow;

use assay_base::pointer::escaped;
use assay_base::truncate::with_ellipsis;
use assay_core::ErrorCode;
use memchr::{memchr_iter, memchr2};

use crate::warning::{MAX_POINTER_BYTES, MAX_WARNINGS};
use crate::{Problem, Warning};

/// The replacement of a lone surrogate; it has the length of the escape it replaces.
const REPLACEMENT: &[u8] = br"\ufffd";

/// One step of the path to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The member of an object.
    Key(String),
    /// The element of an array.
    Index(usize),
}

impl Step {
    /// Whether it is the member with this name.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Self::Key(key) if key == name)
    }
}

/// How to treat a text with lone surrogates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// Read them as U+FFFD.
    Replace,
    /// Reject the request with this error code.
    Reject(ErrorCode),
}

/// A JSON text with its lone surrogates replaced, and pointers to their locations.
#[derive(Debug)]
pub(crate) struct Replaced {
    text: Vec<u8>,
    pointers: Vec<String>,
    more: usize,
}

impl Replaced {
    fn into_warnings(self) -> impl Iterator<Item = Warning> {
        let warning = |pointer: String, message: String| Warning {
            pointer,
            code: "lone_surrogate".to_owned(),
            message,
        };
        let listed = self.pointers.into_iter().map(move |pointer| {
            warning(
                pointer,
                "the text has a lone surrogate, which is not a character; it was read as U+FFFD"
                    .to_owned(),
            )
        });
        let more = (self.more > 0).then(|| {
            warning(
                String::new(),
                format!(
                    "{} further texts have lone surrogates, read as U+FFFD",
                    self.more
                ),
            )
        });
        listed.chain(more)
    }
}

/// Calls `read` with `body`. If that fails and the body has lone surrogates, calls it again with
/// them replaced, and returns a warning for each location. `base` is the pointer of the body.
///
/// # Errors
/// The [`Problem`] of `read`, or of a text that `treatment` rejects.
pub fn read_replacing<T>(
    body: &[u8],
    base: &str,
    treatment: impl Fn(&[Step]) -> Treatment,
    mut read: impl FnMut(&[u8]) -> Result<T, Problem>,
) -> Result<(T, Vec<Warning>), Problem> {
    match read(body) {
        Ok(value) => Ok((value, Vec::new())),
        Err(problem) => match replace(body, base, treatment)? {
            None => Err(problem),
            Some(replaced) => {
                let value = read(&replaced.text)?;
                Ok((value, replaced.into_warnings().collect()))
            }
        },
    }
}

/// A JSON text with its lone surrogates read as U+FFFD.
#[must_use]
pub fn without_lone_surrogates(text: &[u8]) -> Cow<'_, [u8]> {
    match replace(text, "", |_| Treatment::Replace) {
        Ok(Some(replaced)) => Cow::Owned(replaced.text),
        _ => Cow::Borrowed(text),
    }
}

/// Rejects a JSON text with lone surrogates; `base` is its pointer.
pub(crate) fn reject_lone_surrogates(
    text: &[u8],
    base: &str,
    code: ErrorCode,
) -> Result<(), Problem> {
    replace(text, base, |_| Treatment::Reject(code)).map(|_| ())
}

/// The text without lone surrogates; `None` if it has none. `base` is its pointer.
fn replace(
    text: &[u8],
    base: &str,
    treatment: impl Fn(&[Step]) -> Treatment,
) -> Result<Option<Replaced>, Problem> {
    if !may_have_surrogates(text) {
        return Ok(None);
    }
    let mut replaced: Option<Replaced> = None;
    let mut walk = Walk::default();
    while let Some(content) = walk.next_string(text) {
        let lone = lone_surrogates(&text[content.clone()]);
        if lone.is_empty() {
            continue;
        }
        let steps = walk.steps(text);
        let pointer = with_ellipsis(format!("{base}{}", pointer(&steps)), MAX_POINTER_BYTES);
        if let Treatment::Reject(code) = treatment(&steps) {
            let message =
                "the text has a lone surrogate, which is not a character; send valid Unicode";
            return Err(Problem::at(code, pointer, message));
        }
        let replaced = replaced.get_or_insert_with(|| Replaced {
            text: text.to_vec(),
            pointers: Vec::new(),
            more: 0,
        });
        for at in lone {
            let at = content.start + at;
            replaced.text[at..at + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
        }
        if replaced.pointers.last() == Some(&pointer) {
            // A key and its value.
        } else if replaced.pointers.len() < MAX_WARNINGS {
            replaced.pointers.push(pointer);
        } else {
            replaced.more += 1;
        }
    }
    Ok(replaced)
}

/// Pointer to the value that contains the byte at `offset`; empty if that is the whole text.
pub(crate) fn pointer_at(text: &[u8], offset: usize) -> String {
    let mut walk = Walk::default();
    let text = &text[..offset.min(text.len())];
    while walk.next_string(text).is_some() {}
    pointer(&walk.steps(text))
}

fn pointer(steps: &[Step]) -> String {
    let segment = |step: &Step| match step {
        Step::Key(key) => format!("/{}", escaped(key)),
        Step::Index(index) => format!("/{index}"),
    };
    steps.iter().map(segment).collect()
}

/// Whether the text has an escape that could be half of a surrogate pair.
fn may_have_surrogates(text: &[u8]) -> bool {
    memchr_iter(b'\\', text).any(|at| matches!(text.get(at + 1..at + 3), Some([b'u', b'd' | b'D'])))
}

/// Offsets of the escapes of lone surrogates in the content of a string.
fn lone_surrogates(content: &[u8]) -> Vec<usize> {
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(next) = content
        .get(at..)
        .and_then(|rest| memchr::memchr(b'\\', rest))
    {
        at += next;
        let Some(unit) = code_unit(content, at) else {
            at += 2;
            continue;
        };
        let is_low = |unit: u16| (0xdc00..0xe000).contains(&unit);
        let pair =
            (0xd800..0xdc00).contains(&unit) && code_unit(content, at + 6).is_some_and(is_low);
        if !pair && (0xd800..0xe000).contains(&unit) {
            lone.push(at);
        }
        at += if pair { 12 } else { 6 };
    }
    lone
}

/// The code unit of the escape `\uXXXX` at `at`.
fn code_unit(content: &[u8], at: usize) -> Option<u16> {
    let escape = content.get(at..at + 6)?;
    let digits = escape.strip_prefix(br"\u")?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Visits the strings of a JSON text in order and tracks the path to each. On invalid JSON the path
/// is unspecified, but the walk terminates.
#[derive(Default)]
struct Walk {
    at: usize,
    frames: Vec<Frame>,
}

enum Frame {
    Array {
        index: usize,
    },
    Object {
        key: Option<std::ops::Range<usize>>,
        key_is_next: bool,
    },
}

impl Walk {
    /// The range of the content of the next string, key or value.
    fn next_string(&mut self, text: &[u8]) -> Option<std::ops::Range<usize>> {
        while let Some(byte) = text.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => {
                    let content = self.at..string_end(text, self.at)?;
                    self.at = content.end + 1;
                    if let Some(Frame::Object { key, key_is_next }) = self.frames.last_mut()
                        && std::mem::take(key_is_next)
                    {
                        *key = Some(content.clone());
                    }
                    return Some(content);
                }
                b'{' => self.frames.push(Frame::Object {
                    key: None,
                    key_is_next: true,
                }),
                b'[' => self.frames.push(Frame::Array { index: 0 }),
                b'}' | b']' => {
                    self.frames.pop();
                }
                b',' => match self.frames.last_mut() {
                    Some(Frame::Array { index }) => *index += 1,
                    Some(Frame::Object { key, key_is_next }) => {
                        *key = None;
                        *key_is_next = true;
                    }
                    None => {}
                },
                _ => {}
            }
        }
        None
    }

    /// The path to the string that was visited last.
    fn steps(&self, text: &[u8]) -> Vec<Step> {
        let step = |frame: &Frame| match frame {
            Frame::Array { index } => Some(Step::Index(*index)),
            Frame::Object { key, .. } => key
                .as_ref()
                .map(|key| Step::Key(key_text(&text[key.clone()]))),
        };
        self.frames.iter().map_while(step).collect()
    }
}

/// The end of the string whose content starts at `start`.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// A key, unescaped.
fn key_text(content: &[u8]) -> String {
    let mut quoted = Vec::with_capacity(content.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(content);
    quoted.push(b'"');
    for at in lone_surrogates(content) {
        quoted[at + 1..at + 1 + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
    }
    serde_json::from_slice(&quoted)
        .unwrap_or_else(|_| String::from_utf8_lossy(content).into_owned())
}

#[cfg(test)]
mod tests;
