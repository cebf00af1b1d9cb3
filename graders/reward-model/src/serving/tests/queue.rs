//! Tests of the queue with a manual clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_core::reward_model::{ModelError, ModelOutput};
use futures::FutureExt;
use proptest::prelude::*;

use super::super::batcher::Budget;
use super::super::loaded::{LoadedModel, ModelCounters};
use super::super::queue::{DeviceRequest, Queue, Ticket};
use super::fake::{Fake, HandClock, World};
use crate::Sequence;

const BATCH: Budget = Budget {
    tokens: 100,
    rows: 8,
};

struct QueueFixture {
    clock: Arc<HandClock>,
    queue: Arc<Queue>,
    model: Arc<LoadedModel>,
    other: Arc<LoadedModel>,
}

fn fixture() -> QueueFixture {
    fixture_with(1)
}

fn fixture_with(devices: usize) -> QueueFixture {
    let world = Arc::new(World::default());
    let clock = Arc::new(HandClock::default());
    let loaded = |version| {
        Arc::new(LoadedModel::new(
            Fake::new(&world, version),
            Arc::<ModelCounters>::default(),
            BATCH.tokens,
        ))
    };
    let queue = Queue::new(1_000, BATCH, devices, Arc::clone(&clock) as _);
    QueueFixture {
        clock,
        queue,
        model: loaded("v1"),
        other: loaded("v2"),
    }
}

impl QueueFixture {
    fn request(&self, caller: &str, lengths: &[usize]) -> DeviceRequest {
        let sequences = lengths
            .iter()
            .map(|length| Sequence::whole(vec![7; *length]))
            .collect();
        DeviceRequest {
            caller: Arc::from(caller),
            model: Arc::clone(&self.model),
            deadline: None,
            sequences,
        }
    }

    fn admit(&self, caller: &str, lengths: &[usize]) -> Result<Ticket, ModelError> {
        self.queue.admit(self.request(caller, lengths))
    }

    /// Lengths of the next batch.
    fn batch(&self) -> Vec<usize> {
        self.queue
            .next(0)
            .unwrap()
            .jobs
            .iter()
            .map(|job| job.sequence.len())
            .collect()
    }

    fn waiting(&self) -> u64 {
        self.model.counts.waiting.load(Ordering::Relaxed)
    }
}

#[test]
fn admits_all_sequences_of_a_request_or_none() {
    let fixture = fixture();
    let first = fixture.admit("a", &[300, 300]).unwrap();
    let rejected = fixture.admit("b", &[300, 101]).err();
    assert!(
        matches!(rejected, Some(ModelError::Overloaded { waiting: 600, .. })),
        "{rejected:?}"
    );
    assert_eq!(fixture.waiting(), 600);
    let second = fixture.admit("b", &[300, 100]).unwrap();
    assert!(matches!(
        fixture.queue.check_capacity(),
        Err(ModelError::Overloaded { waiting: 1_000, .. })
    ));
    drop(first);
    assert_eq!(fixture.waiting(), 400);
    fixture.queue.check_capacity().unwrap();
    drop(second);
    assert_eq!(fixture.waiting(), 0);
}

#[test]
fn rejects_requests_larger_than_the_empty_queue() {
    let rejected = fixture().admit("a", &[600, 401]).err();
    assert_eq!(
        rejected,
        Some(ModelError::TooLarge {
            tokens: 1_001,
            limit: 1_000
        })
    );
}

#[test]
fn admits_trials_beyond_the_limit_and_runs_them_first() {
    let fixture = fixture();
    let _first = fixture.admit("a", &[1_000]).unwrap();
    let trial = fixture.request("internal", &[5, 40, 5, 200]);
    let _trial = fixture.queue.admit_trial(&trial).unwrap();
    assert_eq!(fixture.batch(), [5, 40, 5], "within the budget of a batch");
    assert_eq!(fixture.batch(), [200]);
    assert_eq!(fixture.batch(), [1_000]);
}

