//! Requests: their replies, and the sequences that are run for them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assay_core::reward_model::{
    ModelError, ModelInput, ModelOutput, ModelRequest, Refusal, RewardModels,
};
use assay_core::{Completion, ErrorCode};

use super::fake::{expected, ids, ids_of, request, text};
use super::{
    ServingOptions, block_device, load_from, one_model, raws, spawn_score, wait_until, waiting,
    was_run,
};

#[tokio::test]
async fn scores_are_in_the_order_of_inputs() {
    let (_, models) = one_model(ServingOptions {
        batch_tokens: 64,
        tokeniser_threads: 3,
        ..ServingOptions::default()
    })
    .await;
    let mut inputs: Vec<_> = (1..200u32)
        .map(|mark| ids(mark, 1 + (mark as usize * 37) % 50))
        .collect();
    inputs[100] = ids(1, 5_000);
    inputs[150] = ModelInput::Rollout {
        prompt: None,
        completion: Completion::Text(Arc::from("x")),
        reference: None,
    };
    let reply = models.score(request("a", inputs.clone())).await.unwrap();
    assert_eq!(reply.model.version, "v1");
    assert_eq!(reply.scores.len(), inputs.len());
    for (at, (input, score)) in inputs.iter().zip(&reply.scores).enumerate() {
        match (at, input) {
            (100, _) => assert_eq!(
                score,
                &Err(Refusal::TooLong {
                    tokens: 5_000,
                    max: 4_096
                })
            ),
            (_, ModelInput::Ids(ids)) => {
                let score = score.as_ref().unwrap();
                assert_eq!(score.readout, ModelOutput::Scalar(expected("v1", ids)));
                assert_eq!(
                    (score.raw, score.score),
                    (Some(expected("v1", ids)), Some(0.5))
                );
                assert_eq!(
                    (score.tokens as usize, score.truncated_tokens),
                    (ids.len(), 0)
                );
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
async fn limits_the_number_of_tokenising_threads() {
    let (world, models) = one_model(ServingOptions {
        tokeniser_threads: 2,
        ..ServingOptions::default()
    })
    .await;
    let pending = spawn_score(&models, request("a", vec![text("wait"); 200]));
    wait_until(|| world.disk.arrived() == 2).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.disk.arrived(), 2);
    world.disk.open();
    let reply = pending.await.unwrap().unwrap();
    assert_eq!(raws(&reply), [expected("v1", &ids_of("wait")); 200]);
}

#[tokio::test]
async fn an_empty_request_has_an_empty_reply() {
    let (_, models) = one_model(ServingOptions::default()).await;
    assert_eq!(models.score(request("a", vec![])).await.unwrap().scores, []);
}

#[tokio::test]
async fn a_shared_reference_is_run_once() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let pair = |main: &str| ModelInput::Pair(Arc::from(main), Arc::from("gold"));
    let reply = models
        .score(request("a", vec![pair("one"), pair("two"), pair("one")]))
        .await
        .unwrap();
    let gold = expected("v1", &ids_of("gold"));
    let (one, two) = (
        expected("v1", &ids_of("one")) - gold,
        expected("v1", &ids_of("two")) - gold,
    );
    assert_eq!(raws(&reply), [one, two, one]);
    let mut run: Vec<_> = world
        .batches
        .lock()
        .unwrap()
        .iter()
        .flatten()
        .cloned()
        .collect();
    run.sort();
    assert_eq!(run, [ids_of("gold"), ids_of("one"), ids_of("two")]);
}

#[tokio::test]
async fn caches_readouts_per_caller_and_version() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let first = models
        .score(request("a", vec![text("same"), text("other")]))
        .await
        .unwrap();
    for (caller, batches) in [("a", 1), ("b", 2), ("b", 2)] {
        let again = models
            .score(request(caller, vec![text("same")]))
            .await
            .unwrap();
        assert_eq!(again.scores[0], first.scores[0]);
        assert_eq!(world.batches.lock().unwrap().len(), batches);
    }
    let again = ModelRequest {
        use_cache: false,
        ..request("b", vec![text("same")])
    };
    assert_eq!(
        models.score(again).await.unwrap().scores[0],
        first.scores[0]
    );
    assert_eq!(world.batches.lock().unwrap().len(), 3);
    models.load("m".to_owned(), load_from("v2")).await.unwrap();
    let after_reload = models
        .score(request("a", vec![text("same")]))
        .await
        .unwrap();
    assert_eq!(raws(&after_reload), [expected("v2", &ids_of("same"))]);
}

#[tokio::test]
async fn runs_every_request_if_the_cache_is_disabled() {
    let (world, models) = one_model(ServingOptions {
        cache_bytes: 0,
        ..ServingOptions::default()
    })
    .await;
    for _ in 0..2 {
        models
            .score(request("a", vec![text("same"), text("same")]))
            .await
            .unwrap();
    }
    assert_eq!(
        world.batches.lock().unwrap().concat(),
        [ids_of("same"), ids_of("same")],
        "once for each request"
    );
}

#[tokio::test]
async fn only_the_device_thread_runs_models() {
    let (world, models) = one_model(ServingOptions {
        batch_tokens: 8,
        ..ServingOptions::default()
    })
    .await;
    models
        .score(request("a", (0..50).map(|mark| ids(mark, 5)).collect()))
        .await
        .unwrap();
    assert_eq!(
        world.threads.lock().unwrap().iter().collect::<Vec<_>>(),
        ["assay-device"],
        "including the warm-up"
    );
}

#[tokio::test]
async fn rejected_requests_leave_no_sequences_in_the_queue() {
    let (world, models) = one_model(ServingOptions {
        queue_tokens: 100,
        ..ServingOptions::default()
    })
    .await;
    let blocked = block_device(&world, &models).await;
    let first = spawn_score(&models, request("a", vec![ids(1, 30), ids(2, 30)]));
    wait_until(|| waiting(&models) == 60).await;
    let rejected = models
        .score(request("b", vec![ids(3, 30), ids(4, 30)]))
        .await
        .unwrap_err();
    assert_eq!(rejected.code(), ErrorCode::Overloaded);
    let too_large = models.score(request("b", vec![ids(3, 101)])).await;
    assert_eq!(
        too_large,
        Err(ModelError::TooLarge {
            tokens: 101,
            limit: 100
        })
    );
    assert_eq!(waiting(&models), 60);
    world.device.open();
    blocked.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    assert!(!was_run(&world, 3) && !was_run(&world, 4));
}

#[tokio::test]
async fn a_request_that_times_out_is_not_run() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let blocked = block_device(&world, &models).await;
    let short_timeout = ModelRequest {
        timeout: Some(Duration::from_millis(1)),
        ..request("a", vec![ids(5, 10)])
    };
    assert_eq!(models.score(short_timeout).await, Err(ModelError::Expired));
    assert_eq!(waiting(&models), 0);
    let long_timeout = ModelRequest {
        timeout: Some(Duration::MAX),
        ..request("a", vec![ids(6, 10)])
    };
    let long_timeout = spawn_score(&models, long_timeout);
    world.device.open();
    blocked.await.unwrap().unwrap();
    long_timeout.await.unwrap().unwrap();
    assert!(!was_run(&world, 5));
}

