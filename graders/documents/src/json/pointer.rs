//! JSON Pointer (RFC 6901): a location in a tree.

use std::fmt;

use assay_base::pointer::{escaped, unescaped};
use assay_base::truncated;

use super::tree::Json;

/// A location in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer(Vec<String>);

/// The text is not a valid JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerError(String);

impl fmt::Display for PointerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invalid JSON pointer `{}`: expected an empty string or a leading `/`, and `0` or `1` \
             after each `~`",
            self.0
        )
    }
}

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// [`PointerError`] for a text that is neither empty nor starts with `/`, or that contains an
    /// escape other than `~0` and `~1`.
    pub fn read(text: &str) -> Result<Self, PointerError> {
        let error = || PointerError(truncated(text, 100).to_owned());
        if text.is_empty() {
            return Ok(Self::default());
        }
        let steps = text.strip_prefix('/').ok_or_else(error)?;
        let unescaped = |step: &str| {
            let is_escape = |at: usize| matches!(step.as_bytes().get(at + 1), Some(b'0' | b'1'));
            let is_valid = step.match_indices('~').all(|(at, _)| is_escape(at));
            is_valid.then(|| unescaped(step)).ok_or_else(error)
        };
        steps
            .split('/')
            .map(unescaped)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The steps of the pointer, unescaped.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// Creates a pointer from unescaped steps.
    #[must_use]
    pub fn from_steps(steps: Vec<String>) -> Self {
        Self(steps)
    }

    /// Returns the value at this location.
    #[must_use]
    pub fn find<'a>(&self, tree: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(tree, |tree, step| match tree {
            Json::Object(_) => tree.get(step),
            Json::Array(elements) => index(step).and_then(|at| elements.get(at)),
            _ => None,
        })
    }

    /// Returns the value at this location for modification.
    pub fn find_mut<'a>(&self, tree: &'a mut Json) -> Option<&'a mut Json> {
        self.0.iter().try_fold(tree, |tree, step| match tree {
            Json::Object(members) => members
                .iter_mut()
                .find(|(key, _)| key == step)
                .map(|(_, value)| value),
            Json::Array(elements) => index(step).and_then(|at| elements.get_mut(at)),
            _ => None,
        })
    }

    /// The pointer to the parent and the last step; `None` for the whole tree.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &str)> {
        self.0
            .split_last()
            .map(|(last, before)| (Self(before.to_vec()), last.as_str()))
    }

    /// Whether `other` points to this location or to a location inside it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

/// Parses an array index: digits without leading zeros.
#[must_use]
pub fn index(step: &str) -> Option<usize> {
    let canonical = step == "0" || !step.starts_with('0');
    (canonical && step.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| step.parse().ok())
        .flatten()
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|step| write!(f, "/{}", escaped(step)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values() {
        let tree = Json::read(r#"{"a":[{"b/c":1}],"":2,"m~n":3}"#).unwrap();
        let at = |text: &str| {
            Pointer::read(text)
                .unwrap()
                .find(&tree)
                .map(ToString::to_string)
        };
        assert_eq!(at("/a/0/b~1c").as_deref(), Some("1"));
        assert_eq!(at("/").as_deref(), Some("2"));
        assert_eq!(at("/m~0n").as_deref(), Some("3"));
        assert_eq!(at("/a/00"), None);
        assert_eq!(at("/a/-"), None);
        for text in ["a", "/~2", "/a~"] {
            assert!(Pointer::read(text).is_err(), "{text}");
        }
    }
}
