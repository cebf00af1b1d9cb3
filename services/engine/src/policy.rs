//! Reward policies: those of the node by name, and those that a request contains.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{ErrorCode, GraderTable, Hash};
use assay_rewards::policy::{PolicyError, PolicyRules};
use serde_json::Value;

use crate::stages::appeal::template;

/// Name of the policy without rules, for which `reward == score`. Every node has it.
const DEFAULT: &str = "default";

/// Name of a policy that a request contains.
const INLINE: &str = "inline";

/// A reward policy: how rewards are made from scores, and which verdicts are sent to a judge. Cheap
/// to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardPolicy(Arc<NamedPolicy>);

#[derive(Debug, PartialEq)]
struct NamedPolicy {
    name: String,
    body: Option<CanonicalBody>,
    rules: PolicyRules,
}

/// A policy as it is recorded: one canonical JSON text for equal policies.
#[derive(Debug, PartialEq)]
struct CanonicalBody {
    hash: Hash,
    json: String,
}

impl Default for RewardPolicy {
    fn default() -> Self {
        Self(Arc::new(NamedPolicy {
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

    /// Checks that every judge is one of these graders.
    ///
    /// # Errors
    /// [`PolicyError`] with a pointer to the `type` of the first unknown judge.
    pub fn check_judges(&self, graders: &GraderTable) -> Result<(), PolicyError> {
        for (index, name) in self.judges().enumerate() {
            if graders.by_name(name).is_none() {
                let known: Vec<String> = graders
                    .iter()
                    .map(|grader| format!("`{}`", grader.spec().name))
                    .collect();
                return Err(PolicyError {
                    pointer: format!("/appeals/{index}/judge/type"),
                    message: format!(
                        "no grader is named `{name}`; this node has {}",
                        known.join(", ")
                    ),
                });
            }
        }
        Ok(())
    }

    /// The names of its judges.
    pub(crate) fn judges(&self) -> impl Iterator<Item = &str> {
        let judges = self.rules().appeals.iter().map(|rule| &rule.judge);
        judges.map(|judge| {
            judge
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default()
        })
    }

    fn read(name: &str, json: &Value) -> Result<Self, PolicyError> {
        let rules = PolicyRules::from_json(json)?;
        for (index, rule) in rules.appeals.iter().enumerate() {
            template::check(&rule.judge).map_err(|(pointer, message)| PolicyError {
                pointer: format!("/appeals/{index}/judge{pointer}"),
                message,
            })?;
        }
        let json = rules.to_json().to_string();
        let body = CanonicalBody {
            hash: Hash::of(json.as_bytes()),
            json,
        };
        Ok(Self(Arc::new(NamedPolicy {
            name: name.to_owned(),
            body: Some(body),
            rules,
        })))
    }

    /// Its name in requests and in the record; `inline` for one that a request contains.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Hash of its body; `None` for the default policy.
    #[must_use]
    pub fn hash(&self) -> Option<Hash> {
        self.0.body.as_ref().map(|body| body.hash)
    }

    /// Its canonical JSON text, the same for equal policies; `None` for the default policy.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_ref().map(|body| body.json.as_str())
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &PolicyRules {
        &self.0.rules
    }

    /// Whether two policies have the same rules, whatever their names.
    pub(crate) fn has_same_rules(&self, other: &Self) -> bool {
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
    /// The default policy and the given ones.
    ///
    /// # Errors
    /// The name of the first invalid policy, and what is wrong. `default` and `inline` are
    /// reserved.
    pub fn new<'j>(
        named: impl IntoIterator<Item = (&'j str, &'j Value)>,
    ) -> Result<Self, (String, PolicyError)> {
        let mut policies = BTreeMap::from([(DEFAULT.to_owned(), RewardPolicy::default())]);
        for (name, json) in named {
            let invalid = |error: PolicyError| (name.to_owned(), error);
            if name == DEFAULT || name == INLINE {
                let message = format!("the name `{name}` is reserved; choose another name");
                return Err(invalid(PolicyError {
                    pointer: String::new(),
                    message,
                }));
            }
            policies.insert(
                name.to_owned(),
                RewardPolicy::read(name, json).map_err(invalid)?,
            );
        }
        Ok(Self(Arc::new(policies)))
    }

    /// The policy of this name.
    ///
    /// # Errors
    /// [`UnknownPolicy`], which lists the known names.
    pub fn named(&self, name: &str) -> Result<RewardPolicy, UnknownPolicy> {
        self.0.get(name).cloned().ok_or_else(|| {
            let known: Vec<String> = self.0.keys().map(|name| format!("`{name}`")).collect();
            UnknownPolicy {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    /// All policies in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &RewardPolicy> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_policy_lists_the_known_ones() {
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
    fn rejects_reserved_names() {
        let (name, error) = Policies::new([("default", &json!({}))]).unwrap_err();
        assert!(name == "default" && error.message.contains("choose another name"));
    }

    #[test]
    fn equal_policies_have_equal_hashes() {
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
    fn rejects_a_policy_with_an_invalid_template() {
        let judge = json!({ "type": "math", "answer": "{{ task.answer" });
        let error =
            RewardPolicy::inline(&json!({ "appeals": [{ "judge": judge, "negatives": 0.5 }] }))
                .unwrap_err();
        assert_eq!(error.pointer, "/appeals/0/judge/answer");
    }
}