#[test]
fn each_device_runs_its_own_trial() {
    let fixture = fixture_with(2);
    let request = fixture.request("internal", &[5]);
    let mut ticket = fixture.queue.admit_trial(&request).unwrap();
    for device in [1, 0] {
        let batch = fixture.queue.next(device).unwrap();
        assert!(batch.is_trial && batch.jobs.len() == 1);
        batch.jobs[0].answer(Ok(ModelOutput::Scalar(1.0)));
        fixture.queue.batch_finished(5, Duration::from_secs(1));
        let answer = ticket.next().now_or_never().unwrap();
        assert_eq!(answer, Ok(Some((0, ModelOutput::Scalar(1.0)))));
    }
    assert_eq!(ticket.next().now_or_never().unwrap(), Ok(None));
}

#[test]
fn a_failed_device_leaves_requests_to_the_others() {
    let fixture = fixture_with(2);
    assert_eq!(fixture.queue.set_failed(0, true), 1);
    let _ticket = fixture.admit("a", &[60, 60]).unwrap();
    fixture.queue.close();
    std::thread::scope(|scope| {
        let failed = scope.spawn(|| fixture.queue.next(0).is_none());
        assert_eq!(fixture.queue.next(1).unwrap().jobs.len(), 1);
        assert_eq!(fixture.queue.next(1).unwrap().jobs.len(), 1);
        assert!(failed.join().unwrap(), "it got a batch of requests");
    });
}

#[test]
fn failed_devices_run_requests_if_there_are_no_others() {
    let fixture = fixture_with(2);
    fixture.queue.set_failed(0, true);
    assert_eq!(fixture.queue.set_failed(1, true), 0);
    let _ticket = fixture.admit("a", &[60, 60]).unwrap();
    for device in [0, 1] {
        assert_eq!(fixture.queue.next(device).unwrap().jobs.len(), 1);
    }
}

#[test]
fn retry_after_estimates_the_backlog() {
    let fixture = fixture();
    let retry = || match fixture.admit("b", &[1_000]).err() {
        Some(ModelError::Overloaded { retry_after, .. }) => retry_after.as_secs(),
        other => panic!("{other:?}"),
    };
    let _ticket = fixture.admit("a", &[900]).unwrap();
    assert_eq!(retry(), 1, "no throughput is known before the first batch");
    fixture.queue.batch_finished(1_000, Duration::from_secs(10));
    assert_eq!(retry(), 9, "900 tokens at 100 per second");
    fixture
        .queue
        .batch_finished(1_000, Duration::from_secs(1_000));
    assert_eq!(retry(), 13, "at 0.7 x 100 + 0.3 x 1");
    for _ in 0..50 {
        fixture.queue.batch_finished(1, Duration::from_secs(1_000));
    }
    assert_eq!(retry(), 60, "limited to one minute");
}

#[test]
fn expired_sequences_are_answered_and_not_run() {
    let fixture = fixture();
    let mut expired = fixture
        .queue
        .admit(DeviceRequest {
            deadline: Some(Duration::from_secs(5)),
            ..fixture.request("a", &[10, 20])
        })
        .unwrap();
    let _in_time = fixture.admit("a", &[30]).unwrap();
    fixture.clock.set(5);
    assert_eq!(fixture.batch(), [30]);
    assert_eq!(
        expired.next().now_or_never().unwrap(),
        Err(ModelError::Expired)
    );
    assert_eq!(fixture.waiting(), 0);
}

#[test]
fn sequences_before_their_deadline_are_run() {
    let fixture = fixture();
    let request = DeviceRequest {
        deadline: Some(Duration::from_secs(5)),
        ..fixture.request("a", &[10])
    };
    let _ticket = fixture.queue.admit(request).unwrap();
    fixture.clock.set(4);
    assert_eq!(fixture.batch(), [10]);
}

#[test]
fn cancelling_removes_sequences_that_have_not_run() {
    let fixture = fixture();
    let first = fixture.admit("a", &[60, 60, 60]).unwrap();
    let _second = fixture.admit("a", &[70]).unwrap();
    assert_eq!(fixture.batch(), [60]);
    assert_eq!(fixture.waiting(), 190);
    assert!(first.cancel(), "including those already in the window");
    assert!(!first.cancel());
    assert_eq!(fixture.waiting(), 70);
    drop(first);
    assert_eq!(fixture.batch(), [70]);
    assert_eq!(fixture.waiting(), 0);
}

