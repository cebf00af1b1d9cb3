//! Replaces functions of SQLite that do unbounded work in one instruction by functions that take
//! linear time and charge steps.

use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi, params_from_iter};

use crate::meter::{BudgetExceeded, Meter};
use crate::pattern::Pattern;

/// Maximum width and precision of a field of `printf`.
const MAX_WIDTH: u64 = 10_000;

impl From<BudgetExceeded> for Error {
    fn from(_: BudgetExceeded) -> Self {
        error_of_code(ffi::SQLITE_INTERRUPT)
    }
}

fn error_of_code(code: std::ffi::c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

fn sql_error(message: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(message.to_owned()))
}

/// A separate connection with SQLite's original functions.
#[derive(Clone)]
pub(crate) struct Originals(Arc<Mutex<Connection>>);

impl Originals {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(crate::empty::empty()?))))
    }

    /// Evaluates `expression(arguments)`.
    fn evaluate(&self, expression: &str, arguments: &[ValueRef<'_>]) -> Result<Value> {
        let connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let placeholders = vec!["?"; arguments.len()].join(",");
        let mut statement =
            connection.prepare_cached(&format!("select {expression}({placeholders})"))?;
        let owned = arguments.iter().map(|argument| Value::try_from(*argument));
        let owned: Vec<Value> = owned
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| sql_error("not UTF-8"))?;
        statement.query_row(params_from_iter(owned), |row| row.get(0))
    }

    /// A value converted to text as by SQLite; `None` for NULL.
    fn text(&self, value: ValueRef<'_>) -> Result<Option<String>> {
        Ok(match value {
            ValueRef::Null => None,
            ValueRef::Integer(integer) => Some(integer.to_string()),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                Some(String::from_utf8_lossy(text).into_owned())
            }
            // `||` converts numbers as every text function does.
            ValueRef::Real(_) => match self.evaluate("''||", &[value])? {
                Value::Text(text) => Some(text),
                _ => None,
            },
        })
    }
}

/// State shared by all functions.
#[derive(Clone)]
struct FunctionState {
    meter: Meter,
    originals: Originals,
}

impl FunctionState {
    fn text(&self, cx: &Context<'_>, argument: usize) -> Result<Option<String>> {
        self.originals.text(cx.get_raw(argument))
    }

    /// Checks the length of a value, in bytes.
    fn check_length(&self, length: usize) -> Result<()> {
        if length > self.meter.max_value_bytes() {
            Err(error_of_code(ffi::SQLITE_TOOBIG))
        } else {
            Ok(())
        }
    }
}

/// Registers the functions of this module in place of SQLite's.
pub(crate) fn replace_costly(
    connection: &Connection,
    meter: &Meter,
    originals: &Originals,
) -> Result<()> {
    let state = FunctionState {
        meter: meter.clone(),
        originals: originals.clone(),
    };
    let add = |name: &str,
               arguments: i32,
               function: fn(&FunctionState, &Context<'_>) -> Result<Value>| {
        let flags = FunctionFlags::SQLITE_UTF8
            | FunctionFlags::SQLITE_DETERMINISTIC
            | FunctionFlags::SQLITE_INNOCUOUS;
        let state = state.clone();
        connection.create_scalar_function(name, arguments, flags, move |cx| function(&state, cx))
    };
    add("instr", 2, instr)?;
    add("replace", 3, replace)?;
    add("like", 2, like)?;
    add("like", 3, like)?;
    add("glob", 2, glob)?;
    for arguments in [1, 2] {
        add("trim", arguments, |state, cx| trim(state, cx, true, true))?;
        add("ltrim", arguments, |state, cx| trim(state, cx, true, false))?;
        add("rtrim", arguments, |state, cx| trim(state, cx, false, true))?;
    }
    add("printf", -1, printf)?;
    add("format", -1, printf)
}

/// The index of the second argument in the first, from 1, in characters or, for two blobs, in
/// bytes; 0 if it does not occur.
fn instr(state: &FunctionState, cx: &Context<'_>) -> Result<Value> {
    if let (ValueRef::Blob(haystack), ValueRef::Blob(needle)) = (cx.get_raw(0), cx.get_raw(1)) {
        state.meter.charge(haystack.len() + needle.len())?;
        return Ok(Value::Integer(sql_index(memmem::find(haystack, needle))));
    }
    let (Some(haystack), Some(needle)) = (state.text(cx, 0)?, state.text(cx, 1)?) else {
        return Ok(Value::Null);
    };
    state.meter.charge(haystack.len() + needle.len())?;
    let found = memmem::find(haystack.as_bytes(), needle.as_bytes());
    Ok(Value::Integer(sql_index(
        found.map(|at| haystack[..at].chars().count()),
    )))
}

/// An index as in SQL: from 1, or 0 if there is none.
fn sql_index(found: Option<usize>) -> i64 {
    found.map_or(0, |at| {
        i64::try_from(at).unwrap_or(i64::MAX).saturating_add(1)
    })
}

