//! Workers that die, hang or are killed: their requests are retried, or fail with the right error.

use std::time::Duration;

use assay_core::worker_use::measured;
use assay_node::sandboxes::Work;
use assay_tests::processes::{cpu_of, kill, workers_of};
use assay_wasm::{Folder, IMAGES};
use assay_worker::program::{End, Reply, Request, WORK_PER_SECOND};
use assay_worker::{WorkerError, WorkerOptions, WorkerPool};

use crate::programs::{TIMEOUT, ask, compile, frame, images, pool, request, run};

/// A pool whose workers can be distinguished from those of other tests by a separate link to the
/// image folder.
pub(crate) fn marked_pool(count: usize) -> (WorkerPool, tempfile::TempDir, std::path::PathBuf) {
    marked_pool_with(count, u32::MAX)
}

/// The same, with workers that are replaced after `uses` requests.
pub(crate) fn marked_pool_with(
    count: usize,
    uses: u32,
) -> (WorkerPool, tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("images");
    std::os::unix::fs::symlink(images(), &link).unwrap();
    let program = env!("CARGO_BIN_EXE_assay-measure").into();
    let arguments = Work::Programs(Folder::new(&link)).arguments(&[]);
    let workers = WorkerPool::new(WorkerOptions {
        program,
        arguments,
        count,
        uses,
    });
    (workers, folder, link)
}

/// Waits until the worker runs a program: until it has used more CPU time than any other part of a
/// request takes.
pub(crate) async fn runs(worker: u32) {
    let enough = cpu_of(worker) + Duration::from_millis(300);
    while cpu_of(worker) < enough {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn retries_the_request_of_a_killed_worker() {
    let (workers, _folder, link) = marked_pool(1);
    let code = compile(
        &workers,
        "x = 0\nfor i in range(10_000_000): x += i\nprint(x)",
    )
    .await;
    let before = workers_of(&link);
    assert_eq!(before.len(), 1);
    let request = request(&code, "");
    let replied = workers.ask(&request, crate::programs::TIMEOUT);
    let worker = before.iter().copied().next().unwrap();
    let killer = async {
        runs(worker).await;
        kill(worker);
    };
    let (reply, ()) = tokio::join!(replied, killer);
    let Reply::Ran(ran) = reply.unwrap() else {
        panic!("not run")
    };
    assert_eq!(
        (ran.end, ran.stdout.as_slice()),
        (End::Finished, b"49999995000000\n".as_slice())
    );
    assert!(
        workers_of(&link).is_disjoint(&before),
        "another worker took the place of the dead one"
    );
    workers.stop().await;
    assert!(workers_of(&link).is_empty(), "workers end with their pool");
}

#[tokio::test]
async fn kills_and_replaces_workers_that_overrun() {
    let (workers, _folder, link) = marked_pool(1);
    let code = compile(&workers, "while True: pass").await;
    let hung = ask(&workers, &code, "", Duration::from_millis(300)).await;
    assert!(matches!(hung, Err(WorkerError::Overran { .. })), "{hung:?}");
    let code = compile(&workers, "print(input())").await;
    assert_eq!(run(&workers, &code, "next\n").await.stdout, b"next\n");
    assert_eq!(workers_of(&link).len(), 1);
    workers.stop().await;
}

#[tokio::test]
async fn an_abandoned_request_frees_its_worker() {
    let workers = pool(1);
    let code = compile(&workers, "while True: pass").await;
    let dropped = tokio::time::timeout(
        Duration::from_millis(100),
        ask(&workers, &code, "", crate::programs::TIMEOUT),
    )
    .await;
    assert!(dropped.is_err());
    let code = compile(&workers, "print(5)").await;
    assert_eq!(run(&workers, &code, "").await.stdout, b"5\n");
    workers.stop().await;
}

#[tokio::test]
async fn transfers_large_frames_in_both_directions() {
    let workers = pool(1);
    let code = compile(&workers, "import sys\nsys.stdout.write(sys.stdin.read())").await;
    let text = "0123456789abcdef".repeat(60_000);
    assert_eq!(run(&workers, &code, &text).await.stdout, text.as_bytes());
    workers.stop().await;
}

#[tokio::test]
async fn reports_a_program_that_is_not_a_worker() {
    let nothing = WorkerOptions {
        program: "/nonexistent".into(),
        arguments: Vec::new(),
        count: 1,
        uses: 1,
    };
    let result = WorkerPool::new(nothing)
        .ask(&Request::Images, crate::programs::TIMEOUT)
        .await;
    assert!(
        matches!(result, Err(WorkerError::Start { .. })),
        "{result:?}"
    );
    let dies = WorkerOptions {
        program: "/bin/false".into(),
        arguments: Vec::new(),
        count: 1,
        uses: 1,
    };
    let result = WorkerPool::new(dies)
        .ask(&Request::Images, crate::programs::TIMEOUT)
        .await;
    assert!(matches!(result, Err(WorkerError::Died(_))), "{result:?}");
    let stopped = pool(1);
    stopped.stop().await;
    let result = stopped
        .ask(&Request::Images, crate::programs::TIMEOUT)
        .await;
    assert!(matches!(result, Err(WorkerError::Stopping)), "{result:?}");
}

#[tokio::test]
async fn memory_and_descriptors_stay_flat() {
    let (workers, _folder, link) = marked_pool(1);
    let greedy = compile(&workers, "a = []\nwhile True: a.append(bytearray(1 << 20))").await;
    let loud = compile(&workers, "while True: print('x' * 1000)").await;
    let deep = compile(&workers, "def f(): return f()\nf()").await;
    let round = async || {
        assert_eq!(run(&workers, &greedy, "").await.end, End::OutOfMemory);
        assert_eq!(run(&workers, &loud, "").await.end, End::OutOfOutput);
        assert!(matches!(run(&workers, &deep, "").await.end, End::Raised(_)));
    };
    let seen = || {
        let id = workers_of(&link).into_iter().next().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap()
            .trim();
        let kib: u64 = resident.split_whitespace().next().unwrap().parse().unwrap();
        (
            id,
            std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count(),
            kib,
        )
    };
    for _ in 0..3 {
        round().await;
    }
    let (id, files, kib) = seen();
    for _ in 0..10 {
        round().await;
    }
    let (same_id, same_files, later_kib) = seen();
    assert_eq!(
        (same_id, same_files),
        (id, files),
        "one worker, the same descriptors"
    );
    assert!(
        later_kib < kib + 16 * 1024,
        "{kib} KiB became {later_kib} KiB"
    );
    workers.stop().await;
}

#[tokio::test]
async fn a_worker_inherits_no_descriptors_or_environment() {
    let (workers, _folder, link) = marked_pool(1);
    let code = compile(&workers, "print(5)").await;
    run(&workers, &code, "").await;
    let id = workers_of(&link).into_iter().next().unwrap();
    let read = |name: &str| std::fs::read(format!("/proc/{id}/{name}")).unwrap();
    assert_eq!(
        read("environ"),
        b"TZ=UTC0\0",
        "the environment contains only the time zone"
    );
    for task in std::fs::read_dir(format!("/proc/{id}/task"))
        .unwrap()
        .flatten()
    {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap();
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap()
                .trim()
                .to_owned()
        };
        assert_eq!(
            (field("Seccomp:"), field("NoNewPrivs:")),
            ("2".to_owned(), "1".to_owned()),
            "every thread is filtered"
        );
    }
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().count();
    assert!(
        open <= 5 + IMAGES.len(),
        "the standard streams, the images, of which one has two files, the kernel's page map: \
         {open}"
    );
    let files = std::fs::read_dir(format!("/proc/{id}/fd"))
        .unwrap()
        .flatten();
    let has_page_map = files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|to| to.ends_with("pagemap"));
    assert!(
        has_page_map,
        "instances are restored with the kernel's page scan"
    );
    let limits = String::from_utf8(read("limits")).unwrap();
    let hard = |name: &str| {
        limits
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .split_whitespace()
            .rev()
            .nth(1)
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (
            hard("Max file size"),
            hard("Max open files"),
            hard("Max core file")
        ),
        ("0".into(), "32".into(), "0".into())
    );
    workers.stop().await;
}

