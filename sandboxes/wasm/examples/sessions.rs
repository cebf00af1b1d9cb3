//! Measures calls of sessions in one worker: a new session, a small call, memory of 10 MiB, with
//! what is frozen. Every call thaws its session and freezes it again.
//!
//! usage: sessions IMAGES

#![expect(clippy::unwrap_used, reason = "a failing unwrap ends the measurement")]
#![expect(clippy::print_stdout, reason = "the result")]

use assay_wasm::{Folder, ProgramHandler};
use assay_worker::program::{Call, Called, End, Limits, Reply, Request, WORK_PER_SECOND};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 200;

fn call(handler: &ProgramHandler, frozen: Option<&[u8]>, number: u32, code: &str) -> Called {
    let request = Request::Call(Call {
        image: "python".to_owned(),
        frozen: frozen.map(<[u8]>::to_vec),
        number,
        code: code.to_owned(),
        stdin: Vec::new(),
        limits: Limits {
            work: 2 * WORK_PER_SECOND,
            memory_bytes: 256 << 20,
            output_bytes: 1 << 20,
        },
        seed: 7,
        files: Vec::new(),
        fetch: Vec::new(),
    });
    match handler.reply(&request) {
        Reply::Called(called) => called,
        other => panic!("no result: {other:?}"),
    }
}

/// The time since the system started.
fn milliseconds() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Prints p50 and p99 of the time of calls.
fn measure(name: &str, handler: &ProgramHandler, frozen: Option<&[u8]>, code: &str) -> Called {
    let mut times = Vec::with_capacity(ROUNDS);
    let mut called = None;
    for _ in 0..ROUNDS {
        let start = milliseconds();
        called = Some(call(handler, frozen, 2, code));
        times.push(milliseconds() - start);
    }
    times.sort_by(f64::total_cmp);
    let called = called.unwrap();
    let ms = |at: usize| times.get(at).copied().unwrap_or_default();
    println!(
        "{name:24} {:7.2} {:7.2} {:9} {:9}  {:?}",
        ms(ROUNDS / 2),
        ms(ROUNDS * 99 / 100),
        called.frozen.as_ref().map_or(0, Vec::len),
        called.changed_bytes,
        called.ran.end,
    );
    called
}

fn main() {
    let images = std::env::args().nth(1).unwrap();
    let body = move || {
        let handler = ProgramHandler::load(&Folder::new(std::path::Path::new(&images))).unwrap();
        println!(
            "{:24} {:>7} {:>7} {:>9} {:>9}",
            "call", "p50 ms", "p99 ms", "frozen", "changed"
        );
        let new = measure("new session, print(1)", &handler, None, "print(1)");
        let small = new.frozen.unwrap();
        measure("print(1)", &handler, Some(&small), "print(1)");
        let large = call(
            &handler,
            Some(&small),
            2,
            "import random\nx = random.randbytes(10 << 20)\nlen(x)",
        );
        assert_eq!(large.ran.end, End::Returned("10485760".to_owned()));
        let large = large.frozen.unwrap();
        measure("10 MiB, print(1)", &handler, Some(&large), "print(1)");
        let list = call(
            &handler,
            Some(&small),
            2,
            "x = list(range(300_000))\nlen(x)",
        );
        measure(
            "list of 300,000",
            &handler,
            list.frozen.as_deref(),
            "print(1)",
        );
        let names = "class A:\n    n = 0\ng = (i * i for i in range(10))\nnext(g), next(g), A.n";
        let names = call(&handler, Some(&small), 2, names);
        measure("a generator", &handler, names.frozen.as_deref(), "next(g)");
    };
    let thread = std::thread::Builder::new()
        .stack_size(192 << 20)
        .spawn(body);
    thread.unwrap().join().unwrap();
}
