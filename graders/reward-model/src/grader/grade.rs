//! Grades the completions of one task. All of them are sent to the model in one request and share
//! batches with other requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{
    ModelError, ModelInfo, ModelInput, ModelOutput, ModelReply, ModelRequest, ModelScore, Refusal,
    RewardModels, Truncate, sigmoid, softsign,
};
use assay_core::{
    BoxFuture, Completion, ErrorCode, Evidence, Fault, Grade, GradeContext, Item, Measure, Outcome,
    Prepared, Score, Step, Verdict,
};
use assay_extraction::reasoning::visible_text;

use super::evidence;
use super::spec::UNREADABLE;
use super::task::{PromptTruncation, Reasoning, RewardTask};
use crate::normalise::NormaliseMethod;
use crate::serving::record_saturated_group;

/// Maximum pause before a retry when the queue is full.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Default threshold of verifiers that answer with a label.
const LABEL_THRESHOLD: f64 = 0.5;

/// The model and its scores of an item: of the completion and, under `relative`, of the reference.
type ItemScores = (Arc<ModelInfo>, Vec<Result<ModelScore, Refusal>>);

/// A task ready to grade.
pub(super) struct PreparedReward {
    pub(super) models: Arc<dyn RewardModels>,
    pub(super) task: RewardTask,
}

impl Prepared for PreparedReward {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(async move {
            let mut outcomes = vec![None; items.len()];
            let mut indices = Vec::new();
            let mut inputs = Vec::new();
            for (at, item) in items.iter().enumerate() {
                let completion = self.visible_completion(item);
                if completion.text().trim().is_empty() {
                    outcomes[at] =
                        Some(Outcome::Graded(Grade::new(Verdict::NO_ANSWER, Score::ZERO)));
                    continue;
                }
                indices.push(at);
                inputs.push(self.input(item, completion));
                if self.is_relative() {
                    inputs.push(self.input(item, self.reference()));
                }
            }
            if inputs.is_empty() {
                return outcomes.into_iter().flatten().collect();
            }
            let scored = self.score_all(inputs, cx).await;
            self.warn_if_saturated(&scored);
            for (at, scored) in indices.into_iter().zip(scored) {
                outcomes[at] = Some(match scored {
                    Ok((model, scores)) => self.outcome(&model, items[at], &scores, cx).await,
                    Err(error) => Outcome::Failed(fault(&error)),
                });
            }
            outcomes.into_iter().flatten().collect()
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self
                .task
                .reference
                .as_ref()
                .map_or(0, |reference| reference.len())
    }
}

impl PreparedReward {
    fn is_relative(&self) -> bool {
        self.task.normalise == Some(NormaliseMethod::Relative)
    }

    /// The completion as the model reads it: with or without reasoning.
    fn visible_completion(&self, item: &Item) -> Completion {
        match (self.task.reasoning, &item.completion) {
            (Reasoning::Keep, completion) => completion.clone(),
            (Reasoning::Strip, completion) => {
                let text = completion.text();
                Completion::Text(visible_text(&text, item.meta.think_open).trim().into())
            }
        }
    }

    fn reference(&self) -> Completion {
        Completion::Text(self.task.reference.clone().unwrap_or_else(|| Arc::from("")))
    }

    fn input(&self, item: &Item, completion: Completion) -> ModelInput {
        ModelInput::Rollout {
            prompt: item.prompt.clone(),
            completion,
            reference: self.task.reference.clone(),
        }
    }

