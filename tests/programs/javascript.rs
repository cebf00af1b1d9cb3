//! JavaScript programs: instances that were restored after a run equal fresh ones, and the same run
//! gives the same result.

use assay_wasm::inspection::{compare, counts};
use assay_wasm::{Folder, IMAGES, ProgramHandler};
use assay_worker::program::{
    Compile, Compiled, End, Limits, Part, Ran, Reply, Request, Run, Test, Translation,
    WORK_PER_SECOND,
};

use crate::programs::images;

/// Stack of the thread on which guests run, as in a worker.
const STACK: usize = 192 << 20;

const IMAGE: &str = "javascript";

/// Prints everything in which two instances could differ.
const WITNESS: &str = "
const fs = require('fs');
console.log(Math.random(), Date.now(), performance.now(), process.hrtime(), fs.readdirSync('/'));
console.log(Object.getOwnPropertyNames(globalThis), process.memoryUsage(), process.listenerCount());
console.log(require('crypto').randomUUID(), Object.keys(require('assert')), [].concat.name);
";

/// Programs that leave an instance in different states.
const PROGRAMS: &[&str] = &[
    "console.log('nothing');",
    "Array.prototype.map = () => 1; JSON.parse = null; Object.prototype.x = 1;",
    "globalThis.kept = new Array(1e5).fill({}); setTimeout(() => { kept = null; }, 10);",
    "require('assert').ok = 1; require('fs').readFileSync = 1; console.log = 1;",
    "process.on('exit', () => console.log('exit')); process.exitCode = 3;",
    "process.on('uncaughtException', () => {}); throw new Error('x');",
    "throw new Error('uncaught');",
    "Promise.reject(new Error('unhandled'));",
    "const f = () => f(); try { f(); } catch (error) { console.log(error.message); }",
    "require('fs').writeFileSync('/tmp/a', 'x'.repeat(1e5)); require('fs').openSync('/tmp/a');",
    "const rl = require('readline').createInterface({ input: process.stdin }); rl.on('line', (x) => \
     console.log(x));",
    "setInterval(() => {}, 1e9); process.stdin.resume(); Math.random();",
    "import('fs').then((fs) => console.log(typeof fs.readFileSync));",
    "import os from 'os'; export const end = os.EOL; await null; console.log(import.meta.url);",
    "const s = new Set(); for (let i = 0; i < 3e4; i++) s.add({ i }); console.log(s.size);",
    "console.log(/(a|b)+$/.test('ab'.repeat(1000)), 2n ** 5000n % 97n, 'é'.normalize('NFD'));",
    "class A { #x = 1; static y = new Map([[1, new WeakMap()]]); } console.log(new A(), A);",
    "const a = []; a.push(a); globalThis.a = a; globalThis.b = new WeakRef(a);",
    "process.nextTick(() => { process.stdout.write('x'.repeat(1e5)); });",
    "Object.defineProperty(globalThis, 'process', { value: 1 }); Symbol.for('kept');",
    "process.exit(0);",
    "for (;;) {}",
    "const a = []; for (;;) a.push(new Array(1000).fill(0));",
];

struct Sandbox(ProgramHandler);

impl Sandbox {
    fn compile(&self, text: &str) -> Vec<u8> {
        let parts = vec![Part {
            name: "main.js".to_owned(),
            text: text.to_owned(),
        }];
        let image = IMAGE.to_owned();
        match self.0.reply(&Request::Compile(Compile {
            files: Vec::new(),
            calls: Vec::new(),
            linked: None,
            image,
            translation: Translation::None,
            standard: String::new(),
            parts,
        })) {
            Reply::Compiled(Compiled::Code(code)) => code,
            other => panic!("`{text}` does not compile: {other:?}"),
        }
    }

    fn run(&self, code: &[u8], test: Test, seed: u64) -> Ran {
        let request = Request::Run(Run {
            image: IMAGE.to_owned(),
            code: code.to_vec(),
            test,
            limits: Limits {
                work: WORK_PER_SECOND / 20,
                memory_bytes: 96 << 20,
                output_bytes: 1 << 20,
            },
            seed,
            translation: Translation::None,
            files: Vec::new(),
            fetch: Vec::new(),
            arguments: Vec::new(),
        });
        match self.0.reply(&request) {
            Reply::Ran(ran) => ran,
            other => panic!("not run: {other:?}"),
        }
    }
}

fn stdin(text: &str) -> Test {
    Test::Stdin(text.as_bytes().to_vec())
}

fn in_sandbox(work: impl FnOnce(&Sandbox) + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let run = || {
        let handler = ProgramHandler::load(&Folder::new(&images())).unwrap();
        work(&Sandbox(handler));
    };
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn restored_instances_equal_fresh_ones() {
    in_sandbox(|sandbox| {
        let image = IMAGES.iter().position(|kind| kind.name == IMAGE).unwrap();
        let witness = sandbox.compile(WITNESS);
        let expected = sandbox.run(&witness, stdin(""), 7);
        assert_eq!(expected.end, End::Finished, "{expected:?}");
        let tests = [
            stdin("1\n2\n"),
            Test::Call {
                function: "missing".to_owned(),
                args: "[1]".to_owned(),
                kwargs: "{}".to_owned(),
            },
            Test::Assert {
                setup: String::new(),
                text: "globalThis.kept = 1; assert.equal(1, 1);".to_owned(),
                module: "solution".to_owned(),
                pytest: false,
                shares_files: true,
            },
        ];
        let mut compared = 0;
        for text in PROGRAMS {
            let code = sandbox.compile(text);
            for test in &tests {
                let ran = sandbox.run(&code, test.clone(), 3);
                for comparison in compare(&sandbox.0, image) {
                    let differences = &comparison.differences;
                    assert!(
                        differences.is_empty(),
                        "{comparison:?} after {ran:?}:\n{text}"
                    );
                    assert!(comparison.bytes >= 16 << 20 && comparison.globals >= 1);
                    compared += 1;
                }
                assert_eq!(
                    sandbox.run(&witness, stdin(""), 7),
                    expected,
                    "after:\n{text}"
                );
            }
        }
        let counts = counts(&sandbox.0, image).unwrap();
        assert!(compared > PROGRAMS.len(), "{compared} comparisons");
        assert!(counts.restored > counts.created, "{counts:?}");
    });
}

#[test]
fn the_same_run_gives_the_same_result() {
    in_sandbox(|sandbox| {
        let text = "const xs = Array.from({ length: 50 }, () => Math.random());\n\
                    setTimeout(() => console.log(xs.sort((a, b) => a - b), Date.now()), 5);\n\
                    function f(x) { return { x, r: Math.random() }; }";
        let code = sandbox.compile(text);
        let call = Test::Call {
            function: "f".to_owned(),
            args: "[[1, \"é\"]]".to_owned(),
            kwargs: "{}".to_owned(),
        };
        for test in [stdin("x"), call] {
            let expected = sandbox.run(&code, test.clone(), 11);
            for _ in 0..1_000 {
                assert_eq!(sandbox.run(&code, test.clone(), 11), expected);
            }
            assert_ne!(
                sandbox.run(&code, test.clone(), 12),
                expected,
                "the seed counts"
            );
        }
    });
}
