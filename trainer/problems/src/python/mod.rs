//! Family `python`: write a function of one argument from a description of its result.

mod templates;

use std::collections::BTreeSet;

use assay_base::Random;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::form::FormOnly;
use crate::problem::Problem;
use crate::rank::Rank;
use crate::rule::Rule;
use crate::{FamilyError, Form};
use templates::{Argument, TEMPLATES, Template};

/// Number of test calls with random arguments, in addition to those at the bounds of the
/// template.
const CALLS: usize = 4;

/// `f(x): x times 7 plus 3`: a function of an integer or of a list of integers, from eight
/// templates with two numbers each. It is tested by calls. The form `words` uses a sentence.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "FormOnly")]
pub struct Python {
    form: Form,
}

impl TryFrom<FormOnly> for Python {
    type Error = FamilyError;

    fn try_from(options: FormOnly) -> Result<Self, FamilyError> {
        Self::new(options.form)
    }
}

/// A template with values for its two numbers.
struct Function {
    template: &'static Template,
    a: i64,
    b: i64,
}

impl Python {
    /// Functions with prompts in this form.
    ///
    /// # Errors
    /// [`FamilyError::Boxed`].
    pub fn new(form: Form) -> Result<Self, FamilyError> {
        Ok(Self {
            form: form.for_non_numeric_answers()?,
        })
    }

    fn prompt(&self, description: &str) -> String {
        match self.form {
            Form::Plain | Form::Boxed => format!("f(x): {description}\n"),
            Form::Words => format!(
                "Write a Python function f(x) that returns {description}. Answer with the code \
                 alone."
            ),
        }
    }
}

fn function(mut rank: u64) -> Function {
    let mut chosen = &TEMPLATES[0];
    for template in &TEMPLATES {
        chosen = template;
        match rank.checked_sub(template.size()) {
            Some(left) => rank = left,
            None => break,
        }
    }
    let mut choices = Rank::new(rank);
    let (a, b) = (chosen.a.choose(&mut choices), chosen.b.choose(&mut choices));
    Function {
        template: chosen,
        a,
        b,
    }
}

impl Function {
    /// Replaces the placeholders in a text of the template.
    fn fill(&self, text: &str) -> String {
        text.replace("{a}", &self.a.to_string())
            .replace("{b}", &self.b.to_string())
    }

    fn description(&self) -> String {
        self.fill(self.template.description)
    }

    fn source(&self) -> String {
        format!("def f(x):\n    return {}", self.fill(self.template.code))
    }

    /// Test calls with their results, determined by the numbers of the function: arguments at the
    /// bounds and random ones.
    fn tests(&self) -> Vec<Value> {
        let near = [self.a - 1, self.a, self.b, self.b + 1];
        let mut random = Random::stream(&near.map(i64::cast_unsigned));
        let mut number = || random.between(-9, 40);
        let arguments: Vec<Argument> = match self.template.argument_kind {
            templates::ArgumentKind::Number => near
                .into_iter()
                .chain((0..CALLS).map(|_| number()))
                .map(Argument::Number)
                .collect(),
            templates::ArgumentKind::List => {
                let lists = (0..CALLS).map(|call| (0..3 + call).map(|_| number()).collect());
                [Vec::new(), near.to_vec()]
                    .into_iter()
                    .chain(lists)
                    .map(Argument::List)
                    .collect()
            }
        };
        let test = |argument: &Argument| -> Value {
            json!({
                "call": "f", "args": [argument.json()],
                "returns": (self.template.value)(self.a, self.b, argument),
            })
        };
        arguments.iter().map(test).collect()
    }
}

impl Rule for Python {
    fn size(&self) -> u64 {
        TEMPLATES.iter().map(Template::size).sum()
    }

    fn canonical(&self, rank: u64) -> String {
        format!("python/{}", function(rank).description())
    }

    fn problem(&self, rank: u64) -> Problem {
        let function = function(rank);
        let description = function.description();
        let task = json!({ "type": "code", "language": "python", "tests": function.tests() });
        let key = format!("python/{}/{description}", self.form.name());
        Problem {
            prompt: self.prompt(&description),
            task,
            key,
            solution: function.source(),
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let characters = |rank| {
            let function = function(rank);
            (self.prompt(&function.description()) + &function.source())
                .chars()
                .collect::<BTreeSet<_>>()
        };
        (0..self.size()).flat_map(characters).collect()
    }
}
