//! Grades a completion: reads the trace, compares each turn, and combines the parts.

use assay_core::{
    BoxFuture, Component, Evidence, Grade, GradeContext, Item, Lane, Measure, Nested, Outcome,
    Prepared, Score, Step, Verdict,
};
use assay_documents::Json;
use serde_json::{Value, json};

use crate::compare::{Difference, Expected, Made, Terms};
use crate::matching::{Pairs, pairs};
use crate::state::Running;
use crate::task::{Match, Mode, Order, Reads, ToolsTask};
use crate::toolrl::{self, Problem, Raw};
use crate::trace::{Trace, Turn};
use crate::{bfcl, evidence, verdict};

/// A task ready to grade.
pub(crate) struct PreparedTools {
    task: ToolsTask,
    /// The expected state after each turn, or after the last turn only.
    states: Vec<Json>,
    last: Option<Nested>,
}

/// The calls of a turn compared with the expected ones.
struct Paired<'a> {
    pairs: Pairs,
    /// A row for each expected call, with a column for each call.
    differences: Vec<Option<Difference<'a>>>,
    score: f64,
}

/// The result of one turn.
struct Judged {
    score: f64,
    reason: Option<Verdict>,
    shown: Value,
    work: u64,
}

impl PreparedTools {
    pub(crate) fn new(task: ToolsTask, states: Vec<Json>, last: Option<Nested>) -> Self {
        Self { task, states, last }
    }

