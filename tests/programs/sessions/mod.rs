//! Calls of sessions: what one leaves, the next finds, in any worker, and nobody else does.

mod compiled;
mod isolation;
mod scientific;

use std::sync::mpsc::channel;

use assay_wasm::{Folder, ProgramHandler};
use assay_worker::program::{Call, Called, End, File, Limits, Reply, Request, WORK_PER_SECOND};
use bytes::Bytes;

use crate::programs::images;

/// Stack of the thread on which guests run, as in a worker.
const STACK: usize = 288 << 20;

fn call(frozen: Option<&[u8]>, number: u32, code: &str) -> Call {
    Call {
        image: "python".to_owned(),
        frozen: frozen.map(Bytes::copy_from_slice),
        number,
        code: code.to_owned(),
        stdin: Vec::new(),
        limits: Limits {
            work: WORK_PER_SECOND,
            memory_bytes: 256 << 20,
            output_bytes: 1 << 16,
        },
        seed: 7,
        files: Vec::new(),
        fetch: Vec::new(),
    }
}

/// Runs a test with workers that share nothing.
fn with_workers(test: impl FnOnce(&[ProgramHandler; 2]) + Send + 'static) {
    let (done, result) = channel();
    let body = move || {
        let load = || ProgramHandler::load(&Folder::new(&images())).unwrap();
        test(&[load(), load()]);
        done.send(()).unwrap();
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(body);
    let joined = thread.unwrap().join();
    assert!(joined.is_ok() && result.recv().is_ok());
}

fn called(worker: &ProgramHandler, call: Call) -> Called {
    match worker.reply(&Request::Call(call)) {
        Reply::Called(called) => called,
        other => panic!("no result: {other:?}"),
    }
}

fn returned(text: &str) -> End {
    End::Returned(text.to_owned())
}

/// Calls that leave something of every kind, with what they display.
const CALLS: [(&str, &str); 12] = [
    ("x = 20; y = x + 1\ny * 2", "42"),
    (
        "class A:\n    n = 0\n    def add(self):\n        A.n += 1\n        return self.n\na = A()\na.add()",
        "1",
    ),
    ("a.add(), _", "(2, 1)"),
    (
        "def squares():\n    for i in range(9):\n        yield i * i\ng = squares()\nnext(g), next(g)",
        "(0, 1)",
    ),
    ("next(g), next(g)", "(4, 9)"),
    (
        "import io\nf = io.StringIO('one\\ntwo\\nthree\\n')\nf.readline()",
        "'one\\n'",
    ),
    ("f.readline()", "'two\\n'"),
    ("h = open('/tmp/a', 'w+')\nh.write('abc')\nh.seek(1)", "1"),
    ("h.read(), h.tell()", "('bc', 3)"),
    (
        "import time\nbefore = time.perf_counter_ns()\nbefore > 0",
        "True",
    ),
    ("before < time.perf_counter_ns()", "True"),
    (
        "import asyncio\nasync def later():\n    await asyncio.sleep(0.01)\n    return len(dir())\nawait later() >= 0",
        "True",
    ),
];

/// The last call of a session in which `worker` runs the call with each number.
fn session<'w>(worker: impl Fn(usize) -> &'w ProgramHandler) -> Vec<Called> {
    let mut frozen: Option<Bytes> = None;
    let mut all = Vec::new();
    for (at, (code, displayed)) in CALLS.iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap();
        let called = called(worker(at), call(frozen.as_deref(), number, code));
        assert_eq!(called.ran.end, returned(displayed), "{code}");
        frozen.clone_from(&called.frozen);
        all.push(called);
    }
    all
}

#[test]
fn calls_continue_in_any_worker_with_the_same_bytes() {
    with_workers(|workers| {
        let alone = session(|_| &workers[0]);
        let in_turn = session(|at| &workers[at % 2]);
        assert!(alone == in_turn, "what a call leaves depends on the worker");
    });
}

fn in_javascript(call: Call) -> Call {
    Call {
        image: "javascript".to_owned(),
        ..call
    }
}

#[test]
fn javascript_keeps_its_global_scope() {
    with_workers(|workers| {
        let calls = [
            ("let x = 20; const y = [x + 1]\ny", "[ 21 ]"),
            (
                "class A { static n = 0; add() { return ++A.n } }\nvar a = new A(); a.add()",
                "1",
            ),
            ("[a.add(), x]", "[ 2, 20 ]"),
            (
                "function* g() { yield 1; yield 2 }\nvar it = g(); it.next()",
                "{ value: 1, done: false }",
            ),
            ("it.next()", "{ value: 2, done: false }"),
            (
                "var later = new Promise((done) => setTimeout(() => done(x), 50)); later",
                "20",
            ),
            ("await later + 1", "21"),
            (
                "require('fs').writeFileSync('/tmp/a', 'abc'); Math.random() < 1",
                "true",
            ),
            ("require('fs').readFileSync('/tmp/a', 'utf8')", "'abc'"),
        ];
        let mut frozen: Option<Bytes> = None;
        for (at, (code, displayed)) in calls.iter().enumerate() {
            let number = u32::try_from(at + 1).unwrap();
            let next = in_javascript(call(frozen.as_deref(), number, code));
            let called = called(&workers[at % 2], next);
            assert_eq!(called.ran.end, returned(displayed), "{code}");
            frozen = called.frozen;
        }
        let failed = in_javascript(call(frozen.as_deref(), 10, "x = 5\nnull.f()"));
        let failed = called(&workers[0], failed);
        let End::Raised(text) = &failed.ran.end else {
            panic!("{:?}", failed.ran.end)
        };
        assert!(
            text.contains("call10.js:2") && text.contains("TypeError"),
            "{text}"
        );
        let next = in_javascript(call(failed.frozen.as_deref(), 11, "x"));
        assert_eq!(called(&workers[1], next).ran.end, returned("5"));
    });
}

