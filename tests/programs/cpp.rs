//! C and C++ programs: compiled in one sandbox, run in any, always with the same result.

use assay_wasm::{Folder, ProgramHandler};
use assay_worker::program::{
    Callee, Compile, Compiled, End, File, Limits, Part, Ran, Reply, Request, Run, Test,
    Translation, WORK_PER_SECOND,
};

use crate::programs::images;

/// Stack of the thread on which guests run, as in a worker.
const STACK: usize = 288 << 20;

struct Sandbox(ProgramHandler);

impl Sandbox {
    fn load() -> Self {
        Self(ProgramHandler::load(&Folder::new(&images())).unwrap())
    }

    fn compile(&self, standard: &str, parts: &[(&str, &str)]) -> Compiled {
        self.compile_with(standard, parts, &[], &[])
    }

    fn compile_with(
        &self,
        standard: &str,
        parts: &[(&str, &str)],
        files: &[(&str, &str)],
        calls: &[Callee],
    ) -> Compiled {
        let parts = parts.iter().map(|(name, text)| Part {
            name: (*name).to_owned(),
            text: (*text).to_owned(),
        });
        match self.0.reply(&Request::Compile(Compile {
            image: "cpp".to_owned(),
            translation: Translation::None,
            standard: standard.to_owned(),
            parts: parts.collect(),
            calls: calls.to_vec(),
            linked: None,
            files: files
                .iter()
                .map(|(path, text)| File {
                    path: (*path).to_owned(),
                    bytes: text.as_bytes().to_vec(),
                })
                .collect(),
        })) {
            Reply::Compiled(compiled) => compiled,
            other => panic!("not compiled: {other:?}"),
        }
    }

    fn code(&self, text: &str) -> Vec<u8> {
        match self.compile("gnu++17", &[("main.cpp", text)]) {
            Compiled::Code(code) => code,
            Compiled::Rejected(message) => panic!("`{text}` does not compile: {message}"),
        }
    }

    fn reply(&self, code: &[u8], stdin: &str) -> Reply {
        self.test(code, Test::Stdin(stdin.as_bytes().to_vec()))
    }

    fn test(&self, code: &[u8], test: Test) -> Reply {
        self.0.reply(&Request::Run(Run {
            image: "cpp".to_owned(),
            code: code.to_vec(),
            test,
            limits: Limits {
                work: WORK_PER_SECOND / 10,
                memory_bytes: 96 << 20,
                output_bytes: 1 << 20,
            },
            seed: 7,
            translation: Translation::None,
            files: Vec::new(),
            fetch: Vec::new(),
            arguments: Vec::new(),
        }))
    }

    fn run(&self, code: &[u8], stdin: &str) -> Ran {
        match self.reply(code, stdin) {
            Reply::Ran(ran) => ran,
            other => panic!("not run: {other:?}"),
        }
    }

    fn rejection(&self, standard: &str, parts: &[(&str, &str)]) -> String {
        match self.compile(standard, parts) {
            Compiled::Rejected(message) => message,
            Compiled::Code(_) => panic!("{parts:?} compiles"),
        }
    }
}

fn in_sandbox(work: impl FnOnce(&Sandbox) + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let run = || work(&Sandbox::load());
    thread.spawn(run).unwrap().join().unwrap();
}

fn raised(end: &End, what: &str) -> bool {
    matches!(end, End::Raised(message) if message.contains(what))
}

#[test]
fn programs_end_as_they_would_natively() {
    in_sandbox(|sandbox| {
        let end = |text: &str| {
            let ran = sandbox.run(&sandbox.code(text), "5\n");
            (ran.end, String::from_utf8(ran.stderr).unwrap())
        };
        assert_eq!(end("int main() {}").0, End::Finished);
        assert_eq!(end("int main() { return 3; }").0, End::Exited(3));
        let (uncaught, stderr) =
            end("#include <stdexcept>\nint main() { throw std::runtime_error(\"wrong\"); }");
        assert_eq!(uncaught, End::Exited(134));
        assert!(stderr.ends_with("what():  wrong\n"), "{stderr}");
        let null =
            end("int main(int n, char**) { volatile int *p = n ? nullptr : &n; return *p; }");
        assert!(raised(&null.0, "segmentation fault"), "{null:?}");
        let (divided, _) =
            end("int main(int n, char**) { volatile int zero = 0; return n / zero; }");
        assert!(raised(&divided, "floating-point exception"), "{divided:?}");
        let (deep, _) = end(
            "int f(volatile int *p) { volatile int n = *p; return f(&n) + n; }\n\
             int main() { volatile int n = 1; return f(&n); }",
        );
        assert!(raised(&deep, "segmentation fault"), "{deep:?}");
        assert_eq!(end("int main() { for (;;) {} }").0, End::OutOfWork);
        let grows =
            "#include <vector>\nint main() { std::vector<long> v; for (;;) v.push_back(1); }";
        assert_eq!(end(grows).0, End::OutOfMemory);
        let writes = "#include <cstdio>\nint main() { for (;;) puts(\"x\"); }";
        assert_eq!(end(writes).0, End::OutOfOutput);
    });
}

