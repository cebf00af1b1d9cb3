//! JSON with its numbers as they were written: integers of any size stay exact, and `1` can be told
//! from `1.0`.

mod compare;
pub mod number;
mod pointer;
mod read;
mod write;

pub use compare::{Leaf, leaves, same};
pub use pointer::{Pointer, PointerError, index};
pub use read::{Broken, MAX_DEPTH, Reader, repeats};
pub(crate) use write::number_value;

/// A JSON value. Numbers follow JSON's grammar; keys stand in the order they were written.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// The number's text.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object. [`Json::read`] refuses keys that stand twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text that is one JSON value and nothing else, nested at most [`MAX_DEPTH`] deep, no
    /// key of an object twice.
    ///
    /// # Errors
    /// [`Broken`] with the byte at which it stops being that.
    pub fn read(text: &str) -> Result<Self, Broken> {
        Reader::new(text).all()
    }

    /// The member of that key; `None` for what is no object as well.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The pairs of an object; none for anything else.
    #[must_use]
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements of an array; none for anything else.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of value it is, in JSON's words.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// How many values it has, itself counted.
    #[must_use]
    pub fn parts(&self) -> u64 {
        let inside: u64 = match self {
            Self::Array(elements) => elements.iter().map(Self::parts).sum(),
            Self::Object(members) => members.iter().map(|(_, value)| value.parts()).sum(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => 0,
        };
        1 + inside
    }

    /// Bytes it keeps, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let inside = match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(text) | Self::Text(text) => text.len(),
            Self::Array(elements) => elements.iter().map(Self::bytes).sum(),
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| 24 + key.len() + value.bytes())
                .sum(),
        };
        size_of::<Self>() + inside
    }
}
