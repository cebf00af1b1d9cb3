//! Workers that are killed, busy or no longer needed, as seen by callers; and large work.

use std::path::PathBuf;
use std::time::Duration;

use assay_core::execution::{ExecuteError, Execution};
use assay_core::worker_use;
use assay_tests::processes::{cpu_of, kill, workers_of};
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, service, service_with};

/// A service whose workers for programs can be distinguished from those of other tests.
async fn marked_service(count: usize) -> (Service, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("images");
    let service = service_with(|config| {
        std::os::unix::fs::symlink(&config.sandbox_workers.images, &link).unwrap();
        config.sandbox_workers.images.clone_from(&link);
        config.sandbox_workers.count = count;
    });
    (service.await, folder, link)
}

fn program(text: &str, tests: &Value) -> Value {
    json!({
        "completion": format!("```python\n{text}\n```"),
        "task": { "type": "code", "language": "python", "tests": tests, "limits": { "seconds": 30 } },
    })
}

fn execution(text: &str, queue_timeout: Duration) -> Execution {
    let (language, text) = ("python".to_owned(), text.to_owned());
    Execution {
        language,
        image: None,
        text,
        stdin: Vec::new(),
        files: Vec::new(),
        fetch: Vec::new(),
        linked: None,
        arguments: Vec::new(),
        seconds: 1.0,
        memory_bytes: None,
        queue_timeout,
    }
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn killed_workers_do_not_change_verdicts() {
    let (service, _folder, link) = marked_service(2).await;
    let batch = batch([program("print(1)", &json!([{"stdin": "", "stdout": "1"}]))]);
    let other = json!([{"stdin": "x", "stdout": "2"}]);
    // Starts the workers.
    assert_eq!(
        service.grade(&batch_of("print(2)", &other)).await.json()["results"][0]["verdict"],
        "accepted"
    );
    let idle = workers_of(&link);
    assert!(!idle.is_empty());
    idle.into_iter().for_each(kill);
    for _ in 0..2 {
        let reply = service.grade(&batch).await.json();
        let result = &reply["results"][0];
        assert_eq!(
            (&result["verdict"], &result["score"]),
            (&json!("accepted"), &json!(1.0)),
            "{result}"
        );
    }
}

fn batch_of(text: &str, tests: &Value) -> Value {
    batch([program(text, tests)])
}

#[tokio::test]
async fn repeated_deaths_of_workers_fail_the_item_without_caching() {
    let (service, _folder, link) = marked_service(1).await;
    let slow = "for i in range(60_000_000): pass\nprint(1)";
    let items = batch_of(slow, &json!([{"stdin": "", "stdout": "1"}]));
    let grading = service.grade(&items);
    let killing = async {
        loop {
            workers_of(&link).into_iter().for_each(kill);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let reply = tokio::select! { reply = grading => reply.json(), () = killing => unreachable!() };
    let result = &reply["results"][0];
    assert_eq!(
        (
            &result["outcome"],
            &result["score"],
            &result["reward"],
            &result["error"]["retryable"]
        ),
        (&json!("failed"), &Value::Null, &Value::Null, &json!(true)),
        "{result}"
    );
    let reply = service.grade(&items).await.json();
    let result = &reply["results"][0];
    assert_eq!(
        (&result["verdict"], &result["cached"]),
        (&json!("accepted"), &json!(false)),
        "{result}"
    );
}

#[tokio::test]
async fn a_busy_node_rejects_a_peer_before_it_compiles() {
    let (service, _folder, link) = marked_service(1).await;
    let endless = batch_of("while True: pass", &json!([{"stdin": "", "stdout": "1"}]));
    let grading = service.grade(&endless);
    let asking = async {
        until(|| {
            workers_of(&link)
                .into_iter()
                .any(|id| cpu_of(id) > Duration::from_millis(500))
        })
        .await;
        // Of the caller of the batch, whose requests do not preempt each other.
        let program = execution("print(41 + 1)", Duration::from_millis(50));
        let executing = service.node.programs().execute(program);
        let (executed, _) = worker_use::measured(&"local".into(), executing).await;
        assert!(matches!(executed, Err(ExecuteError::Busy)), "{executed:?}");
    };
    // Leaving this drops the batch.
    tokio::select! { reply = grading => panic!("too early: {reply:?}", reply = reply.json()), () = asking => {} }
    let executed = service
        .node
        .programs()
        .execute(execution("print(41 + 1)", Duration::from_secs(60)))
        .await
        .unwrap();
    assert_eq!(executed.stdout, b"42\n");
}

#[tokio::test]
async fn kills_a_program_when_its_client_disconnects() {
    let (service, _folder, link) = marked_service(1).await;
    let endless = batch_of("while True: pass", &json!([{"stdin": "", "stdout": "1"}]));
    let busy = {
        let grading = service.grade(&endless);
        let busy = async {
            until(|| {
                workers_of(&link)
                    .into_iter()
                    .any(|id| cpu_of(id) > Duration::from_millis(500))
            })
            .await;
            workers_of(&link)
        };
        tokio::select! { reply = grading => panic!("too early: {reply:?}", reply = reply.json()), busy = busy => busy }
    };
    // The limit of the program is 30 seconds of work, far more than this timeout.
    let gone = tokio::time::timeout(
        Duration::from_secs(5),
        until(|| workers_of(&link).is_disjoint(&busy)),
    )
    .await;
    assert!(gone.is_ok(), "the worker continues without a client");
}

#[tokio::test]
async fn lists_ten_thousand_tests_that_print_their_limit() {
    let service = service().await;
    let tests: Vec<Value> = (0..10_000)
        .map(|n| json!({"stdin": n.to_string(), "stdout": "0"}))
        .collect();
    let text = "n = int(input())\nprint(0 if n % 2 else 'x' * 16_000)";
    let items = batch([json!({
        "completion": format!("```python\n{text}\n```"),
        "task": { "type": "code", "language": "python", "tests": tests, "score": "fraction", "limits": { "output_kb": 16 } },
    })]);
    let reply = service.grade(&items).await.json();
    let result = &reply["results"][0];
    assert_eq!(
        (&result["verdict"], &result["score"]),
        (&json!("partial"), &json!(0.5)),
        "{}",
        result["error"]
    );
    assert_eq!(result["recorded"], true);
    let results = result["evidence"]["results"].as_array().unwrap();
    assert_eq!(results.len(), 10_000);
    assert!(results.iter().enumerate().all(|(n, test)| test[0]
        == if n % 2 == 1 {
            "accepted"
        } else {
            "wrong_answer"
        }));
    let page = service
        .get(&format!("/v1/grades/{}", result["grade"].as_str().unwrap()))
        .await
        .json();
    assert_eq!(
        page["evidence"]["results"].as_array().map(Vec::len),
        Some(10_000)
    );
}

#[tokio::test]
async fn grades_a_completion_of_one_megabyte() {
    let service = service().await;
    let text = format!("# {}\nprint(1)", "x".repeat(1_000_000));
    let reply = service
        .grade(&batch_of(&text, &json!([{"stdin": "", "stdout": "1"}])))
        .await
        .json();
    let result = &reply["results"][0];
    assert_eq!(
        (&result["outcome"], &result["recorded"]),
        (&json!("graded"), &json!(true)),
        "{result}"
    );
    assert!(["accepted", "too_long"].contains(&result["verdict"].as_str().unwrap()));
}

#[tokio::test]
async fn a_replay_runs_the_program_again() {
    let (service, _folder, link) = marked_service(1).await;
    let batch = batch([program("print(1)", &json!([{"stdin": "", "stdout": "1"}]))]);
    let graded = service.grade(&batch).await.json();
    let id = graded["results"][0]["grade"].as_str().unwrap().to_owned();
    let stop_all = async || {
        workers_of(&link).into_iter().for_each(kill);
        until(|| workers_of(&link).is_empty()).await;
    };
    stop_all().await;
    let again = service.grade(&batch).await.json();
    assert_eq!(again["results"][0]["cached"], true);
    assert!(workers_of(&link).is_empty(), "no worker was needed");
    let path = format!("/v1/grades/{id}/replay");
    for _ in 0..2 {
        let replay = service.post(&path, &Value::Null).await;
        assert_eq!(replay.json()["flipped"], false);
        assert!(!workers_of(&link).is_empty(), "a worker was needed");
        stop_all().await;
    }
}
