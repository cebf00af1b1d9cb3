//! Names of models: loading, replacing, unloading and defaults.

use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{ModelError, ModelLoad, ModelRequest, ModelState, RewardModels};
use serde_json::json;

use super::fake::{ids, request};
use super::{Models, ServingOptions, load_from, models, one_model, wait_until};

fn request_for(model: &str) -> ModelRequest {
    ModelRequest {
        model: Some(model.to_owned()),
        ..request("a", vec![ids(1, 3)])
    }
}

fn states(models: &Models) -> Vec<(String, ModelState, bool)> {
    models
        .list()
        .into_iter()
        .map(|status| (status.name, status.state, status.default))
        .collect()
}

/// The version that answers requests for a name.
async fn version(models: &Models, name: &str) -> String {
    models
        .score(request_for(name))
        .await
        .unwrap()
        .model
        .version
        .clone()
}

#[tokio::test]
async fn the_only_model_is_the_default() {
    let (_, models) = models(ServingOptions::default());
    assert!(matches!(models.find(None), Err(ModelError::Unknown(_))));
    assert_eq!(
        models.find(Some("one")).unwrap_err().to_string(),
        "no model `one` is loaded; load it with `assay models load NAME SOURCE`"
    );
    models
        .load("one".to_owned(), load_from("v1"))
        .await
        .unwrap();
    assert_eq!(models.find(None).unwrap().name, "one");
    assert_eq!(
        models
            .score(request("a", vec![ids(1, 3)]))
            .await
            .unwrap()
            .model
            .name,
        "one"
    );
    models
        .load("another".to_owned(), load_from("v2"))
        .await
        .unwrap();
    let rejected = models.find(None).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "there are several models; name one of `another`, `one`"
    );
    assert_eq!(
        models.find(Some("third")).unwrap_err().to_string(),
        "no model `third` is loaded; available: `another`, `one`"
    );
    let ready = ModelState::Ready;
    assert_eq!(
        states(&models),
        [
            ("another".to_owned(), ready, false),
            ("one".to_owned(), ready, false)
        ]
    );
}

#[tokio::test]
async fn uses_the_configured_default_among_several_models() {
    let (_, models) = models(ServingOptions {
        default_model: Some("b".to_owned()),
        ..ServingOptions::default()
    });
    models.load("a".to_owned(), load_from("v1")).await.unwrap();
    assert!(
        matches!(models.find(None), Err(ModelError::Unknown(_))),
        "only the configured default"
    );
    models.load("b".to_owned(), load_from("v2")).await.unwrap();
    assert_eq!(models.find(None).unwrap().name, "b");
    assert_eq!(
        states(&models)
            .iter()
            .map(|(.., default)| *default)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn rejects_a_version_mismatch_before_running() {
    let (world, models) = models(ServingOptions::default());
    models
        .load("m".to_owned(), load_from("v123"))
        .await
        .unwrap();
    let expecting = |version: &str| ModelRequest {
        expected_version: Some(version.to_owned()),
        ..request_for("m")
    };
    models.score(expecting("v12")).await.unwrap();
    let batch_count = world.batches.lock().unwrap().len();
    let rejected = models.score(expecting("v13")).await.unwrap_err();
    let other = ModelError::VersionMismatch {
        name: "m".to_owned(),
        version: "v123".to_owned(),
        expected: "v13".to_owned(),
    };
    assert_eq!(rejected, other);
    assert_eq!(world.batches.lock().unwrap().len(), batch_count);
}

#[tokio::test]
async fn a_failed_replacement_keeps_the_model_and_reports_the_error() {
    let (_, models) = one_model(ServingOptions::default()).await;
    for (source, expected_message) in [
        ("broken", "no model at `broken`"),
        ("panics", "on purpose"),
        (
            "unfit:v2",
            "the warm-up failed: model `m` failed: the device failed on purpose",
        ),
    ] {
        let rejected = models
            .load("m".to_owned(), load_from(source))
            .await
            .unwrap_err();
        assert!(
            matches!(
                &rejected,
                ModelError::NotLoadable(message) if message.contains(expected_message)
            ),
            "{rejected:?}"
        );
        assert_eq!(version(&models, "m").await, "v1");
        let status = models.list().remove(0);
        assert_eq!(status.state, ModelState::Ready);
        assert!(status.problem.unwrap().contains(expected_message));
    }
    let again = models
        .load("m".to_owned(), ModelLoad::default())
        .await
        .unwrap();
    assert_eq!(
        again.version, "v1",
        "the origin is still that of the loaded model"
    );
    assert_eq!(models.list().remove(0).problem, None);
}

#[tokio::test]
async fn a_model_that_never_loaded_reports_the_error() {
    let (_, models) = models(ServingOptions::default());
    models
        .load("m".to_owned(), load_from("broken"))
        .await
        .unwrap_err();
    let rejected = models
        .score(ModelRequest {
            timeout: Some(Duration::MAX),
            ..request_for("m")
        })
        .await
        .unwrap_err();
    assert_eq!(rejected, models.find(None).unwrap_err());
    let message = "model `m` failed to load: no model at `broken`";
    assert_eq!(rejected, ModelError::Unavailable(message.to_owned()));
    assert_eq!(
        states(&models),
        [("m".to_owned(), ModelState::Failed, true)]
    );
    let again = models
        .load("m".to_owned(), ModelLoad::default())
        .await
        .unwrap_err();
    assert_eq!(
        again,
        ModelError::NotLoadable("no model at `broken`".to_owned()),
        "the source of the failed load is known"
    );
}

#[tokio::test]
async fn requests_wait_for_a_loading_model_only_with_a_timeout() {
    let (world, models) = models(ServingOptions::default());
    let loading = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.load("m".to_owned(), load_from("slow:v1")).await }
    });
    wait_until(|| world.disk.arrived() == 1).await;
    assert_eq!(
        states(&models),
        [("m".to_owned(), ModelState::Loading, true)]
    );
    let rejected = models.score(request_for("m")).await.unwrap_err();
    assert!(
        matches!(rejected, ModelError::Unavailable(_)),
        "{rejected:?}"
    );
    let short_timeout = ModelRequest {
        timeout: Some(Duration::from_millis(1)),
        ..request_for("m")
    };
    assert_eq!(models.score(short_timeout).await.unwrap_err(), rejected);
    let long_timeout = tokio::spawn({
        let models = Arc::clone(&models);
        async move {
            models
                .score(ModelRequest {
                    timeout: Some(Duration::MAX),
                    ..request_for("m")
                })
                .await
        }
    });
    tokio::task::yield_now().await;
    world.disk.open();
    assert_eq!(long_timeout.await.unwrap().unwrap().model.version, "v1");
    loading.await.unwrap().unwrap();
}

