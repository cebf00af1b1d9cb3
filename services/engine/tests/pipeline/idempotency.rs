//! Idempotency keys.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_engine::{
    Allowance, Answer, Batch, Charge, EngineError, IdempotentRequest, Limits, Mode, Repeated,
};
use tokio::sync::{Notify, mpsc};

use crate::fixtures::{Recorded, batch, fixture, fixture_with, item, keyed};

fn bytes(answer: Answer) -> (bool, String) {
    let (again, sealed) = match answer {
        Answer::Fresh(_, sealed) => (false, sealed.unwrap()),
        Answer::Again(sealed) => (true, sealed),
    };
    (again, String::from_utf8(sealed.body).unwrap())
}

#[tokio::test]
async fn an_idempotent_request_gets_the_same_bytes() {
    let fixture = fixture().await;
    for again in [false, true] {
        let items = vec![item("exact", "1", "1"), item("exact", "1", "2")];
        let answer = fixture
            .engine
            .grade_once(keyed("k", "body"), batch(items), Mode::Whole)
            .await
            .unwrap();
        assert_eq!(bytes(answer), (again, "correct,wrong_answer".to_owned()));
    }
    assert_eq!(fixture.recorded.grades().len(), 2);
}

#[tokio::test]
async fn counts_the_memory_of_a_request_until_its_reply_is_dropped() {
    let fixture = fixture().await;
    let admission = fixture.engine.admission();
    let caller = "alice".into();
    let mut permit = admission.memory(&caller);
    permit.grow(admission.max_request_bytes()).unwrap();
    let request = Batch {
        held: Some(permit),
        ..batch(vec![item("exact", "1", "1")])
    };
    let answer = fixture
        .engine
        .grade_once(keyed("k", "body"), request, Mode::Whole)
        .await
        .unwrap();
    assert!(matches!(answer, Answer::Fresh(..)));
    assert!(admission.memory(&caller).grow(1).is_err());
    drop(answer);
    // The worker that graded the item may be about to drop its share of the batch.
    while admission.memory(&caller).grow(1).is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_that_is_repeated_records_only_its_last_failures() {
    let fixture = fixture().await;
    let id = fixture.engine.new_id();
    let grade = async |keeps_failures| {
        let items = vec![item("exact", "1", "fail"), item("exact", "1", "1")];
        let request = IdempotentRequest {
            repeated: Some(Repeated {
                batch: id,
                keeps_failures,
            }),
            ..keyed("k", "body")
        };
        let engine = &fixture.engine;
        engine.grade_once(request, batch(items), Mode::Whole).await
    };
    let unfinished = grade(false).await.err();
    assert!(matches!(unfinished, Some(EngineError::Unfinished(_))));
    assert!(fixture.recorded.grades().is_empty());
    let Ok(Answer::Fresh(reply, _)) = grade(true).await else {
        panic!("the last try is recorded");
    };
    assert_eq!(reply.id(), id);
    assert_eq!(fixture.recorded.grades().len(), 2);
    let (again, _) = bytes(grade(false).await.unwrap());
    assert!(again);
}

/// If the request is sent again after a crash, it may succeed, with the same ids.
#[tokio::test]
async fn transient_failures_are_recorded_with_the_reply() {
    let fixture = fixture().await;
    let (sender, mut waves) = mpsc::channel(4);
    let items = vec![
        item("exact", "1", "fail"),
        item("exact", "1", "1"),
        item("waiting", "1", "never"),
    ];
    let grading = tokio::spawn({
        let engine = fixture.engine.clone();
        async move {
            engine
                .grade_once(keyed("k", "body"), batch(items), Mode::Streamed(sender))
                .await
        }
    });
    let mut seen = 0;
    while seen < 2 {
        let wave = waves.recv().await.unwrap();
        for result in wave.grades() {
            assert_eq!(result.recorded, result.outcome == "graded");
            seen += 1;
        }
    }
    assert_eq!(fixture.recorded.grades().len(), 1);
    fixture.engine.shut_down(Duration::ZERO).await;
    assert!(grading.await.unwrap().is_ok());
    assert_eq!(fixture.recorded.grades().len(), 3);
}

#[tokio::test]
async fn rejects_an_idempotency_key_with_another_body() {
    let fixture = fixture().await;
    let one = || batch(vec![item("exact", "1", "1")]);
    fixture
        .engine
        .grade_once(keyed("k", "one"), one(), Mode::Whole)
        .await
        .map(drop)
        .unwrap();
    let error = fixture
        .engine
        .grade_once(keyed("k", "two"), one(), Mode::Whole)
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error, EngineError::KeyReused);
}

