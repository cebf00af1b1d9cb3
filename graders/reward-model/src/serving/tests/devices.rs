//! Several devices that take batches from one queue.

use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{ModelError, RewardModels};

use super::fake::{Gate, PANICS, World, expected, ids, request};
use super::{Models, Scored, ServingOptions, load_from, one_model, raws, spawn_score, wait_until};

async fn two_devices() -> (Arc<World>, Arc<Models>) {
    one_model(ServingOptions {
        devices: vec!["fake:0".to_owned(), "fake:1".to_owned()],
        cache_bytes: 0,
        ..ServingOptions::default()
    })
    .await
}

/// Starts a request on each of both devices, which wait at their gates.
async fn occupy(world: &World, models: &Arc<Models>) -> [tokio::task::JoinHandle<Scored>; 2] {
    let arrived = |gate: &Gate, before| gate.arrived() > before;
    let before = [world.device.arrived(), world.second.arrived()];
    world.device.close();
    world.second.close();
    let one = spawn_score(models, request("a", vec![ids(11, 3)]));
    wait_until(|| arrived(&world.device, before[0]) || arrived(&world.second, before[1])).await;
    let other = spawn_score(models, request("b", vec![ids(12, 4)]));
    wait_until(|| arrived(&world.device, before[0]) && arrived(&world.second, before[1])).await;
    [one, other]
}

fn open(world: &World) {
    world.device.open();
    world.second.open();
}

#[tokio::test]
async fn devices_run_batches_at_the_same_time() {
    let (world, models) = two_devices().await;
    let [one, other] = occupy(&world, &models).await;
    open(&world);
    let one = one.await.unwrap().unwrap();
    let other = other.await.unwrap().unwrap();
    assert_eq!(raws(&one), [expected("v1", &[11; 3])]);
    assert_eq!(raws(&other), [expected("v1", &[12; 4])]);
    assert_eq!(
        world.threads.lock().unwrap().iter().collect::<Vec<_>>(),
        ["assay-device-0", "assay-device-1"]
    );
}

#[tokio::test]
async fn scores_of_two_devices_are_in_the_order_of_inputs() {
    let (world, models) = two_devices().await;
    let blocked = occupy(&world, &models).await;
    let inputs: Vec<_> = (1..100u32).map(|mark| ids(mark, 200)).collect();
    let pending = spawn_score(&models, request("c", inputs));
    wait_until(|| super::waiting(&models) == 99 * 200).await;
    open(&world);
    let expected_raws: Vec<_> = (1..100).map(|mark| expected("v1", &[mark; 200])).collect();
    assert_eq!(raws(&pending.await.unwrap().unwrap()), expected_raws);
    for blocked in blocked {
        blocked.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_model_warms_up_on_each_device() {
    let (world, models) = two_devices().await;
    let mut devices = std::mem::take(&mut *world.devices.lock().unwrap());
    devices.sort_unstable();
    assert_eq!(devices, [0, 1]);
    world.broken.lock().unwrap().insert(1);
    let rejected = models.load("m".to_owned(), load_from("v2")).await;
    assert!(
        matches!(&rejected, Err(ModelError::NotLoadable(message)) if message.contains("warm-up")),
        "{rejected:?}"
    );
    let reply = models.score(request("a", vec![ids(7, 1)])).await;
    match reply {
        Ok(reply) => assert_eq!(reply.model.version, "v1"),
        // The broken device took the request before it was excluded.
        Err(error) => assert!(matches!(error, ModelError::Device(_)), "{error}"),
    }
}

#[tokio::test]
async fn a_panic_on_one_device_affects_neither_the_other_nor_later_batches() {
    let (world, models) = two_devices().await;
    let blocked = occupy(&world, &models).await;
    let faulty = spawn_score(&models, request("c", vec![ids(PANICS, 1)]));
    let fine = spawn_score(&models, request("d", vec![ids(3, 5)]));
    wait_until(|| super::waiting(&models) == 6).await;
    open(&world);
    for blocked in blocked {
        blocked.await.unwrap().unwrap();
    }
    assert!(matches!(faulty.await.unwrap(), Err(ModelError::Device(_))));
    assert_eq!(
        raws(&fine.await.unwrap().unwrap()),
        [expected("v1", &[3; 5])]
    );
    let later = occupy(&world, &models).await;
    open(&world);
    for later in later {
        later.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_broken_device_leaves_requests_to_the_other_until_a_load_succeeds() {
    let (world, models) = two_devices().await;
    let blocked = occupy(&world, &models).await;
    world.broken.lock().unwrap().insert(1);
    open(&world);
    let mut failed = 0;
    for blocked in blocked {
        match blocked.await.unwrap() {
            Ok(_) => {}
            Err(ModelError::Device(message)) => {
                assert!(message.contains("broken"), "{message}");
                failed += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(failed, 1, "an error, never a score");
    world.devices.lock().unwrap().clear();
    for mark in 0..50 {
        let reply = models
            .score(request("a", vec![ids(mark, 9)]))
            .await
            .unwrap();
        assert_eq!(raws(&reply), [expected("v1", &[mark; 9])]);
    }
    assert_eq!(*world.devices.lock().unwrap(), [0; 50]);

    world.broken.lock().unwrap().clear();
    models.load("m".to_owned(), load_from("v2")).await.unwrap();
    let both = occupy(&world, &models).await;
    open(&world);
    for one in both {
        one.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn requests_fail_if_all_devices_are_broken() {
    let (world, models) = two_devices().await;
    world.broken.lock().unwrap().extend([0, 1]);
    for mark in 0..10 {
        let failed = models.score(request("a", vec![ids(mark, 9)])).await;
        assert!(matches!(failed, Err(ModelError::Device(_))), "{failed:?}");
    }
}

#[tokio::test]
async fn stop_waits_for_both_devices() {
    let (world, models) = two_devices().await;
    let [one, other] = occupy(&world, &models).await;
    let stopping = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.stop(Duration::MAX).await }
    });
    while models.score(request("b", vec![])).await != Err(ModelError::ShuttingDown) {
        tokio::task::yield_now().await;
    }
    world.device.open();
    wait_until(|| one.is_finished() || other.is_finished()).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!stopping.is_finished());
    world.second.open();
    stopping.await.unwrap();
    one.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
}