#[tokio::test]
async fn loading_continues_if_the_request_is_dropped() {
    let (world, models) = models(ServingOptions::default());
    let loading = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.load("m".to_owned(), load_from("slow:v1")).await }
    });
    wait_until(|| world.disk.arrived() == 1).await;
    loading.abort();
    assert!(loading.await.is_err());
    world.disk.open();
    wait_until(|| models.find(Some("m")).is_ok()).await;
}

#[tokio::test]
async fn unloading_answers_waiting_requests_and_rejects_new_ones() {
    let (world, models) = one_model(ServingOptions::default()).await;
    world.device.close();
    let before = world.device.arrived();
    let pending = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.score(request_for("m")).await }
    });
    wait_until(|| world.device.arrived() > before).await;
    models.unload("m").unwrap();
    assert!(matches!(models.unload("m"), Err(ModelError::Unknown(_))));
    assert!(matches!(
        models.score(request_for("m")).await,
        Err(ModelError::Unknown(_))
    ));
    assert_eq!(models.list(), []);
    world.device.open();
    pending.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_model_unloaded_while_loading_stays_unloaded() {
    let (world, models) = models(ServingOptions::default());
    let loading = tokio::spawn({
        let models = Arc::clone(&models);
        async move { models.load("m".to_owned(), load_from("slow:v1")).await }
    });
    wait_until(|| world.disk.arrived() == 1).await;
    models.unload("m").unwrap();
    world.disk.open();
    assert!(matches!(
        loading.await.unwrap(),
        Err(ModelError::NotLoadable(_))
    ));
    assert!(matches!(
        models.find(Some("m")),
        Err(ModelError::Unknown(_))
    ));
}

#[tokio::test]
async fn a_load_keeps_undeclared_source_and_options() {
    let (_, models) = models(ServingOptions::default());
    let options = json!({"max_tokens": 7}).as_object().cloned();
    models
        .load(
            "m".to_owned(),
            ModelLoad {
                options,
                ..load_from("v1")
            },
        )
        .await
        .unwrap();
    let info = models.load("m".to_owned(), load_from("v2")).await.unwrap();
    assert_eq!((info.version.as_str(), info.max_tokens), ("v2", 7));
    let options = json!({}).as_object().cloned();
    let info = models
        .load(
            "m".to_owned(),
            ModelLoad {
                options,
                ..ModelLoad::default()
            },
        )
        .await
        .unwrap();
    assert_eq!((info.version.as_str(), info.max_tokens), ("v2", 4_096));
}

#[tokio::test]
async fn a_load_with_an_expected_version_replaces_only_that_version() {
    let (world, models) = models(ServingOptions::default());
    let expecting = |source: &str, version: &str| ModelLoad {
        expected_version: Some(version.to_owned()),
        ..load_from(source)
    };
    let none = models.load("m".to_owned(), expecting("v1", "v0")).await;
    assert!(
        matches!(&none, Err(ModelError::VersionMismatch { version, .. }) if version == "none"),
        "{none:?}"
    );
    models.load("m".to_owned(), load_from("v1")).await.unwrap();
    models
        .load("m".to_owned(), expecting("v2", "v1"))
        .await
        .unwrap();
    let batches = world.batches.lock().unwrap().len();
    let stale = models.load("m".to_owned(), expecting("v3", "v1")).await;
    assert!(
        matches!(&stale, Err(ModelError::VersionMismatch { version, .. }) if version == "v2"),
        "{stale:?}"
    );
    assert_eq!(
        world.batches.lock().unwrap().len(),
        batches,
        "the model is not even warmed up"
    );
    assert_eq!(version(&models, "m").await, "v2");
    assert_eq!(models.list()[0].problem, None);
}

#[tokio::test]
async fn rejects_invalid_loads_before_creating_a_slot() {
    let (_, models) = models(ServingOptions::default());
    for name in ["", "a/b", "a b", "ä", &"x".repeat(65)] {
        let rejected = models.load(name.to_owned(), load_from("v1")).await;
        assert!(
            matches!(rejected, Err(ModelError::NotLoadable(_))),
            "{rejected:?}"
        );
    }
    let options = json!({"poling": "last"}).as_object().cloned();
    let rejected = models
        .load(
            "m".to_owned(),
            ModelLoad {
                options,
                ..load_from("v1")
            },
        )
        .await
        .unwrap_err();
    assert!(
        rejected.to_string().contains("unknown field `poling`"),
        "{rejected}"
    );
    let rejected = models.load("m".to_owned(), ModelLoad::default()).await;
    assert!(
        matches!(rejected, Err(ModelError::Unknown(_))),
        "{rejected:?}"
    );
    assert_eq!(models.list(), []);
}
