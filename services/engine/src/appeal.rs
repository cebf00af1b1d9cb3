//! Stage 3, appeal: a share of verdicts goes to a second verifier, where the policy asks for it.
//! Both verdicts are kept; the second one counts where the policy lets it and its precision is
//! known to be high enough.

pub(crate) mod template;

use std::sync::Arc;

use assay_core::channel::Appeal;
use assay_core::{Grade, Hash, Outcome, Score};
use assay_correction::appeal::{Appeals, lot, probability, select};

use crate::grade::{ItemDone, grade};
use crate::plan::{Plan, check, plan};
use crate::shared::Shared;
use crate::{Batch, BatchItem, metrics};

/// Why a judge is not asked that would say what the grader said.
const OWN_TASK: &str =
    "the judge's task is the item's own: it would agree with itself; ask another way";

/// Items that a judge with a budget of time is asked at once.
const AT_ONCE: usize = 16;

/// An item after a second verifier had its chance.
pub(crate) struct Judged {
    pub(crate) done: ItemDone,
    /// Verdict of the grader, pass or no pass.
    pub(crate) pass: Option<bool>,
    /// What the judge said, when the item was chosen for one.
    pub(crate) appeal: Option<Appeal>,
}

impl Judged {
    /// Its score after the appeal; `None` without one.
    pub(crate) fn score_after_appeal(&self) -> Option<Score> {
        let appeal = self
            .appeal
            .as_ref()
            .filter(|appeal| appeal.pass.is_some())?;
        if appeal.overturned {
            return Score::new(appeal.score?).ok();
        }
        self.done.main.outcome.grade().map(|grade| grade.score)
    }
}

/// Verdicts of one side that one rule may send to its judge: positions in the wave.
struct Candidates<'p> {
    rule: &'p Appeals,
    /// Its policy, and its number there.
    rule_of: (Option<Hash>, usize),
    passes: bool,
    places: Vec<usize>,
}

pub(crate) async fn appeal(
    inner: &Arc<Shared>,
    plan: &Arc<Plan>,
    wave: Vec<ItemDone>,
) -> Vec<Judged> {
    let mut judged: Vec<Judged> = wave
        .into_iter()
        .map(|done| {
            let pass = done
                .main
                .outcome
                .grade()
                .and_then(|grade| done.main.spec.pass(grade.verdict));
            Judged {
                done,
                pass,
                appeal: None,
            }
        })
        .collect();
    if plan.around.appeals {
        for candidates in candidates(plan, &judged) {
            ask(inner, plan, &candidates, &mut judged).await;
        }
    }
    judged
}

/// Candidates by rule and side, in the order in which rules first apply.
fn candidates<'p>(plan: &'p Plan, judged: &[Judged]) -> Vec<Candidates<'p>> {
    let mut all: Vec<Candidates<'p>> = Vec::new();
    for (place, item) in judged.iter().enumerate() {
        let Some(passes) = item.pass else { continue };
        let at = item.done.main.item;
        let policy = plan.policy(at);
        let channel = &plan.around.channel(at).name;
        let Some((number, rule)) = policy
            .rules()
            .appeals
            .iter()
            .enumerate()
            .find(|(_, rule)| rule.covers(channel))
        else {
            continue;
        };
        if rule.rate(passes) <= 0.0 {
            continue;
        }
        let rule_of = (policy.hash(), number);
        match all
            .iter_mut()
            .find(|known| known.rule_of == rule_of && known.passes == passes)
        {
            Some(known) => known.places.push(place),
            None => all.push(Candidates {
                rule,
                rule_of,
                passes,
                places: vec![place],
            }),
        }
    }
    all
}

/// Sends the selected candidates to their judge and notes what it said.
async fn ask(
    inner: &Arc<Shared>,
    plan: &Arc<Plan>,
    candidates: &Candidates<'_>,
    judged: &mut [Judged],
) {
    let Candidates {
        rule,
        rule_of,
        passes,
        places,
    } = candidates;
    let lots: Vec<f64> = places
        .iter()
        .map(|place| lot_of(plan, judged[*place].done.main.item, rule_of.1))
        .collect();
    let rate = rule.rate(*passes);
    let wanted = select(&lots, rate, None).len();
    // A batch with a budget comes in one wave, so this is all that it may cost.
    let budget = rule.budget(*passes);
    let selected: Vec<usize> = select(&lots, rate, budget.items)
        .into_iter()
        .map(|at| places[at])
        .collect();
    let micros = budget
        .seconds
        .map(|seconds| std::time::Duration::from_secs_f64(seconds.min(1e9)).as_micros());
    let at_once = if micros.is_some() {
        AT_ONCE
    } else {
        selected.len().max(1)
    };

    let (mut asked, mut spent) = (Vec::with_capacity(selected.len()), 0u64);
    for chunk in selected.chunks(at_once) {
        if micros.is_some_and(|micros| u128::from(spent) >= micros) {
            break;
        }
        let said = judge(inner, plan, rule, chunk, judged).await;
        spent += said.iter().map(|said| said.micros).sum::<u64>();
        asked.extend(chunk.iter().copied().zip(said));
    }
    let probability = probability(rate, wanted, asked.len(), places.len());
    for (place, said) in asked {
        let appeal = noted(plan, rule, *passes, probability, &judged[place], said);
        metrics::appealed(judged[place].done.main.spec, *passes, &appeal);
        judged[place].appeal = Some(appeal);
    }
}