#[tokio::test]
async fn a_repeated_request_waits_for_the_first() {
    let gate = Arc::new(Notify::new());
    let recorded = Recorded {
        gate: Some(Arc::clone(&gate)),
        ..Recorded::default()
    };
    let fixture = fixture_with(
        recorded,
        Limits {
            workers: 1,
            ..Limits::default()
        },
    )
    .await;
    let send = || {
        let engine = fixture.engine.clone();
        tokio::spawn(async move {
            let items = vec![item("exact", "1", "1")];
            engine
                .grade_once(keyed("k", "body"), batch(items), Mode::Whole)
                .await
                .map(bytes)
        })
    };
    let (first, second) = (send(), send());
    gate.notify_one();
    let mut answers = [
        first.await.unwrap().unwrap(),
        second.await.unwrap().unwrap(),
    ];
    answers.sort();
    assert_eq!(answers.map(|(again, _)| again), [false, true]);
    assert_eq!(fixture.graded.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_disconnected_client_gets_the_reply_later() {
    let gate = Arc::new(Notify::new());
    let recorded = Recorded {
        gate: Some(Arc::clone(&gate)),
        ..Recorded::default()
    };
    let fixture = fixture_with(
        recorded,
        Limits {
            workers: 1,
            ..Limits::default()
        },
    )
    .await;
    let request = || {
        fixture.engine.grade_once(
            keyed("k", "body"),
            batch(vec![item("exact", "1", "1")]),
            Mode::Whole,
        )
    };
    let dropped = tokio::time::timeout(std::time::Duration::from_millis(1), request()).await;
    assert!(dropped.is_err(), "recording waits at the gate");
    gate.notify_one();
    let (again, body) = bytes(request().await.unwrap());
    assert_eq!((again, body.as_str()), (true, "correct"));
}

#[tokio::test]
async fn a_crash_between_claim_and_reply_records_nothing_twice() {
    let fixture = fixture().await;
    let items = || batch(vec![item("exact", "1", "1"), item("exact", "1", "2")]);
    // The state after a node died during a stream, before its last wave: rows and a claim without a
    // reply.
    let losing = &fixture.recorded.loses_replies;
    losing.store(true, Ordering::Relaxed);
    fixture
        .engine
        .grade_once(keyed("k", "body"), items(), Mode::Whole)
        .await
        .map(drop)
        .unwrap();
    losing.store(false, Ordering::Relaxed);
    let before = fixture.recorded.grades();
    let answer = fixture
        .engine
        .grade_once(keyed("k", "body"), items(), Mode::Whole)
        .await
        .unwrap();
    assert!(matches!(answer, Answer::Fresh(..)));
    let after = fixture.recorded.grades();
    assert_eq!(
        before.iter().map(|row| row.grade.grade).collect::<Vec<_>>(),
        after.iter().map(|row| row.grade.grade).collect::<Vec<_>>()
    );
}

/// Counts the calls of the engine.
#[derive(Debug, Clone, Default)]
struct Calls(Arc<Mutex<Vec<&'static str>>>);

impl Calls {
    fn add(&self, call: &'static str) {
        self.0.lock().unwrap().push(call);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A batch of one item whose key is charged.
    fn batch(&self, grader: &str, completion: &str) -> Batch {
        Batch {
            allowance: Some(Arc::new(self.clone())),
            ..batch(vec![item(grader, "1", completion)])
        }
    }
}

impl Allowance for Calls {
    fn admit(&self, tasks: usize) -> Result<Option<Box<dyn Charge>>, EngineError> {
        assert_eq!(tasks, 1);
        self.add("admit");
        Ok(Some(Box::new(CountedCharge(self.clone()))))
    }
}

struct CountedCharge(Calls);

impl Charge for CountedCharge {
    fn reject(self: Box<Self>) {
        self.0.add("reject");
    }

    fn spend(&self, _: Duration) {
        self.0.add("spend");
    }

    fn finish(self: Box<Self>) {
        self.0.add("finish");
    }
}

impl Drop for CountedCharge {
    fn drop(&mut self) {
        self.0.add("end");
    }
}

#[tokio::test]
async fn a_request_is_charged_once_and_one_item_if_it_is_rejected() {
    let (fixture, calls) = (fixture().await, Calls::default());
    let grade = async |body: &str, batch: Batch| {
        let keyed = keyed("k", body);
        fixture.engine.grade_once(keyed, batch, Mode::Whole).await
    };
    let answer = grade("body", calls.batch("exact", "1")).await.unwrap();
    // The client may keep its reply.
    // The task is checked, and the item graded.
    assert_eq!(calls.take(), ["admit", "spend", "spend", "finish", "end"]);
    drop(answer);
    let again = grade("body", calls.batch("exact", "1")).await.unwrap();
    assert!(matches!(again, Answer::Again(_)));
    assert!(grade("other", calls.batch("exact", "1")).await.is_err());
    let invalid = calls.batch("unknown", "1");
    assert_eq!(calls.take(), Vec::<&str>::new());
    assert!(fixture.engine.grade(invalid, Mode::Whole).await.is_err());
    assert_eq!(calls.take(), ["admit", "reject", "end"]);
}

#[tokio::test]
async fn a_batch_that_is_dropped_ends_its_charge() {
    let (fixture, calls) = (fixture().await, Calls::default());
    let grading = fixture
        .engine
        .grade(calls.batch("waiting", "never"), Mode::Whole);
    let started = async {
        while calls.0.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = grading => panic!("the grader never ends"),
        () = started => {}
    }
    assert_eq!(calls.take(), ["admit", "spend", "end"]);
}
