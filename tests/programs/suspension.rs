//! Workers that are stopped while another caller has their turn.

use std::process::Stdio;
use std::time::Duration;

use assay_core::worker_use::measured;
use assay_node::sandboxes::Work;
use assay_tests::processes::{kill, workers_of};
use assay_wasm::Folder;
use assay_worker::program::{End, Reply, Request, Run, WORK_PER_SECOND};
use rustix::process::{Pid, Signal, kill_process};

use crate::programs::workers::{marked_pool, runs};
use crate::programs::{TIMEOUT, compile, frame, images, request};

async fn until(mut is_true: impl FnMut() -> bool) {
    while !is_true() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process is stopped.
fn is_stopped(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().map(str::trim_start);
    state.is_some_and(|state| state.starts_with('T'))
}

#[tokio::test]
async fn a_suspended_program_has_the_same_result() {
    let (workers, _folder, link) = marked_pool(1);
    let endless = compile(&workers, "x = 0\nwhile True: x += 1").await;
    let short = compile(&workers, "print(5)").await;
    let mut request = request(&endless, "");
    let Request::Run(Run { limits, .. }) = &mut request else {
        unreachable!("a program runs")
    };
    limits.work = WORK_PER_SECOND;
    let Reply::Ran(expected) = workers.ask(&request, TIMEOUT).await.unwrap() else {
        panic!("not run")
    };
    assert_eq!(expected.end, End::OutOfWork);
    let worker = workers_of(&link).into_iter().next().unwrap();
    let caller = "first".into();
    let suspended = measured(&caller, workers.ask(&request, TIMEOUT));
    let other = async {
        runs(worker).await;
        let caller = "second".into();
        let acquired = measured(&caller, workers.acquire(TIMEOUT)).await.0;
        let mut permit = acquired.unwrap();
        until(|| is_stopped(worker)).await;
        let request = crate::programs::request(&short, "");
        assert!(matches!(
            permit.ask(&request, TIMEOUT).await,
            Ok(Reply::Ran(ran)) if ran.stdout == b"5\n"
        ));
        assert!(is_stopped(worker), "it was not killed");
    };
    let ((reply, _), ()) = tokio::join!(suspended, other);
    let Reply::Ran(ran) = reply.unwrap() else {
        panic!("not run")
    };
    assert_eq!(ran, expected);
    workers.stop().await;
}

/// A killed parent cannot continue its workers.
#[tokio::test]
async fn a_stopped_worker_exits_when_its_parent_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("images");
    std::os::unix::fs::symlink(images(), &link).unwrap();
    // The shell becomes a process that is the parent of the worker and does nothing.
    let mut parent = tokio::process::Command::new("/bin/sh")
        .args(["-c", "exec 3<&0; \"$@\" <&3 & exec sleep 1000", "sh"])
        .arg(env!("CARGO_BIN_EXE_assay-measure"))
        .arg("__sandbox_worker")
        .args(Work::Programs(Folder::new(&link)).arguments(&[]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let requests = parent.stdin.take().unwrap();
    let worker = loop {
        match workers_of(&link).first() {
            Some(worker) => break *worker,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    // It replies when it is ready.
    ask_for_images(requests, parent.stdout.take().unwrap(), async || {
        let id = Pid::from_raw(i32::try_from(worker).unwrap()).unwrap();
        kill_process(id, Signal::STOP).unwrap();
        until(|| is_stopped(worker)).await;
        kill(parent.id().unwrap());
        parent.wait().await.unwrap();
    })
    .await;
    until(|| workers_of(&link).is_empty()).await;
}

/// Asks a worker for its images, and calls `then` before its input is closed.
async fn ask_for_images(
    mut requests: tokio::process::ChildStdin,
    mut replies: tokio::process::ChildStdout,
    then: impl AsyncFnOnce(),
) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let probe = <assay_worker::program::Request as assay_worker::WorkerRequest>::probe();
    requests.write_all(&frame(&probe)).await.unwrap();
    let length = replies.read_u32_le().await.unwrap();
    assert!(length > 1);
    then().await;
}