/// A killed parent cannot stop its workers, so they exit by themselves, even while they run a
/// program.
#[tokio::test]
async fn a_busy_worker_exits_when_its_input_closes() {
    let mut worker = tokio::process::Command::new(env!("CARGO_BIN_EXE_assay-measure"))
        .arg("__sandbox_worker")
        .args(Work::Programs(Folder::new(&images())).arguments(&[]))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let workers = pool(1);
    let code = compile(&workers, "while True: pass").await;
    workers.stop().await;
    let Request::Run(mut run) = request(&code, "") else {
        panic!("not a run")
    };
    run.limits.work = 600 * WORK_PER_SECOND;
    let frame = frame(&Request::Run(run));
    let mut requests = worker.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut requests, &frame)
        .await
        .unwrap();
    runs(worker.id().unwrap()).await;
    assert!(worker.try_wait().unwrap().is_none(), "the worker is busy");
    drop(requests);
    let ended = tokio::time::timeout(Duration::from_secs(5), worker.wait()).await;
    assert!(ended.is_ok(), "the worker exits before its loop ends");
}

/// A caller is not charged for the work of others.
#[tokio::test]
async fn waiting_for_a_worker_is_measured_apart() {
    let workers = pool(1);
    let (wait, work) = (Duration::from_millis(60), Duration::from_millis(20));
    let first = workers.acquire(TIMEOUT).await.unwrap();
    let release = async {
        tokio::time::sleep(wait).await;
        drop(first);
    };
    let caller = "caller".into();
    let second = measured(&caller, async {
        let permit = workers.acquire(TIMEOUT).await.unwrap();
        tokio::time::sleep(work).await;
        drop(permit);
    });
    let ((), ((), time)) = tokio::join!(release, second);
    assert!(time.waited >= wait / 2 && time.occupied >= work, "{time:?}");
    assert_eq!(time.charged(time.waited + time.occupied), time.occupied);
    let ((), unused) = measured(&caller, async {}).await;
    assert_eq!(unused.charged(wait), wait);
}
