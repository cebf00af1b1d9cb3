//! Replaces functions of SQLite that do unbounded work in one instruction by linear ones
//! that charge steps.

use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, ffi, params_from_iter};

use crate::meter::{Meter, Spent};
use crate::pattern::Pattern;

/// Widest field and longest precision of `printf`.
const WIDEST: u64 = 10_000;

impl From<Spent> for Error {
    fn from(_: Spent) -> Self {
        failure(ffi::SQLITE_INTERRUPT)
    }
}

fn failure(code: std::ffi::c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

fn complaint(message: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(message.to_owned()))
}

/// A separate connection with SQLite's own functions, for those that are not replaced.
#[derive(Clone)]
pub(crate) struct Originals(Arc<Mutex<Connection>>);

impl Originals {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(crate::connection::empty()?))))
    }

    /// The value of an expression of `count` parameters.
    fn ask(&self, expression: &str, arguments: &[ValueRef<'_>]) -> Result<Value> {
        let connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places = vec!["?"; arguments.len()].join(",");
        let mut statement = connection.prepare_cached(&format!("select {expression}({places})"))?;
        let owned = arguments.iter().map(|argument| Value::try_from(*argument));
        let owned: Vec<Value> = owned
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| complaint("not UTF-8"))?;
        statement.query_row(params_from_iter(owned), |row| row.get(0))
    }

    /// A value as SQLite writes it as a text; `None` for NULL.
    fn text(&self, value: ValueRef<'_>) -> Result<Option<String>> {
        Ok(match value {
            ValueRef::Null => None,
            ValueRef::Integer(integer) => Some(integer.to_string()),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                Some(String::from_utf8_lossy(text).into_owned())
            }
            // `||` writes numbers as every text function does.
            ValueRef::Real(_) => match self.ask("''||", &[value])? {
                Value::Text(text) => Some(text),
                _ => None,
            },
        })
    }
}

/// State of all functions.
#[derive(Clone)]
struct Tools {
    meter: Meter,
    originals: Originals,
}

impl Tools {
    fn text(&self, cx: &Context<'_>, argument: usize) -> Result<Option<String>> {
        self.originals.text(cx.get_raw(argument))
    }