#[test]
fn exceptions_free_their_memory_and_cost_work() {
    in_sandbox(|sandbox| {
        let code = sandbox.code(
            "int main() { for (int i = 0; i < 100000; i++) try { throw i; } catch (int) {} }",
        );
        let ran = sandbox.run(&code, "");
        assert_eq!(ran.end, End::Finished);
        assert!(ran.memory_bytes < 4 << 20, "{}", ran.memory_bytes);
        assert!(ran.work > 1_000_000_000, "{}", ran.work);
    });
}

#[test]
fn runs_are_identical_in_every_worker() {
    in_sandbox(|sandbox| {
        let code = sandbox.code(
            "#include <bits/stdc++.h>\n\
             int count;\n\
             int main() {\n\
                 std::unordered_set<std::string> words{\"a\", \"b\", \"c\"};\n\
                 std::mt19937 random(std::random_device{}());\n\
                 auto *kept = new std::vector<int>(1000, rand());\n\
                 for (auto &word : words) std::cout << word << random() << ' ';\n\
                 std::cout << ++count << ' ' << (*kept)[1] << ' ' << clock() << ' ' << time(0)\n\
                           << ' ' << (void *)kept << std::endl;\n\
             }",
        );
        let first = sandbox.run(&code, "");
        assert_eq!(first.end, End::Finished, "{first:?}");
        assert!(first.stdout.len() > 40);
        for _ in 0..50 {
            assert_eq!(sandbox.run(&code, ""), first);
        }
        assert_eq!(Sandbox::load().run(&code, ""), first);
    });
}

#[test]
fn rejections_name_the_part_and_the_reason() {
    in_sandbox(|sandbox| {
        let parts = [
            ("prelude.cpp", "int helper();\n\n"),
            ("main.cpp", "int main() {\n    return missing;\n}\n"),
        ];
        let message = sandbox.rejection("gnu++17", &parts);
        assert!(message.starts_with("main.cpp:2:12: error:"), "{message}");
        let broken = [("prelude.cpp", "int int;"), ("main.cpp", "int main() {}")];
        let message = sandbox.rejection("gnu++17", &broken);
        assert!(message.starts_with("prelude.cpp:1:"), "{message}");
        let undefined = [("main.cpp", "int f(int);\nint main() { return f(1); }")];
        let message = sandbox.rejection("gnu++17", &undefined);
        assert!(message.contains("undefined symbol: f(int)"), "{message}");
        let message = sandbox.rejection("gnu17", &[("main.c", "int x;")]);
        assert!(message.contains("undefined symbol: main"), "{message}");
        let threads = "#include <thread>\nint main() { std::thread([] {}).join(); }";
        let message = sandbox.rejection("gnu++17", &[("main.cpp", threads)]);
        assert!(message.contains("threads are not supported"), "{message}");
    });
}

#[test]
fn the_standard_decides_what_compiles() {
    in_sandbox(|sandbox| {
        let coroutine = [(
            "main.cpp",
            "#include <coroutine>\nstd::coroutine_handle<> h; int main() {}",
        )];
        assert!(matches!(
            sandbox.compile("gnu++20", &coroutine),
            Compiled::Code(_)
        ));
        sandbox.rejection("gnu++17", &coroutine);
        let c = [("main.c", "int main(void) { int new = 1; return new - 1; }")];
        assert!(matches!(sandbox.compile("gnu17", &c), Compiled::Code(_)));
        // Names that clash with those of the precompiled header.
        let clash = "int count; int y1; int main() { return count + y1; }";
        sandbox.code(clash);
    });
}

#[test]
fn calls_every_type_of_main() {
    in_sandbox(|sandbox| {
        for (main, expected) in [
            ("int main(void) { return 3; }", End::Exited(3)),
            ("int main() { return 3; }", End::Exited(3)),
            ("main() { return 3; }", End::Exited(3)),
            (
                "int main(int n, char **a) { return 3 * n; }",
                End::Exited(3),
            ),
            (
                "main(n, a) int n; char **a; { return 3 * n; }",
                End::Exited(3),
            ),
            ("int main(int n) { return 3 * n; }", End::Exited(3)),
            ("int main(int n, ...) { return 3 * n; }", End::Exited(3)),
            (
                "int main(int n, char **a, char **e) { return a[n] || !e ? 4 : 3; }",
                End::Exited(3),
            ),
            ("long main() { return 3; }", End::Exited(3)),
            ("void exit(int);\nvoid main() { exit(3); }", End::Exited(3)),
            ("void main(void) {}", End::Finished),
            ("void main(int n, char **a) {}", End::Finished),
        ] {
            let code = match sandbox.compile("gnu17", &[("main.c", main)]) {
                Compiled::Code(code) => code,
                Compiled::Rejected(message) => panic!("`{main}` does not compile: {message}"),
            };
            assert_eq!(sandbox.run(&code, "").end, expected, "{main}");
        }
        let static_main = [("main.c", "static int main(void) { return 0; }")];
        let message = sandbox.rejection("gnu17", &static_main);
        assert!(message.contains("undefined symbol: main"), "{message}");
    });
}

