//! Programs in workers: their results are reproducible, and their failures affect nothing else.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod confinement;
mod cpp;
mod image;
mod javascript;
mod pipeline;
mod reset;
mod sessions;
mod suspension;
mod variety;
mod work;
mod workers;

use std::path::Path;
use std::time::Duration;

use assay_node::sandboxes::Work;
use assay_wasm::Folder;
use assay_worker::program::{
    Compile, Compiled, Limits, Part, Ran, Reply, Request, Run, Test, Translation, WORK_PER_SECOND,
};
use assay_worker::{Message, WorkerError, WorkerOptions, WorkerPool, WorkerRequest};

/// Timeout of a request, far above the time that any takes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The image folder of this user.
fn images() -> std::path::PathBuf {
    assay_tests::config(Path::new(""))
        .unwrap()
        .sandbox_workers
        .images
}

fn pool(count: usize) -> WorkerPool {
    let program = env!("CARGO_BIN_EXE_assay-measure").into();
    let arguments = Work::Programs(Folder::new(&images())).arguments(&[]);
    WorkerPool::new(WorkerOptions {
        program,
        arguments,
        count,
        uses: u32::MAX,
    })
}

async fn compile(workers: &WorkerPool, text: &str) -> Vec<u8> {
    let parts = vec![Part {
        name: "main.py".to_owned(),
        text: text.to_owned(),
    }];
    let request = Request::Compile(Compile {
        files: Vec::new(),
        calls: Vec::new(),
        linked: None,
        image: "python".to_owned(),
        translation: Translation::None,
        standard: String::new(),
        parts,
    });
    match workers.ask(&request, TIMEOUT).await.unwrap() {
        Reply::Compiled(Compiled::Code(code)) => code,
        other => panic!("`{text}` does not compile: {other:?}"),
    }
}

/// The bytes that a worker reads.
fn frame(request: &Request) -> Vec<u8> {
    let message = request.append_to(vec![Request::KIND]).unwrap();
    assay_worker::fuzzing::frame(&(message, Vec::new())).unwrap()
}

fn request(code: &[u8], stdin: &str) -> Request {
    Request::Run(Run {
        image: "python".to_owned(),
        code: code.to_vec(),
        translation: Translation::None,
        test: Test::Stdin(stdin.as_bytes().to_vec()),
        limits: Limits {
            work: 5 * WORK_PER_SECOND,
            memory_bytes: 256 << 20,
            output_bytes: 1 << 20,
        },
        seed: 7,
        files: Vec::new(),
        fetch: Vec::new(),
        arguments: Vec::new(),
    })
}

async fn ask(
    workers: &WorkerPool,
    code: &[u8],
    stdin: &str,
    timeout: Duration,
) -> Result<Ran, WorkerError> {
    match workers.ask(&request(code, stdin), timeout).await? {
        Reply::Ran(ran) => Ok(ran),
        other => panic!("not run: {other:?}"),
    }
}

async fn run(workers: &WorkerPool, code: &[u8], stdin: &str) -> Ran {
    ask(workers, code, stdin, TIMEOUT).await.unwrap()
}
