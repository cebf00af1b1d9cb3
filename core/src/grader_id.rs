//! A grader and its version.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A grader and its version, displayed as in `math@1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct GraderId {
    /// Name of the grader.
    pub name: Cow<'static, str>,
    /// Its version.
    pub version: u32,
}

impl fmt::Display for GraderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// A text does not name a grader and its version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed grader `{0}`; expected a name and a version, as in `math@1`")]
pub struct MalformedGrader(String);

impl FromStr for GraderId {
    type Err = MalformedGrader;

    fn from_str(text: &str) -> Result<Self, MalformedGrader> {
        let malformed = || MalformedGrader(text.to_owned());
        let (name, version) = text.rsplit_once('@').ok_or_else(malformed)?;
        Ok(Self {
            name: Cow::Owned(name.to_owned()),
            version: version.parse().map_err(|_| malformed())?,
        })
    }
}

impl Serialize for GraderId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GraderId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