#[test]
fn programs_include_files_of_the_task() {
    in_sandbox(|sandbox| {
        let files = [
            (
                "graph.h",
                "#pragma once\n#include \"parts/edge.h\"\nint size(Edge);\n",
            ),
            ("parts/edge.h", "struct Edge { int from, to; };\n"),
            ("main.cpp", "#error the program replaces this file\n"),
        ];
        let text = "#include \"graph.h\"\nint size(Edge e) { return e.to - e.from; }\n\
                    int main() { return size({1, 4}); }\n";
        match sandbox.compile_with("gnu++17", &[("main.cpp", text)], &files, &[]) {
            Compiled::Code(code) => assert_eq!(sandbox.run(&code, "").end, End::Exited(3)),
            Compiled::Rejected(message) => panic!("{message}"),
        }
        let message = sandbox.rejection("gnu++17", &[("main.cpp", text)]);
        assert!(message.contains("'graph.h' file not found"), "{message}");
    });
}

#[test]
fn malformed_code_is_not_run() {
    in_sandbox(|sandbox| {
        for code in [&b""[..], b"nonsense"] {
            match sandbox.reply(code, "") {
                Reply::Unable(reason) => {
                    assert!(reason.contains("cannot load compiled code"), "{reason}");
                }
                other => panic!("{other:?}"),
            }
        }
        let empty_module = sandbox.run(b"\0asm\x01\0\0\0", "");
        assert!(
            raised(&empty_module.end, "the program failed"),
            "{empty_module:?}"
        );
    });
}

fn callee(function: &str, arguments: usize) -> Callee {
    Callee {
        function: function.to_owned(),
        arguments,
    }
}

fn call(function: &str, args: &str) -> Test {
    Test::Call {
        function: function.to_owned(),
        args: args.to_owned(),
        kwargs: "{}".to_owned(),
    }
}

#[test]
fn functions_return_values_in_the_notation_of_drivers() {
    in_sandbox(|sandbox| {
        let text = "#include <map>\n#include <set>\n#include <string>\n#include <vector>\n\
            int add(int a, int b) { return a + b; }\n\
            std::map<std::string, double> half(std::vector<int> v) { return {{\"x\", v[0] / 2.0}}; }\n\
            std::set<char> letters(const std::string &s) { return {s.begin(), s.end()}; }\n\
            int quit(int status) { exit(status); }\n\
            int main() { return 3; }\n";
        let calls = [
            callee("add", 2),
            callee("half", 1),
            callee("letters", 1),
            callee("quit", 1),
        ];
        let compiled = sandbox.compile_with("gnu++17", &[("main.cpp", text)], &[], &calls);
        let Compiled::Code(code) = compiled else {
            panic!("{compiled:?}");
        };
        let end = |function: &str, args: &str| match sandbox.test(&code, call(function, args)) {
            Reply::Ran(ran) => ran.end,
            other => panic!("not run: {other:?}"),
        };
        let returned = |text: &str| End::Returned(text.to_owned());
        assert_eq!(end("add", "[ 2, -5 ]"), returned("-3"));
        let map = r#"{"$":"dict","v":[["x",2.5]]}"#;
        assert_eq!(end("half", "[[5]]"), returned(map));
        let set = r#"{"$":"set","v":["a","b"]}"#;
        assert_eq!(end("letters", r#"["ba\u0062"]"#), returned(set));
        assert_eq!(end("quit", "[0]"), End::Finished);
        assert_eq!(end("quit", "[7]"), End::Exited(7));
        // The function was not compiled for three arguments.
        assert_eq!(end("add", "[1, 2, 3]"), End::Exited(1));
        let ran = sandbox.run(&code, "");
        assert_eq!(ran.end, End::Exited(3));
        let Reply::Unable(message) = sandbox.test(&code, call("add", "5")) else {
            panic!("the arguments are not an array");
        };
        assert!(message.contains("not a JSON array"), "{message}");
    });
}

#[test]
fn compile_errors_of_called_programs_have_their_own_lines() {
    in_sandbox(|sandbox| {
        let rejected = |standard: &str, file: &str, text: &str| {
            let calls = [callee("add", 2)];
            match sandbox.compile_with(standard, &[(file, text)], &[], &calls) {
                Compiled::Rejected(message) => message,
                Compiled::Code(_) => panic!("{text} compiles"),
            }
        };
        let text = "int add(int a, int b)\n{\n    return a + missing;\n}\n";
        for (standard, file) in [("gnu++17", "main.cpp"), ("gnu17", "main.c")] {
            let message = rejected(standard, file, text);
            assert!(
                message.starts_with(&format!("{file}:3:16: error:")),
                "{message}"
            );
        }
        let message = rejected("gnu++17", "main.cpp", "int sum(int a, int b);");
        assert!(message.contains("the program defines neither"), "{message}");
        let message = rejected("gnu17", "main.c", "int add(int *a, int n) { return *a; }");
        assert!(message.contains("parameter 1 of `add`"), "{message}");
    });
}
