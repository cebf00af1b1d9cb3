//! The tree of a JSON value.

/// A JSON value. Numbers follow the grammar of JSON; keys are in the order in which they were
/// written.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// The text of a number.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object. [`Json::read`] rejects duplicate keys.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member with this key; `None` if there is none or the value is not an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The member with this key without the rest; `None` as in [`Json::get`].
    #[must_use]
    pub fn into_member(self, key: &str) -> Option<Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let mut members = members.into_iter();
        members
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// The members of an object; empty for other values.
    #[must_use]
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    /// The elements of an array; empty for other values.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The text of a string; `None` for other values.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The type of the value with an article, for messages.
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

    /// Number of values in the tree, including this one.
    #[must_use]
    pub fn parts(&self) -> u64 {
        let inside: u64 = match self {
            Self::Array(elements) => elements.iter().map(Self::parts).sum(),
            Self::Object(members) => members.iter().map(|(_, value)| value.parts()).sum(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => 0,
        };
        1 + inside
    }

    /// Approximate memory in bytes.
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
