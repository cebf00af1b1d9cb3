//! Jinja templates, rendered as `transformers` renders them. Owns the engine, but not the variables
//! passed to it.
//!
//! Scores must not depend on the date, so templates get no clock. `strftime_now`, which
//! `transformers` defines, is undefined here. A template that tests it with `is defined` uses its
//! fallback date. A template that calls it without a test is rejected.

use assay_jinja::Program;
use minijinja::value::{Kwargs, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value};

use super::json;

/// Maximum number of instructions of a rendering: a few hundred times those of a long conversation.
/// This limits time; [`assay_jinja`] limits memory.
const FUEL: u64 = 20_000_000;

/// Name of the only template of an environment, as shown in errors.
const NAME: &str = "template";

/// A compiled template.
#[derive(Debug)]
pub(super) struct Template {
    environment: Box<Environment<'static>>,
    program: Program,
}

/// Treatment of undefined names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// An empty string, as in chat templates of tokenizers.
    Empty,
    /// An error when the value is rendered, so that custom templates report missing variables.
    Error,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// The syntax error with its line.
    pub(super) fn compile(source: &str, missing: Missing) -> Result<Self, String> {
        let mut environment = Environment::new();
        environment.set_syntax(
            environment
                .syntax()
                .to_builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()
                .map_err(|error| error.to_string())?,
        );
        environment.set_fuel(Some(FUEL));
        environment.set_undefined_behavior(match missing {
            Missing::Empty => UndefinedBehavior::Lenient,
            Missing::Error => UndefinedBehavior::SemiStrict,
        });
        assay_jinja::bound(&mut environment);
        environment.set_unknown_method_callback(call_method);
        assay_jinja::add_filter(&mut environment, "tojson", json::tojson);
        assay_jinja::add_filter(&mut environment, "trim", trim);
        // In Python, strings are iterable, and strings and mappings are sequences.
        environment.add_test("iterable", |value: &Value| {
            value.as_str().is_some() || value.try_iter().is_ok()
        });
        environment.add_test("sequence", |value: &Value| {
            matches!(
                value.kind(),
                ValueKind::Seq | ValueKind::String | ValueKind::Map
            )
        });
        environment.add_function(
            "raise_exception",
            |message: String| -> Result<Value, Error> {
                Err(Error::new(ErrorKind::InvalidOperation, message))
            },
        );
        let source = without_generation_tags(&source.replace("\r\n", "\n").replace('\r', "\n"));
        let program =
            Program::compile(&environment, NAME, &source).map_err(|error| error.to_string())?;
        Ok(Self {
            environment: Box::new(environment),
            program,
        })
    }

    /// Renders the template with `context`.
    ///
    /// # Errors
    /// The message that the template raised, or the error of the engine.
    pub(super) fn render(&self, context: &Value) -> Result<String, String> {
        let rendered = self
            .program
            .render(&self.environment, context.clone(), None);
        rendered.map(|(text, _)| text).map_err(|error| match error.kind() {
            ErrorKind::OutOfFuel => "the template exceeds its limit of instructions".to_owned(),
            ErrorKind::UnknownFunction if error.to_string().contains(CLOCK) => format!(
                "the template uses the current date with `{CLOCK}`, but a score must not depend on \
                 the date; declare a `template` with a fixed date, or one that tests \
                 `{CLOCK} is defined`"
            ),
            // The detail of this kind is the message that the template raised.
            ErrorKind::InvalidOperation => error
                .detail()
                .map_or_else(|| error.to_string(), str::to_owned),
            _ => error.to_string(),
        })
    }
}

/// The function of `transformers` that returns the current time.
pub(super) const CLOCK: &str = "strftime_now";

/// Replaces `{% generation %}` blocks, which mark an assistant's text for training, with blocks
/// that are always rendered.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let (tag, after) = tag.split_at(end);
        match tag
            .trim_start_matches("{%")
            .trim_matches(['-', '+', ' ', '\t', '\n', '\r'])
        {
            "generation" => out.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => out.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Methods of Python values. String methods that depend on the definition of white space are
/// implemented here, the others in [`assay_jinja`].
fn call_method(
    state: &mut State,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    if let (Some(text), Some(sides)) = (value.as_str(), Sides::from_method(name)) {
        let (chars,): (Option<&str>,) = from_args(arguments)?;
        return Ok(Value::from(sides.strip(text, chars)));
    }
    match (value.as_str(), name, arguments) {
        (Some(text), "split", []) => Ok(text
            .split(is_space)
            .filter(|word| !word.is_empty())
            .map(Value::from)
            .collect()),
        (Some(text), "splitlines", _) => {
            let (keep_ends, options): (Option<bool>, Kwargs) = from_args(arguments)?;
            let keep_ends = keep_ends.or(options.get("keepends")?).unwrap_or(false);
            options.assert_all_used()?;
            Ok(split_lines(text, keep_ends)
                .into_iter()
                .map(Value::from)
                .collect())
        }
        _ => assay_jinja::method(state, value, name, arguments),
    }
}

/// The filter `trim`.
fn trim(value: &Value, chars: Option<&str>) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    Sides::Both.strip(&text, chars).to_owned()
}

