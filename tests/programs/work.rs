//! Work is deterministic: the same program on the same input gives the same result, also under
//! load.

use assay_worker::program::End;

use crate::programs::{compile, pool, run};

/// How often a run is repeated, first alone and then under load.
const REPEATS: usize = 1_000;

/// Prints everything in which two runs could differ: hashes, addresses, random numbers, clocks, and
/// objects left in memory.
const PRINTS_STATE: &str = "
import gc, os, random, sys, time, uuid
print(hash('a'), id(object()) % 97, random.random(), os.urandom(4))
print(time.time(), time.perf_counter_ns(), uuid.uuid4(), len(gc.get_objects()))
print(sorted({str(i): i for i in range(50)}.items())[:3], {chr(97 + i) for i in range(20)})
print(sum(map(int, input().split())), len(sys.modules))
";

#[tokio::test]
async fn repeated_runs_give_identical_results() {
    let workers = pool(2);
    let code = compile(&workers, PRINTS_STATE).await;
    let first = run(&workers, &code, "1 2 3\n").await;
    assert_eq!(first.end, End::Finished, "{first:?}");
    // Sequentially, without other load.
    for _ in 0..REPEATS {
        assert_eq!(run(&workers, &code, "1 2 3\n").await, first);
    }
    // Concurrently with other programs that keep both workers busy.
    let busy = compile(&workers, "x = 0\nfor i in range(20_000): x += i\nprint(x)").await;
    let requests = (0..REPEATS + REPEATS / 3).map(|number| {
        let (workers, code, busy, first) = (&workers, &code, &busy, &first);
        async move {
            if number % 4 == 0 {
                run(workers, busy, "").await;
            } else {
                assert_eq!(run(workers, code, "1 2 3\n").await, *first);
            }
        }
    });
    futures::future::join_all(requests).await;
    workers.stop().await;
}

#[tokio::test]
async fn a_run_leaves_no_state_for_the_next() {
    let workers = pool(1);
    let code = compile(
        &workers,
        "import builtins, sys\nprint(hasattr(builtins, 'mark'), 'mark' in \
         sys.modules)\nbuiltins.mark = 1\nsys.modules['mark'] = 1",
    )
    .await;
    for _ in 0..3 {
        assert_eq!(run(&workers, &code, "").await.stdout, b"False False\n");
    }
    workers.stop().await;
}

#[tokio::test]
async fn charges_sleep_and_clock_as_work() {
    let workers = pool(1);
    let code = compile(
        &workers,
        "import time\na = time.time()\ntime.sleep(2)\nprint(2 <= time.time() - a < 2.1)",
    )
    .await;
    let ran = run(&workers, &code, "").await;
    assert_eq!(
        (ran.stdout.as_slice(), ran.end),
        (b"True\n".as_slice(), End::Finished)
    );
    assert!(ran.work > 2 * assay_worker::program::WORK_PER_SECOND);
    let code = compile(&workers, "import time\ntime.sleep(10**9)").await;
    assert_eq!(run(&workers, &code, "").await.end, End::OutOfWork);
    workers.stop().await;
}