    /// Scores all items. Splits the request in half when it is too large or when the device fails
    /// on it.
    async fn score_all(
        &self,
        inputs: Vec<ModelInput>,
        cx: &GradeContext,
    ) -> Vec<Result<ItemScores, ModelError>> {
        let inputs_per_item = if self.is_relative() { 2 } else { 1 };
        let mut scored = Vec::with_capacity(inputs.len() / inputs_per_item);
        // A stack: the last part is scored next.
        let mut parts = vec![inputs];
        while let Some(mut part) = parts.pop() {
            let items = part.len() / inputs_per_item;
            match self.score_with_retry(part.clone(), cx).await {
                Ok(ModelReply { model, scores }) => {
                    scored.extend(
                        scores
                            .chunks(inputs_per_item)
                            .map(|scores| Ok((Arc::clone(&model), scores.to_vec()))),
                    );
                }
                Err(ModelError::TooLarge { .. } | ModelError::Device(_)) if items > 1 => {
                    let second = part.split_off(items / 2 * inputs_per_item);
                    parts.extend([second, part]);
                }
                Err(error) => scored.extend((0..items).map(|_| Err(error.clone()))),
            }
        }
        scored
    }

    /// Warns if the completions have different raw scores but equal scores: a trainer that compares
    /// the scores of a group would learn nothing from them.
    fn warn_if_saturated(&self, scored: &[Result<ItemScores, ModelError>]) {
        let Some(Ok((model, _))) = scored.first() else {
            return;
        };
        let numbers = scored.iter().filter_map(|scored| {
            let (model, scores) = scored.as_ref().ok()?;
            let score = scores.first()?.as_ref().ok()?;
            let reference_raw = scores
                .get(1)
                .and_then(|reference| reference.as_ref().ok()?.raw);
            let number = self.score(model, score, reference_raw).ok()?;
            Some((f64::from(score.raw?), number))
        });
        if is_saturated(numbers) {
            record_saturated_group(&model.name);
            tracing::warn!(
                model = model.name,
                normalise = self.method(model),
                "the raw scores of a task's completions differ, but their scores do not; declare \
                 another `normalise`"
            );
        }
    }