#[derive(Debug, Clone, Copy)]
enum Sides {
    Both,
    Left,
    Right,
}

impl Sides {
    fn from_method(method: &str) -> Option<Self> {
        match method {
            "strip" => Some(Self::Both),
            "lstrip" => Some(Self::Left),
            "rstrip" => Some(Self::Right),
            _ => None,
        }
    }

    fn strip<'a>(self, text: &'a str, chars: Option<&str>) -> &'a str {
        let stripped = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
        match self {
            Self::Both => text.trim_matches(stripped),
            Self::Left => text.trim_start_matches(stripped),
            Self::Right => text.trim_end_matches(stripped),
        }
    }
}

/// White space as defined by Python: Unicode white space and four separator control characters.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Python's `str.splitlines`.
fn split_lines(text: &str, keep_ends: bool) -> Vec<&str> {
    const ENDS: [char; 10] = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(ENDS) {
        let end = if rest[at..].starts_with("\r\n") {
            at + 2
        } else {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        };
        lines.push(&rest[..if keep_ends { end } else { at }]);
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> Result<String, String> {
        Template::compile(source, Missing::Empty)
            .unwrap()
            .render(&Value::from_pairs([("text", " a\u{1f}\nb "), ("one", "1")]))
    }

    #[test]
    fn trims_blocks_and_the_last_newline() {
        assert_eq!(
            render("  {% if one %}\nx\n  {% endif %}\ny\n").unwrap(),
            "x\ny"
        );
        assert_eq!(
            render("  {% if one %}\r\nx\r\n{% endif %}y\r\n").unwrap(),
            "x\ny"
        );
    }

    #[test]
    fn string_methods_use_pythons_white_space() {
        assert_eq!(
            render(
                "[{{ '\u{1f} a \u{1c}'.strip() }}|{{ '\u{1f}a' | trim }}|{{ 'xxa'.lstrip('x') }}]"
            )
            .unwrap(),
            "[a|a|a]"
        );
        assert_eq!(render("{{ text.split() | join(',') }}").unwrap(), "a,b");
        assert_eq!(
            render("{{ 'a\r\nb\u{2028}c\n'.splitlines() | join(',') }}").unwrap(),
            "a,b,c"
        );
        assert_eq!(
            render("{{ 'a\nb'.splitlines(true) | tojson }}").unwrap(),
            r#"["a\n", "b"]"#
        );
        assert_eq!(
            render("{{ 'a</think>b</think>\n\nc'.split('</think>')[-1].lstrip('\n') }}").unwrap(),
            "c"
        );
        assert_eq!(
            render("{{ text is iterable }} {{ text is sequence }} {{ one is string }}").unwrap(),
            "True True True"
        );
    }

    #[test]
    fn reports_raised_messages_verbatim() {
        assert_eq!(
            render("{{ raise_exception('roles must alternate') }}").unwrap_err(),
            "roles must alternate"
        );
    }

    #[test]
    fn stops_templates_that_exceed_the_instruction_limit() {
        let nested =
            "{% for a in range(9999) %}{% for b in range(9999) %}{{ one }}{% endfor %}{% endfor %}";
        assert_eq!(
            render(nested).unwrap_err(),
            "the template exceeds its limit of instructions"
        );
    }

    #[test]
    fn stops_templates_that_exceed_the_memory_limit() {
        for attack in [
            "{% set ns = namespace(a='xx') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a \
             %}{% endfor %}{{ ns.a }}",
            "{% for i in range(60) %}{% set x %}{{ one * 90000000 }}{% endset %}{{ x }}{% endfor \
             %}",
            "{{ ([one] * 90000000) | tojson }}",
        ] {
            assert!(
                render(attack)
                    .unwrap_err()
                    .contains("produces more than 128 MiB"),
                "{attack}"
            );
        }
    }

    #[test]
    fn templates_have_no_access_to_the_date() {
        assert_eq!(
            render(
                "{% if strftime_now is defined %}{{ strftime_now('%d') }}{% else %}26{% endif %}"
            )
            .unwrap(),
            "26"
        );
        assert!(
            render("{{ strftime_now('%d') }}")
                .unwrap_err()
                .contains("must not depend on the date")
        );
    }

    #[test]
    fn renders_generation_blocks() {
        assert_eq!(
            render("a{%- generation -%} b {%- endgeneration %}c{{ '{% generation' }}").unwrap(),
            "abc{% generation"
        );
        assert_eq!(
            render(
                "{% for x in [1, 2, 3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}"
            )
            .unwrap(),
            "1"
        );
    }

    #[test]
    fn undefined_names_are_empty_or_an_error() {
        assert_eq!(render("[{{ missing }}]").unwrap(), "[]");
        let strict =
            Template::compile("{% if a %}{% endif %}{{ reference }}", Missing::Error).unwrap();
        assert!(strict.render(&Value::from_pairs([("b", "1")])).is_err());
        assert!(
            Template::compile("{% if %}", Missing::Empty)
                .unwrap_err()
                .contains("template:1")
        );
    }
}