fn replace(state: &FunctionState, cx: &Context<'_>) -> Result<Value> {
    let (Some(haystack), Some(from)) = (state.text(cx, 0)?, state.text(cx, 1)?) else {
        return Ok(Value::Null);
    };
    if from.is_empty() {
        return Value::try_from(cx.get_raw(0)).map_err(|_| sql_error("not UTF-8"));
    }
    let Some(to) = state.text(cx, 2)? else {
        return Ok(Value::Null);
    };
    let found = memmem::find_iter(haystack.as_bytes(), from.as_bytes()).count();
    let length =
        (haystack.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    state.check_length(length)?;
    state.meter.charge(haystack.len() + length)?;
    Ok(Value::Text(haystack.replace(&from, &to)))
}

fn like(state: &FunctionState, cx: &Context<'_>) -> Result<Value> {
    let escape = match cx.len() {
        3 => {
            let Some(escape) = state.text(cx, 2)? else {
                return Ok(Value::Null);
            };
            let mut characters = escape.chars();
            let (Some(escape), None) = (characters.next(), characters.next()) else {
                return Err(sql_error("ESCAPE expression must be a single character"));
            };
            Some(escape)
        }
        _ => None,
    };
    matches_pattern(state, cx, |pattern| Pattern::like(pattern, escape))
}

fn glob(state: &FunctionState, cx: &Context<'_>) -> Result<Value> {
    matches_pattern(state, cx, Pattern::glob)
}

/// Whether the second argument matches the pattern in the first.
fn matches_pattern(
    state: &FunctionState,
    cx: &Context<'_>,
    parse: impl Fn(&str) -> Option<Pattern>,
) -> Result<Value> {
    let (Some(pattern), Some(text)) = (state.text(cx, 0)?, state.text(cx, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(parsed) = parse(&pattern) else {
        return Ok(Value::Integer(0));
    };
    let characters: Vec<char> = text.chars().collect();
    let (matched, characters_read) =
        parsed.matches(&characters, state.meter.remaining_characters());
    state.meter.charge(characters_read + pattern.len())?;
    matched
        .map(|matched| Value::Integer(i64::from(matched)))
        .ok_or_else(|| BudgetExceeded.into())
}

fn trim(state: &FunctionState, cx: &Context<'_>, left: bool, right: bool) -> Result<Value> {
    let Some(text) = state.text(cx, 0)? else {
        return Ok(Value::Null);
    };
    let removed = if cx.len() == 2 {
        state.text(cx, 1)?
    } else {
        Some(" ".to_owned())
    };
    let Some(removed) = removed else {
        return Ok(Value::Null);
    };
    state.meter.charge(text.len() + removed.len())?;
    let removed: std::collections::HashSet<char> = removed.chars().collect();
    let mut trimmed = text.as_str();
    if left {
        trimmed = trimmed.trim_start_matches(|character| removed.contains(&character));
    }
    if right {
        trimmed = trimmed.trim_end_matches(|character| removed.contains(&character));
    }
    Ok(Value::Text(trimmed.to_owned()))
}

/// SQLite's `printf` with a limit on the width of fields.
fn printf(state: &FunctionState, cx: &Context<'_>) -> Result<Value> {
    let arguments: Vec<ValueRef<'_>> = (0..cx.len()).map(|at| cx.get_raw(at)).collect();
    let Some(format) = arguments
        .first()
        .map(|first| state.originals.text(*first))
        .transpose()?
        .flatten()
    else {
        return Ok(Value::Null);
    };
    if max_width(&format, arguments.get(1..).unwrap_or_default()) > MAX_WIDTH {
        return Err(error_of_code(ffi::SQLITE_TOOBIG));
    }
    let lengths = arguments
        .iter()
        .map(|argument| argument.as_bytes().map_or(8, <[u8]>::len));
    state.meter.charge(lengths.sum())?;
    let formatted = state.originals.evaluate("printf", &arguments)?;
    if let Value::Text(text) = &formatted {
        state.check_length(text.len())?;
        state.meter.charge(text.len())?;
    }
    Ok(formatted)
}

/// The maximum width or precision of a format.
fn max_width(format: &str, arguments: &[ValueRef<'_>]) -> u64 {
    let mut arguments = arguments.iter();
    let mut max_width = 0;
    let mut pieces = format.split('%').skip(1);
    while let Some(piece) = pieces.next() {
        let mut number = 0u64;
        for character in piece.chars() {
            match character {
                '0'..='9' => {
                    number = number
                        .saturating_mul(10)
                        .saturating_add(u64::from(character) - u64::from('0'));
                }
                '*' => number = arguments.next().map_or(0, magnitude),
                '-' | '+' | ' ' | '#' | '!' | ',' | 'l' => {}
                '.' => {
                    max_width = max_width.max(number);
                    number = 0;
                }
                // The conversion.
                _ => {
                    arguments.next();
                    break;
                }
            }
            max_width = max_width.max(number);
        }
        // `%%` is a literal, and the text after it is not a conversion.
        if piece.is_empty() {
            pieces.next();
        }
    }
    max_width
}

/// The value of an argument that is used as a width.
fn magnitude(value: &ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Integer(integer) => integer.unsigned_abs(),
        ValueRef::Null => 0,
        // Other values are rejected as too wide.
        ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => u64::MAX,
    }
}