    fn terms(&self) -> Terms<'_> {
        Terms {
            tools: &self.task.tools,
            strings: self.task.strings,
            tolerance: self.task.tolerance,
        }
    }

    fn compare<'a>(&self, expected: &'a Expected, made: &'a Made) -> Result<(), Difference<'a>> {
        match self.task.mode {
            Mode::Bfcl => bfcl::compare(&self.task.tools, expected, made),
            _ => self.terms().compare(expected, made),
        }
    }

    /// The grade of the calls, without the task of the last message.
    fn grade_calls(&self, item: &Item) -> Grade {
        if self.task.mode == Mode::ToolRl {
            return self.by_toolrl(item);
        }
        let trace = Trace::read(item, &self.task);
        let (mut judged, changes, refused) = match &self.task.state {
            Some(_) => self.by_state(&trace),
            None => (self.by_calls(&trace), Vec::new(), trace.refused),
        };
        let count = judged.len() as f64;
        let mean = judged.iter().map(|turn| turn.score).sum::<f64>() / count;
        let all = judged.iter().all(|turn| turn.score >= 1.0);
        let score = match self.task.mode {
            _ if all => 1.0,
            Mode::All | Mode::Bfcl => 0.0,
            Mode::Fraction | Mode::F1 | Mode::ToolRl => mean,
        };
        let reason = judged.iter().find_map(|turn| turn.reason);
        let mut grade = verdict_of(score, reason.unwrap_or(verdict::WRONG_CALL));
        let mut shown = std::mem::take(&mut grade.evidence);
        let turns: Vec<Value> = judged.iter_mut().map(|turn| turn.shown.take()).collect();
        shown = shown.value("turns", turns);
        if !trace.void_messages.is_empty() {
            shown = shown.value("void_turns", trace.void_messages.clone());
        }
        grade.evidence = shown;
        grade.work = judged.iter().map(|turn| turn.work).sum();
        let void = |at: usize| trace.turns.get(at).is_none_or(|turn| turn.void);
        let step = |(at, turn): (usize, &Judged)| Step {
            score: clamped(turn.score),
            masked: void(at),
        };
        grade.steps = judged.iter().enumerate().map(step).collect();
        for (name, value) in [
            ("calls", trace.calls().count()),
            ("malformed", trace.malformed()),
            ("redundant_calls", trace.redundant(&changes)),
            ("tool_errors", refused),
            ("turns", trace.turns.len()),
            ("void_turns", trace.void_messages.len()),
        ] {
            if let Ok(measure) = Measure::new(value as f64) {
                grade.measures.insert(name, measure);
            }
        }
        grade
    }

    /// Turn by turn, the calls against the expected ones.
    fn by_calls(&self, trace: &Trace) -> Vec<Judged> {
        let expected = self.task.turns.as_deref().unwrap_or_default();
        if !self.task.by_turn {
            // The task expects one turn, so the calls of all messages count together.
            let expected = expected.first().map_or(&[][..], Vec::as_slice);
            return vec![match trace.turns.as_slice() {
                [only] => self.judge(only, expected),
                _ => self.judge(&whole(trace), expected),
            }];
        }
        let nothing = Turn::default();
        let turns = 0..expected.len().max(trace.turns.len());
        turns
            .map(|at| {
                let expected = expected.get(at).map_or(&[][..], Vec::as_slice);
                self.judge(trace.turns.get(at).unwrap_or(&nothing), expected)
            })
            .collect()
    }

    /// Pairs the calls of a turn with the expected ones.
    fn paired<'a>(&self, turn: &'a Turn, expected: &'a [Expected]) -> Paired<'a> {
        let mut differences = Vec::with_capacity(expected.len() * turn.calls.len());
        let pairs = pairs(expected.len(), turn.calls.len(), self.task.order, |e, m| {
            let compared = self.compare(&expected[e], &turn.calls[m]);
            differences.push(compared.err());
            compared.is_ok()
        });
        let matched = pairs.iter().flatten().count() as f64;
        let (wanted, made) = (
            expected.len() as f64,
            (turn.calls.len() + turn.malformed.len()) as f64,
        );
        // If no call is expected, none is allowed, whatever the mode.
        let how = if expected.is_empty() {
            Match::Exact
        } else {
            self.task.matching
        };
        let of = |whole: f64| {
            if whole > 0.0 {
                matched / whole
            } else {
                f64::from(u8::from(wanted == 0.0))
            }
        };
        let share = match how {
            Match::Exact => of(wanted.max(made)),
            Match::Subset => of(made),
            Match::Superset => of(wanted),
            Match::Any => matched.min(1.0),
        };
        let score = match self.task.mode {
            _ if share >= 1.0 => 1.0,
            Mode::F1 => 2.0 * matched / (wanted + made),
            Mode::Fraction => share,
            Mode::All | Mode::Bfcl | Mode::ToolRl => 0.0,
        };
        Paired {
            pairs,
            differences,
            score,
        }
    }

    fn judge(&self, turn: &Turn, expected: &[Expected]) -> Judged {
        let Paired {
            pairs,
            differences,
            score,
        } = self.paired(turn, expected);
        Judged {
            score,
            reason: (score < 1.0).then(|| blame(turn)),
            shown: shown(turn, expected, &pairs, &differences, score),
            work: differences.len() as u64,
        }
    }

    /// Whether the first turn is correct; for tasks without a state.
    pub(crate) fn agrees(&self, trace: &Trace) -> bool {
        let expected = self
            .task
            .turns
            .iter()
            .flatten()
            .next()
            .map_or(&[][..], Vec::as_slice);
        trace
            .turns
            .first()
            .is_some_and(|turn| self.paired(turn, expected).score >= 1.0)
    }

    pub(crate) fn read(&self, item: &Item) -> Trace {
        Trace::read(item, &self.task)
    }

    /// For each turn, compares the resulting state and the expected calls that only read. Also
    /// returns which calls changed the state, and how many were rejected.
    fn by_state(&self, trace: &Trace) -> (Vec<Judged>, Vec<bool>, usize) {
        let Some(task) = &self.task.state else {
            return (Vec::new(), Vec::new(), 0);
        };
        let mut running = Running::new(task, &self.task.tools);
        let expected = self.task.turns.as_deref().unwrap_or_default();
        let by_turn = task.expected.is_none() && self.task.by_turn;
        let count = if self.task.by_turn {
            expected.len().max(trace.turns.len())
        } else {
            1
        };
        let (mut judged, mut changes, mut refused) = (Vec::new(), Vec::new(), 0);
        let nothing = Turn::default();
        let whole = (!self.task.by_turn).then(|| whole(trace));
        for at in 0..count {
            let turn = whole
                .as_ref()
                .unwrap_or_else(|| trace.turns.get(at).unwrap_or(&nothing));
            let mut refusals: Vec<(usize, String)> = Vec::new();
            for (call, made) in turn.calls.iter().enumerate() {
                let done = running.call(made);
                changes.push(*done.as_ref().unwrap_or(&false));
                refusals.extend(done.err().map(|reason| (call, reason)));
            }
            refused += refusals.len();
            let wanted = expected.get(at).map_or(&[][..], Vec::as_slice);
            // A state is expected after each turn, or after the last one alone.
            let state = match (by_turn, at + 1 == count) {
                (true, _) => self.states.get(at).or(self.states.last()),
                (false, true) => self.states.last(),
                (false, false) => None,
            };
            let has_turns = self.task.turns.is_some();
            let mut turn = self.judge_state(
                turn,
                &refusals,
                has_turns.then_some(wanted),
                state,
                &running.now,
            );
            if !refusals.is_empty() {
                let describe =
                    |(call, reason): &(usize, String)| json!({"call": call, "reason": reason});
                turn.shown["refused"] = refusals.iter().take(20).map(describe).collect();
            }
            judged.push(turn);
        }
        if let Some(first) = judged.first_mut() {
            first.work += running.work;
        }
        (judged, changes, refused.max(trace.refused))
    }

    /// One turn. A rejected call matches no expected one. `wanted` are the calls that the task
    /// lists for it, if any; a turn with an empty list allows no call.
    fn judge_state(
        &self,
        turn: &Turn,
        refused: &[(usize, String)],
        wanted: Option<&[Expected]>,
        state: Option<&Json>,
        now: &Json,
    ) -> Judged {
        let (Some(task), true) = (
            &self.task.state,
            wanted.is_none_or(|wanted| !wanted.is_empty()),
        ) else {
            return self.judge(turn, &[]);
        };
        let wanted = wanted.unwrap_or_default();
        let reads: Vec<Expected> = match task.reads {
            Reads::Free => Vec::new(),
            Reads::Expected => wanted
                .iter()
                .filter(|call| task.effects.only_reads(&call.name))
                .cloned()
                .collect(),
        };
        let mut differences = Vec::with_capacity(reads.len() * turn.calls.len());
        let pairs = pairs(reads.len(), turn.calls.len(), Order::Any, |e, m| {
            let compared = self.compare(&reads[e], &turn.calls[m]);
            differences.push(compared.err());
            compared.is_ok() && !refused.iter().any(|(call, _)| *call == m)
        });
        let work = differences.len() as u64;
        let matched = pairs.iter().flatten().count();
        let holds = state.is_none_or(|state| task.same(state, now, &self.terms()));
        let parts = reads.len() + usize::from(state.is_some());
        let right = matched + usize::from(state.is_some() && holds);
        let share = if parts == 0 {
            1.0
        } else {
            right as f64 / parts as f64
        };
        let score = if self.task.mode == Mode::Fraction || share >= 1.0 {
            share
        } else {
            0.0
        };
        let reason = match (share < 1.0, holds) {
            (false, _) => None,
            (true, _) if turn.calls.is_empty() || !turn.malformed.is_empty() => Some(blame(turn)),
            (true, false) => Some(verdict::WRONG_STATE),
            (true, true) => Some(verdict::WRONG_CALL),
        };
        let mut shown = shown(turn, &reads, &pairs, &differences, score);
        if let Some(state) = state.filter(|_| !holds) {
            shown["state"] = evidence::state(&task.differences(state, now, &self.terms()));
        }
        Judged {
            score,
            reason,
            shown,
            work,
        }
    }

    fn by_toolrl(&self, item: &Item) -> Grade {
        let text = item.completion.text();
        let expected = self
            .task
            .turns
            .as_ref()
            .and_then(|turns| turns.first())
            .map_or(&[][..], Vec::as_slice);
        let raw = toolrl::reward(&text, expected, self.task.response);
        let (least, most) = Raw::range(!expected.is_empty());
        let score = if raw.problem.is_none() {
            1.0
        } else {
            (raw.total() - least) / (most - least)
        };
        let reason = match raw.problem {
            Some(Problem::NoCall) => verdict::NO_CALL,
            Some(Problem::Malformed | Problem::Format) => verdict::MALFORMED_CALL,
            Some(Problem::Wrong) | None => verdict::WRONG_CALL,
        };
        let mut grade = verdict_of(score, reason);
        let shown = std::mem::take(&mut grade.evidence);
        grade.evidence = shown
            .value("raw", raw.total())
            .value("format", raw.format)
            .value("correctness", raw.correctness)
            .value("range", json!([least, most]));
        grade.work = expected.len() as u64;
        grade
    }

    /// Combines the grade of the last message with that of the calls.
    fn with_last(mut grade: Grade, last: &Nested, outcome: Outcome) -> Outcome {
        let Outcome::Graded(final_grade) = &outcome else {
            return outcome;
        };
        let both = Score::new(grade.score.get() * final_grade.score.get()).unwrap_or(Score::ZERO);
        let calls_are_right = grade.score == Score::ONE;
        if calls_are_right && final_grade.score < Score::ONE {
            let partial = both > Score::ZERO;
            grade.verdict = if partial {
                Verdict::PARTIAL
            } else {
                Verdict::WRONG_ANSWER
            };
            if partial {
                grade.evidence = std::mem::take(&mut grade.evidence)
                    .text("reason", Verdict::WRONG_ANSWER.as_str());
            }
        } else if both == Score::ZERO && grade.verdict == Verdict::PARTIAL {
            grade.verdict = Verdict::WRONG_ANSWER;
        }
        grade.score = both;
        grade.deterministic &= final_grade.deterministic;
        grade.work += final_grade.work;
        grade.components.push(Component {
            name: "final".to_owned(),
            grader: last.spec.id(),
            outcome,
        });
        Outcome::Graded(grade)
    }
}

