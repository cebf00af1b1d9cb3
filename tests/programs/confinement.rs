//! Confinement of worker processes: a compromised worker has almost no access to the system, and
//! events outside of a worker never become verdicts.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::Duration;

use assay_node::sandboxes::Work;
use assay_tests::processes::{kill, workers_of};
use assay_wasm::Folder;
use assay_worker::program::{End, Reply};
use assay_worker::{Mechanism, WorkerError, WorkerOptions, WorkerPool};
use serde_json::Value;

use crate::programs::workers::{marked_pool, marked_pool_with};
use crate::programs::{ask, compile, images, request, run};

const NOT_PERMITTED: i64 = 1;
const NO_ACCESS: i64 = 13;
const BAD_ADDRESS: i64 = 14;
const UNREACHABLE: i64 = 101;

/// The results of system calls of a process without confinement, with isolation, and fully
/// confined.
fn escape() -> Value {
    escape_with(&[])
}

/// The same with further arguments.
fn escape_with(arguments: &[&str]) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let Output {
        stdout,
        stderr,
        status,
    } = Command::new(env!("CARGO_BIN_EXE_assay-measure"))
        .args(["__escape", &port])
        .args(arguments)
        .output()
        .unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).unwrap()
}

/// Asserts that a call works without confinement and fails when confined. Returns its error after
/// isolation alone.
fn assert_lost(escape: &Value, what: &str) -> i64 {
    assert_eq!(
        escape["free"][what], 0,
        "`{what}` works without confinement: {escape}"
    );
    assert_eq!(
        escape["confined"][what], NOT_PERMITTED,
        "the filter rejects `{what}`: {escape}"
    );
    escape["isolated"][what].as_i64().unwrap()
}

#[test]
fn a_worker_cannot_signal_other_processes() {
    let escape = escape();
    for call in ["kill", "tgkill"] {
        assert_eq!(
            assert_lost(&escape, call),
            NOT_PERMITTED,
            "Landlock forbids it as well"
        );
    }
    assert_eq!(escape["confined"]["tgkill_itself"], 0, "a worker can abort");
}

#[test]
fn a_worker_cannot_use_other_ioctls() {
    assert_eq!(
        assert_lost(&escape(), "ioctl"),
        0,
        "only the filter restricts ioctls"
    );
}

#[test]
fn a_worker_cannot_open_files() {
    let escape = escape();
    for what in ["open", "create"] {
        assert_eq!(
            assert_lost(&escape, what),
            NO_ACCESS,
            "Landlock forbids it as well"
        );
    }
}

#[test]
fn a_worker_cannot_start_programs() {
    assert_eq!(
        assert_lost(&escape(), "program"),
        NO_ACCESS,
        "Landlock forbids it as well"
    );
}

#[test]
fn a_worker_cannot_run_new_code() {
    let escape = escape();
    for code in ["code", "published_code", "writable_code"] {
        assert_eq!(
            assert_lost(&escape, code),
            0,
            "images are mapped after isolation"
        );
    }
}

#[test]
fn a_worker_that_compiles_cannot_write_to_code() {
    let escape = escape_with(&["compiles"]);
    assert_lost(&escape, "code");
    assert_lost(&escape, "writable_code");
    assert_eq!(escape["confined"]["published_code"], 0, "{escape}");
}

#[test]
fn a_worker_cannot_share_memory() {
    assert_eq!(
        assert_lost(&escape(), "shared_memory"),
        0,
        "no other process shares its namespace"
    );
}

#[test]
fn a_worker_cannot_read_the_memory_of_others() {
    let (escape, what) = (escape(), "memory_of_parent");
    assert_eq!(
        escape["free"][what], BAD_ADDRESS,
        "reading is allowed without confinement: {escape}"
    );
    assert_eq!(
        escape["isolated"][what], NOT_PERMITTED,
        "Landlock and the user namespace forbid it: {escape}"
    );
    assert_eq!(
        escape["confined"][what], NOT_PERMITTED,
        "the filter does as well: {escape}"
    );
}