#[tokio::test]
async fn a_running_request_is_completed_after_its_timeout() {
    let (world, models) = one_model(ServingOptions::default()).await;
    world.device.close();
    let before = world.device.arrived();
    let pending = spawn_score(
        &models,
        ModelRequest {
            timeout: Some(Duration::from_millis(20)),
            ..request("a", vec![ids(5, 10)])
        },
    );
    wait_until(|| world.device.arrived() > before || pending.is_finished()).await;
    if world.device.arrived() > before {
        // Longer than the timeout, so that it ends while the batch runs.
        tokio::time::timeout(Duration::from_millis(40), std::future::pending::<()>())
            .await
            .unwrap_err();
        assert!(!pending.is_finished());
        world.device.open();
        pending.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_dropped_request_is_not_run() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let blocked = block_device(&world, &models).await;
    let dropped = spawn_score(&models, request("a", vec![ids(5, 10), ids(6, 10)]));
    wait_until(|| waiting(&models) == 20).await;
    dropped.abort();
    wait_until(|| waiting(&models) == 0).await;
    world.device.open();
    blocked.await.unwrap().unwrap();
    models.score(request("a", vec![ids(7, 1)])).await.unwrap();
    assert!(!was_run(&world, 5) && !was_run(&world, 6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_a_model_under_load_loses_no_request() {
    replace_under_load(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacing_a_model_on_two_devices_under_load_loses_no_request() {
    replace_under_load(2).await;
}

/// A thousand clients send requests continuously while the model is replaced twenty times.
async fn replace_under_load(devices: usize) {
    const CLIENTS: u32 = 1_000;
    let options = ServingOptions {
        batch_tokens: 4_096,
        cache_bytes: 0,
        devices: vec!["fake".to_owned(); devices],
        ..ServingOptions::default()
    };
    let (world, models) = one_model(options).await;
    let done = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (models, done, answered) = (
                Arc::clone(&models),
                Arc::clone(&done),
                Arc::clone(&answered),
            );
            tokio::spawn(async move {
                let caller = format!("caller {}", client % 7);
                let lengths = [1 + client as usize % 90, 1 + client as usize * 31 % 200, 3];
                let mut seen = Vec::new();
                loop {
                    let last = done.load(Ordering::Acquire);
                    let inputs = lengths.iter().map(|length| ids(client, *length)).collect();
                    let reply = models.score(request(&caller, inputs)).await.unwrap();
                    let version = &reply.model.version;
                    let expected_raws: Vec<_> = lengths
                        .iter()
                        .map(|length| expected(version, &vec![client; *length]))
                        .collect();
                    assert_eq!(
                        raws(&reply),
                        expected_raws,
                        "all scores by version {version}"
                    );
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
        wait_until(|| answered.load(Ordering::Acquire) >= before + 200).await;
        let info = models
            .load("m".to_owned(), load_from(&format!("v{version}")))
            .await
            .unwrap();
        assert_eq!(info.version, format!("v{version}"));
    }
    done.store(true, Ordering::Release);
    for client in clients {
        let seen = client.await.unwrap();
        assert_eq!(
            seen.last().unwrap(),
            "v21",
            "requested after the last replacement"
        );
        let numbers: Vec<u32> = seen
            .iter()
            .map(|version| version[1..].parse().unwrap())
            .collect();
        assert!(
            numbers.is_sorted(),
            "a later request used an older version: {seen:?}"
        );
    }
    assert_eq!(waiting(&models), 0);
    let used: BTreeSet<usize> = world.devices.lock().unwrap().iter().copied().collect();
    assert_eq!(used.len(), devices);
}