#[test]
fn a_batch_contains_sequences_of_one_model() {
    let fixture = fixture();
    let _first = fixture.admit("a", &[10, 10]).unwrap();
    let _other = fixture
        .queue
        .admit(DeviceRequest {
            model: Arc::clone(&fixture.other),
            ..fixture.request("b", &[20, 20])
        })
        .unwrap();
    assert_eq!(fixture.batch(), [10, 10]);
    assert_eq!(fixture.batch(), [20, 20]);
}

#[test]
fn a_large_caller_does_not_delay_a_small_one() {
    let fixture = fixture();
    let _large = fixture.admit("greedy", &[9; 100]).unwrap();
    assert_eq!(fixture.batch().len(), 8);
    let _small = fixture.admit("modest", &[50]).unwrap();
    let index = (0..).find(|_| fixture.batch().contains(&50)).unwrap();
    assert!(index <= 3, "it ran in batch {index} after its arrival");
}

#[test]
fn a_halved_budget_applies_to_the_next_batch() {
    let fixture = fixture();
    let _ticket = fixture.admit("a", &[30; 9]).unwrap();
    assert_eq!(fixture.batch().len(), 3);
    fixture.model.shrink(90);
    assert_eq!(fixture.model.batch_tokens(), 64, "45, but no less than 64");
    assert_eq!(fixture.batch().len(), 2);
}

#[test]
fn a_closed_queue_ends_once_it_is_empty() {
    let fixture = fixture();
    let mut ticket = fixture.admit("a", &[10]).unwrap();
    fixture.queue.close();
    assert!(fixture.queue.is_closed());
    assert_eq!(
        fixture.queue.check_capacity(),
        Err(ModelError::ShuttingDown)
    );
    assert_eq!(
        fixture.admit("a", &[10]).err(),
        Some(ModelError::ShuttingDown)
    );
    let batch = fixture.queue.next(0).unwrap().jobs;
    batch[0].answer(Ok(ModelOutput::Scalar(1.0)));
    assert!(
        fixture.queue.drained().now_or_never().is_none(),
        "the batch is still running"
    );
    fixture.queue.batch_finished(10, Duration::from_secs(1));
    assert!(fixture.queue.next(0).is_none());
    assert!(fixture.queue.drained().now_or_never().is_some());
    assert_eq!(
        ticket.next().now_or_never().unwrap(),
        Ok(Some((0, ModelOutput::Scalar(1.0))))
    );
    assert_eq!(ticket.next().now_or_never().unwrap(), Ok(None));
}

#[test]
fn clearing_answers_all_waiting_sequences() {
    let fixture = fixture();
    let mut ticket = fixture.admit("a", &[1; 500]).unwrap();
    fixture.queue.reject_all();
    for _ in 0..500 {
        assert_eq!(
            ticket.next().now_or_never().unwrap(),
            Err(ModelError::ShuttingDown)
        );
    }
    assert_eq!(fixture.waiting(), 0);
}

#[test]
fn a_lost_sequence_is_an_error_instead_of_a_hang() {
    let fixture = fixture();
    let mut ticket = fixture.admit("a", &[10]).unwrap();
    drop(fixture.queue.next(0));
    assert!(matches!(
        ticket.next().now_or_never().unwrap(),
        Err(ModelError::Device(_))
    ));
}

