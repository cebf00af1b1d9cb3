//! Grades a completion: reads the trace, compares each turn, and combines the parts.

use assay_core::grader::grade_each;
use assay_core::{
    BoxFuture, Component, Evidence, Grade, GradeContext, Item, Lane, Measure, Nested, Outcome,
    Prepared, Score, Step, Verdict,
};
use assay_documents::Json;
use serde_json::json;

use crate::compare::{ActualCall, Difference, ExpectedCall};
use crate::evidence::TurnEvidence;
use crate::matching::{Pairs, pairs};
use crate::state::{Reads, Simulation, StateTask};
use crate::task::{Match, Mode, Order, Steps, ToolsTask};
use crate::toolrl::{self, Problem, RawReward};
use crate::trace::{Trace, Turn};
use crate::{bfcl, evidence, verdict};

/// A task ready to grade.
pub(crate) struct PreparedTools {
    task: ToolsTask,
    /// The expected state after each turn, or after the last turn only.
    states: Vec<Json>,
    last: Option<Nested>,
}

/// The calls of a turn, paired with the expected ones.
struct Pairing<'a> {
    pairs: Pairs,
    /// A row for each expected call, with a column for each call.
    differences: Vec<Option<Difference<'a>>>,
    score: f64,
}

/// The result of comparing one turn.
struct TurnResult<'t> {
    score: f64,
    reason: Option<Verdict>,
    evidence: TurnEvidence<'t>,
    work: u64,
    /// Whether each call is right.
    right: Vec<bool>,
    malformed: usize,
}

impl TurnResult<'_> {
    /// Adds the index of the first wrong call of a turn that is wrong.
    fn attributed(mut self) -> Self {
        if self.score < 1.0
            && let Some(first) = self.right.iter().position(|right| !right)
        {
            self.evidence.first_wrong_call = Some(first);
        }
        self
    }
}

impl PreparedTools {
    pub(crate) fn new(task: ToolsTask, states: Vec<Json>, last: Option<Nested>) -> Self {
        Self { task, states, last }
    }