    fn fits(&self, length: usize) -> Result<()> {
        if length > self.meter.longest() {
            Err(failure(ffi::SQLITE_TOOBIG))
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
    let tools = Tools {
        meter: meter.clone(),
        originals: originals.clone(),
    };
    let add = |name: &str, arguments: i32, function: fn(&Tools, &Context<'_>) -> Result<Value>| {
        let flags = FunctionFlags::SQLITE_UTF8
            | FunctionFlags::SQLITE_DETERMINISTIC
            | FunctionFlags::SQLITE_INNOCUOUS;
        let tools = tools.clone();
        connection.create_scalar_function(name, arguments, flags, move |cx| function(&tools, cx))
    };
    add("instr", 2, instr)?;
    add("replace", 3, replace)?;
    add("like", 2, like)?;
    add("like", 3, like)?;
    add("glob", 2, glob)?;
    for arguments in [1, 2] {
        add("trim", arguments, |tools, cx| trim(tools, cx, true, true))?;
        add("ltrim", arguments, |tools, cx| trim(tools, cx, true, false))?;
        add("rtrim", arguments, |tools, cx| trim(tools, cx, false, true))?;
    }
    add("printf", -1, formatted)?;
    add("format", -1, formatted)
}

/// Index of the second text in the first, from 1, in characters, or in bytes for two blobs; 0
/// if it does not occur.
fn instr(tools: &Tools, cx: &Context<'_>) -> Result<Value> {
    if let (ValueRef::Blob(within), ValueRef::Blob(wanted)) = (cx.get_raw(0), cx.get_raw(1)) {
        tools.meter.charge(within.len() + wanted.len())?;
        return Ok(Value::Integer(place(memmem::find(within, wanted))));
    }
    let (Some(within), Some(wanted)) = (tools.text(cx, 0)?, tools.text(cx, 1)?) else {
        return Ok(Value::Null);
    };
    tools.meter.charge(within.len() + wanted.len())?;
    let found = memmem::find(within.as_bytes(), wanted.as_bytes());
    Ok(Value::Integer(place(
        found.map(|at| within[..at].chars().count()),
    )))
}

fn place(found: Option<usize>) -> i64 {
    found.map_or(0, |at| {
        i64::try_from(at).unwrap_or(i64::MAX).saturating_add(1)
    })
}

fn replace(tools: &Tools, cx: &Context<'_>) -> Result<Value> {
    let (Some(within), Some(from)) = (tools.text(cx, 0)?, tools.text(cx, 1)?) else {
        return Ok(Value::Null);
    };
    if from.is_empty() {
        return Value::try_from(cx.get_raw(0)).map_err(|_| complaint("not UTF-8"));
    }
    let Some(to) = tools.text(cx, 2)? else {
        return Ok(Value::Null);
    };
    let found = memmem::find_iter(within.as_bytes(), from.as_bytes()).count();
    let length = (within.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    tools.fits(length)?;
    tools.meter.charge(within.len() + length)?;
    Ok(Value::Text(within.replace(&from, &to)))
}

fn like(tools: &Tools, cx: &Context<'_>) -> Result<Value> {
    let escape = match cx.len() {
        3 => {
            let Some(escape) = tools.text(cx, 2)? else {
                return Ok(Value::Null);
            };
            let mut characters = escape.chars();
            let (Some(escape), None) = (characters.next(), characters.next()) else {
                return Err(complaint("ESCAPE expression must be a single character"));
            };
            Some(escape)
        }
        _ => None,
    };
    fits(tools, cx, |pattern| Pattern::like(pattern, escape))
}

fn glob(tools: &Tools, cx: &Context<'_>) -> Result<Value> {
    fits(tools, cx, Pattern::glob)
}

/// Whether the second argument matches the pattern in the first.
fn fits(tools: &Tools, cx: &Context<'_>, read: impl Fn(&str) -> Option<Pattern>) -> Result<Value> {
    let (Some(pattern), Some(text)) = (tools.text(cx, 0)?, tools.text(cx, 1)?) else {
        return Ok(Value::Null);
    };
    let Some(read) = read(&pattern) else {
        return Ok(Value::Integer(0));
    };
    let characters: Vec<char> = text.chars().collect();
    let (matched, looked) = read.matches(&characters, tools.meter.left());
    tools.meter.charge(looked + pattern.len())?;
    matched
        .map(|matched| Value::Integer(i64::from(matched)))
        .ok_or_else(|| Spent.into())
}

fn trim(tools: &Tools, cx: &Context<'_>, left: bool, right: bool) -> Result<Value> {
    let Some(text) = tools.text(cx, 0)? else {
        return Ok(Value::Null);
    };
    let unwanted = if cx.len() == 2 {
        tools.text(cx, 1)?
    } else {
        Some(" ".to_owned())
    };
    let Some(unwanted) = unwanted else {
        return Ok(Value::Null);
    };
    tools.meter.charge(text.len() + unwanted.len())?;
    let unwanted: std::collections::HashSet<char> = unwanted.chars().collect();
    let mut kept = text.as_str();
    if left {
        kept = kept.trim_start_matches(|character| unwanted.contains(&character));
    }
    if right {
        kept = kept.trim_end_matches(|character| unwanted.contains(&character));
    }
    Ok(Value::Text(kept.to_owned()))
}

/// SQLite's `printf`, with a limit on the width of fields.
fn formatted(tools: &Tools, cx: &Context<'_>) -> Result<Value> {
    let arguments: Vec<ValueRef<'_>> = (0..cx.len()).map(|at| cx.get_raw(at)).collect();
    let Some(format) = arguments
        .first()
        .map(|first| tools.originals.text(*first))
        .transpose()?
        .flatten()
    else {
        return Ok(Value::Null);
    };
    if widest(&format, arguments.get(1..).unwrap_or_default()) > WIDEST {
        return Err(failure(ffi::SQLITE_TOOBIG));
    }
    let lengths = arguments
        .iter()
        .map(|argument| argument.as_bytes().map_or(8, <[u8]>::len));
    tools.meter.charge(lengths.sum())?;
    let formatted = tools.originals.ask("printf", &arguments)?;
    if let Value::Text(text) = &formatted {
        tools.fits(text.len())?;
        tools.meter.charge(text.len())?;
    }
    Ok(formatted)
}

/// The widest field or longest precision of a format.
fn widest(format: &str, arguments: &[ValueRef<'_>]) -> u64 {
    let mut arguments = arguments.iter();
    let mut widest = 0;
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
                    widest = widest.max(number);
                    number = 0;
                }
                // The conversion.
                _ => {
                    arguments.next();
                    break;
                }
            }
            widest = widest.max(number);
        }
        // Two in a row are one sign, and what follows is text.
        if piece.is_empty() {
            pieces.next();
        }
    }
    widest
}

/// The value of an argument that is used as a width.
fn magnitude(value: &ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Integer(integer) => integer.unsigned_abs(),
        ValueRef::Null => 0,
        // Texts and fractions count as too wide.
        ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => u64::MAX,
    }
}
