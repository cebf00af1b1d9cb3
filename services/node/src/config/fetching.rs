//! Which models requests may fetch from a hub. The setting exists because a model contains a
//! template that the service runs.

use assay_reward_model::is_hub_name;
use serde::{Deserialize, Serialize};

use super::error::shown;

/// The models that may be fetched for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected `false`, `true` or a list of names such as `org/name` and `org/*`"
)]
pub enum Fetching {
    /// All models, or none.
    Any(bool),
    /// The listed models: `org/name`, or `org/*` for all models of an organisation.
    Listed(Vec<String>),
}

impl Default for Fetching {
    fn default() -> Self {
        Self::Any(false)
    }
}

impl Fetching {
    /// Whether `org/name` may be fetched for a request.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::Any(any) => *any,
            Self::Listed(listed) => listed.iter().any(|listed| match listed.strip_suffix("/*") {
                Some(organisation) => name
                    .split_once('/')
                    .is_some_and(|(owner, _)| owner == organisation),
                None => listed == name,
            }),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let Self::Listed(listed) = self else {
            return Ok(());
        };
        let malformed = listed.iter().find(|listed| {
            let name = listed
                .strip_suffix("/*")
                .map_or_else(|| (*listed).clone(), |owner| format!("{owner}/any"));
            !is_hub_name(&name)
        });
        malformed.map_or(Ok(()), |malformed| {
            Err(format!(
                "malformed name `{}` in `reward_models.fetch`; write `org/name` or `org/*`",
                shown(malformed)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_listed_models_and_organisations() {
        let listed = Fetching::Listed(vec!["org/one".to_owned(), "open/*".to_owned()]);
        listed.check().unwrap();
        for (name, allowed) in [
            ("org/one", true),
            ("org/other", false),
            ("open/any", true),
            ("opener/any", false),
        ] {
            assert_eq!(listed.allows(name), allowed, "{name}");
            assert!(Fetching::Any(true).allows(name) && !Fetching::default().allows(name));
        }
        for malformed in ["*", "*/*", "org", "org/na*", "../*", ""] {
            assert!(
                Fetching::Listed(vec![malformed.to_owned()])
                    .check()
                    .is_err(),
                "{malformed}"
            );
        }
    }
}
