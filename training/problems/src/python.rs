//! Family `python`: a function of one argument, written from what it returns.

mod templates;

use std::collections::BTreeSet;

use assay_core::Random;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::family::Rule;
use crate::form::FormAlone;
use crate::rank::Rank;
use crate::{FamilyError, Form, Problem};
use templates::{Argument, TEMPLATES, Template};

/// Calls by which a function is tested, beside those at the bounds of its template.
const CALLS: usize = 4;

/// `f(x): x times 7 plus 3`: a function of a whole number or of a list of them, from eight
/// templates with two numbers each. It is tested by calls; the form `words` asks in a sentence.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "FormAlone")]
pub struct Python {
    form: Form,
}

impl TryFrom<FormAlone> for Python {
    type Error = FamilyError;

    fn try_from(options: FormAlone) -> Result<Self, FamilyError> {
        Self::new(options.form)
    }
}

/// A template with its two numbers.
struct Function {
    template: &'static Template,
    a: i64,
    b: i64,
}

impl Python {
    /// Functions asked for in this form.
    ///
    /// # Errors
    /// [`FamilyError::Boxed`].
    pub fn new(form: Form) -> Result<Self, FamilyError> {
        Ok(Self {
            form: form.of_other_than_numbers()?,
        })
    }

    fn prompt(&self, name: &str) -> String {
        match self.form {
            Form::Plain | Form::Boxed => format!("f(x): {name}\n"),
            Form::Words => format!(
                "Write a Python function f(x) that returns {name}. Answer with the code alone."
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
    /// A text of the template with the numbers in their places.
    fn fill(&self, text: &str) -> String {
        text.replace("{a}", &self.a.to_string())
            .replace("{b}", &self.b.to_string())
    }

    fn name(&self) -> String {
        self.fill(self.template.words)
    }

    fn source(&self) -> String {
        format!("def f(x):\n    return {}", self.fill(self.template.code))
    }

    /// Calls with what they return, the same for the same function: at the bounds, and at arguments
    /// drawn with its numbers.
    fn tests(&self) -> Vec<Value> {
        let near = [self.a - 1, self.a, self.b, self.b + 1];
        let mut random = Random::stream(&near.map(i64::cast_unsigned));
        let mut number = || random.between(-9, 40);
        let arguments: Vec<Argument> = match self.template.argument {
            templates::Kind::Number => near
                .into_iter()
                .chain((0..CALLS).map(|_| number()))
                .map(Argument::Number)
                .collect(),
            templates::Kind::List => {
                let lists = (0..CALLS).map(|call| (0..3 + call).map(|_| number()).collect());
                [Vec::new(), near.to_vec()]
                    .into_iter()
                    .chain(lists)
                    .map(Argument::List)
                    .collect()
            }
        };
        let test = |argument: &Argument| json!({ "call": "f", "args": [argument.json()], "returns": (self.template.value)(self.a, self.b, argument) });
        arguments.iter().map(test).collect()
    }
}

impl Rule for Python {
    fn size(&self) -> u64 {
        TEMPLATES.iter().map(Template::size).sum()
    }

    fn canonical(&self, rank: u64) -> String {
        format!("python/{}", function(rank).name())
    }

    fn problem(&self, rank: u64) -> Problem {
        let function = function(rank);
        let name = function.name();
        let task = json!({ "type": "code", "language": "python", "tests": function.tests() });
        let key = format!("python/{}/{name}", self.form.word());
        Problem {
            prompt: self.prompt(&name),
            task,
            key,
            solution: function.source(),
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let characters = |rank| {
            let function = function(rank);
            (self.prompt(&function.name()) + &function.source())
                .chars()
                .collect::<BTreeSet<_>>()
        };
        (0..self.size()).flat_map(characters).collect()
    }
}