#[derive(Debug, Clone)]
enum Step {
    Admit {
        caller: u8,
        lengths: Vec<usize>,
        timeout: Option<u64>,
        other: bool,
    },
    Run,
    Cancel {
        which: usize,
    },
    Pass {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let lengths = prop::collection::vec(1..130usize, 1..6);
    let timeout = prop::option::of(0..6u64);
    prop_oneof![
        3 => (0..3u8, lengths, timeout, any::<bool>())
            .prop_map(|(caller, lengths, timeout, other)| {
                Step::Admit { caller, lengths, timeout, other }
            }),
        3 => Just(Step::Run),
        1 => (0..8usize).prop_map(|which| Step::Cancel { which }),
        1 => (1..4u64).prop_map(|seconds| Step::Pass { seconds }),
    ]
}

/// A request in the model of the queue, with the lengths that are still waiting.
struct ModelledRequest {
    ticket: Ticket,
    number: u32,
    waiting: Vec<usize>,
    deadline: Option<u64>,
    other: bool,
}

proptest! {
    #[test]
    fn every_sequence_runs_once_or_is_cancelled_or_expires(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let fixture = fixture();
        let mut known: Vec<ModelledRequest> = Vec::new();
        let (mut now, mut number) = (0, 0);
        for step in steps {
            match step {
                Step::Admit { caller, lengths, timeout, other } => {
                    number += 1;
                    let model = Arc::clone(if other { &fixture.other } else { &fixture.model });
                    let deadline = timeout.map(|timeout| now + timeout);
                    let sequences = lengths
                        .iter()
                        .map(|length| Sequence::whole(vec![number; *length]))
                        .collect();
                    let request = DeviceRequest {
                        caller: Arc::from(caller.to_string()),
                        model,
                        deadline: deadline.map(Duration::from_secs),
                        sequences,
                    };
                    let waiting_tokens: usize = known.iter().flat_map(|known| &known.waiting).sum();
                    let fits = waiting_tokens + lengths.iter().sum::<usize>() <= 1_000;
                    match fixture.queue.admit(request) {
                        Ok(ticket) => {
                            prop_assert!(fits);
                            known.push(ModelledRequest {
                                ticket,
                                number,
                                waiting: lengths,
                                deadline,
                                other,
                            });
                        }
                        Err(error) => {
                            prop_assert!(!fits);
                            let rejected = ModelError::Overloaded {
                                waiting: waiting_tokens as u64,
                                retry_after: Duration::from_secs(1),
                            };
                            prop_assert_eq!(error, rejected);
                        }
                    }
                }
                Step::Run => {
                    let due = known.iter().any(|known| {
                        !known.waiting.is_empty()
                            && known.deadline.is_none_or(|deadline| deadline > now)
                    });
                    // `next` would block if no sequence were due.
                    if due {
                        let batch = fixture.queue.next(0).unwrap().jobs;
                        let tokens: usize = batch.iter().map(|job| job.sequence.len()).sum();
                        prop_assert!(!batch.is_empty() && batch.len() <= BATCH.rows);
                        prop_assert!(batch.len() == 1 || tokens <= BATCH.tokens);
                        for job in batch {
                            let (number, length) = (job.sequence.ids[0], job.sequence.len());
                            let known = known
                                .iter_mut()
                                .find(|known| known.number == number)
                                .unwrap();
                            let in_time = known.deadline.is_none_or(|deadline| deadline > now);
                            prop_assert!(in_time, "it had expired");
                            prop_assert_eq!(Arc::ptr_eq(&job.model, &fixture.other), known.other);
                            let index = known.waiting.iter().position(|other| *other == length);
                            prop_assert!(index.is_some(), "it was not waiting");
                            known.waiting.remove(index.unwrap());
                        }
                    }
                }
                Step::Cancel { which } => {
                    if which < known.len() {
                        let cancelled = known.remove(which);
                        prop_assert_eq!(cancelled.ticket.cancel(), !cancelled.waiting.is_empty());
                    }
                }
                Step::Pass { seconds } => {
                    now += seconds;
                    fixture.clock.set(now);
                }
            }
            // Expired sequences leave the queue at the earliest when a batch is formed. A caller
            // that receives the error cancels the rest.
            for known in &mut known {
                if let Some(Err(error)) = known.ticket.next().now_or_never() {
                    let expired = known.deadline.is_some_and(|deadline| deadline <= now);
                    let expired = expired && error == ModelError::Expired;
                    let dropped =
                        matches!(error, ModelError::Device(_)) && known.waiting.is_empty();
                    prop_assert!(expired || dropped, "{error:?}");
                    known.ticket.cancel();
                    known.waiting.clear();
                }
            }
            let waiting_tokens: usize = known.iter().flat_map(|known| &known.waiting).sum();
            let counted = [&fixture.model, &fixture.other]
                .map(|model| model.counts.waiting.load(Ordering::Relaxed));
            prop_assert_eq!(counted.iter().sum::<u64>(), waiting_tokens as u64);
        }
    }
}
