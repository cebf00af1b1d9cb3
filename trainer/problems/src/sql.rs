//! Family `sql`: write a query that answers a question about a small table.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;

use crate::form::FormOnly;
use crate::problem::Problem;
use crate::rank::Rank;
use crate::rule::Rule;
use crate::{FamilyError, Form};

const SCHEMA: &str =
    "create table staff(id integer primary key, name text, team text, age integer, pay integer)";

/// Ages and pays are distinct, so that every order is unique.
const ROWS: &str = "insert into staff values \
    (1,'Ada','core',36,90),(2,'Bo','data',24,61),(3,'Cy','core',52,77),(4,'Di','web',31,58),\
    (5,'Ed','data',45,84),(6,'Fay','web',28,49),(7,'Gus','core',41,72),(8,'Hal','ops',60,66),\
    (9,'Ivy','ops',33,53),(10,'Jo','data',39,95),(11,'Kim','web',57,81),(12,'Lou','ops',22,45)";

/// Number of generated variants of the database on which a query must also agree.
const VARIANTS: u32 = 4;

const TEAMS: [&str; 4] = ["core", "data", "ops", "web"];
const COLUMNS: [&str; 4] = ["name", "team", "age", "pay"];

/// Aggregates, in English and in SQL. Minimum and maximum are excluded: with a bound, different
/// questions would have the same answer.
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

/// Bounds that match at least one row: the smallest age and pay, and the number of integers from
/// there to the largest.
const AGES: (u64, u64) = (22, 38);
const PAYS: (u64, u64) = (45, 50);

/// All rows, one team, or the rows above or below a bound.
const FILTERS: u64 = 1 + TEAMS.len() as u64 + 2 * AGES.1 + 2 * PAYS.1;
const LISTS: u64 = FILTERS * (COLUMNS.len() * ORDERS.len()) as u64;
const TOTALS: u64 = FILTERS * AGGREGATES.len() as u64;

/// `name of staff with age above 30, by pay`: a column of a table of twelve people, an aggregate,
/// or an aggregate for each team. The table is fixed. The form `words` includes its schema.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "FormOnly")]
pub struct Sql {
    form: Form,
}

impl TryFrom<FormOnly> for Sql {
    type Error = FamilyError;

    fn try_from(options: FormOnly) -> Result<Self, FamilyError> {
        Self::new(options.form)
    }
}

/// A question and the query that answers it.
struct Question {
    text: String,
    query: String,
}

impl Sql {
    /// Questions in this form.
    ///
    /// # Errors
    /// [`FamilyError::Boxed`].
    pub fn new(form: Form) -> Result<Self, FamilyError> {
        Ok(Self {
            form: form.for_non_numeric_answers()?,
        })
    }

    fn prompt(&self, text: &str) -> String {
        match self.form {
            Form::Plain | Form::Boxed => format!("{text}\n"),
            Form::Words => format!(
                "{SCHEMA};\nWrite one SQLite query for: {text}. Answer with the query alone."
            ),
        }
    }
}

fn question(rank: u64) -> Question {
    if let Some(rank) = rank.checked_sub(LISTS) {
        let mut choices = Rank::new(rank % TOTALS);
        let (text, value) = choices.of(&AGGREGATES);
        let (with, filter) = condition(choices.below(FILTERS));
        return if rank < TOTALS {
            Question {
                text: format!("{text} of staff{with}"),
                query: format!("select {value} from staff{filter}"),
            }
        } else {
            Question {
                text: format!("{text} of staff{with} for each team"),
                query: format!("select team,{value} from staff{filter} group by team"),
            }
        };
    }
    let mut choices = Rank::new(rank);
    let column = choices.of(&COLUMNS);
    let (by, order) = choices.of(&ORDERS);
    let (with, filter) = condition(choices.below(FILTERS));
    Question {
        text: format!("{column} of staff{with}{by}"),
        query: format!("select {column} from staff{filter}{order}"),
    }
}

/// The English text and the SQL of a filter. Bounds of `above` start at the smallest value, bounds
/// of `below` one higher.
fn condition(rank: u64) -> (String, String) {
    let Some(rank) = rank.checked_sub(1) else {
        return Default::default();
    };
    let teams = TEAMS.len() as u64;
    let Some(rank) = rank.checked_sub(teams) else {
        let team = Rank::new(rank).of(&TEAMS);
        return (format!(" in team {team}"), format!(" where team='{team}'"));
    };
    let (column, (least, bounds), rank) = rank
        .checked_sub(2 * AGES.1)
        .map_or(("age", AGES, rank), |rank| ("pay", PAYS, rank));
    match rank.checked_sub(bounds) {
        None => (
            format!(" with {column} above {}", least + rank),
            format!(" where {column}>{}", least + rank),
        ),
        Some(rank) => (
            format!(" with {column} below {}", least + 1 + rank),
            format!(" where {column}<{}", least + 1 + rank),
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
        let Question { text, query } = question(rank);
        let task = json!({
            "type": "sql", "dialect": "sqlite", "gold": query,
            "database": { "schema": SCHEMA, "rows": ROWS, "variants": { "generate": VARIANTS } },
        });
        let key = format!("sql/{}/{query}", self.form.name());
        Problem {
            prompt: self.prompt(&text),
            task,
            key,
            solution: query,
        }
    }

    fn alphabet(&self) -> BTreeSet<char> {
        let characters = |rank| {
            let Question { text, query } = question(rank);
            (self.prompt(&text) + &query)
                .chars()
                .collect::<BTreeSet<_>>()
        };
        (0..self.size()).flat_map(characters).collect()
    }
}
