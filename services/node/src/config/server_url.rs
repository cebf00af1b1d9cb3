//! URLs of database servers, with passwords that are never printed.

use serde::{Deserialize, Serialize};

/// A URL that can contain a password. Its `Debug` and `Serialize` output is redacted.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// The URL, including the password.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn redacted(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return if self.0.is_empty() {
                String::new()
            } else {
                "***".to_owned()
            };
        };
        let (user, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let user = match user.split_once(':') {
            Some((name, _)) => format!("{name}:***@"),
            None if user.is_empty() => String::new(),
            None => format!("{user}@"),
        };
        // Query parameters can contain a password too.
        let rest = match rest.split_once("password=") {
            Some((before, after)) => {
                let after = after
                    .split_once('&')
                    .map_or(String::new(), |(_, others)| format!("&{others}"));
                format!("{before}password=***{after}")
            }
            None => rest.to_owned(),
        };
        format!("{scheme}://{user}{rest}")
    }
}

impl From<&str> for ServerUrl {
    fn from(url: &str) -> Self {
        Self(url.to_owned())
    }
}

impl std::fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.redacted())
    }
}

impl Serialize for ServerUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redacted())
    }
}
