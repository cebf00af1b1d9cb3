//! Sessions of C and C++: each call is a program, and the files outlive it.

use assay_wasm::ProgramHandler;
use assay_worker::program::{
    Call, Called, CompiledCall, End, File, Reply, Request, WORK_PER_SECOND,
};
use bytes::Bytes;

use super::{call, with_workers};

fn compiled_call(worker: &ProgramHandler, frozen: Option<&[u8]>, code: &str) -> Called {
    reply_to(worker, "gnu++17", cpp(frozen, code))
}

fn cpp(frozen: Option<&[u8]>, code: &str) -> Call {
    Call {
        image: "cpp".to_owned(),
        ..call(frozen, 1, code)
    }
}

fn reply_to(worker: &ProgramHandler, standard: &str, call: Call) -> Called {
    let standard = standard.to_owned();
    match worker.reply(&Request::CompiledCall(CompiledCall { call, standard })) {
        Reply::Called(called) => called,
        other => panic!("no result: {other:?}"),
    }
}

const APPEND: &str = r#"
#include <fstream>
#include <iostream>
#include <ctime>
#include <random>
int main() {
    std::ofstream("log", std::ios::app) << "line\n";
    std::ifstream log("log");
    int lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    std::random_device device;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::cout << lines << ' ' << device() << ' ' << now.tv_nsec;
}"#;

#[test]
fn files_clock_and_random_numbers_continue_between_programs() {
    with_workers(|workers| {
        let session = |worker: &dyn Fn(usize) -> usize| {
            let mut frozen: Option<Bytes> = None;
            let calls = (0..3).map(|at| {
                let called = compiled_call(&workers[worker(at)], frozen.as_deref(), APPEND);
                assert_eq!(called.ran.end, End::Finished);
                frozen.clone_from(&called.frozen);
                called
            });
            calls.collect::<Vec<_>>()
        };
        let alone = session(&|_| 0);
        let fields = alone
            .iter()
            .map(|called| String::from_utf8_lossy(&called.ran.stdout).into_owned());
        let fields: Vec<Vec<u64>> = fields
            .map(|text| {
                text.split(' ')
                    .map(|field| field.parse().unwrap())
                    .collect()
            })
            .collect();
        assert_eq!([fields[0][0], fields[1][0], fields[2][0]], [1, 2, 3]);
        assert_ne!(fields[0][1], fields[1][1], "the same random number");
        assert!(
            fields[0][2] < fields[1][2] && fields[1][2] < fields[2][2],
            "{fields:?}"
        );
        assert!(
            session(&|at| at % 2) == alone,
            "what a call leaves depends on the worker"
        );
    });
}

#[test]
fn programs_include_headers_of_their_session() {
    with_workers(|[worker, _]| {
        let mut first = cpp(
            None,
            "#include \"lib/twice.h\"\n#include <stdio.h>\nint main(void) { printf(\"%d\", twice(21)); }",
        );
        first.files = vec![File {
            path: "lib/twice.h".to_owned(),
            bytes: b"static int twice(int x) { return 2 * x; }".to_vec(),
        }];
        let called = reply_to(worker, "gnu17", first);
        assert_eq!(
            (called.ran.end, called.ran.stdout),
            (End::Finished, b"42".to_vec())
        );
        let code = "#include \"lib/twice.h\"\nint main() { return twice(4); }";
        let next = compiled_call(worker, called.frozen.as_deref(), code);
        assert_eq!(next.ran.end, End::Exited(8));
    });
}

#[test]
fn errors_keep_the_files_and_limits_have_no_effect() {
    with_workers(|[worker, _]| {
        let write = |text: &str| {
            format!(
                "#include <stdio.h>\nint main() {{ FILE *f = fopen(\"f\", \"a\"); fputs(\"{text}\", f); fflush(f);"
            )
        };
        let start = compiled_call(worker, None, &format!("{}}}", write("a")));
        let wrong = compiled_call(worker, start.frozen.as_deref(), "int main() { return x; }");
        let End::Raised(message) = &wrong.ran.end else {
            panic!("{:?}", wrong.ran.end)
        };
        assert!(
            message.contains("call1.cpp:1") && message.contains("undeclared"),
            "{message}"
        );
        assert_eq!(wrong.frozen, start.frozen);
        let crash = format!("{} __builtin_trap(); }}", write("b"));
        let crash = compiled_call(worker, wrong.frozen.as_deref(), &crash);
        assert!(
            matches!(crash.ran.end, End::Raised(_)),
            "{:?}",
            crash.ran.end
        );
        let mut endless = cpp(
            crash.frozen.as_deref(),
            &format!("{} for (volatile int i = 0;; ++i); }}", write("c")),
        );
        endless.limits.work = WORK_PER_SECOND / 20;
        let endless = reply_to(worker, "gnu++20", endless);
        assert_eq!((endless.ran.end, endless.frozen), (End::OutOfWork, None));
        let mut last = cpp(crash.frozen.as_deref(), "int main() {}");
        last.fetch = vec!["f".to_owned()];
        let last = reply_to(worker, "gnu++20", last);
        assert_eq!(last.ran.files[0].bytes, b"ab");
    });
}
