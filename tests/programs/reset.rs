//! Instances that were restored after a run equal fresh ones, whatever the run did.

use assay_wasm::inspection::{Counts, compare, counts};
use assay_wasm::{Folder, ProgramHandler};
use assay_worker::program::{
    Compile, Compiled, End, Limits, Part, Ran, Reply, Request, Run, Test, Translation,
    WORK_PER_SECOND,
};

use crate::programs::images;
use crate::programs::variety::{Variety, varied};

/// Stack of the thread on which guests run, as in a worker.
const STACK: usize = 192 << 20;

/// Index of Python in the table of images.
const PYTHON: usize = 0;

/// Prints everything in which two instances could differ, and leaves objects behind.
const WITNESS: &str = "
import builtins, gc, os, random, sys, time
print(hash('a'), id(object()), id([]), id({}), random.random(), os.urandom(4))
print(time.time(), time.perf_counter_ns(), len(gc.get_objects()), gc.get_count(), gc.get_stats())
print(sorted(sys.modules), sorted(vars(builtins)), sys.getrecursionlimit(), os.listdir('/tmp'))
print(sys.getrefcount(None), len(sys._getframe().f_globals), sys.getallocatedblocks())
";

/// Runs requests as a worker does.
struct Sandbox(ProgramHandler);

impl Sandbox {
    fn compile(&self, text: &str) -> Vec<u8> {
        let parts = vec![Part {
            name: "main.py".to_owned(),
            text: text.to_owned(),
        }];
        let image = "python".to_owned();
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
            image: "python".to_owned(),
            code: code.to_vec(),
            translation: Translation::None,
            test,
            limits: Limits {
                work: WORK_PER_SECOND / 20,
                memory_bytes: 256 << 20,
                output_bytes: 1 << 20,
            },
            seed,
            files: Vec::new(),
            fetch: Vec::new(),
            arguments: Vec::new(),
        });
        match self.0.reply(&request) {
            Reply::Ran(ran) => ran,
            other => panic!("not run: {other:?}"),
        }
    }

    fn counts(&self) -> Counts {
        counts(&self.0, PYTHON).unwrap()
    }
}

fn stdin(text: &str) -> Test {
    Test::Stdin(text.as_bytes().to_vec())
}

/// Runs `count` varied programs, with a comparison after every `every`th.
fn compare_after(count: u64, every: u64) {
    let work = move || {
        let sandbox = Sandbox(ProgramHandler::load(&Folder::new(&images())).unwrap());
        let witness = sandbox.compile(WITNESS);
        let expected = sandbox.run(&witness, stdin(""), 7);
        assert_eq!(expected.end, End::Finished, "{expected:?}");
        let (mut kept, mut replaced, mut compared) = (0, 0, 0);
        for number in 0..count {
            let Variety {
                text,
                test,
                is_replaced,
            } = varied(number);
            let code = sandbox.compile(&text);
            let before = sandbox.counts();
            let ran = sandbox.run(&code, test, number);
            let after = sandbox.counts();
            let context = || {
                format!(
                    "after program {number}, which ended with {:?}:\n{text}",
                    ran.end
                )
            };
            // Others are replaced as well, but only now and then.
            let is_kept = after.restored > before.restored;
            assert!(!(is_kept && is_replaced), "restored {}", context());
            kept += u64::from(is_kept);
            replaced += u64::from(is_replaced);
            if number % every == 0 {
                for comparison in compare(&sandbox.0, PYTHON) {
                    assert!(
                        comparison.differences.is_empty(),
                        "{comparison:?} {}",
                        context()
                    );
                    assert!(comparison.bytes >= 64 << 20 && comparison.globals >= 1);
                    compared += 1;
                }
            }
            let seen = sandbox.run(&witness, stdin(""), 7);
            assert_eq!(seen, expected, "{}", context());
        }
        assert!(
            kept > count / 2,
            "{kept} programs left a restorable instance"
        );
        assert!(
            replaced > count / 10,
            "{replaced} programs needed a fresh instance"
        );
        assert!(compared > count / every, "{compared} comparisons");
        let Counts { created, restored } = sandbox.counts();
        assert!(
            restored > 2 * created,
            "{restored} restored, {created} created"
        );
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn restored_instances_equal_fresh_ones() {
    compare_after(200, 5);
}

#[test]
#[ignore = "takes minutes: `make resets`"]
fn thousands_of_restored_instances_equal_fresh_ones() {
    compare_after(4_000, 1);
}
