//! Evidence from the driver of an image about a failure: the line of the test, the values, the
//! limit of the sandbox. It explains a verdict and never decides one, because a program can forge
//! part of it.

use assay_worker::program::MAX_TOLD;
use serde::Deserialize;

/// Bytes or characters shown from the start or the end of a text.
pub(crate) const SHOWN: usize = 400;

/// Most calls that are shown: the last ones.
const CALLS: usize = 3;

/// File names of the test's code.
const FILES: &[&str] = &["test.py", "setup.py"];

/// The evidence. Every field may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Told {
    /// The file that failed: `test.py` or `setup.py`.
    pub(crate) file: Option<String>,
    /// Its line, from 1.
    pub(crate) line: Option<u64>,
    /// The text of that line.
    pub(crate) source: Option<String>,
    /// The comparison that was false, and its two values.
    pub(crate) operator: Option<String>,
    pub(crate) left: Option<String>,
    pub(crate) right: Option<String>,
    /// The last calls into the program, oldest first.
    pub(crate) calls: Vec<Call>,
    pub(crate) limit: Option<Limit>,
}

/// A call of the program by the test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Call {
    pub(crate) call: String,
    pub(crate) returned: Option<String>,
    pub(crate) raised: Option<String>,
}

/// A limit of the sandbox that was reached: its kind, and the module or function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Limit {
    pub(crate) cause: String,
    pub(crate) name: String,
}

impl Told {
    /// Reads the evidence and cuts long texts and lists; `None` if it has a different shape.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_TOLD {
            return None;
        }
        let mut told: Self = serde_json::from_str(text).ok()?;
        told.file = told.file.filter(|file| FILES.contains(&file.as_str()));
        for text in [
            &mut told.source,
            &mut told.operator,
            &mut told.left,
            &mut told.right,
        ]
        .into_iter()
        .flatten()
        {
            cut(text);
        }
        told.calls.drain(..told.calls.len().saturating_sub(CALLS));
        for Call {
            call,
            returned,
            raised,
        } in &mut told.calls
        {
            cut(call);
            [returned, raised].into_iter().flatten().for_each(cut);
        }
        if let Some(Limit { cause, name }) = &mut told.limit {
            cut(cause);
            cut(name);
        }
        Some(told)
    }
}

fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_is_there() {
        let text = r#"{"file":"test.py","line":3,"left":"5","calls":[{"call":"f(2)","returned":"5"}],"new":[1]}"#;
        let told = Told::read(text).unwrap();
        assert_eq!(
            (told.line, told.left.as_deref(), told.right, told.limit),
            (Some(3), Some("5"), None, None)
        );
        assert_eq!(told.calls[0].returned.as_deref(), Some("5"));
        for malformed in ["", "[5]", "5", r#"{"line":"3"}"#, r#"{"calls":{}}"#] {
            assert_eq!(Told::read(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn bounds_what_it_keeps() {
        let long = "é".repeat(SHOWN + 1);
        let calls = vec![json!({"call": long, "raised": long}); 9];
        let text = json!({"file": "main.py", "left": long, "calls": calls, "limit": {"cause": long, "name": "x"}});
        let told = Told::read(&text.to_string()).unwrap();
        assert_eq!((told.calls.len(), told.file.as_ref()), (CALLS, None));
        let cut = "é".repeat(SHOWN) + "…";
        assert_eq!(told.left.as_ref(), Some(&cut));
        assert_eq!(
            (&told.calls[2].call, told.calls[2].raised.as_ref()),
            (&cut, Some(&cut))
        );
        assert_eq!(told.limit.unwrap().cause, cut);
        assert_eq!(
            Told::read(&json!({"left": "x".repeat(MAX_TOLD)}).to_string()),
            None
        );
    }
}
