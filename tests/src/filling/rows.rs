//! Batches of copied rows: selects the problem and completion, and changes what differs between
//! copies.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use assay_base::Random;
use assay_core::{BatchId, ErrorCode, Fault, Hash};
use assay_record::event::{Adjudication, Draw};
use assay_record::{Appeal, Body, Entry, Event, GradeSource, ItemGrade, NewGrade, StoredGrade};

use super::pool::{Pool, Problem};
use super::schedule::Due;
use super::{batch_id, events};

/// Completions of one prompt.
const GROUP: u32 = 8;

/// Number of prompts of a run, visited in turn.
const PROMPTS: usize = 6_000;

/// One of this many batches is followed by an adjudication of one of its grades.
const ADJUDICATED: f64 = 0.02;

/// Generates batches from the pool.
pub(super) struct Writer<'p> {
    pool: &'p Pool,
    random: Random,
    /// Bodies that earlier entries contained.
    kept: HashSet<Hash>,
}

impl<'p> Writer<'p> {
    pub(super) fn new(pool: &'p Pool, random: Random) -> Self {
        Self {
            pool,
            random,
            kept: HashSet::new(),
        }
    }

    /// The next batch.
    pub(super) fn batch(&mut self, due: &Due) -> Entry {
        let batch = batch_id(due.us, &mut self.random);
        let caller: Arc<str> = if due.run.name.is_some() {
            "trainer"
        } else {
            "local"
        }
        .into();
        // Occasionally the sandboxes of a node fail for one batch.
        let down = self.random.bernoulli(0.005);
        let (mut grades, mut bodies) = (Vec::with_capacity(due.run.items as usize), Vec::new());
        while (grades.len() as u32) < due.run.items {
            let first = grades.len();
            self.group(due, batch, &caller, &mut grades);
            for StoredGrade { source, grade } in &mut grades[first..] {
                if down && grade.grader.name == "code" && self.random.bernoulli(0.5) {
                    let message = "the worker ended and so did the one after it";
                    fail(
                        grade,
                        "failed",
                        Fault::transient(ErrorCode::SandboxFailed, message),
                    );
                } else if self.random.bernoulli(0.000_3) {
                    let message = "index out of bounds";
                    fail(
                        grade,
                        "failed",
                        Fault::permanent(ErrorCode::GraderPanicked, message),
                    );
                }
                self.bring(source, &mut bodies);
            }
            advantages(&mut grades[first..]);
        }
        Entry {
            batch,
            caller,
            run: due.run.name.clone(),
            step: due.step,
            items: due.run.items,
            received_us: due.us,
            grades: grades.into_iter().map(NewGrade::from).collect(),
            bodies,
            events: Vec::new(),
            claim: None,
        }
    }

    /// Eight completions of one prompt. The later in the run, the more of them pass.
    fn group(
        &mut self,
        due: &Due,
        batch: BatchId,
        caller: &Arc<str>,
        grades: &mut Vec<StoredGrade>,
    ) {
        let shares: Vec<f64> = due.run.mix.iter().map(|(_, share)| *share).collect();
        let (channel, _) = due.run.mix[self.random.index(&shares)];
        let prompt = self.random.below(PROMPTS);
        let problems = &self.pool.channels[channel];
        let problem = &problems[prompt % problems.len()];
        // Prompts differ in difficulty, and learning slows down.
        let hardness = (prompt * 7 % 11) as f64 / 10.0;
        let passes = (0.15 + 0.65 * due.progress.sqrt() + 0.4 * (0.5 - hardness)).clamp(0.02, 0.98);
        let prompt_key =
            Hash::of(&(due.run.number as u64 * 100_000 + prompt as u64).to_le_bytes()).to_string();
        let ungradable = self.random.bernoulli(0.001);
        for place in 0..GROUP {
            let position = grades.len() as u32;
            let Some(template) = self.completion(problem, passes) else {
                break;
            };
            let mut stored = template.clone();
            let source = &mut stored.source;
            source.batch = batch;
            source.caller = Arc::clone(caller);
            source.run = due.run.name.clone();
            source.step = due.step;
            let grade = &mut stored.grade;
            grade.grade = batch.grade(position);
            grade.position = position;
            grade.id = Some(format!("p{prompt}-{place}"));
            grade.group = Some(format!("p{prompt}"));
            grade.prompt_key = Some(prompt_key[..32].to_owned());
            grade.cached = self.random.bernoulli(0.03);
            let spread = (self.random.normal() * 0.6).exp();
            grade.grade_us = (grade.grade_us as f64 * spread) as u64;
            grade.queue_us = (20.0 + 400.0 * (self.random.normal() * 1.2).exp()) as u64;
            grade.time_us = due.us + i64::from(position) * 40 + grade.queue_us as i64;
            if ungradable {
                let fault =
                    Fault::permanent(ErrorCode::GoldUnparsable, "the gold is no expression");
                fail(grade, "ungradable", fault);
            } else if grade.pass == Some(false)
                && *grade.channel == *"math/gsm-like"
                && self.random.bernoulli(0.05)
            {
                self.appeal(grade);
            }
            grades.push(stored);
        }
    }

