//! Cells die, hang and are killed; what they were asked is answered nevertheless, or told as what
//! it is.

use std::time::Duration;

use assay_cell::program::{End, Reply, Request};
use assay_cell::{CellError, CellOptions, Cells, Words};
use assay_node::sandboxes::Work;
use assay_tests::processes::{cells_of, kill};

use crate::{ask, compile, images, pool, request, run};

/// A pool whose cells can be distinguished from those of other tests: its image folder is a link of
/// its own.
pub(crate) fn marked_pool(count: usize) -> (Cells, tempfile::TempDir, std::path::PathBuf) {
    marked_pool_with(count, u32::MAX)
}

/// The same, with cells that are replaced after `uses` requests.
pub(crate) fn marked_pool_with(
    count: usize,
    uses: u32,
) -> (Cells, tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("images");
    std::os::unix::fs::symlink(images(), &link).unwrap();
    let program = env!("CARGO_BIN_EXE_assay-test-cell").into();
    let arguments = Work::Programs(link.clone()).arguments(&[]);
    let cells = Cells::new(CellOptions {
        program,
        arguments,
        count,
        uses,
    });
    (cells, folder, link)
}

#[tokio::test]
async fn a_killed_cell_costs_nothing_but_a_second_try() {
    let (cells, _folder, link) = marked_pool(1);
    let code = compile(&cells, "x = 0\nfor i in range(3_000_000): x += i\nprint(x)").await;
    let before = cells_of(&link);
    assert_eq!(before.len(), 1);
    let request = request(&code, "");
    let asked = cells.ask(&request, crate::PATIENCE);
    let killer = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        before.iter().copied().for_each(kill);
    };
    let (reply, ()) = tokio::join!(asked, killer);
    let Reply::Ran(ran) = reply.unwrap() else {
        panic!("not run")
    };
    assert_eq!(
        (ran.end, ran.stdout.as_slice()),
        (End::Finished, b"4499998500000\n".as_slice())
    );
    assert!(
        cells_of(&link).is_disjoint(&before),
        "another cell took the place of the dead one"
    );
    cells.stop().await;
    assert!(cells_of(&link).is_empty(), "cells end with their pool");
}

#[tokio::test]
async fn a_cell_that_overruns_is_killed_and_replaced() {
    let (cells, _folder, link) = marked_pool(1);
    let code = compile(&cells, "while True: pass").await;
    let hung = ask(&cells, &code, "", Duration::from_millis(300)).await;
    assert!(matches!(hung, Err(CellError::Overran { .. })), "{hung:?}");
    let code = compile(&cells, "print(input())").await;
    assert_eq!(run(&cells, &code, "next\n").await.stdout, b"next\n");
    assert_eq!(cells_of(&link).len(), 1);
    cells.stop().await;
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_frees_its_cell() {
    let cells = pool(1);
    let code = compile(&cells, "while True: pass").await;
    let dropped = tokio::time::timeout(
        Duration::from_millis(100),
        ask(&cells, &code, "", crate::PATIENCE),
    )
    .await;
    assert!(dropped.is_err());
    let code = compile(&cells, "print(5)").await;
    assert_eq!(run(&cells, &code, "").await.stdout, b"5\n");
    cells.stop().await;
}

#[tokio::test]
async fn large_frames_pass_both_ways() {
    let cells = pool(1);
    let code = compile(&cells, "import sys\nsys.stdout.write(sys.stdin.read())").await;
    let text = "0123456789abcdef".repeat(60_000);
    assert_eq!(run(&cells, &code, &text).await.stdout, text.as_bytes());
    cells.stop().await;
}

#[tokio::test]
async fn what_is_no_cell_is_told() {
    let nothing = CellOptions {
        program: "/nonexistent".into(),
        arguments: Vec::new(),
        count: 1,
        uses: 1,
    };
    let asked = Cells::new(nothing)
        .ask(&Request::Images, crate::PATIENCE)
        .await;
    assert!(matches!(asked, Err(CellError::Start { .. })), "{asked:?}");
    let dies = CellOptions {
        program: "/bin/false".into(),
        arguments: Vec::new(),
        count: 1,
        uses: 1,
    };
    let asked = Cells::new(dies)
        .ask(&Request::Images, crate::PATIENCE)
        .await;
    assert!(matches!(asked, Err(CellError::Died(_))), "{asked:?}");
    let stopped = pool(1);
    stopped.stop().await;
    let asked = stopped.ask(&Request::Images, crate::PATIENCE).await;
    assert!(matches!(asked, Err(CellError::Stopping)), "{asked:?}");
}

#[tokio::test]
async fn memory_and_descriptors_stay_flat() {
    let (cells, _folder, link) = marked_pool(1);
    let greedy = compile(&cells, "a = []\nwhile True: a.append(bytearray(1 << 20))").await;
    let loud = compile(&cells, "while True: print('x' * 1000)").await;
    let deep = compile(&cells, "def f(): return f()\nf()").await;
    let round = async || {
        assert_eq!(run(&cells, &greedy, "").await.end, End::OutOfMemory);
        assert_eq!(run(&cells, &loud, "").await.end, End::OutOfOutput);
        assert!(matches!(run(&cells, &deep, "").await.end, End::Raised(_)));
    };
    let seen = || {
        let id = cells_of(&link).into_iter().next().unwrap();
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
        "one cell, the same descriptors"
    );
    assert!(
        later_kib < kib + 16 * 1024,
        "{kib} KiB became {later_kib} KiB"
    );
    cells.stop().await;
}

#[tokio::test]
async fn a_cell_holds_nothing_it_does_not_need() {
    let (cells, _folder, link) = marked_pool(1);
    let code = compile(&cells, "print(5)").await;
    run(&cells, &code, "").await;
    let id = cells_of(&link).into_iter().next().unwrap();
    let read = |name: &str| std::fs::read(format!("/proc/{id}/{name}")).unwrap();
    assert_eq!(
        read("environ"),
        b"TZ=UTC0\0",
        "no environment but the time of the world"
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
        open <= 5,
        "the standard streams, the image, the kernel's page map: {open}"
    );
    let files = std::fs::read_dir(format!("/proc/{id}/fd"))
        .unwrap()
        .flatten();
    let has_page_map = files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .any(|to| to.ends_with("pagemap"));
    assert!(
        has_page_map,
        "the engine resets memory by the kernel's page scan"
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
    cells.stop().await;
}

/// A parent that is killed cannot end its cells; they see to it themselves, whatever they run.
#[tokio::test]
async fn a_busy_cell_ends_when_its_requests_end() {
    let mut cell = tokio::process::Command::new(env!("CARGO_BIN_EXE_assay-test-cell"))
        .arg("__cell")
        .args(Work::Programs(images()).arguments(&[]))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let cells = pool(1);
    let code = compile(&cells, "while True: pass").await;
    cells.stop().await;
    let frame = postcard::to_extend(&request(&code, ""), vec![Request::KIND]).unwrap();
    let mut requests = cell.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(
        &mut requests,
        &u32::try_from(frame.len()).unwrap().to_le_bytes(),
    )
    .await
    .unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut requests, &frame)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(cell.try_wait().unwrap().is_none(), "the cell is busy");
    drop(requests);
    let ended = tokio::time::timeout(Duration::from_secs(5), cell.wait()).await;
    assert!(ended.is_ok(), "the loop would take longer than that");
}
