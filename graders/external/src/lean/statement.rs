//! The statement of a task, as data sets of formal mathematics write it: a file of Lean that ends
//! with a theorem without its proof.

use assay_core::RawJson;
use serde::Deserialize;

/// Imported if a statement imports nothing.
const MATHLIB: &str = "import Mathlib";

/// What a completion must prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) imports: Vec<String>,
    /// What precedes the theorem: options, opened namespaces, definitions.
    pub(crate) preamble: String,
    /// The name of the theorem.
    pub(crate) name: String,
    /// Its binders and type, from the first binder or the colon.
    pub(crate) signature: String,
}

impl Statement {
    /// Reads the `data` of a task, `{"statement": TEXT}`.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub(crate) fn from_data(data: Option<&RawJson>) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Data {
            statement: String,
        }
        let data = data.ok_or("a judge of the kind `kimina` needs `data` with a `statement`")?;
        let data: Data = serde_json::from_str(data.get()).map_err(|error| {
            format!("`data` must be an object with the text `statement`: {error}")
        })?;
        Self::read(&data.statement)
    }

    fn read(text: &str) -> Result<Self, String> {
        let (mut imports, body) = without_imports(text);
        if imports.is_empty() {
            imports.push(MATHLIB.to_owned());
        }
        let start = declaration(body)
            .ok_or("`statement` must end with a `theorem` or `lemma` at the start of a line")?;
        let (preamble, theorem) = body.split_at(start);
        if words(preamble).any(|word| word == "namespace") {
            return Err("`statement` must not open a namespace; qualify its names".to_owned());
        }
        if preamble.lines().any(|line| line.starts_with("import ")) {
            return Err("imports of `statement` must be its first lines".to_owned());
        }
        let (_, theorem) = theorem
            .split_once(char::is_whitespace)
            .unwrap_or((theorem, ""));
        let theorem = theorem.trim_start();
        let end = theorem
            .find(|c: char| !is_of_name(c))
            .unwrap_or(theorem.len());
        let (name, rest) = theorem.split_at(end);
        if name.is_empty() || name.starts_with('.') || name.ends_with('.') {
            return Err("the theorem of `statement` needs a plain name".to_owned());
        }
        let signature = without_proof(rest).filter(|signature| signature.contains(':'));
        let signature = signature
            .ok_or("`statement` must end with `:= by sorry`, `:= sorry`, `:= by` or `:=`")?;
        Ok(Self {
            imports,
            preamble: preamble.trim().to_owned(),
            name: name.to_owned(),
            signature: signature.to_owned(),
        })
    }
}

/// The lines with imports at the start of a file, and the rest of it.
fn without_imports(text: &str) -> (Vec<String>, &str) {
    let (mut imports, mut rest) = (Vec::new(), text);
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        if line.starts_with("import ") {
            imports.push(line.to_owned());
        } else if !line.is_empty() || rest.is_empty() {
            return (imports, rest);
        }
        rest = after;
    }
}

/// The words of a text: names without their dots, and words of the language.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_of_name(c) || c == '.')
        .filter(|word| !word.is_empty())
}

/// Whether a character occurs in names of Lean that are not quoted.
pub(super) fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "_'!?.".contains(c)
}

/// The start of the last line that declares a theorem.
fn declaration(text: &str) -> Option<usize> {
    let mut at = 0;
    let starts = text.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        (start, line)
    });
    let declares = |(_, line): &(usize, &str)| {
        let word = line.split(char::is_whitespace).next();
        matches!(word, Some("theorem" | "lemma"))
    };
    starts.filter(declares).last().map(|(start, _)| start)
}

/// The binders and the type of a theorem, without the mark of its proof.
fn without_proof(text: &str) -> Option<&str> {
    let text = text.trim();
    let text = text.strip_suffix("sorry").unwrap_or(text).trim_end();
    let text = text.strip_suffix("by").unwrap_or(text).trim_end();
    Some(text.strip_suffix(":=")?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_data_sets_contain() {
        let text = "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 400000\nopen Real\n\n\
                    def double (n : ℕ) := 2 * n\n\n\
                    theorem double_pos {n : ℕ} (h : 0 < n) : 0 < double n := by\n  sorry\n";
        let read = Statement::read(text).unwrap();
        assert_eq!(read.imports, ["import Mathlib", "import Aesop"]);
        assert_eq!(read.name, "double_pos");
        assert_eq!(read.signature, "{n : ℕ} (h : 0 < n) : 0 < double n");
        assert!(read.preamble.starts_with("set_option") && read.preamble.ends_with("2 * n"));
        for end in [":= by sorry", ":= sorry", ":=", ":= by"] {
            let read = Statement::read(&format!("lemma a.b' : 1 = 1 {end}")).unwrap();
            assert_eq!((&*read.name, &*read.signature), ("a.b'", ": 1 = 1"));
            assert_eq!(read.imports, [MATHLIB]);
        }
    }

    #[test]
    fn rejects_statements_that_cannot_be_declared() {
        for (text, part) in [
            ("def a := 1", "`theorem`"),
            ("theorem a : 1 = 1", ":="),
            ("theorem a := by sorry", ":="),
            ("theorem : 1 = 1 := by sorry", "name"),
            ("theorem a.{u} : 1 = 1 := by sorry", "name"),
            ("namespace N\ntheorem a : 1 = 1 := by sorry", "namespace"),
            (
                "open Real\nimport Aesop\ntheorem a : 1 = 1 := by",
                "first lines",
            ),
        ] {
            let reason = Statement::read(text).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