    fn completion(&mut self, problem: &'p Problem, passes: f64) -> Option<&'p StoredGrade> {
        let passed = self.random.bernoulli(passes);
        let (first, second) = if passed {
            (&problem.passed, &problem.others)
        } else {
            (&problem.others, &problem.passed)
        };
        self.random.pick(first).or_else(|| self.random.pick(second))
    }

    /// An appeal of one negative in twenty.
    fn appeal(&mut self, grade: &mut ItemGrade) {
        let judged = !self.random.bernoulli(0.02);
        let pass = judged.then(|| self.random.bernoulli(0.12));
        let overturned = pass == Some(true);
        grade.appeal = Some(Appeal {
            judge: "reward_model@1".to_owned(),
            sensitivity: 0.9,
            specificity: 0.98,
            probability: 0.05,
            verdict: pass.map(|pass| if pass { "correct" } else { "wrong_answer" }.to_owned()),
            pass,
            agreed: pass == grade.pass,
            score: pass.map(|pass| f64::from(u8::from(pass))),
            binding: true,
            overturned,
            reason: (!judged).then(|| "no model is loaded".to_owned()),
        });
        if overturned {
            grade.score_after_appeal = Some(1.0);
            grade.reward = Some(1.0);
        }
    }

    /// Bodies that no entry has contained yet.
    fn bring(&mut self, source: &GradeSource, bodies: &mut Vec<Body>) {
        for hash in [
            Some(source.task_hash),
            Some(source.completion_hash),
            source.prompt_hash,
        ]
        .into_iter()
        .flatten()
        {
            if self.kept.insert(hash) {
                bodies.extend(self.pool.bodies.get(&hash).cloned());
            }
        }
    }

    /// An adjudication of a grade of the batch, if it is chosen.
    pub(super) fn words(&mut self, entry: &Entry) -> Option<Entry> {
        if !self.random.bernoulli(ADJUDICATED) {
            return None;
        }
        let grade = &self.random.pick(&entry.grades)?.row.grade;
        let graded_pass = grade.pass_after_appeal()?;
        let time_us = grade.time_us + 60_000_000;
        let drawn = Draw {
            grade: grade.grade,
            channel: grade.channel.to_string(),
            probability: 0.001,
            weight: 1.0,
            time_us: time_us - 20_000_000,
        };
        let adjudicated = Adjudication {
            id: u128::from(batch_id(time_us, &mut self.random)),
            grade: grade.grade,
            channel: grade.channel.to_string(),
            version: grade.grader.version,
            graded_pass,
            pass: graded_pass != self.random.bernoulli(if graded_pass { 0.02 } else { 0.1 }),
            weight: Some(1.0),
            corrects: None,
            judged: None,
            caller: "operator".to_owned(),
            note: None,
            time_us,
        };
        let words = vec![Event::Drawn(drawn), Event::Adjudicated(adjudicated)];
        Some(events(words, time_us, &mut self.random))
    }
}

/// Removes the values that an item without a score does not have.
fn fail(grade: &mut ItemGrade, outcome: &'static str, fault: Fault) {
    grade.outcome = outcome.into();
    (grade.verdict, grade.pass, grade.score, grade.reward) = (None, None, None, None);
    (grade.appeal, grade.score_after_appeal, grade.advantage) = (None, None, None);
    (grade.components, grade.steps) = (Vec::new(), Vec::new());
    (grade.measures, grade.evidence) = (BTreeMap::new(), None);
    grade.error = Some(fault);
    grade.deterministic = true;
    grade.work = 0;
}

/// Rewards minus their mean over the group.
fn advantages(group: &mut [StoredGrade]) {
    let rewards = group.iter().filter_map(|stored| stored.grade.reward);
    let rewards: Vec<f64> = rewards.collect();
    let mean = rewards.iter().sum::<f64>() / rewards.len().max(1) as f64;
    for StoredGrade { grade, .. } in group {
        let reward = grade.reward.filter(|_| rewards.len() > 1);
        grade.advantage = reward.map(|reward| reward - mean);
    }
}
