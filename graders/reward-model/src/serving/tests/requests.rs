//! Requests on their way through models: what they are answered, what is run for them, what they survive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assay_core::reward_model::{ModelError, ModelInput, ModelReply, ModelRequest, Readout, Refusal, RewardModels};
use assay_core::{Completion, ErrorCode};
use tokio::task::JoinHandle;

use super::fake::{FAILS, NAN, PANICS, VANISHES, World, expected, ids, ids_of, request};
use super::{Models, ServingOptions, from, one_model, until, waiting};

type Scored = Result<ModelReply, ModelError>;

fn ask(models: &Arc<Models>, request: ModelRequest) -> JoinHandle<Scored> {
    let models = Arc::clone(models);
    tokio::spawn(async move { models.score(request).await })
}

/// Puts the device to work on something else and leaves it there: what comes next waits.
async fn hold(world: &World, models: &Arc<Models>) -> JoinHandle<Scored> {
    world.device.close();
    let before = world.device.arrived();
    let held = ask(models, request("holder", vec![ids(99, 1)]));
    until(|| world.device.arrived() > before).await;
    held
}

fn raws(reply: &ModelReply) -> Vec<f32> {
    reply.scores.iter().map(|score| score.as_ref().unwrap().raw.unwrap()).collect()
}

fn text(text: &str) -> ModelInput {
    ModelInput::Text(Arc::from(text))
}

/// Whether a batch with an id was tried.
fn ran(world: &World, id: u32) -> bool {
    world.batches.lock().unwrap().iter().flatten().flatten().any(|other| *other == id)
}

#[tokio::test]
async fn scores_stand_where_their_inputs_stood() {
    let (_, models) = one_model(ServingOptions { batch_tokens: 64, readers: 3, ..ServingOptions::default() }).await;
    let mut inputs: Vec<_> = (1..200u32).map(|mark| ids(mark, 1 + (mark as usize * 37) % 50)).collect();
    inputs[100] = ids(1, 5_000);
    inputs[150] = ModelInput::Rollout { prompt: None, completion: Completion::Text(Arc::from("x")), reference: None };
    let reply = models.score(request("a", inputs.clone())).await.unwrap();
    assert_eq!(reply.model.version, "v1");
    assert_eq!(reply.scores.len(), inputs.len());
    for (at, (input, score)) in inputs.iter().zip(&reply.scores).enumerate() {
        match (at, input) {
            (100, _) => assert_eq!(score, &Err(Refusal::TooLong { tokens: 5_000, max: 4_096 })),
            (_, ModelInput::Ids(ids)) => {
                let score = score.as_ref().unwrap();
                assert_eq!(score.readout, Readout::Scalar(expected("v1", ids)));
                assert_eq!((score.raw, score.score), (Some(expected("v1", ids)), Some(0.5)));
                assert_eq!((score.tokens as usize, score.cut), (ids.len(), 0));
                assert_eq!(score.last_ids, ids[ids.len().saturating_sub(4)..]);
            }
            _ => assert!(matches!(score, Err(Refusal::Unreadable(_)))),
        }
    }
    let status = models.list().remove(0);
    assert_eq!(status.scored, 197);
    assert_eq!(status.waiting_tokens, 0);
}

#[tokio::test]
async fn a_request_of_nothing_is_answered_with_nothing() {
    let (_, models) = one_model(ServingOptions::default()).await;
    assert_eq!(models.score(request("a", vec![])).await.unwrap().scores, []);
}

#[tokio::test]
async fn a_reference_is_read_apart_and_once_for_all_that_share_it() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let pair = |main: &str| ModelInput::Pair(Arc::from(main), Arc::from("gold"));
    let reply = models.score(request("a", vec![pair("one"), pair("two"), pair("one")])).await.unwrap();
    let gold = expected("v1", &ids_of("gold"));
    let (one, two) = (expected("v1", &ids_of("one")) - gold, expected("v1", &ids_of("two")) - gold);
    assert_eq!(raws(&reply), [one, two, one]);
    let mut run: Vec<_> = world.batches.lock().unwrap().iter().flatten().cloned().collect();
    run.sort();
    assert_eq!(run, [ids_of("gold"), ids_of("one"), ids_of("two")]);
}

#[tokio::test]
async fn what_was_read_once_is_not_read_again_but_by_another_version() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let first = models.score(request("a", vec![text("same"), text("other")])).await.unwrap();
    let again = models.score(request("b", vec![text("same")])).await.unwrap();
    assert_eq!(again.scores[0], first.scores[0]);
    assert_eq!(world.batches.lock().unwrap().len(), 1);
    models.load("m".to_owned(), from("v2")).await.unwrap();
    let anew = models.score(request("a", vec![text("same")])).await.unwrap();
    assert_eq!(raws(&anew), [expected("v2", &ids_of("same"))]);
}