#[test]
fn a_worker_cannot_reach_the_network() {
    let isolated = assert_lost(&escape(), "connect");
    assert!(
        [NO_ACCESS, UNREACHABLE].contains(&isolated),
        "Landlock or the empty network forbids it: {isolated}"
    );
}

#[tokio::test]
async fn a_worker_runs_in_its_own_namespaces() {
    let (workers, _folder, link) = marked_pool(1);
    let confinement = workers.confinement().await.unwrap();
    for mechanism in Mechanism::ALL {
        assert!(
            confinement.has(mechanism),
            "`{}` is required to run these tests",
            mechanism.as_str()
        );
    }
    let id = workers_of(&link).into_iter().next().unwrap();
    let of = |process: &str, kind: &str| {
        std::fs::read_link(format!("/proc/{process}/ns/{kind}")).unwrap()
    };
    for kind in ["user", "net", "ipc", "uts"] {
        assert_ne!(of(&id.to_string(), kind), of("self", kind), "{kind}");
    }
    workers.stop().await;
}

#[tokio::test]
async fn a_worker_rejects_unknown_mechanisms() {
    let program = env!("CARGO_BIN_EXE_assay-measure").into();
    let mut arguments = Work::Programs(Folder::new(&images())).arguments(&[]);
    // An unknown mechanism: the worker rejects its arguments and does not start.
    arguments[2] = "moat".into();
    let workers = WorkerPool::new(WorkerOptions {
        program,
        arguments,
        count: 1,
        uses: u32::MAX,
    });
    let result = workers.confinement().await;
    assert!(
        matches!(&result, Err(WorkerError::Died(death)) if !death.is_crash()),
        "{result:?}"
    );
}

#[tokio::test]
async fn stderr_of_workers_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("written");
    let before = resident();
    let workers = WorkerPool::new(WorkerOptions {
        program: concat!(env!("CARGO_MANIFEST_DIR"), "/programs/scripts/flooding.sh").into(),
        arguments: vec![written.clone().into()],
        count: 1,
        uses: u32::MAX,
    });
    workers.warm().unwrap();
    while !written.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(
        resident() < before + 20_000,
        "50 MB on standard error are read and dropped"
    );
    workers.stop().await;
}

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn workers_are_replaced_after_their_uses() {
    let (workers, _folder, link) = marked_pool_with(1, 3);
    let mut seen = BTreeSet::new();
    let code = compile(&workers, "print(5)").await;
    for _ in 0..7 {
        seen.extend(workers_of(&link));
        assert_eq!(run(&workers, &code, "").await.stdout, b"5\n");
    }
    assert!(
        seen.len() >= 3,
        "eight requests, three per worker: {seen:?}"
    );
    workers.stop().await;
    assert!(workers_of(&link).is_empty());
}