    /// Sends a request to the model. Retries while the queue is full and the batch is not
    /// cancelled.
    async fn score_with_retry(
        &self,
        inputs: Vec<ModelInput>,
        cx: &GradeContext,
    ) -> Result<ModelReply, ModelError> {
        let request = ModelRequest {
            model: self.task.model.clone(),
            caller: Arc::clone(&cx.caller),
            use_cache: cx.use_cache,
            inputs,
            truncate: match self.task.truncate {
                PromptTruncation::Reject => Truncate::Reject,
                PromptTruncation::PromptLeft => Truncate::PromptLeft,
            },
            expected_version: None,
            timeout: None,
        };
        loop {
            match self.models.score(request.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(ModelError::Overloaded { retry_after, .. }) if !cx.cancel.is_cancelled() => {
                    tokio::time::sleep(retry_after.min(MAX_PAUSE)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn outcome(
        &self,
        model: &ModelInfo,
        item: &Item,
        scores: &[Result<ModelScore, Refusal>],
        cx: &GradeContext,
    ) -> Outcome {
        let score = match &scores[0] {
            Ok(score) => score,
            Err(
                refusal @ (Refusal::TooLong { tokens, max }
                | Refusal::PromptTooLong { tokens, max }),
            ) => {
                let evidence = Evidence::new()
                    .text("model", &model.name)
                    .value("tokens", *tokens)
                    .value("max_tokens", *max);
                let grade = Grade::new(Verdict::TOO_LONG, Score::ZERO).with_evidence(evidence);
                return self
                    .unreadable_outcome(item, grade, refusal.to_string(), cx)
                    .await;
            }
            Err(Refusal::Unreadable(reason)) => {
                let evidence = Evidence::new()
                    .text("model", &model.name)
                    .text("reason", reason);
                let grade = Grade::new(UNREADABLE, Score::ZERO).with_evidence(evidence);
                return self
                    .unreadable_outcome(item, grade, reason.clone(), cx)
                    .await;
            }
        };
        let reference_raw = match scores.get(1) {
            None => None,
            Some(Ok(reference)) => reference.raw,
            Some(Err(refusal)) => {
                return ungradable(format!("the `reference` cannot be scored: {refusal}"));
            }
        };
        match self.to_grade(model, score, reference_raw) {
            Ok(grade) => Outcome::Graded(grade),
            Err(reason) => ungradable(reason),
        }
    }

    /// Outcome of a completion that the model cannot read: `grade`, or `ungradable` if the model
    /// cannot read a trivial completion either, because then the task is at fault.
    async fn unreadable_outcome(
        &self,
        item: &Item,
        grade: Grade,
        reason: String,
        cx: &GradeContext,
    ) -> Outcome {
        let plain = self.input(item, Completion::Text(Arc::from("-")));
        match self.score_with_retry(vec![plain], cx).await {
            Ok(reply) if reply.scores.first().is_some_and(Result::is_ok) => Outcome::Graded(grade),
            Ok(_) => ungradable(reason),
            Err(error) => Outcome::Failed(fault(&error)),
        }
    }

    fn to_grade(
        &self,
        model: &ModelInfo,
        score: &ModelScore,
        reference_raw: Option<f32>,
    ) -> Result<Grade, String> {
        let number = self.score(model, score, reference_raw)?;
        let number = Score::new(number).map_err(|error| error.to_string())?;
        let labels = matches!(score.readout, ModelOutput::Labels(_));
        let verdict = match self.task.threshold.or(labels.then_some(LABEL_THRESHOLD)) {
            None => Verdict::SCORED,
            Some(threshold) if number.get() >= threshold => Verdict::CORRECT,
            Some(_) => Verdict::WRONG_ANSWER,
        };
        let mut evidence = evidence::of(model, score).text("normalise", self.method(model));
        if let Some(reference_raw) = reference_raw {
            evidence = evidence.value("reference_raw", evidence::shortest(reference_raw));
        }
        let mut grade = Grade::new(verdict, number)
            .with_evidence(evidence)
            .with_work(u64::from(score.tokens));
        grade.measures = measures(score, reference_raw);
        if let ModelOutput::Steps(steps) = &score.readout {
            let step = |score: f32| {
                Score::new(f64::from(score)).ok().map(|score| Step {
                    score,
                    masked: false,
                })
            };
            grade.steps = steps.iter().filter_map(|score| step(*score)).collect();
        }
        Ok(grade)
    }

    fn method<'m>(&self, model: &'m ModelInfo) -> &'m str {
        match self.task.normalise {
            None => &model.normalise,
            Some(NormaliseMethod::None) => "none",
            Some(NormaliseMethod::Sigmoid) => "sigmoid",
            Some(NormaliseMethod::Softsign) => "softsign",
            Some(NormaliseMethod::Affine) => "affine",
            Some(NormaliseMethod::Relative) => "relative",
        }
    }

    /// The score in [0, 1], or the reason why there is none.
    fn score(
        &self,
        model: &ModelInfo,
        score: &ModelScore,
        reference_raw: Option<f32>,
    ) -> Result<f64, String> {
        if let (ModelOutput::Steps(steps), None) = (&score.readout, self.task.normalise) {
            return self
                .task
                .steps
                .reduce(steps)
                .ok_or_else(|| "the completion has no steps".to_owned());
        }
        let raw = score
            .raw
            .map(f64::from)
            .ok_or_else(|| no_number_reason(model, score))?;
        match self.task.normalise {
            None => score.score.ok_or_else(|| {
                "the model compares with a `reference`, but the task has none".to_owned()
            }),
            Some(NormaliseMethod::None) => Ok(raw.clamp(0.0, 1.0)),
            Some(NormaliseMethod::Sigmoid) => Ok(sigmoid(raw)),
            Some(NormaliseMethod::Softsign) => Ok(softsign(raw)),
            Some(NormaliseMethod::Affine) if model.normalise == "affine" => {
                score.score.ok_or_else(|| no_number_reason(model, score))
            }
            Some(NormaliseMethod::Affine) => Err(format!(
                "`{}` declares no `mean` and `std`, which `affine` needs",
                model.name
            )),
            Some(NormaliseMethod::Relative) => match reference_raw {
                Some(reference_raw) => Ok(sigmoid(raw - f64::from(reference_raw))),
                None => Err("the model returned no number for the `reference`".to_owned()),
            },
        }
    }
}

/// Whether pairs of raw scores and scores have different raw scores, but scores that are equal
/// except for rounding.
fn is_saturated(numbers: impl Iterator<Item = (f64, f64)>) -> bool {
    /// Differences up to these are noise.
    const MIN_SPREAD: (f64, f64) = (1e-2, 1e-6);
    let (mut raw, mut scores) = (Range::default(), Range::default());
    for (raw_score, score) in numbers {
        raw.add(raw_score);
        scores.add(score);
    }
    raw.spread() > MIN_SPREAD.0 && scores.spread() < MIN_SPREAD.1
}

/// The range of some numbers.
struct Range {
    lowest: f64,
    highest: f64,
}

impl Default for Range {
    fn default() -> Self {
        Self {
            lowest: f64::INFINITY,
            highest: f64::NEG_INFINITY,
        }
    }
}

impl Range {
    fn add(&mut self, number: f64) {
        self.lowest = self.lowest.min(number);
        self.highest = self.highest.max(number);
    }

    /// Difference of the highest and the lowest number; negative without numbers.
    fn spread(&self) -> f64 {
        self.highest - self.lowest
    }
}

/// Reason why a model returned no single number for an input.
fn no_number_reason(model: &ModelInfo, score: &ModelScore) -> String {
    let name = &model.name;
    match score.readout {
        ModelOutput::Embedding(_) => {
            format!("`{name}` computes embeddings, but the task has no `reference` to compare with")
        }
        ModelOutput::Classes(_) => {
            format!("`{name}` has several classes, but its options declare none as `positive`")
        }
        _ => format!("`{name}` returned no finite number; check its weights"),
    }
}

fn measures(score: &ModelScore, reference_raw: Option<f32>) -> BTreeMap<&'static str, Measure> {
    let steps = match &score.readout {
        ModelOutput::Steps(steps) => u32::try_from(steps.len()).ok().map(f64::from),
        _ => None,
    };
    let numbers = [
        ("raw_reward", score.raw.map(evidence::shortest)),
        ("reference_reward", reference_raw.map(evidence::shortest)),
        ("model_tokens", Some(f64::from(score.tokens))),
        ("reward_steps", steps),
    ];
    numbers
        .into_iter()
        .filter_map(|(name, number)| Some((name, Measure::new(number?).ok()?)))
        .collect()
}

fn ungradable(reason: String) -> Outcome {
    Outcome::Ungradable(Fault::permanent(ErrorCode::TaskAtFault, reason))
}

/// Fault of the items of a rejected request. The service is at fault, not the items.
fn fault(error: &ModelError) -> Fault {
    let code = match error {
        ModelError::Unknown(_) | ModelError::Unavailable(_) | ModelError::NotLoadable(_) => {
            ErrorCode::GraderUnavailable
        }
        ModelError::ShuttingDown => ErrorCode::ShuttingDown,
        _ => ErrorCode::Internal,
    };
    match error {
        ModelError::Unavailable(_)
        | ModelError::ShuttingDown
        | ModelError::Overloaded { .. }
        | ModelError::Expired => Fault::transient(code, error.to_string()),
        _ => Fault::permanent(code, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::reward_model::softsign;

    use super::*;

    #[test]
    fn large_raw_scores_saturate_a_sigmoid_but_not_softsign() {
        let raw = [22.0, 23.0, 24.5];
        assert!(is_saturated(raw.map(|raw| (raw, sigmoid(raw))).into_iter()));
        assert!(!is_saturated(
            raw.map(|raw| (raw, softsign(raw))).into_iter()
        ));
        assert!(!is_saturated([(22.0, 1.0), (22.0, 1.0)].into_iter()));
        assert!(!is_saturated([(22.0, 1.0)].into_iter()));
        assert!(!is_saturated(std::iter::empty()));
    }
}