/// A grade with this score; the reason is its verdict, or part of the evidence if it is partial.
fn verdict_of(score: f64, reason: Verdict) -> Grade {
    let score = clamped(score);
    if score == Score::ONE {
        return Grade::new(Verdict::CORRECT, score);
    }
    if score == Score::ZERO {
        return Grade::new(reason, score);
    }
    Grade::new(Verdict::PARTIAL, score)
        .with_evidence(Evidence::new().text("reason", reason.as_str()))
}

fn clamped(score: f64) -> Score {
    Score::new(score.clamp(0.0, 1.0)).unwrap_or(Score::ZERO)
}

/// The verdict of a turn that is not correct.
fn blame(turn: &Turn) -> Verdict {
    match (turn.malformed.is_empty(), turn.calls.is_empty()) {
        (false, _) => verdict::MALFORMED_CALL,
        (true, true) => verdict::NO_CALL,
        (true, false) => verdict::WRONG_CALL,
    }
}

/// One turn, formatted for people. `differences` has a row for each expected call, with a column
/// for each call.
fn shown(
    turn: &Turn,
    expected: &[Expected],
    pairs: &Pairs,
    differences: &[Option<Difference<'_>>],
    score: f64,
) -> Value {
    let nearest = |at: usize| {
        let row = differences
            .iter()
            .skip(at * turn.calls.len())
            .take(turn.calls.len())
            .enumerate();
        let unpaired = row.filter(|(call, _)| !pairs.contains(&Some(*call)));
        let differs = unpaired
            .take(20)
            .filter_map(|(call, difference)| difference.map(|difference| (call, difference)));
        differs.max_by_key(|(call, difference)| (difference.nearness(), std::cmp::Reverse(*call)))
    };
    let missing = pairs.iter().enumerate().filter(|(_, pair)| pair.is_none());
    let missing: Vec<_> = missing.map(|(at, _)| (at, nearest(at))).collect();
    let mut shown = evidence::turn(turn, expected, pairs, &missing);
    shown["score"] = json!(score);
    shown
}

/// All turns as one.
fn whole(trace: &Trace) -> Turn {
    Turn {
        calls: trace.calls().cloned().collect(),
        malformed: trace
            .turns
            .iter()
            .flat_map(|turn| turn.malformed.iter().cloned())
            .collect(),
        void: trace.turns.iter().any(|turn| turn.void),
    }
}

impl Prepared for PreparedTools {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(items.len());
            for item in items {
                let grade = self.grade_calls(item);
                outcomes.push(match &self.last {
                    None => Outcome::Graded(grade),
                    Some(last) => Self::with_last(grade, last, last.grade(item, cx).await),
                });
            }
            outcomes
        })
    }

    fn bytes(&self) -> usize {
        let expected = self
            .task
            .turns
            .iter()
            .flatten()
            .flatten()
            .flat_map(|call| &call.arguments);
        let expected: usize = expected
            .flat_map(|argument| &argument.accepted)
            .map(Json::bytes)
            .sum();
        let states: usize = self.states.iter().map(Json::bytes).sum();
        let state = self
            .task
            .state
            .as_ref()
            .map_or(0, crate::state::StateTask::bytes);
        let last = self.last.as_ref().map_or(0, |last| last.prepared.bytes());
        1_024 + self.task.tools.bytes() + expected + states + state + last
    }

    fn lane(&self, own: Lane) -> Lane {
        self.last.as_ref().map_or(own, Nested::lane)
    }
}