/// Killing idle workers has no effect, and killing workers repeatedly is an error of the service.
#[tokio::test]
async fn a_killed_worker_never_causes_a_verdict() {
    let (workers, _folder, link) = marked_pool(2);
    workers.warm().unwrap();
    let code = compile(&workers, "print(5)").await;
    let idle = workers_of(&link);
    assert_eq!(idle.len(), 2);
    idle.iter().copied().for_each(kill);
    assert_eq!(run(&workers, &code, "").await.stdout, b"5\n");
    let code = compile(&workers, "while True: pass").await;
    let (request, stop) = (
        request(&code, ""),
        tokio_util::sync::CancellationToken::new(),
    );
    let killer = tokio::spawn({
        let (link, stop) = (link.clone(), stop.clone());
        async move {
            let mut killed = 0;
            while !stop.is_cancelled() {
                for id in workers_of(&link) {
                    kill(id);
                    killed += 1;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            killed
        }
    });
    let result = workers
        .ask_untrusted(&request, crate::programs::TIMEOUT)
        .await;
    stop.cancel();
    assert!(killer.await.unwrap() >= 3);
    assert!(
        matches!(&result, Err(WorkerError::Died(death)) if !death.is_crash()),
        "{result:?}"
    );
    workers.stop().await;
}

#[tokio::test]
async fn distinguishes_crashes_of_workers_from_kills() {
    let (workers, _folder, link) = marked_pool(1);
    let code = compile(&workers, "while True: pass").await;
    let run = request(&code, "");
    let request = workers.ask(&run, crate::programs::TIMEOUT);
    let crasher = async {
        loop {
            for id in workers_of(&link) {
                let id = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
                // It may have ended a moment ago.
                let _ = rustix::process::kill_process(id, rustix::process::Signal::SEGV);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let result = tokio::select! { result = request => result, () = crasher => unreachable!() };
    assert!(
        matches!(&result, Err(WorkerError::Died(death)) if death.is_crash()),
        "{result:?}"
    );
    workers.stop().await;
}

#[tokio::test]
async fn programs_and_queries_use_separate_workers() {
    let (programs, _folder, _link) = marked_pool(1);
    let program = env!("CARGO_BIN_EXE_assay-measure").into();
    let arguments = Work::Queries.arguments(&[]);
    let queries = programs.sibling(WorkerOptions {
        program,
        arguments,
        count: 1,
        uses: u32::MAX,
    });
    let code = compile(&programs, "print(5)").await;
    assert_eq!(run(&programs, &code, "").await.stdout, b"5\n");
    let probe = <assay_worker::query::Request as assay_worker::WorkerRequest>::probe();
    assert!(matches!(
        queries.ask(&probe, crate::programs::TIMEOUT).await,
        Ok(assay_worker::query::Reply::Built(Ok(_)))
    ));
    // Each exits when it receives a request of the other kind.
    let result = ask(&queries, &code, "", crate::programs::TIMEOUT).await;
    assert!(matches!(result, Err(WorkerError::Died(_))), "{result:?}");
    let result = programs.ask(&probe, crate::programs::TIMEOUT).await;
    assert!(matches!(result, Err(WorkerError::Died(_))), "{result:?}");
    // They share one permit.
    let permit = programs.acquire(Duration::MAX).await.unwrap();
    assert!(matches!(
        queries.acquire(Duration::from_millis(10)).await.map(drop),
        Err(WorkerError::Busy)
    ));
    drop(permit);
    assert!(queries.acquire(Duration::from_secs(10)).await.is_ok());
    programs.stop().await;
    queries.stop().await;
}

#[tokio::test]
async fn replaces_a_worker_whose_interpreter_was_corrupted() {
    let (workers, _folder, link) = marked_pool(1);
    // Loads a constant far beyond the memory of the instance.
    let text = "
import dis
def f(): return 1
op = dis.opmap
far = [op['EXTENDED_ARG'], 0x0f, op['EXTENDED_ARG'], 0xff]
far += [op['EXTENDED_ARG'], 0xff, op['LOAD_CONST'], 0xff]
code = bytes([op['RESUME'], 0] + far + [op['RETURN_VALUE'], 0])
f.__code__ = f.__code__.replace(co_code=code)
f()";
    let code = compile(&workers, text).await;
    let before = workers_of(&link);
    let Reply::Ran(ran) = workers
        .ask(&request(&code, ""), crate::programs::TIMEOUT)
        .await
        .unwrap()
    else {
        panic!("not run")
    };
    assert!(
        matches!(&ran.end, End::Raised(how) if how.contains("broke the interpreter")),
        "{ran:?}"
    );
    // The killed process ends a moment later.
    for _ in 0..2_000 {
        if workers_of(&link).is_disjoint(&before) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(workers_of(&link).is_disjoint(&before));
    workers.stop().await;
}