/// Where an item falls: by its id, or by what it holds and where it stands.
fn lot_of(plan: &Plan, at: usize, rule: usize) -> f64 {
    let batch = &plan.batch;
    let item = &batch.items[at];
    let name = match &item.id {
        Some(id) => id.as_bytes().to_vec(),
        None => [
            &at.to_le_bytes()[..],
            item.completion_hash().as_bytes(),
            item.task.hash().as_bytes(),
        ]
        .concat(),
    };
    let policy = plan.policy(at).hash().unwrap_or_else(|| Hash::of(b""));
    // Rules of one policy draw apart from each other.
    let rule = Hash::of_parts(&[policy.as_bytes(), &rule.to_le_bytes()]);
    lot(&rule, batch.run.as_deref(), batch.step, &name)
}

/// What a judge said of one item.
struct Said {
    judge: String,
    /// Pass or no pass, and the grade behind it.
    verdict: Result<(bool, Grade), String>,
    micros: u64,
}

/// Grades the items of these places by the judge's task, in the same order.
async fn judge(
    inner: &Arc<Shared>,
    plan_of_batch: &Plan,
    rule: &Appeals,
    places: &[usize],
    judged: &[Judged],
) -> Vec<Said> {
    let name = rule
        .judge
        .get("type")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let named = inner
        .graders
        .by_name(name)
        .map_or_else(|| name.to_owned(), |grader| grader.spec().id());
    let unasked = |reason: String| Said {
        judge: named.clone(),
        verdict: Err(reason),
        micros: 0,
    };
    let mut said: Vec<Option<Said>> = Vec::with_capacity(places.len());
    let mut items = Vec::new();
    for place in places {
        let done = &judged[*place].done.main;
        let item = &plan_of_batch.batch.items[done.item];
        let Some(grade) = done.outcome.grade() else {
            said.push(Some(unasked("the item has no verdict".to_owned())));
            continue;
        };
        let channel = &plan_of_batch.around.channel(done.item).name;
        let facts = template::Facts {
            item,
            channel,
            evidence: &grade.evidence,
        };
        let task = template::render(&rule.judge, &facts)
            .and_then(|task| {
                check(inner, &task)
                    .map(|_| task)
                    .map_err(|error| error.to_string())
            })
            .and_then(|task| {
                if task.hash() == item.task.hash() {
                    Err(OWN_TASK.to_owned())
                } else {
                    Ok(task)
                }
            });
        match task {
            Ok(task) => {
                items.push(BatchItem::new(item.item.clone(), task));
                said.push(None);
            }
            Err(reason) => said.push(Some(unasked(reason))),
        }
    }
    let mut graded = Vec::new();
    if !items.is_empty() {
        let batch = Batch::new(&plan_of_batch.batch.caller, items);
        match plan(inner, batch, plan_of_batch.id, plan_of_batch.use_kept).await {
            Ok(plan) => {
                graded = grade(inner, &Arc::new(plan))
                    .next(true)
                    .await
                    .unwrap_or_default()
            }
            Err(error) => tracing::warn!(%error, "a judge's tasks were refused"),
        }
    }
    let mut graded = graded.into_iter();
    said.into_iter()
        .map(|known| {
            known.unwrap_or_else(|| match graded.next() {
                Some(done) => heard(done),
                None => unasked("the judge was not asked: the node is shutting down".to_owned()),
            })
        })
        .collect()
}

fn heard(done: ItemDone) -> Said {
    let main = done.main;
    let verdict = match main.outcome {
        Outcome::Graded(grade) => match main.spec.pass(grade.verdict) {
            Some(pass) => Ok((pass, grade)),
            None => Err(format!(
                "`{}` has no notion of pass: it cannot be a judge",
                main.spec.name
            )),
        },
        Outcome::Ungradable(fault) | Outcome::Failed(fault) => Err(fault.message),
    };
    Said {
        judge: main.spec.id(),
        verdict,
        micros: main.grade_us,
    }
}

/// The appeal as it is kept, and whether it overturns.
fn noted(
    plan: &Plan,
    rule: &Appeals,
    passes: bool,
    probability: f64,
    item: &Judged,
    said: Said,
) -> Appeal {
    let mut appeal = Appeal {
        judge: said.judge,
        sensitivity: rule.sensitivity,
        specificity: rule.specificity,
        probability,
        verdict: None,
        pass: None,
        agreed: false,
        score: None,
        binding: false,
        overturned: false,
        reason: None,
    };
    let (judged, grade) = match said.verdict {
        Ok(verdict) => verdict,
        Err(reason) => {
            return Appeal {
                reason: Some(reason),
                ..appeal
            };
        }
    };
    appeal.verdict = Some(grade.verdict.to_string());
    appeal.pass = Some(judged);
    appeal.agreed = judged == passes;
    appeal.score = Some(grade.score.get());
    if !rule.overturn {
        return appeal;
    }
    let report = &plan.around.channel(item.done.main.item).report;
    match report.precision(&appeal.judge, rule.sensitivity, rule.specificity, passes) {
        Some(precision) if precision >= rule.precision => {
            appeal.binding = true;
            appeal.overturned = judged != passes;
        }
        Some(precision) => {
            let least = rule.precision;
            appeal.reason = Some(format!(
                "an overturned verdict would be right with {precision:.3}, less than {least}"
            ));
        }
        None => {
            appeal.reason =
                Some("how often an overturned verdict would be right is not known yet".to_owned());
        }
    }
    appeal
}
