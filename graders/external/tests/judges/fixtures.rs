//! A grader whose judges are scripted, and items for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::{
    Clock, Completion, Fault, Grade, GradeContext, Grader, GraderTable, Item, Meta, Outcome,
    PrepareContext, Prepared, SystemClock, Task,
};
use assay_external::scripted::{Scripted, ScriptedJudge};
use assay_external::{ExternalGrader, JudgeSettings, Judges};
use serde_json::{Value, json};

/// Settings of a judge at this URL, which gives up quickly.
pub(crate) fn settings(url: &str) -> JudgeSettings {
    JudgeSettings {
        url: url.to_owned(),
        model: "m".to_owned(),
        call_seconds: 5.0,
        retries: 1,
        ..JudgeSettings::default()
    }
}

/// A grader with these judges.
pub(crate) fn grader(judges: &[(&str, JudgeSettings)]) -> Arc<dyn Grader> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let settings: BTreeMap<String, JudgeSettings> = judges
        .iter()
        .map(|(name, settings)| ((*name).to_owned(), settings.clone()))
        .collect();
    Arc::new(ExternalGrader::new(Judges::new(&settings, &clock).unwrap()))
}

/// A prepared task of the grader.
pub(crate) fn prepare(grader: &Arc<dyn Grader>, task: &Value) -> Arc<dyn Prepared> {
    let task = Task::from_json(&task.to_string()).unwrap();
    let table = GraderTable::new(vec![Arc::clone(grader)]);
    let cx = PrepareContext::new(&table);
    grader.check(&task, &cx).unwrap();
    grader.prepare(&task, &cx).unwrap()
}

/// The task of the judge `judge`.
pub(crate) fn task() -> Value {
    json!({ "type": "external", "judge": "judge", "threshold": 0.7 })
}

/// One judge, named `judge`, with its task.
pub(crate) struct One {
    pub(crate) judge: ScriptedJudge,
    pub(crate) prepared: Arc<dyn Prepared>,
}

pub(crate) async fn one(
    change: impl FnOnce(&mut JudgeSettings),
    script: impl Fn(&Value) -> Scripted + Send + Sync + 'static,
) -> One {
    one_of(&task(), change, script).await
}

pub(crate) async fn one_of(
    task: &Value,
    change: impl FnOnce(&mut JudgeSettings),
    script: impl Fn(&Value) -> Scripted + Send + Sync + 'static,
) -> One {
    let judge = ScriptedJudge::start(script).await.unwrap();
    let mut settings = settings(&judge.url);
    change(&mut settings);
    let prepared = prepare(&grader(&[("judge", settings)]), task);
    One { judge, prepared }
}

pub(crate) fn item(completion: &str) -> Item {
    Item {
        prompt: Some(Completion::Text("What is best?".into())),
        completion: Completion::Text(completion.into()),
        meta: Meta::default(),
    }
}

/// The context of a run of a caller.
pub(crate) fn context(run: &str) -> GradeContext {
    GradeContext {
        caller: "caller".into(),
        run: Some(run.into()),
        use_cache: true,
        ..GradeContext::default()
    }
}

pub(crate) async fn grade(prepared: &Arc<dyn Prepared>, completion: &str) -> Outcome {
    grade_in(prepared, completion, &context("run")).await
}

pub(crate) async fn grade_in(
    prepared: &Arc<dyn Prepared>,
    completion: &str,
    cx: &GradeContext,
) -> Outcome {
    let item = item(completion);
    prepared.grade(&[&item], cx).await.remove(0)
}

pub(crate) fn graded(outcome: Outcome) -> Grade {
    match outcome {
        Outcome::Graded(grade) => grade,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn failed(outcome: Outcome) -> Fault {
    match outcome {
        Outcome::Failed(fault) => fault,
        other => panic!("{other:?}"),
    }
}

/// The first judge of the evidence.
pub(crate) fn first_judge(grade: &Grade) -> Value {
    grade.evidence.facts()["judges"][0].clone()
}

/// A script that gives every completion this score.
pub(crate) fn always(score: u32) -> impl Fn(&Value) -> Scripted + Send + Sync {
    move |_| Scripted::json(&json!({ "reason": "r", "score": score }))
}