    fn compare<'a>(
        &self,
        expected: &'a ExpectedCall,
        actual: &'a ActualCall,
    ) -> Result<(), Difference<'a>> {
        match self.task.mode {
            Mode::Bfcl => bfcl::compare(&self.task.tools, self.task.language, expected, actual),
            _ => self.task.comparator().compare(expected, actual),
        }
    }

    /// The grade of the calls, without the task of the last message.
    fn grade_calls(&self, item: &Item) -> Grade {
        if self.task.mode == Mode::ToolRl {
            return self.grade_by_toolrl(item);
        }
        let trace = Trace::read(item, &self.task);
        // A task that expects one turn: the calls of all messages count together.
        let is_merged = !self.task.by_turn && trace.turns.len() != 1;
        let merged = is_merged.then(|| merged_turn(&trace));
        let turns = match &merged {
            Some(merged) => std::slice::from_ref(merged),
            None => trace.turns.as_slice(),
        };
        let (results, changes, tool_errors) = match &self.task.state {
            Some(task) => self.compare_states(task, turns, trace.tool_errors),
            None => (self.compare_turns(turns), Vec::new(), trace.tool_errors),
        };
        let count = results.len() as f64;
        let mean = results.iter().map(|turn| turn.score).sum::<f64>() / count;
        let all = results.iter().all(|turn| turn.score >= 1.0);
        let score = match self.task.mode {
            _ if all => 1.0,
            Mode::All | Mode::Bfcl => 0.0,
            Mode::Fraction | Mode::F1 | Mode::ToolRl => mean,
        };
        let reason = results.iter().find_map(|turn| turn.reason);
        let mut grade = verdict_of(score, reason.unwrap_or(verdict::WRONG_CALL));
        let mut evidence = std::mem::take(&mut grade.evidence);
        let turns: Vec<_> = results.iter().map(|turn| &turn.evidence).collect();
        evidence = evidence.serialized("turns", &turns);
        if !trace.void_messages.is_empty() {
            evidence = evidence.value("void_turns", trace.void_messages.clone());
        }
        grade.evidence = evidence;
        grade.work = results.iter().map(|turn| turn.work).sum();
        let is_void = |at: usize| trace.turns.get(at).is_none_or(|turn| turn.has_void_message);
        let step = |(at, turn): (usize, &TurnResult<'_>)| Step {
            score: clamped(turn.score),
            masked: is_void(at),
        };
        grade.steps = match self.task.steps {
            Steps::Turns => results.iter().enumerate().map(step).collect(),
            Steps::Calls => results.iter().flat_map(steps_of_calls).collect(),
        };
        for (name, value) in [
            ("calls", trace.calls().count()),
            ("malformed", trace.malformed()),
            ("redundant_calls", trace.redundant(&changes)),
            ("tool_errors", tool_errors),
            ("turns", trace.turns.len()),
            ("void_turns", trace.void_messages.len()),
        ] {
            if let Ok(measure) = Measure::new(value as f64) {
                grade.measures.insert(name, measure);
            }
        }
        grade
    }

    /// Compares the calls of each turn with the expected ones.
    fn compare_turns<'t>(&self, turns: &'t [Turn]) -> Vec<TurnResult<'t>> {
        let expected = self.task.turns.as_deref().unwrap_or_default();
        let count = match self.task.by_turn {
            true => expected.len().max(turns.len()),
            false => 1,
        };
        let compare = |at: usize| {
            let expected = expected.get(at).map_or(&[][..], Vec::as_slice);
            self.compare_turn(turns.get(at).unwrap_or(&NO_ACTIONS), expected)
        };
        (0..count).map(compare).collect()
    }

    /// Pairs the calls of a turn with the expected ones.
    fn pair_calls<'a>(&self, turn: &'a Turn, expected: &'a [ExpectedCall]) -> Pairing<'a> {
        let mut differences = Vec::with_capacity(expected.len() * turn.calls.len());
        let pairs = pairs(expected.len(), turn.calls.len(), self.task.order, |e, m| {
            let compared = self.compare(&expected[e], &turn.calls[m]);
            differences.push(compared.err());
            compared.is_ok()
        });
        let matched = pairs.iter().flatten().count() as f64;
        let expected_count = expected.len() as f64;
        let actual_count = (turn.calls.len() + turn.malformed.len()) as f64;
        // If no call is expected, none is allowed, whatever the task's `match` is.
        let matching = if expected.is_empty() {
            Match::Exact
        } else {
            self.task.matching
        };
        let share_of = |whole: f64| {
            if whole > 0.0 {
                matched / whole
            } else {
                f64::from(u8::from(expected_count == 0.0))
            }
        };
        let share = match matching {
            Match::Exact => share_of(expected_count.max(actual_count)),
            Match::Subset => share_of(actual_count),
            Match::Superset => share_of(expected_count),
            Match::Any => matched.min(1.0),
        };
        let score = match self.task.mode {
            _ if share >= 1.0 => 1.0,
            Mode::F1 => 2.0 * matched / (expected_count + actual_count),
            Mode::Fraction => share,
            Mode::All | Mode::Bfcl | Mode::ToolRl => 0.0,
        };
        Pairing {
            pairs,
            differences,
            score,
        }
    }

    fn compare_turn<'t>(&self, turn: &'t Turn, expected: &[ExpectedCall]) -> TurnResult<'t> {
        let Pairing {
            pairs,
            differences,
            score,
        } = self.pair_calls(turn, expected);
        TurnResult {
            score,
            reason: (score < 1.0).then(|| failure_verdict(turn)),
            evidence: turn_evidence(turn, expected, &pairs, &differences, score),
            work: differences.len() as u64,
            right: paired(turn, &pairs),
            malformed: turn.malformed.len(),
        }
        .attributed()
    }

    /// Whether the first turn is correct; for tasks without a state.
    pub(crate) fn matches(&self, trace: &Trace) -> bool {
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
            .is_some_and(|turn| self.pair_calls(turn, expected).score >= 1.0)
    }

    pub(crate) fn read(&self, item: &Item) -> Trace {
        Trace::read(item, &self.task)
    }

    /// Compares the state after each turn, and the expected calls that only read. Also returns
    /// whether each call changed the state, and the number of calls that were rejected.
    fn compare_states<'t>(
        &self,
        task: &StateTask,
        turns: &'t [Turn],
        reported_errors: usize,
    ) -> (Vec<TurnResult<'t>>, Vec<bool>, usize) {
        let mut simulation = Simulation::new(task, &self.task.tools);
        let expected = self.task.turns.as_deref().unwrap_or_default();
        let by_turn = task.expected.is_none() && self.task.by_turn;
        let count = if self.task.by_turn {
            expected.len().max(turns.len())
        } else {
            1
        };
        let (mut results, mut changes, mut tool_errors) = (Vec::new(), Vec::new(), 0);
        for at in 0..count {
            let turn = turns.get(at).unwrap_or(&NO_ACTIONS);
            let mut rejections: Vec<(usize, String)> = Vec::new();
            for (at, call) in turn.calls.iter().enumerate() {
                let result = simulation.call(call);
                changes.push(*result.as_ref().unwrap_or(&false));
                rejections.extend(result.err().map(|reason| (at, reason)));
            }
            tool_errors += rejections.len();
            let expected_calls = expected.get(at).map_or(&[][..], Vec::as_slice);
            // A state is expected after each turn, or only after the last one.
            let expected_state = match (by_turn, at + 1 == count) {
                (true, _) => self.states.get(at).or(self.states.last()),
                (false, true) => self.states.last(),
                (false, false) => None,
            };
            let has_turns = self.task.turns.is_some();
            let mut turn = self.compare_turn_state(
                turn,
                &rejections,
                has_turns.then_some(expected_calls),
                expected_state,
                &simulation.state,
            );
            let describe =
                |(call, reason): &(usize, String)| json!({"call": call, "reason": reason});
            turn.evidence.refused = rejections.iter().take(20).map(describe).collect();
            results.push(turn);
        }
        if let Some(first) = results.first_mut() {
            first.work += simulation.work;
        }
        (results, changes, tool_errors.max(reported_errors))
    }

    /// Grades one turn of a task with a state. `expected` are the calls that the task lists for the
    /// turn; `None` if it lists no turns. An empty list allows no call. A rejected call matches no
    /// expected call. `expected_state` is `None` if no state is expected after this turn.
    fn compare_turn_state<'t>(
        &self,
        turn: &'t Turn,
        rejections: &[(usize, String)],
        expected: Option<&[ExpectedCall]>,
        expected_state: Option<&Json>,
        state: &Json,
    ) -> TurnResult<'t> {
        let (Some(task), true) = (
            &self.task.state,
            expected.is_none_or(|expected| !expected.is_empty()),
        ) else {
            return self.compare_turn(turn, &[]);
        };
        let expected = expected.unwrap_or_default();
        let reads: Vec<ExpectedCall> = match task.reads {
            Reads::Free => Vec::new(),
            Reads::Expected => expected
                .iter()
                .filter(|call| !call.refused && task.effects.only_reads(&call.name))
                .cloned()
                .collect(),
        };
        let mut differences = Vec::with_capacity(reads.len() * turn.calls.len());
        let pairs = pairs(reads.len(), turn.calls.len(), Order::Any, |e, m| {
            let compared = self.compare(&reads[e], &turn.calls[m]);
            differences.push(compared.err());
            compared.is_ok() && !rejections.iter().any(|(call, _)| *call == m)
        });
        let work = differences.len() as u64;
        let matched = pairs.iter().flatten().count();
        let is_expected_state = expected_state
            .is_none_or(|expected_state| task.same(expected_state, state, &self.task.comparator()));
        let parts = reads.len() + usize::from(expected_state.is_some());
        let correct = matched + usize::from(expected_state.is_some() && is_expected_state);
        let share = if parts == 0 {
            1.0
        } else {
            correct as f64 / parts as f64
        };
        let score = if self.task.mode == Mode::Fraction || share >= 1.0 {
            share
        } else {
            0.0
        };
        let reason = match (share < 1.0, is_expected_state) {
            (false, _) => None,
            (true, _) if turn.calls.is_empty() || !turn.malformed.is_empty() => {
                Some(failure_verdict(turn))
            }
            (true, false) => Some(verdict::WRONG_STATE),
            (true, true) => Some(verdict::WRONG_CALL),
        };
        let mut evidence = turn_evidence(turn, &reads, &pairs, &differences, score);
        if let Some(expected_state) = expected_state.filter(|_| !is_expected_state) {
            let differences = task.differences(expected_state, state, &self.task.comparator());
            evidence.state = Some(evidence::state(&differences));
        }
        let is_rejected = |call: usize| rejections.iter().any(|(rejected, _)| *rejected == call);
        let mut right = match expected.is_empty() {
            true => vec![true; turn.calls.len()],
            false => {
                let matches =
                    |e: usize, m: usize| self.compare(&expected[e], &turn.calls[m]).is_ok();
                paired(
                    turn,
                    &crate::matching::pairs(expected.len(), turn.calls.len(), Order::Any, matches),
                )
            }
        };
        for (call, right) in right.iter_mut().enumerate() {
            *right &= !is_rejected(call);
        }
        TurnResult {
            score,
            reason,
            evidence,
            work,
            right,
            malformed: turn.malformed.len(),
        }
        .attributed()
    }

    fn grade_by_toolrl(&self, item: &Item) -> Grade {
        let text = item.completion.text();
        let expected = self
            .task
            .turns
            .as_ref()
            .and_then(|turns| turns.first())
            .map_or(&[][..], Vec::as_slice);
        let raw = toolrl::reward(&text, expected, self.task.response);
        let (min, max) = RawReward::range(!expected.is_empty());
        let score = if raw.problem.is_none() {
            1.0
        } else {
            (raw.total() - min) / (max - min)
        };
        let reason = match raw.problem {
            Some(Problem::NoCall) => verdict::NO_CALL,
            Some(Problem::Malformed | Problem::Format) => verdict::MALFORMED_CALL,
            Some(Problem::Wrong) | None => verdict::WRONG_CALL,
        };
        let mut grade = verdict_of(score, reason);
        let evidence = std::mem::take(&mut grade.evidence);
        grade.evidence = evidence
            .value("raw", raw.total())
            .value("format", raw.format)
            .value("correctness", raw.correctness)
            .value("range", json!([min, max]));
        grade.work = expected.len() as u64;
        grade
    }

    /// Combines the grade of the last message with that of the calls.
    fn with_last(mut grade: Grade, last: &Nested, outcome: Outcome) -> Outcome {
        let Outcome::Graded(final_grade) = &outcome else {
            return outcome;
        };
        let both = Score::new(grade.score.get() * final_grade.score.get()).unwrap_or(Score::ZERO);
        let calls_are_correct = grade.score == Score::ONE;
        if calls_are_correct && final_grade.score < Score::ONE {
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

/// A step for each call of a turn, then one for each malformed attempt.
fn steps_of_calls(turn: &TurnResult<'_>) -> impl Iterator<Item = Step> {
    let malformed = std::iter::repeat_n(&false, turn.malformed);
    turn.right.iter().chain(malformed).map(|right| Step {
        score: clamped(f64::from(u8::from(*right))),
        masked: false,
    })
}

/// Whether each call of a turn is paired with an expected one.
fn paired(turn: &Turn, pairs: &Pairs) -> Vec<bool> {
    let mut paired = vec![false; turn.calls.len()];
    for call in pairs.iter().flatten() {
        paired[*call] = true;
    }
    paired
}

/// A grade with this score. The reason is its verdict; if the score is partial, the reason is part
/// of the evidence.
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

/// The verdict of an incorrect turn.
fn failure_verdict(turn: &Turn) -> Verdict {
    match (turn.malformed.is_empty(), turn.calls.is_empty()) {
        (false, _) => verdict::MALFORMED_CALL,
        (true, true) => verdict::NO_CALL,
        (true, false) => verdict::WRONG_CALL,
    }
}

/// The evidence of one turn. `differences` has a row for each expected call, with a column for each
/// call.
fn turn_evidence<'t>(
    turn: &'t Turn,
    expected: &[ExpectedCall],
    pairs: &Pairs,
    differences: &[Option<Difference<'_>>],
    score: f64,
) -> TurnEvidence<'t> {
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
        differs.max_by_key(|(call, difference)| (difference.similarity(), std::cmp::Reverse(*call)))
    };
    let missing = pairs.iter().enumerate().filter(|(_, pair)| pair.is_none());
    let missing: Vec<_> = missing.map(|(at, _)| (at, nearest(at))).collect();
    evidence::turn(turn, expected, pairs, &missing, score)
}

/// A turn in which the assistant does nothing.
static NO_ACTIONS: Turn = Turn {
    calls: Vec::new(),
    malformed: Vec::new(),
    has_void_message: false,
};

/// All turns merged into one.
fn merged_turn(trace: &Trace) -> Turn {
    Turn {
        calls: trace.calls().cloned().collect(),
        malformed: trace
            .turns
            .iter()
            .flat_map(|turn| turn.malformed.iter().cloned())
            .collect(),
        has_void_message: trace.turns.iter().any(|turn| turn.has_void_message),
    }
}

impl Prepared for PreparedTools {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        grade_each(items, move |item| async move {
            let grade = self.grade_calls(item);
            match &self.last {
                None => Outcome::Graded(grade),
                Some(last) => Self::with_last(grade, last, last.grade(item, cx).await),
            }
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

    fn retries_itself(&self) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.prepared.retries_itself())
    }
}
