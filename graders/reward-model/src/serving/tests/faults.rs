//! Failures of batches, and shutdown.

use std::sync::Arc;
use std::time::Duration;

use assay_core::SystemClock;
use assay_core::reward_model::{ModelError, RewardModels};

use super::fake::{FAILS, NAN, PANICS, VANISHES, World, expected, ids, request, text};
use super::{
    Models, ServingOptions, block_device, load_from, one_model, raws, spawn_score, wait_until,
    waiting, was_run,
};

#[tokio::test]
async fn a_failing_sequence_does_not_affect_other_requests() {
    for (id, expected_message) in [
        (PANICS, "on purpose"),
        (FAILS, "failed on purpose"),
        (NAN, "not finite"),
        (VANISHES, "0 readouts for 1"),
    ] {
        let (world, models) = one_model(ServingOptions::default()).await;
        let blocked = block_device(&world, &models).await;
        let before = spawn_score(&models, request("a", vec![ids(1, 10), ids(2, 11)]));
        let faulty = spawn_score(&models, request("b", vec![ids(3, 12), ids(id, 1)]));
        let after = spawn_score(&models, request("c", vec![ids(4, 13)]));
        wait_until(|| waiting(&models) == 10 + 11 + 12 + 1 + 13).await;
        world.device.open();
        blocked.await.unwrap().unwrap();
        assert_eq!(
            raws(&before.await.unwrap().unwrap()),
            [expected("v1", &[1; 10]), expected("v1", &[2; 11])]
        );
        assert_eq!(
            raws(&after.await.unwrap().unwrap()),
            [expected("v1", &[4; 13])]
        );
        match faulty.await.unwrap() {
            Err(ModelError::Device(message)) => {
                assert!(message.contains(expected_message), "{message}")
            }
            other => panic!("{other:?}"),
        }
        let later = models.score(request("b", vec![ids(3, 12)])).await.unwrap();
        assert_eq!(
            raws(&later),
            [expected("v1", &[3; 12])],
            "the device thread survives"
        );
    }
}

#[tokio::test]
async fn failing_batches_are_split_in_half() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let blocked = block_device(&world, &models).await;
    let innocent = spawn_score(
        &models,
        request("a", (1..64).map(|mark| ids(mark, 10)).collect()),
    );
    let faulty = spawn_score(&models, request("b", vec![ids(FAILS, 10)]));
    wait_until(|| waiting(&models) == 640).await;
    world.batches.lock().unwrap().clear();
    world.device.open();
    blocked.await.unwrap().unwrap();
    innocent.await.unwrap().unwrap();
    faulty.await.unwrap().unwrap_err();
    let sizes: Vec<_> = world
        .batches
        .lock()
        .unwrap()
        .iter()
        .map(Vec::len)
        .filter(|size| *size > 1)
        .collect();
    assert_eq!(sizes[0], 64);
    assert_eq!(
        sizes.iter().sum::<usize>(),
        64 + 2 * (32 + 16 + 8 + 4 + 2),
        "bisected, not run one by one"
    );
}

#[tokio::test]
async fn a_tokenizer_panic_fails_only_its_request() {
    let (_, models) = one_model(ServingOptions {
        tokeniser_threads: 1,
        ..ServingOptions::default()
    })
    .await;
    let rejected = models
        .score(request("a", vec![text("fine"), text("panic")]))
        .await;
    assert!(
        matches!(rejected, Err(ModelError::Device(_))),
        "{rejected:?}"
    );
    models
        .score(request("a", vec![text("fine")]))
        .await
        .unwrap();
}

#[tokio::test]
async fn batches_shrink_when_memory_runs_out() {
    let options = ServingOptions {
        batch_tokens: 800,
        cache_bytes: 0,
        ..ServingOptions::default()
    };
    let (world, models) = one_model(options).await;
    *world.memory.lock().unwrap() = 150;
    let inputs: Vec<_> = (0..16).map(|mark| ids(mark, 50)).collect();
    let reply = models.score(request("a", inputs.clone())).await.unwrap();
    let expected_raws: Vec<_> = (0..16).map(|mark| expected("v1", &[mark; 50])).collect();
    assert_eq!(raws(&reply), expected_raws);
    world.batches.lock().unwrap().clear();
    models.score(request("a", inputs)).await.unwrap();
    let sizes: Vec<_> = world.batches.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(
        sizes, [2; 8],
        "800, 400 and 200 tokens exceeded the memory, so the budget stays at 100"
    );
}

#[tokio::test]
async fn reports_a_sequence_that_exceeds_the_memory_alone() {
    let (world, models) = one_model(ServingOptions::default()).await;
    *world.memory.lock().unwrap() = 150;
    let rejected = models.score(request("a", vec![ids(1, 151)])).await;
    assert!(
        matches!(&rejected, Err(ModelError::Device(message)) if message.contains("out of memory")),
        "{rejected:?}"
    );
    models.score(request("a", vec![ids(1, 150)])).await.unwrap();
}

#[tokio::test]
async fn stop_answers_waiting_requests_and_rejects_new_ones() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let blocked = block_device(&world, &models).await;
    let waiting_request = spawn_score(&models, request("a", vec![ids(5, 10)]));
    wait_until(|| waiting(&models) == 10).await;
    let stopping = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.stop(Duration::MAX).await }
    });
    while models.score(request("b", vec![])).await != Err(ModelError::ShuttingDown) {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        models.load("n".to_owned(), load_from("v2")).await,
        Err(ModelError::ShuttingDown)
    );
    assert!(!stopping.is_finished());
    world.device.open();
    stopping.await.unwrap();
    blocked.await.unwrap().unwrap();
    waiting_request.await.unwrap().unwrap();
    models.stop(Duration::MAX).await;
}

#[tokio::test]
async fn stop_rejects_waiting_requests_after_its_timeout() {
    let (world, models) = one_model(ServingOptions::default()).await;
    let blocked = block_device(&world, &models).await;
    let waiting_request = spawn_score(&models, request("a", vec![ids(5, 10)]));
    wait_until(|| waiting(&models) == 10).await;
    models.stop(Duration::ZERO).await;
    assert_eq!(
        waiting_request.await.unwrap(),
        Err(ModelError::ShuttingDown)
    );
    world.device.open();
    blocked.await.unwrap().unwrap();
    assert!(!was_run(&world, 5));
}

#[tokio::test]
async fn dropping_the_models_ends_the_device_thread() {
    let clock = Arc::new(SystemClock::new());
    let options = ServingOptions::default();
    let models = Models::start(
        Arc::new(Arc::<World>::default()),
        options,
        Arc::clone(&clock) as _,
    )
    .unwrap();
    drop(models);
    wait_until(|| Arc::strong_count(&clock) == 1).await;
}