#[tokio::test]
async fn without_a_cache_everything_is_read_again() {
    let (world, models) = one_model(ServingOptions { cache_bytes: 0, ..ServingOptions::default() }).await;
    for _ in 0..2 {
        models.score(request("a", vec![text("same"), text("same")])).await.unwrap();
    }
    assert_eq!(world.batches.lock().unwrap().concat(), [ids_of("same"), ids_of("same")], "once for each request");
}

#[tokio::test]
async fn only_one_thread_ever_runs_a_model() {
    let (world, models) = one_model(ServingOptions { batch_tokens: 8, ..ServingOptions::default() }).await;
    models.score(request("a", (0..50).map(|mark| ids(mark, 5)).collect())).await.unwrap();
    assert_eq!(world.threads.lock().unwrap().iter().collect::<Vec<_>>(), ["assay-device"], "warm-up included");
}

#[tokio::test]
async fn too_many_tokens_are_refused_and_leave_nothing_behind() {
    let (world, models) = one_model(ServingOptions { queue_tokens: 100, ..ServingOptions::default() }).await;
    let held = hold(&world, &models).await;
    let first = ask(&models, request("a", vec![ids(1, 30), ids(2, 30)]));
    until(|| waiting(&models) == 60).await;
    let refused = models.score(request("b", vec![ids(3, 30), ids(4, 30)])).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Overloaded);
    let too_large = models.score(request("b", vec![ids(3, 101)])).await;
    assert_eq!(too_large, Err(ModelError::TooLarge { tokens: 101, limit: 100 }));
    assert_eq!(waiting(&models), 60);
    world.device.open();
    held.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    assert!(!ran(&world, 3) && !ran(&world, 4));
}

#[tokio::test]
async fn a_request_whose_patience_runs_out_is_never_run() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let held = hold(&world, &models).await;
    let hurried = ModelRequest { patience: Some(Duration::from_millis(1)), ..request("a", vec![ids(5, 10)]) };
    assert_eq!(models.score(hurried).await, Err(ModelError::Expired));
    assert_eq!(waiting(&models), 0);
    let patient = ModelRequest { patience: Some(Duration::MAX), ..request("a", vec![ids(6, 10)]) };
    let patient = ask(&models, patient);
    world.device.open();
    held.await.unwrap().unwrap();
    patient.await.unwrap().unwrap();
    assert!(!ran(&world, 5));
}

#[tokio::test]
async fn what_runs_when_patience_ends_is_waited_for() {
    let (world, models) = one_model(ServingOptions::default()).await;
    world.device.close();
    let before = world.device.arrived();
    let asked =
        ask(&models, ModelRequest { patience: Some(Duration::from_millis(20)), ..request("a", vec![ids(5, 10)]) });
    until(|| world.device.arrived() > before || asked.is_finished()).await;
    if world.device.arrived() > before {
        // Longer than the patience, so that it ends while the batch runs.
        tokio::time::timeout(Duration::from_millis(40), std::future::pending::<()>()).await.unwrap_err();
        assert!(!asked.is_finished());
        world.device.open();
        asked.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_is_never_run() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let held = hold(&world, &models).await;
    let dropped = ask(&models, request("a", vec![ids(5, 10), ids(6, 10)]));
    until(|| waiting(&models) == 20).await;
    dropped.abort();
    until(|| waiting(&models) == 0).await;
    world.device.open();
    held.await.unwrap().unwrap();
    models.score(request("a", vec![ids(7, 1)])).await.unwrap();
    assert!(!ran(&world, 5) && !ran(&world, 6));
}

#[tokio::test]
async fn what_fails_in_a_batch_fails_alone() {
    for (id, says) in
        [(PANICS, "on purpose"), (FAILS, "fell over"), (NAN, "not finite"), (VANISHES, "0 readouts for 1")]
    {
        let (world, models) = one_model(ServingOptions::default()).await;
        let held = hold(&world, &models).await;
        let before = ask(&models, request("a", vec![ids(1, 10), ids(2, 11)]));
        let faulty = ask(&models, request("b", vec![ids(3, 12), ids(id, 1)]));
        let after = ask(&models, request("c", vec![ids(4, 13)]));
        until(|| waiting(&models) == 10 + 11 + 12 + 1 + 13).await;
        world.device.open();
        held.await.unwrap().unwrap();
        assert_eq!(raws(&before.await.unwrap().unwrap()), [expected("v1", &[1; 10]), expected("v1", &[2; 11])]);
        assert_eq!(raws(&after.await.unwrap().unwrap()), [expected("v1", &[4; 13])]);
        match faulty.await.unwrap() {
            Err(ModelError::Device(message)) => assert!(message.contains(says), "{message}"),
            other => panic!("{other:?}"),
        }
        let later = models.score(request("b", vec![ids(3, 12)])).await.unwrap();
        assert_eq!(raws(&later), [expected("v1", &[3; 12])], "the thread lives on");
    }
}

#[tokio::test]
async fn a_panic_of_the_tokenizer_costs_its_request_only() {
    let (_, models) = one_model(ServingOptions { readers: 1, ..ServingOptions::default() }).await;
    let refused = models.score(request("a", vec![text("fine"), text("panic")])).await;
    assert!(matches!(refused, Err(ModelError::Device(_))), "{refused:?}");
    models.score(request("a", vec![text("fine")])).await.unwrap();
}

#[tokio::test]
async fn when_memory_runs_out_batches_get_smaller() {
    let options = ServingOptions { batch_tokens: 800, cache_bytes: 0, ..ServingOptions::default() };
    let (world, models) = one_model(options).await;
    *world.memory.lock().unwrap() = 150;
    let inputs: Vec<_> = (0..16).map(|mark| ids(mark, 50)).collect();
    let reply = models.score(request("a", inputs.clone())).await.unwrap();
    let right: Vec<_> = (0..16).map(|mark| expected("v1", &[mark; 50])).collect();
    assert_eq!(raws(&reply), right);
    world.batches.lock().unwrap().clear();
    models.score(request("a", inputs)).await.unwrap();
    let sizes: Vec<_> = world.batches.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [2; 8], "800, 400 and 200 tokens were too many; 100 are kept to");
}

