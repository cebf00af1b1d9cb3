//! The filter `tojson` as chat templates expect it: Python's `json.dumps`, without escapes for HTML
//! or non-ASCII characters.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 256;

/// `value | tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes the options of a filter by value"
)]
pub(super) fn tojson(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent = match options
        .get::<Option<Value>>("indent")?
        .filter(|value| !value.is_none())
    {
        None => None,
        Some(indent) => Some(match indent.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(usize::try_from(indent)?.min(64)),
        }),
    };
    let separators = options
        .get::<Option<Value>>("separators")?
        .filter(|value| !value.is_none());
    let separator = |at: usize, default: &str| -> Result<String, Error> {
        let Some(pair) = &separators else {
            return Ok(default.to_owned());
        };
        let text = pair.get_item_by_index(at)?;
        text.as_str()
            .map(str::to_owned)
            .ok_or_else(|| invalid("`separators` must be two strings"))
    };
    let writer = Writer {
        item_separator: separator(0, if indent.is_some() { "," } else { ", " })?,
        key_separator: separator(1, ": ")?,
        ensure_ascii: options
            .get::<Option<bool>>("ensure_ascii")?
            .unwrap_or(false),
        sort_keys: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        indent,
    };
    options.assert_all_used()?;
    let mut out = String::new();
    writer.write(value, 0, &mut out)?;
    Ok(Value::from(out))
}

struct Writer {
    item_separator: String,
    key_separator: String,
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
}

impl Writer {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(invalid(
                "the value is nested too deeply: at most 256 levels are supported",
            ));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)?),
            ValueKind::String => self.string(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
                self.list('[', ']', items.iter(), depth, out, |item, out| {
                    self.write(item, depth + 1, out)
                })?;
            }
            ValueKind::Map => {
                let mut entries = Vec::new();
                for key in value.try_iter()?.checked() {
                    let key = key?;
                    let entry = value.get_item(&key)?;
                    entries.push((key_text(&key)?, entry));
                }
                if self.sort_keys {
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                }
                self.list('{', '}', entries.iter(), depth, out, |(key, entry), out| {
                    self.string(key, out);
                    out.push_str(&self.key_separator);
                    self.write(entry, depth + 1, out)
                })?;
            }
            kind => {
                return Err(invalid(&format!(
                    "a value of type {kind} cannot be written as JSON"
                )));
            }
        }
        Ok(())
    }

    fn list<T>(
        &self,
        open: char,
        close: char,
        items: impl ExactSizeIterator<Item = T>,
        depth: usize,
        out: &mut String,
        mut write: impl FnMut(T, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let empty = items.len() == 0;
        out.push(open);
        for (at, item) in items.enumerate() {
            if at > 0 {
                out.push_str(&self.item_separator);
            }
            self.line(depth + 1, out);
            write(item, out)?;
        }
        if !empty {
            self.line(depth, out);
        }
        out.push(close);
        Ok(())
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            for _ in 0..depth {
                out.push_str(indent);
            }
        }
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || (self.ensure_ascii && c > '~') => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

/// Formats a number as Python does.
fn number(value: &Value) -> Result<String, Error> {
    if value.is_integer() {
        return Ok(value.to_string());
    }
    let number = f64::try_from(value.clone())?;
    if !number.is_finite() {
        let name = if number.is_nan() { "NaN" } else { "Infinity" };
        return Ok(if number < 0.0 {
            format!("-{name}")
        } else {
            name.to_owned()
        });
    }
    // Both use the shortest digits that parse to the same number. They differ in when they use an
    // exponent.
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    Ok(if (-4..16).contains(&exponent) {
        format!("{number:?}")
    } else {
        format!(
            "{digits}e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        )
    })
}

/// Converts a key to a string, as JSON requires.
fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::None => Ok("null".to_owned()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_owned()),
        ValueKind::Number => number(key),
        kind => Err(invalid(&format!(
            "a key of type {kind} cannot be written as JSON"
        ))),
    }
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem.to_owned())
}

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    fn render(source: &str) -> String {
        let mut environment = Environment::new();
        environment.add_filter("tojson", super::tojson);
        environment.render_str(source, ()).unwrap()
    }

    #[test]
    fn formats_values_as_python_does() {
        assert_eq!(
            render("{{ {'b': [1, 2.0, none, true], 'a': {}} | tojson }}"),
            r#"{"b": [1, 2.0, null, true], "a": {}}"#
        );
        assert_eq!(
            render("{{ [1e16, 0.0001, 0.00001, 123456789012345.6, 1e22, -2.5e-7] | tojson }}"),
            { "[1e+16, 0.0001, 1e-05, 123456789012345.6, 1e+22, -2.5e-07]" }
        );
        // The keys 1 and `true` would be equal.
        assert_eq!(
            render("{{ {5: 2, none: 3, true: 4} | tojson }}"),
            r#"{"5": 2, "null": 3, "true": 4}"#
        );
    }

    #[test]
    fn escapes_only_what_json_requires() {
        assert_eq!(
            render(r#"{{ "<b>&'é😀\"\\\n\u007f\u0001" | tojson }}"#),
            "\"<b>&'é😀\\\"\\\\\\n\u{7f}\\u0001\""
        );
        assert_eq!(
            render(r#"{{ "é😀" | tojson(ensure_ascii=true) }}"#),
            r#""\u00e9\ud83d\ude00""#
        );
    }

    #[test]
    fn supports_indent_separators_and_sorted_keys() {
        assert_eq!(
            render("{{ {'b': [1, 2], 'a': []} | tojson(indent=2, sort_keys=true) }}"),
            { "{\n  \"a\": [],\n  \"b\": [\n    1,\n    2\n  ]\n}" }
        );
        assert_eq!(
            render("{{ {'b': [1, 2]} | tojson(separators=(',', ':')) }}"),
            r#"{"b":[1,2]}"#
        );
    }

    #[test]
    fn rejects_undefined_values() {
        let mut environment = Environment::new();
        environment.add_filter("tojson", super::tojson);
        assert!(
            environment
                .render_str("{{ missing | tojson }}", ())
                .is_err()
        );
    }
}