#[test]
fn random_numbers_continue() {
    with_workers(|[first, second]| {
        let draw = "import random, os\nrandom.random(), os.urandom(4).hex()";
        let both = format!("{draw}\n{draw}");
        let one = called(first, call(None, 1, draw));
        let two = called(second, call(one.frozen.as_deref(), 2, draw));
        assert_ne!(one.ran.end, two.ran.end);
        let together = called(second, call(None, 1, &both));
        assert_eq!(two.ran.end, together.ran.end);
    });
}

#[test]
fn forks_do_not_see_each_other() {
    with_workers(|[first, second]| {
        let start = called(
            first,
            call(None, 1, "values = [1]\nopen('/f', 'w').write('a')"),
        );
        let start = start.frozen.unwrap();
        let one = called(
            first,
            call(
                Some(&start),
                2,
                "values.append(2); open('/f', 'a').write('b')",
            ),
        );
        let look = "values, open('/f').read()";
        let two = called(first, call(Some(&start), 2, look));
        assert_eq!(two.ran.end, returned("([1], 'a')"));
        let one = called(second, call(one.frozen.as_deref(), 3, look));
        assert_eq!(one.ran.end, returned("([1, 2], 'ab')"));
    });
}

#[test]
fn a_call_beyond_a_limit_has_no_effect() {
    with_workers(|[worker, _]| {
        let start = called(worker, call(None, 1, "x = 1")).frozen.unwrap();
        let endless = called(worker, call(Some(&start), 2, "x = 2\nwhile True: pass"));
        assert_eq!(endless.ran.end, End::OutOfWork);
        assert_eq!(endless.frozen, None);
        let next = called(worker, call(Some(&start), 3, "x"));
        assert_eq!(next.ran.end, returned("1"));
    });
}

#[test]
fn errors_show_the_lines_of_earlier_calls_and_keep_the_session() {
    with_workers(|[worker, _]| {
        let start = called(worker, call(None, 1, "def f(x):\n    return 1 // x\nx = 3"));
        let failed = called(worker, call(start.frozen.as_deref(), 2, "x = 4\nf(0)"));
        let End::Raised(text) = &failed.ran.end else {
            panic!("{:?}", failed.ran.end)
        };
        for line in [
            "File \"<call 1>\", line 2, in f",
            "return 1 // x",
            "ZeroDivisionError",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("_assay"), "{text}");
        let wrong = called(worker, call(failed.frozen.as_deref(), 3, "x = ("));
        assert!(matches!(&wrong.ran.end, End::Raised(text) if text.contains("SyntaxError")));
        let left = called(
            worker,
            call(wrong.frozen.as_deref(), 4, "import sys\nx\nsys.exit(3)"),
        );
        assert_eq!(left.ran.end, End::Exited(3));
        let next = called(worker, call(left.frozen.as_deref(), 5, "x"));
        assert_eq!(next.ran.end, returned("4"));
    });
}

#[test]
fn files_go_in_and_out() {
    with_workers(|[worker, _]| {
        let mut first = call(
            None,
            1,
            "text = open('in/data.txt').read()\nprint(text, input())",
        );
        first.stdin = b"typed\n".to_vec();
        first.files = vec![File {
            path: "in/data.txt".to_owned(),
            bytes: b"given".to_vec(),
        }];
        let first = called(worker, first);
        assert_eq!(first.ran.end, End::Finished);
        assert_eq!(first.ran.stdout, b"given typed\n");
        let mut second = call(
            first.frozen.as_deref(),
            2,
            "open('out', 'w').write(text * 2);",
        );
        second.fetch = vec!["out".to_owned(), "missing".to_owned()];
        let second = called(worker, second);
        assert_eq!(second.ran.end, End::Finished, "a semicolon hides the value");
        let out = File {
            path: "out".to_owned(),
            bytes: b"givengiven".to_vec(),
        };
        assert_eq!(second.ran.files, [out]);
    });
}

#[test]
fn damaged_sessions_are_refused() {
    with_workers(|[worker, _]| {
        let frozen = called(worker, call(None, 1, "x = 1")).frozen.unwrap();
        let refused = |bytes: &[u8]| match worker.reply(&Request::Call(call(Some(bytes), 2, "x"))) {
            Reply::Unable(reason) => assert!(reason.contains("session"), "{reason}"),
            Reply::Called(_) => {}
            other => panic!("{other:?}"),
        };
        for length in [0, 1, 100, frozen.len() / 2, frozen.len() - 1] {
            refused(&frozen[..length]);
        }
        for at in (0..frozen.len()).step_by(frozen.len() / 50) {
            let mut damaged = frozen.to_vec();
            damaged[at] ^= 0x55;
            refused(&damaged);
        }
        let mut other = call(Some(&frozen), 2, "1");
        other.image = "javascript".to_owned();
        let reply = worker.reply(&Request::Call(other));
        assert!(matches!(reply, Reply::Unable(reason) if reason.contains("another version")));
        assert_eq!(
            called(worker, call(Some(&frozen), 2, "x")).ran.end,
            returned("1")
        );
    });
}
