//! Reads calls in the notation of FunctionGemma and Gemma 4, which resembles JSON but has marks in
//! place of quotes: `call:f{city:<escape>Paris<escape>,days:2}`.

use std::collections::HashSet;

use super::mark::{Mark, end};
use super::parsed::ParsedCall;
use super::scan::Scan;
use crate::json::{Json, MAX_DEPTH, SyntaxError, is_duplicate};

/// Marks around a string.
const QUOTES: &[&str] = &["<escape>", "<|\"|>"];

/// `call:f{…}` and the end mark.
pub(super) fn call(scan: &mut Scan<'_, '_>, mark: &Mark) -> Result<(), SyntaxError> {
    if !scan.take("call:") {
        return Err(scan.error("expected `call:`"));
    }
    let rest = scan.rest();
    let name = rest[..rest.find(['{', '<', '\n']).unwrap_or(rest.len())].trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(scan.error("the call has no name"));
    }
    let _name = scan.take(name);
    let arguments = members(scan, 0)?;
    end(scan, mark)?;
    scan.call(scan.attempt, ParsedCall::named(name, arguments))
}

fn members(scan: &mut Scan<'_, '_>, depth: usize) -> Result<Vec<(String, Json)>, SyntaxError> {
    if !scan.take("{") {
        return Err(scan.error("expected `{`"));
    }
    let (mut members, mut seen) = (Vec::new(), HashSet::new());
    loop {
        if members.is_empty() && scan.take("}") {
            return Ok(members);
        }
        scan.skip_space();
        let start = scan.at;
        let key = match string(scan)? {
            Some(key) => key,
            None => {
                let rest = scan.rest();
                let key = &rest[..rest.find([':', ',', '{', '}', '<']).unwrap_or(rest.len())];
                scan.at += key.len();
                key.trim().to_owned()
            }
        };
        if !scan.take(":") {
            return Err(scan.error("expected a key and `:`"));
        }
        if is_duplicate(&key, &members, &mut seen) {
            return Err(SyntaxError::new(start, format!("duplicate key `{key}`")));
        }
        let value = value(scan, depth)?;
        members.push((key, value));
        if scan.take("}") {
            return Ok(members);
        }
        if !scan.take(",") {
            return Err(scan.error("expected `,` or `}`"));
        }
    }
}

fn value(scan: &mut Scan<'_, '_>, depth: usize) -> Result<Json, SyntaxError> {
    if depth > MAX_DEPTH {
        return Err(scan.error("the value nests too deeply"));
    }
    scan.skip_space();
    if let Some(text) = string(scan)? {
        return Ok(Json::Text(text));
    }
    if scan.rest().starts_with('{') {
        return members(scan, depth + 1).map(Json::Object);
    }
    if scan.take("[") {
        let mut elements = Vec::new();
        loop {
            if elements.is_empty() && scan.take("]") {
                return Ok(Json::Array(elements));
            }
            elements.push(value(scan, depth + 1)?);
            if scan.take("]") {
                return Ok(Json::Array(elements));
            }
            if !scan.take(",") {
                return Err(scan.error("expected `,` or `]`"));
            }
        }
    }
    let rest = scan.rest();
    let word = &rest[..rest.find([',', '}', ']', '<']).unwrap_or(rest.len())];
    let value = match word.trim() {
        "None" => Json::Null,
        "True" => Json::Bool(true),
        "False" => Json::Bool(false),
        word => Json::read(word)
            .map_err(|_| scan.error("expected a value; strings are between marks"))?,
    };
    scan.at += word.len();
    Ok(value)
}

/// A string between two marks, if one follows.
fn string(scan: &mut Scan<'_, '_>) -> Result<Option<String>, SyntaxError> {
    let start = scan.at;
    let Some(quote) = QUOTES.iter().find(|quote| scan.rest().starts_with(**quote)) else {
        return Ok(None);
    };
    scan.at += quote.len();
    let text = scan.take_until(quote);
    let text = text.ok_or_else(|| SyntaxError::new(start, "unterminated string"))?;
    Ok(Some(text.to_owned()))
}
