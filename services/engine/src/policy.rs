//! Policies by name: what a node has, and what a request writes out itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{ErrorCode, GraderTable, Hash};
use assay_correction::policy::{PolicyError, PolicyRules};
use serde_json::Value;

use crate::appeal::template;

/// Name of the policy that leaves `reward == score`. A node always has it.
const DEFAULT: &str = "default";

/// Name of a policy that a request writes out.
const INLINE: &str = "inline";

/// What makes rewards from scores, and which verdicts go to a second verifier. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardPolicy(Arc<Named>);

#[derive(Debug, PartialEq)]
struct Named {
    name: String,
    body: Option<Body>,
    rules: PolicyRules,
}

/// A policy as the record keeps it.
#[derive(Debug, PartialEq)]
struct Body {
    hash: Hash,
    json: String,
}

impl Default for RewardPolicy {
    fn default() -> Self {
        Self(Arc::new(Named {
            name: DEFAULT.to_owned(),
            body: None,
            rules: PolicyRules::default(),
        }))
    }
}

impl RewardPolicy {
    /// A policy that a request writes out.
    ///
    /// # Errors
    /// [`PolicyError`], which names the field.
    pub fn inline(json: &Value) -> Result<Self, PolicyError> {
        Self::read(INLINE, json)
    }

    /// Whether every judge is one of these graders.
    ///
    /// # Errors
    /// [`PolicyError`] at the `type` of the first that is not.
    pub fn check_judges(&self, graders: &GraderTable) -> Result<(), PolicyError> {
        for (at, rule) in self.rules().appeals.iter().enumerate() {
            let name = rule
                .judge
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if graders.by_name(name).is_none() {
                let known: Vec<String> = graders
                    .iter()
                    .map(|grader| format!("`{}`", grader.spec().name))
                    .collect();
                return Err(PolicyError {
                    pointer: format!("/appeals/{at}/judge/type"),
                    message: format!(
                        "no grader is named `{name}`; this node has {}",
                        known.join(", ")
                    ),
                });
            }
        }
        Ok(())
    }

    fn read(name: &str, json: &Value) -> Result<Self, PolicyError> {
        let rules = PolicyRules::from_json(json)?;
        for (at, rule) in rules.appeals.iter().enumerate() {
            template::check(&rule.judge).map_err(|(pointer, message)| PolicyError {
                pointer: format!("/appeals/{at}/judge{pointer}"),
                message,
            })?;
        }
        let json = rules.to_json().to_string();
        let body = Body {
            hash: Hash::of(json.as_bytes()),
            json,
        };
        Ok(Self(Arc::new(Named {
            name: name.to_owned(),
            body: Some(body),
            rules,
        })))
    }

    /// The name in requests and in the record; `inline` for one that a request wrote out.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Hash of its body; `None` for the default one.
    #[must_use]
    pub fn hash(&self) -> Option<Hash> {
        self.0.body.as_ref().map(|body| body.hash)
    }

    /// Its body as JSON, in one spelling for one meaning; `None` for the default one.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_ref().map(|body| body.json.as_str())
    }

    /// What it says.
    #[must_use]
    pub fn rules(&self) -> &PolicyRules {
        &self.0.rules
    }

    /// Whether two mean the same, under whatever names.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.rules == other.0.rules
    }
}

/// No policy has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no policy is named `{name}`; this node has {known}")]
pub struct UnknownPolicy {
    name: String,
    known: String,
}

impl UnknownPolicy {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::UnknownPolicy
    }
}

/// The policies of a node, by name. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Policies(Arc<BTreeMap<String, RewardPolicy>>);

impl Default for Policies {
    fn default() -> Self {
        Self(Arc::new(BTreeMap::from([(
            DEFAULT.to_owned(),
            RewardPolicy::default(),
        )])))
    }
}

impl Policies {
    /// The default policy and these.
    ///
    /// # Errors
    /// The name of the first that cannot be used, and why. `default` and `inline` are names with a
    /// meaning of their own.
    pub fn new<'j>(
        named: impl IntoIterator<Item = (&'j str, &'j Value)>,
    ) -> Result<Self, (String, PolicyError)> {
        let mut policies = BTreeMap::from([(DEFAULT.to_owned(), RewardPolicy::default())]);
        for (name, json) in named {
            let refuse = |error: PolicyError| (name.to_owned(), error);
            if name == DEFAULT || name == INLINE {
                let message = format!("`{name}` has a meaning of its own; choose another name");
                return Err(refuse(PolicyError {
                    pointer: String::new(),
                    message,
                }));
            }
            policies.insert(
                name.to_owned(),
                RewardPolicy::read(name, json).map_err(refuse)?,
            );
        }
        Ok(Self(Arc::new(policies)))
    }

    /// The policy of this name.
    ///
    /// # Errors
    /// [`UnknownPolicy`], with the names there are.
    pub fn named(&self, name: &str) -> Result<RewardPolicy, UnknownPolicy> {
        self.0.get(name).cloned().ok_or_else(|| {
            let known: Vec<String> = self.0.keys().map(|name| format!("`{name}`")).collect();
            UnknownPolicy {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &RewardPolicy> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_policy_is_told_what_there_is() {
        let length = json!({ "summary": "short answers" });
        let policies = Policies::new([("short", &length)]).unwrap();
        assert_eq!(policies.named("default").unwrap(), RewardPolicy::default());
        let error = policies.named("defualt").unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownPolicy);
        assert!(
            error
                .to_string()
                .contains("this node has `default`, `short`"),
            "{error}"
        );
    }

    #[test]
    fn names_with_a_meaning_are_kept() {
        let (name, error) = Policies::new([("default", &json!({}))]).unwrap_err();
        assert!(name == "default" && error.message.contains("choose another name"));
    }

    #[test]
    fn one_meaning_has_one_hash() {
        let one = RewardPolicy::inline(&json!({ "summary": "a", "advantage_estimator": "rloo" }))
            .unwrap();
        let other = RewardPolicy::inline(&json!({ "advantage_estimator": "rloo", "summary": "a" }))
            .unwrap();
        assert_eq!(one.hash(), other.hash());
        assert_ne!(
            one.hash(),
            RewardPolicy::inline(&json!({ "summary": "b" }))
                .unwrap()
                .hash()
        );
        assert_eq!(RewardPolicy::default().hash(), None);
    }

    #[test]
    fn a_template_is_read_with_its_policy() {
        let judge = json!({ "type": "math", "answer": "{{ task.answer" });
        let error =
            RewardPolicy::inline(&json!({ "appeals": [{ "judge": judge, "negatives": 0.5 }] }))
                .unwrap_err();
        assert_eq!(error.pointer, "/appeals/0/judge/answer");
    }
}
