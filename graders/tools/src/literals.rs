//! Literals of Java and JavaScript, which BFCL expects as texts for functions in these languages:
//! `123L`, `1.5f`, `new int[]{1, 2}`, `new HashMap<>() {{ put("a", 1); }}`, `{a: 1, 'b': [2]}`.
//!
//! A text that is not a literal of its declared type remains a text. Values that are not texts are
//! taken as they are.

use assay_documents::Json;
use serde::Deserialize;

/// The programming language of the functions, in whose literals BFCL expects arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    #[default]
    Python,
    Java,
    JavaScript,
}

/// Maximum nesting of a literal.
const MAX_DEPTH: usize = 64;

/// The value of a text by the declared type of its argument; `None` if the text remains a text.
pub(crate) fn value(language: Language, schema: &Json, value: &Json) -> Option<Json> {
    let (text, declared) = (value.text()?, schema.get("type")?.text()?);
    let mut reader = Reader {
        text,
        at: 0,
        language,
    };
    let suffixes: &[char] = match (language, declared) {
        (Language::Python, _) => return None,
        (Language::JavaScript, "String") => {
            let inside = text.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
            return Some(Json::Text(inside.to_owned()));
        }
        (_, "String" | "string" | "any" | "char") => return None,
        (_, "boolean" | "Boolean") => {
            return match text {
                "true" => Some(Json::Bool(true)),
                "false" => Some(Json::Bool(false)),
                _ => None,
            };
        }
        (_, "byte" | "short" | "integer" | "double") | (Language::JavaScript, "float") => &[],
        (_, "long") => &['l', 'L'],
        (_, "float") => &['f', 'F'],
        (_, "Bigint") => &['n'],
        _ => return reader.all(),
    };
    let digits = match suffixes {
        [] => text,
        suffixes => text.strip_suffix(suffixes)?,
    };
    let is_fraction = matches!(declared, "float" | "double");
    (is_fraction || is_integer(digits)).then(|| number(digits))?
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number that a text is.
fn number(text: &str) -> Option<Json> {
    Json::read(text)
        .ok()
        .filter(|value| matches!(value, Json::Number(_)))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    language: Language,
}

impl<'a> Reader<'a> {
    /// The value that is the whole text.
    fn all(&mut self) -> Option<Json> {
        let value = self.value(0)?;
        let _semicolon = self.take(";");
        self.rest().trim().is_empty().then_some(value)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips white space, and `mark` if it follows. Returns whether it did.
    fn take(&mut self, mark: &str) -> bool {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        let _blank = self.take("");
        match self.rest().chars().next()? {
            '"' | '\'' | '`' => self.string().map(Json::Text),
            '[' if self.language == Language::JavaScript => self.list("[", "]", depth),
            '{' if self.language == Language::JavaScript => self.object(depth),
            '{' => self.list("{", "}", depth),
            _ if self.word("new") => self.created(depth),
            _ if self.language == Language::Java && self.starts_list() => {
                self.list("(", ")", depth)
            }
            _ => Some(self.scalar()),
        }
    }

    /// Skips a keyword.
    fn word(&mut self, word: &str) -> bool {
        let after = self.rest().strip_prefix(word);
        let found = after.is_some_and(|after| after.starts_with(char::is_whitespace));
        if found {
            self.at += word.len();
        }
        found
    }

    /// Skips the name of a method that creates a list from its arguments.
    fn starts_list(&mut self) -> bool {
        [
            "Arrays.asList",
            "List.of",
            "Set.of",
            "Collections.singletonList",
        ]
        .iter()
        .any(|name| self.take(name))
    }

    /// The value after `new`: an array, a collection, or a map.
    fn created(&mut self, depth: usize) -> Option<Json> {
        let _blank = self.take("");
        let end = self.rest().find(['(', '{'])?;
        let class = self.rest()[..end].trim();
        let name = class.split(['<', '[']).next().unwrap_or_default().trim();
        self.at += end;
        if name == "Array" && self.language == Language::JavaScript {
            return self.list("(", ")", depth);
        }
        if class.ends_with(']') {
            return self.list("{", "}", depth);
        }
        let is_map = name.ends_with("Map") || name.ends_with("Hashtable");
        if !self.take("(") {
            return None;
        }
        let elements = match self.take(")") {
            true => Json::Array(Vec::new()),
            false => {
                let elements = self.value(depth + 1)?;
                self.take(")").then_some(elements)?
            }
        };
        // Java's double braces: statements that fill the collection.
        if self.take("{") {
            return self.filled(is_map, depth);
        }
        Some(match is_map {
            true => Json::Object(Vec::new()),
            false => elements,
        })
    }

    /// `{ put("a", 1); }}` or `{ add(1); }}`.
    fn filled(&mut self, is_map: bool, depth: usize) -> Option<Json> {
        let (mut members, mut elements) = (Vec::new(), Vec::new());
        if !self.take("{") {
            return None;
        }
        loop {
            if self.take("}") {
                self.take("}").then_some(())?;
                return Some(match is_map {
                    true => Json::Object(members),
                    false => Json::Array(elements),
                });
            }
            if self.take("put(") {
                let key = self.value(depth + 1)?;
                self.take(",").then_some(())?;
                members.push((key.text()?.to_owned(), self.value(depth + 1)?));
            } else if self.take("add(") {
                elements.push(self.value(depth + 1)?);
            } else {
                return None;
            }
            (self.take(")") && self.take(";")).then_some(())?;
        }
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Option<Json> {
        self.take(open).then_some(())?;
        let mut elements = Vec::new();
        loop {
            if self.take(close) {
                return Some(Json::Array(elements));
            }
            elements.push(self.value(depth + 1)?);
            if !self.take(",") {
                return self.take(close).then_some(Json::Array(elements));
            }
        }
    }

    /// `{a: 1, 'b': 2}`
    fn object(&mut self, depth: usize) -> Option<Json> {
        self.take("{").then_some(())?;
        let mut members = Vec::new();
        loop {
            if self.take("}") {
                return Some(Json::Object(members));
            }
            let key = match self.rest().chars().next()? {
                '"' | '\'' => self.string()?,
                _ => {
                    let rest = self.rest();
                    let key =
                        &rest[..rest.find(|c: char| !(c.is_alphanumeric() || "_$".contains(c)))?];
                    self.at += key.len();
                    key.to_owned()
                }
            };
            self.take(":").then_some(())?;
            members.push((key, self.value(depth + 1)?));
            if !self.take(",") {
                return self.take("}").then_some(Json::Object(members));
            }
        }
    }

    /// A string in quotes, with the escapes of both languages.
    fn string(&mut self) -> Option<String> {
        let quote = self.rest().chars().next()?;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at += at + c.len_utf8();
                return Some(text);
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            text.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                }
                other => other,
            });
        }
        None
    }

    /// A number, a keyword, or the name of a variable as a text.
    fn scalar(&mut self) -> Json {
        let rest = self.rest();
        let mut depth = 0_usize;
        let end = rest.find(|c: char| {
            match c {
                '(' => depth += 1,
                ')' if depth > 0 => {
                    depth -= 1;
                    return false;
                }
                _ => {}
            }
            depth == 0 && ",;)]}".contains(c)
        });
        let word = rest[..end.unwrap_or(rest.len())].trim_end();
        // A closing bracket without an opening one would otherwise not be consumed.
        self.at += word.len().max(usize::from(end == Some(0)));
        match word {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "null" | "undefined" => Json::Null,
            _ => number(word.trim_end_matches(['l', 'L', 'f', 'F', 'd', 'D', 'n']))
                .unwrap_or_else(|| Json::Text(word.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: Language, declared: &str, text: &str) -> Option<String> {
        let schema = Json::Object(vec![("type".to_owned(), Json::Text(declared.to_owned()))]);
        let value = value(language, &schema, &Json::Text(text.to_owned()));
        value.map(|value| value.to_string())
    }

    #[test]
    fn reads_literals_of_java() {
        for (declared, text, json) in [
            ("integer", "123", Some("123")),
            ("long", "-123L", Some("-123")),
            ("float", "1.5f", Some("1.5")),
            ("double", "3.14", Some("3.14")),
            ("boolean", "true", Some("true")),
            ("Array", "new int[]{1, 2}", Some("[1,2]")),
            ("Array", "{\"a\", \"b\"}", Some("[\"a\",\"b\"]")),
            ("Array", "new int[][]{{1}, {2, 3}}", Some("[[1],[2,3]]")),
            (
                "ArrayList",
                "new ArrayList<String>(Arrays.asList(\"a, b\", \"c\"))",
                Some("[\"a, b\",\"c\"]"),
            ),
            ("ArrayList", "new ArrayList<>()", Some("[]")),
            (
                "ArrayList",
                "new ArrayList<>() {{ add(1L); add(2L); }}",
                Some("[1,2]"),
            ),
            (
                "HashMap",
                "new HashMap<String, Integer>() {{ put(\"a\", 1); put(\"b\", 2); }}",
                Some("{\"a\":1,\"b\":2}"),
            ),
            ("HashMap", "new HashMap<>()", Some("{}")),
            ("String", "123", None),
            ("any", "new Path('/x')", None),
            ("integer", "1.5", None),
            ("integer", "1L", None),
            ("long", "1", None),
            ("float", "1.5", None),
            ("Array", "new int[]{1,", None),
        ] {
            assert_eq!(
                read(Language::Java, declared, text).as_deref(),
                json,
                "{text}"
            );
        }
    }

    #[test]
    fn reads_literals_of_javascript() {
        for (declared, text, json) in [
            ("integer", "42", Some("42")),
            ("float", "4.5", Some("4.5")),
            ("array", "['a', \"b\", c]", Some("[\"a\",\"b\",\"c\"]")),
            (
                "array",
                "[1, [2.5, true], null]",
                Some("[1,[2.5,true],null]"),
            ),
            (
                "dict",
                "{a: 1, 'b c': {d: [false]}, \"e\": 'it\\'s'}",
                Some("{\"a\":1,\"b c\":{\"d\":[false]},\"e\":\"it's\"}"),
            ),
            ("dict", "{a: f(1, 2)}", Some("{\"a\":\"f(1, 2)\"}")),
            ("Boolean", "false", Some("false")),
            ("array", "new Array(1, 2)", Some("[1,2]")),
            ("String", "'a'", Some("\"a\"")),
            ("String", "a", None),
            ("Bigint", "12n", Some("12")),
            ("dict", "{a 1}", None),
        ] {
            let got = read(Language::JavaScript, declared, text);
            assert_eq!(got.as_deref(), json, "{text}");
        }
    }
}
