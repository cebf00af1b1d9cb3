//! Adds answers of rollouts of runs, and signs of reward hacking, to their tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_rewards::sum;

use super::insert::Insert;
use super::rows::count;
use super::sums::{add_counts, add_numbers};
use crate::NewGrade;
use crate::database::DatabaseError;
use crate::database::sql::{Connection, QueryBuilder};
use crate::facts::SIGNS;

/// Sets the first and the last step of an existing row.
macro_rules! extend_steps {
    ($table:literal) => {
        concat!(
            "first_step = case when excluded.first_step < ",
            $table,
            ".first_step then excluded.first_step else ",
            $table,
            ".first_step end, last_step = case when excluded.last_step > ",
            $table,
            ".last_step then excluded.last_step else ",
            $table,
            ".last_step end"
        )
    };
}

const UPSERT_ANSWERS: Insert = Insert {
    prefix: "insert into answers (run, prompt_key, pass, answer, gold, grades, rewards, \
             reward_sum, first_step, last_step, key)",
    columns: 11,
    suffix: concat!(
        "on conflict (run, prompt_key, pass, answer) do update set ",
        add_counts!("answers": "grades", "rewards"),
        ", ",
        add_numbers!("answers": "reward_sum"),
        ", ",
        extend_steps!("answers")
    ),
};

const UPSERT_SIGNS: Insert = Insert {
    prefix: "insert into signs (run, kind, value, grades, rewards, reward_sum, first_step, \
             last_step, first_key, last_key)",
    columns: 10,
    suffix: concat!(
        "on conflict (run, kind, value) do update set ",
        add_counts!("signs": "grades", "rewards"),
        ", ",
        add_numbers!("signs": "reward_sum"),
        ", ",
        extend_steps!("signs"),
        ", last_key = case when excluded.last_key > signs.last_key then excluded.last_key \
         else signs.last_key end"
    ),
};

/// Sums over rollouts.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    grades: u64,
    rewards: u64,
    reward_sum: f64,
    first_key: i64,
    last_key: i64,
}

impl Found {
    fn push(&mut self, grade: &NewGrade, key: i64) {
        if self.grades == 0 {
            self.first_key = key;
        }
        self.last_key = key;
        self.grades += 1;
        if let Some(reward) = grade.row.grade.reward {
            self.rewards += 1;
            sum::add(&mut self.reward_sum, reward);
        }
    }
}

/// Key of an answer: prompt, whether it passes, and its text.
type AnswerKey<'e> = (&'e str, bool, &'e str);

/// The answers and signs of the new grades of one batch.
pub(super) struct NewAnswers<'e> {
    step: Option<i64>,
    /// With the expected answer.
    answers: BTreeMap<AnswerKey<'e>, (&'e str, Found)>,
    signs: BTreeMap<(&'static str, &'e str), Found>,
}

impl<'e> NewAnswers<'e> {
    pub(super) fn new(step: Option<i64>) -> Self {
        Self {
            step,
            answers: BTreeMap::new(),
            signs: BTreeMap::new(),
        }
    }

    /// Their step.
    pub(super) fn step(&self) -> Option<i64> {
        self.step
    }

    /// Adds a grade with this key.
    pub(super) fn add(&mut self, grade: &'e NewGrade, key: i64) {
        let item = &grade.row.grade;
        let Some(pass) = item.pass_after_appeal() else {
            return;
        };
        let facts = &grade.facts;
        if let (Some(prompt), Some(answer)) = (&item.prompt_key, &facts.answer)
            && (!pass || facts.differs)
        {
            let gold = facts.gold.as_deref().unwrap_or_default();
            let found = self.answers.entry((prompt, pass, answer));
            found.or_insert((gold, Found::default())).1.push(grade, key);
        }
        let sign = facts.sign.and_then(|at| SIGNS.get(at));
        let channel = &*item.channel;
        let signs = [
            sign.map(|(text, _)| ("sign", *text)),
            (pass && grade.measured.has_literals == Some(true)).then_some(("literals", channel)),
        ];
        for sign in signs.into_iter().flatten() {
            self.signs.entry(sign).or_default().push(grade, key);
        }
    }

    /// Keeps the most frequent wrong answer of each prompt.
    fn keep_most_frequent(&mut self) {
        let mut most: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
        for ((prompt, pass, answer), (_, found)) in &self.answers {
            let most = most.entry(*prompt).or_default();
            if !pass && found.grades > most.0 {
                *most = (found.grades, *answer);
            }
        }
        self.answers.retain(|(prompt, pass, answer), _| {
            *pass || most.get(prompt).is_some_and(|(_, kept)| kept == answer)
        });
    }

    /// Adds them to the tables.
    pub(super) async fn upsert(
        &mut self,
        connection: &mut Connection,
        run: i64,
    ) -> Result<(), DatabaseError> {
        self.keep_most_frequent();
        let step = self.step;
        let answers: Vec<_> = self.answers.iter().collect();
        UPSERT_ANSWERS
            .run(
                connection,
                &answers,
                |values, ((prompt, pass, answer), (gold, found))| {
                    values
                        .add(run)
                        .add(*prompt)
                        .add(i64::from(*pass))
                        .add(*answer)
                        .add(*gold)
                        .add_count(found.grades)
                        .add_count(found.rewards)
                        .add_number(found.reward_sum)
                        .add(step)
                        .add(step)
                        .add(found.last_key);
                },
            )
            .await?;
        let signs: Vec<_> = self.signs.iter().collect();
        UPSERT_SIGNS
            .run(connection, &signs, |values, ((kind, value), found)| {
                values
                    .add(run)
                    .add(*kind)
                    .add(*value)
                    .add_count(found.grades)
                    .add_count(found.rewards)
                    .add_number(found.reward_sum)
                    .add(step)
                    .add(step)
                    .add(found.first_key)
                    .add(found.last_key);
            })
            .await?;
        Ok(())
    }

    /// The number of these grades whose answer passes in the run for at least `golds` different
    /// expected answers. The answers are in the table.
    pub(super) async fn repeated(
        &self,
        connection: &mut Connection,
        run: i64,
        golds: u64,
    ) -> Result<u64, DatabaseError> {
        let mut grades: BTreeMap<&str, u64> = BTreeMap::new();
        for ((_, pass, answer), (_, found)) in &self.answers {
            if *pass {
                *grades.entry(*answer).or_default() += found.grades;
            }
        }
        let answers: Vec<&str> = grades.keys().copied().collect();
        let mut repeated = 0;
        for chunk in answers.chunks(256) {
            let mut query = QueryBuilder::new(
                "select answer, count(distinct gold) as golds from answers \
                 where pass = 1 and run = ",
            );
            query.push_bind(run).push(" and answer in (");
            query.push_list(chunk.iter().copied());
            query.push(") group by answer");
            let rows = query.build().persistent(false).fetch_all(connection);
            for row in rows.await? {
                if count(row.try_get("golds")?) >= golds {
                    let answer: Cow<'_, str> = row.try_get("answer")?;
                    repeated += grades.get(answer.as_ref()).copied().unwrap_or(0);
                }
            }
        }
        Ok(repeated)
    }
}