#[tokio::test]
async fn what_does_not_fit_alone_is_told_so() {
    let (world, models) = one_model(ServingOptions::default()).await;
    *world.memory.lock().unwrap() = 150;
    let refused = models.score(request("a", vec![ids(1, 151)])).await;
    assert!(matches!(&refused, Err(ModelError::Device(message)) if message.contains("out of memory")), "{refused:?}");
    models.score(request("a", vec![ids(1, 150)])).await.unwrap();
}

#[tokio::test]
async fn stopping_answers_what_waits_and_refuses_what_comes() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let held = hold(&world, &models).await;
    let waits = ask(&models, request("a", vec![ids(5, 10)]));
    until(|| waiting(&models) == 10).await;
    let stopping = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.stop(Duration::MAX).await }
    });
    while models.score(request("b", vec![])).await != Err(ModelError::ShuttingDown) {
        tokio::task::yield_now().await;
    }
    assert_eq!(models.load("n".to_owned(), from("v2")).await, Err(ModelError::ShuttingDown));
    assert!(!stopping.is_finished());
    world.device.open();
    stopping.await.unwrap();
    held.await.unwrap().unwrap();
    waits.await.unwrap().unwrap();
    models.stop(Duration::MAX).await;
}

#[tokio::test]
async fn stopping_refuses_what_waits_past_its_patience() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let held = hold(&world, &models).await;
    let waits = ask(&models, request("a", vec![ids(5, 10)]));
    until(|| waiting(&models) == 10).await;
    models.stop(Duration::ZERO).await;
    assert_eq!(waits.await.unwrap(), Err(ModelError::ShuttingDown));
    world.device.open();
    held.await.unwrap().unwrap();
    assert!(!ran(&world, 5));
}

/// A thousand clients ask without a pause while the model is replaced twenty times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_a_model_under_load_loses_nothing() {
    const CLIENTS: u32 = 1_000;
    let options = ServingOptions { batch_tokens: 4_096, cache_bytes: 0, ..ServingOptions::default() };
    let (_, models) = one_model(options).await;
    let done = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (models, done, answered) = (Arc::clone(&models), Arc::clone(&done), Arc::clone(&answered));
            tokio::spawn(async move {
                let caller = format!("caller {}", client % 7);
                let lengths = [1 + client as usize % 90, 1 + client as usize * 31 % 200, 3];
                let mut seen = Vec::new();
                loop {
                    let last = done.load(Ordering::Acquire);
                    let inputs = lengths.iter().map(|length| ids(client, *length)).collect();
                    let reply = models.score(request(&caller, inputs)).await.unwrap();
                    let version = &reply.model.version;
                    let right: Vec<_> =
                        lengths.iter().map(|length| expected(version, &vec![client; *length])).collect();
                    assert_eq!(raws(&reply), right, "all of it by version {version}");
                    answered.fetch_add(1, Ordering::AcqRel);
                    if seen.last() != Some(version) {
                        seen.push(version.clone());
                    }
                    if last {
                        return seen;
                    }
                }
            })
        })
        .collect();
    for version in 2..=21 {
        let before = answered.load(Ordering::Acquire);
        until(|| answered.load(Ordering::Acquire) >= before + 200).await;
        let info = models.load("m".to_owned(), from(&format!("v{version}"))).await.unwrap();
        assert_eq!(info.version, format!("v{version}"));
    }
    done.store(true, Ordering::Release);
    for client in clients {
        let seen = client.await.unwrap();
        assert_eq!(seen.last().unwrap(), "v21", "asked after the last was in its place");
        let numbers: Vec<u32> = seen.iter().map(|version| version[1..].parse().unwrap()).collect();
        assert!(numbers.is_sorted(), "no request after a newer one meets an older version: {seen:?}");
    }
    assert_eq!(waiting(&models), 0);
}
