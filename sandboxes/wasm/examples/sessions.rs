//! Measures calls of sessions in one worker, for sessions of several sizes. Every call thaws its
//! session and freezes it again. Times are those of the processor, which depend less on what else
//! the machine does.
//!
//! usage: sessions IMAGES [NAME]

#![expect(clippy::unwrap_used, reason = "a failing unwrap ends the measurement")]
#![expect(clippy::print_stdout, reason = "the result")]

use assay_wasm::{Folder, ProgramHandler, inspection};
use assay_worker::program::{Call, Called, End, Limits, Reply, Request, WORK_PER_SECOND};
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 100;

/// Sessions: what their first call runs, and what the measured call runs.
const SESSIONS: &[(&str, &str, &str)] = &[
    ("print(1)", "x = 1", "print(1)"),
    (
        "generator",
        "class A:\n    n = 0\ng = (i * i for i in range(10))\nnext(g), next(g), A.n",
        "next(g)",
    ),
    ("2 MiB of integers", "x = list(range(60_000))", "print(1)"),
    ("10 MiB of integers", "x = list(range(300_000))", "print(1)"),
    (
        "10 MiB of integers, all changed",
        "x = list(range(300_000))",
        "x = [i + 1 for i in x]",
    ),
    (
        "10 MiB of strings",
        "x = [f'item {i}' for i in range(130_000)]",
        "print(1)",
    ),
    (
        "10 MiB random",
        "import os\nx = os.urandom(10 << 20)",
        "print(1)",
    ),
    (
        "10 MiB random, a byte changed",
        "import os\nx = bytearray(os.urandom(10 << 20))",
        "x[5 << 20] ^= 1",
    ),
    (
        "50 MiB random",
        "import os\nx = os.urandom(50 << 20)",
        "print(1)",
    ),
    (
        "50 MiB of integers",
        "x = list(range(1_400_000))",
        "print(1)",
    ),
    (
        "file of 10 MiB",
        "with open('f', 'w') as f:\n    f.writelines(f'{i},{i * i}\\n' for i in range(700_000))",
        "print(1)",
    ),
];

fn request(frozen: Option<&[u8]>, code: &str) -> Call {
    Call {
        image: "python".to_owned(),
        frozen: frozen.map(Bytes::copy_from_slice),
        number: 2,
        code: code.to_owned(),
        stdin: Vec::new(),
        limits: Limits {
            work: 4 * WORK_PER_SECOND,
            memory_bytes: 512 << 20,
            output_bytes: 1 << 20,
        },
        seed: 7,
        files: Vec::new(),
        fetch: Vec::new(),
    }
}

fn called(handler: &ProgramHandler, request: Call) -> Called {
    match handler.reply(&Request::Call(request)) {
        Reply::Called(called) => called,
        other => panic!("no result: {other:?}"),
    }
}

/// The time for which this thread has run.
fn milliseconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// The quantiles of the time of some work, in milliseconds.
fn quantiles<const N: usize>(of: [usize; N], mut work: impl FnMut()) -> [f64; N] {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = milliseconds();
            work();
            milliseconds() - start
        })
        .collect();
    times.sort_by(f64::total_cmp);
    of.map(|percent| {
        times
            .get(ROUNDS * percent / 100)
            .copied()
            .unwrap_or_default()
    })
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let images = arguments.next().unwrap();
    let selected = arguments.next().unwrap_or_default();
    let body = move || {
        let handler = ProgramHandler::load(&Folder::new(std::path::Path::new(&images))).unwrap();
        println!(
            "{:32} {:>7} {:>7} {:>7} {:>9} {:>9}",
            "session", "thaw", "p50 ms", "p99 ms", "frozen", "changed"
        );
        let named = SESSIONS
            .iter()
            .filter(|(name, ..)| name.contains(&selected));
        for (name, first, next) in named {
            let first = called(&handler, request(None, first));
            assert!(
                matches!(first.ran.end, End::Finished | End::Returned(_)),
                "{:?}",
                first.ran
            );
            let frozen = first.frozen.unwrap();
            let request = request(Some(&frozen), next);
            let [thaw] = quantiles([50], || assert!(inspection::thaw(&handler, 0, &request)));
            let request = Request::Call(request);
            let [p50, p99] = quantiles([50, 99], || {
                let reply = handler.reply(&request);
                assert!(matches!(reply, Reply::Called(_)), "{reply:?}");
            });
            println!(
                "{name:32} {thaw:7.2} {p50:7.2} {p99:7.2} {:9} {:9}",
                frozen.len(),
                first.changed_bytes,
            );
        }
    };
    let thread = std::thread::Builder::new()
        .stack_size(192 << 20)
        .spawn(body);
    thread.unwrap().join().unwrap();
}
