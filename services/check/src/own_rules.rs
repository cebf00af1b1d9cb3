//! Rules of a team: expressions over a row and its task, in a TOML file.

use assay_templates::{Row, TextTemplate};
use serde::Deserialize;
use serde_json::Value;

use crate::excerpt::shorten;
use crate::findings::{Code, Codes, Severity};
use crate::subject::Subject;

/// Maximum number of rules. Each is evaluated on every row.
const MAX_RULES: usize = 100;

/// Maximum length of the message of a finding, in characters.
const MAX_MESSAGE: usize = 400;

/// The rules of a file.
#[derive(Default)]
pub struct OwnRules(Vec<OwnRule>);

struct OwnRule {
    code: &'static Code,
    when: TextTemplate,
    message: TextTemplate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    rules: Vec<RuleEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    code: String,
    #[serde(default = "default_severity")]
    severity: Severity,
    when: String,
    message: String,
    title: Option<String>,
    #[serde(default)]
    help: String,
}

fn default_severity() -> Severity {
    Severity::Warning
}

/// What a rule found in a row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OwnFinding {
    /// The condition is true.
    Found {
        code: &'static Code,
        message: String,
    },
    /// The rule cannot be evaluated on the row, and why.
    Fails(String),
}

impl OwnRules {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A message with the rule and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: RuleFile =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if file.rules.len() > MAX_RULES {
            return Err(format!(
                "the file has {} rules, but at most {MAX_RULES} are allowed",
                file.rules.len()
            ));
        }
        let built_in = Codes::default();
        let mut rules: Vec<OwnRule> = Vec::with_capacity(file.rules.len());
        for entry in file.rules {
            let name = entry.code.as_str();
            if !is_code(name) {
                return Err(format!(
                    "the code `{name}` must be lower-case words joined by hyphens, such as \
                     `team-prompt-short`, of at most 60 characters"
                ));
            }
            let is_own = rules.iter().any(|rule| rule.code.name == name);
            if is_own || built_in.get(name).is_some() {
                return Err(format!("the code `{name}` is taken; choose another one"));
            }
            rules.push(OwnRule::new(entry)?);
        }
        Ok(Self(rules))
    }

    /// The codes of the rules.
    pub(crate) fn codes(&self) -> impl Iterator<Item = &'static Code> + '_ {
        self.0.iter().map(|rule| rule.code)
    }

    /// Evaluates the rules on a row.
    pub(crate) fn find(&self, row: &Row, key: &str, subject: Option<&Subject>) -> Vec<OwnFinding> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let task = subject.map_or(Value::Null, |subject| Value::Object(subject.body.clone()));
        let names = [
            ("row", Value::Object(row.clone())),
            ("key", key.into()),
            ("task", task),
            ("prompt", text(subject.and_then(|s| s.prompt.as_deref()))),
            (
                "solution",
                text(subject.and_then(|s| s.solution.as_deref())),
            ),
        ];
        let values: Row = names
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let found = self.0.iter().map(|rule| rule.find(&values));
        let is_kept = |finding: &OwnFinding| {
            // A row without a task has a finding of its own, and rules about the task fail on it.
            subject.is_some() || matches!(finding, OwnFinding::Found { .. })
        };
        found.flatten().filter(is_kept).collect()
    }
}

impl OwnRule {
    fn new(entry: RuleEntry) -> Result<Self, String> {
        let RuleEntry {
            code,
            severity,
            when,
            message,
            title,
            help,
        } = entry;
        let compile = |field: &str, text: &str| {
            TextTemplate::new(&format!("/{code}/{field}"), text).map_err(|error| error.to_string())
        };
        let (condition, text) = (compile("when", &when)?, compile("message", &message)?);
        let title = title.unwrap_or_else(|| message.clone());
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let page = format!(
            "# `{code}`\n\n{}: {}.\n\n## What is found\n\nA rule of this team: `{}`\n\n{help}\n",
            severity.title(),
            title.trim_end_matches('.'),
            when.trim()
        );
        // Codes live as long as the program. A program reads its rules once.
        let code = Box::leak(Box::new(Code {
            name: code.leak(),
            severity,
            page: page.leak(),
        }));
        Ok(Self {
            code,
            when: condition,
            message: text,
        })
    }

    fn find(&self, values: &Row) -> Option<OwnFinding> {
        let name = self.code.name;
        match self.when.value(values) {
            Ok(Value::Bool(false)) => None,
            Ok(Value::Bool(true)) => Some(match self.message.value(values) {
                Ok(message) => {
                    let message = message
                        .as_str()
                        .map_or_else(|| message.to_string(), str::to_owned);
                    OwnFinding::Found {
                        code: self.code,
                        message: shorten(&message, MAX_MESSAGE),
                    }
                }
                Err(error) => {
                    OwnFinding::Fails(format!("the message of the rule `{name}`: {error}"))
                }
            }),
            Ok(other) => Some(OwnFinding::Fails(format!(
                "the rule `{name}` is neither true nor false: {}; write `when` as a single \
                 condition in `{{{{ }}}}`",
                shorten(&other.to_string(), MAX_MESSAGE)
            ))),
            Err(error) => Some(OwnFinding::Fails(format!("the rule `{name}`: {error}"))),
        }
    }
}

/// Whether a name is words of lower-case letters and digits, joined by hyphens.
fn is_code(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= 60 && name.split('-').all(is_word)
}
