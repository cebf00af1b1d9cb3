//! Family `sql`: a question about a small table, answered by a query.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;

use crate::family::Rule;
use crate::form::FormAlone;
use crate::rank::Rank;
use crate::{FamilyError, Form, Problem};

const SCHEMA: &str =
    "create table staff(id integer primary key, name text, team text, age integer, pay integer)";

/// No two have the same age or the same pay, so that no order leaves ties.
const ROWS: &str = "insert into staff values \
    (1,'Ada','core',36,90),(2,'Bo','data',24,61),(3,'Cy','core',52,77),(4,'Di','web',31,58),(5,'Ed','data',45,84),(6,'Fay','web',28,49),(7,'Gus','core',41,72),(8,'Hal','ops',60,66),(9,'Ivy','ops',33,53),(10,'Jo','data',39,95),(11,'Kim','web',57,81),(12,'Lou','ops',22,45)";

/// Databases beside the base on which a query must agree as well.
const VARIANTS: u32 = 4;

const TEAMS: [&str; 4] = ["core", "data", "ops", "web"];
const COLUMNS: [&str; 4] = ["name", "team", "age", "pay"];

/// What is asked for, in words and in SQL. No least and no largest: the highest pay above a bound
/// is the highest pay.
const AGGREGATES: [(&str, &str); 5] = [
    ("number", "count(*)"),
    ("total age", "sum(age)"),
    ("mean age", "avg(age)"),
    ("total pay", "sum(pay)"),
    ("mean pay", "avg(pay)"),
];

const ORDERS: [(&str, &str); 6] = [
    ("", ""),
    (", by name", " order by name"),
    (", by age", " order by age"),
    (", by pay", " order by pay"),
    (", oldest first", " order by age desc"),
    (", highest pay first", " order by pay desc"),
];

/// Bounds that leave at least one row of the base: least age and pay, and how many whole numbers
/// lie from there up to the largest.
const AGES: (u64, u64) = (22, 38);
const PAYS: (u64, u64) = (45, 50);

/// All, one team, or those above or below a bound.
const FILTERS: u64 = 1 + TEAMS.len() as u64 + 2 * AGES.1 + 2 * PAYS.1;
const LISTS: u64 = FILTERS * (COLUMNS.len() * ORDERS.len()) as u64;
const TOTALS: u64 = FILTERS * AGGREGATES.len() as u64;

/// `name of staff with age above 30, by pay`: a column of a table of twelve people, a number about
/// them, or one for each team. The table is always the same; the form `words` shows its columns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "FormAlone")]
pub struct Sql {
    form: Form,
}

impl TryFrom<FormAlone> for Sql {
    type Error = FamilyError;

    fn try_from(options: FormAlone) -> Result<Self, FamilyError> {
        Self::new(options.form)
    }
}

/// A question and the query that answers it.
struct Question {
    words: String,
    query: String,
}

impl Sql {
    /// Questions in this form.
    ///
    /// # Errors
    /// [`FamilyError::Boxed`].
    pub fn new(form: Form) -> Result<Self, FamilyError> {
        Ok(Self {
            form: form.of_other_than_numbers()?,
        })
    }

    fn prompt(&self, words: &str) -> String {
        match self.form {
            Form::Plain | Form::Boxed => format!("{words}\n"),
            Form::Words => format!(
                "{SCHEMA};\nWrite one SQLite query for: {words}. Answer with the query alone."
            ),
        }
    }
}

fn question(rank: u64) -> Question {
    if let Some(rank) = rank.checked_sub(LISTS) {
        let mut choices = Rank::new(rank % TOTALS);
        let (words, value) = choices.of(&AGGREGATES);
        let (with, filter) = condition(choices.below(FILTERS));
        return if rank < TOTALS {
            Question {
                words: format!("{words} of staff{with}"),
                query: format!("select {value} from staff{filter}"),
            }
        } else {
            Question {
                words: format!("{words} of staff{with} for each team"),
                query: format!("select team,{value} from staff{filter} group by team"),
            }
        };
    }
    let mut choices = Rank::new(rank);
    let column = choices.of(&COLUMNS);
    let (by, order) = choices.of(&ORDERS);
    let (with, filter) = condition(choices.below(FILTERS));
    Question {
        words: format!("{column} of staff{with}{by}"),
        query: format!("select {column} from staff{filter}{order}"),
    }
}

/// The words and the SQL of a filter. Above a bound from the least on, or below one from the least
/// but one on.
fn condition(at: u64) -> (String, String) {
    let Some(at) = at.checked_sub(1) else {
        return Default::default();
    };
    let teams = TEAMS.len() as u64;
    let Some(at) = at.checked_sub(teams) else {
        let team = Rank::new(at).of(&TEAMS);
        return (format!(" in team {team}"), format!(" where team='{team}'"));
    };
    let (column, (least, bounds), at) = at
        .checked_sub(2 * AGES.1)
        .map_or(("age", AGES, at), |at| ("pay", PAYS, at));
    match at.checked_sub(bounds) {
        None => (
            format!(" with {column} above {}", least + at),
            format!(" where {column}>{}", least + at),
        ),
        Some(at) => (
            format!(" with {column} below {}", least + 1 + at),
            format!(" where {column}<{}", least + 1 + at),
        ),
    }
}

impl Rule for Sql {
    fn size(&self) -> u64 {
        LISTS + 2 * TOTALS
    }

    fn canonical(&self, rank: u64) -> String {
        format!("sql/{}", question(rank).query)
    }

    fn problem(&self, rank: u64) -> Problem {
        let Question { words, query } = question(rank);
        let task = json!({
            "type": "sql", "dialect": "sqlite", "gold": query,
            "database": { "schema": SCHEMA, "rows": ROWS, "variants": { "generate": VARIANTS } },
        });
        let key = format!("sql/{}/{query}", self.form.word());
        Problem {
            prompt: self.prompt(&words),
            task,
            key,
            solution: query,
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let characters = |rank| {
            let Question { words, query } = question(rank);
            (self.prompt(&words) + &query)
                .chars()
                .collect::<BTreeSet<_>>()
        };
        (0..self.size()).flat_map(characters).collect()
    }
}
