//! `programs`: compares programs in workers with native `python3 -I -S`, in one run on one machine:
//! a trivial program's rate and latency with one worker and with two, also with numpy and in
//! JavaScript, programs that keep the processor busy, and memory. Times are processor time.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use assay_core::{Clock, SystemClock};
use assay_node::sandboxes::Work;
use assay_tests::processes::{cpu_of_children, cpu_of_reaped, private_kib_of_a_child};
use assay_wasm::Folder;
use assay_worker::program::{
    Compile, Compiled, End, Limits, Part, Ran, Reply, Request, Run, Test, Translation,
    WORK_PER_SECOND,
};
use assay_worker::{Pipeline, WorkerOptions, WorkerPool};
use clap::Args;

/// Compare the speed of programs in workers with native ones.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Runs of the trivial program
    #[arg(long, default_value_t = 3_000)]
    runs: usize,
    /// Number of native runs
    #[arg(long, default_value_t = 200)]
    native_runs: usize,
    /// Folder of the programs that keep the processor busy
    #[arg(long, default_value = "tests/load/programs")]
    programs: PathBuf,
    /// Run the trivial programs only
    #[arg(long)]
    trivial: bool,
}

/// A program, and the image in which it runs.
#[derive(Clone, Copy)]
struct Program<'a> {
    image: &'static str,
    text: &'a str,
}

/// Reads one line and adds its numbers.
const TRIVIAL: Program<'_> = Program {
    image: "python",
    text: "print(sum(map(int, input().split())))\n",
};

/// The same with numpy.
const NUMPY: Program<'_> = Program {
    image: "python-scientific",
    text: "import numpy as np\nprint(np.array(input().split(), int).sum())\n",
};

/// The same in JavaScript.
const JAVASCRIPT: Program<'_> = Program {
    image: "javascript",
    text: "const numbers = require('fs').readFileSync(0, 'utf8').trim().split(' ').map(Number);\n\
           console.log(numbers.reduce((sum, number) => sum + number, 0));\n",
};

/// Longest wait for one run.
const TIMEOUT: Duration = Duration::from_secs(120);

#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let python = interpreter()?;
    let native = native_trivial(&python, arguments.native_runs)?;
    println!(
        "native python3 -I -S, trivial program: {:.2} ms of processor time a run",
        millis(native)
    );
    let mut rates = Vec::new();
    for count in [1, 2] {
        let measured = trivial(TRIVIAL, count, arguments.runs).await?;
        let rate = measured.runs as f64 / measured.wall.as_secs_f64();
        let cpu = measured.cpu.div_f64(measured.runs as f64);
        println!(
            "{count} worker(s): {rate:.0} runs/s, native takes {:.1} x the time; {}",
            native.as_secs_f64() / cpu.as_secs_f64(),
            measured.report()
        );
        println!(
            "  memory of a worker that ran them: {:.1} MiB private",
            measured.private_kib as f64 / 1024.0
        );
        rates.push(rate);
    }
    println!("two workers beside one: {:.2} x", rates[1] / rates[0]);
    for (name, program) in [("numpy", NUMPY), ("JavaScript", JAVASCRIPT)] {
        let measured = trivial(program, 1, arguments.runs).await?;
        println!("{name}, 1 worker: {}", measured.report());
    }
    if arguments.trivial {
        return Ok(());
    }
    busy(&python, &arguments.programs).await
}

/// Times of the trivial program.
struct Measured {
    runs: usize,
    /// Of runs whose requests are sent while the worker runs the one before, as in grading.
    wall: Duration,
    cpu: Duration,
    /// Of runs whose requests are sent after the reply to the one before.
    single_cpu: Duration,
    p50: Duration,
    p99: Duration,
    private_kib: u64,
}

impl Measured {
    /// What a run takes.
    fn report(&self) -> String {
        let of_a_run = |cpu: Duration| millis(cpu.div_f64(self.runs as f64));
        format!(
            "processor {:.2} ms a run, {:.2} ms one at a time; ask to answer p50 {:.2} ms, p99 \
             {:.2} ms",
            of_a_run(self.cpu),
            of_a_run(self.single_cpu),
            millis(self.p50),
            millis(self.p99)
        )
    }
}

async fn trivial(program: Program<'_>, count: usize, runs: usize) -> anyhow::Result<Measured> {
    let workers = workers(count)?;
    workers.warm()?;
    let code = compile(&workers, program).await?;
    let image = program.image;
    let clock = SystemClock::new();
    // Warm up each worker before measuring.
    for number in 0..4 * count {
        run_program(&workers, image, &code, number).await?;
    }
    let cpu = cpu_of_children();
    let lanes = (0..count).map(|lane| {
        let (workers, code, clock) = (&workers, &code, &clock);
        async move {
            let mut latencies = Vec::with_capacity(runs / count);
            for number in 0..runs / count {
                let start = clock.monotonic();
                let ran = run_program(workers, image, code, lane * runs + number).await?;
                latencies.push(clock.monotonic().saturating_sub(start));
                finished(&ran)?;
            }
            anyhow::Ok(latencies)
        }
    });
    let mut latencies = futures::future::try_join_all(lanes).await?.concat();
    let single_cpu = cpu_of_children().saturating_sub(cpu);
    let (started, cpu) = (clock.monotonic(), cpu_of_children());
    let lanes = (0..count).map(|lane| {
        let numbers = lane * runs..lane * runs + runs / count;
        run_ahead(&workers, image, &code, numbers)
    });
    futures::future::try_join_all(lanes).await?;
    let wall = clock.monotonic().saturating_sub(started);
    let cpu = cpu_of_children().saturating_sub(cpu);
    let private_kib = private_kib_of_a_child();
    latencies.sort_unstable();
    let at = |share: usize| {
        latencies
            .get(latencies.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    let measured = Measured {
        runs: latencies.len(),
        wall,
        cpu,
        single_cpu,
        p50: at(50),
        p99: at(99),
        private_kib,
    };
    workers.stop().await;
    Ok(measured)
}

/// Runs the program with one worker, which gets each request while it runs the one before.
async fn run_ahead(
    workers: &WorkerPool,
    image: &str,
    code: &[u8],
    numbers: Range<usize>,
) -> anyhow::Result<()> {
    let mut pipeline = Pipeline::new(workers.acquire(TIMEOUT).await?);
    let end = numbers.end;
    for number in numbers {
        let request = run_request(image, code, number);
        let next = (number + 1 < end).then(|| run_request(image, code, number + 1));
        finished(&ran(pipeline
            .ask(&request, next.as_ref(), TIMEOUT)
            .await?)?)?;
    }
    pipeline.finish().await;
    Ok(())
}

fn finished(ran: &Ran) -> anyhow::Result<()> {
    ensure!(
        ran.end == End::Finished,
        "the trivial program ended with {:?}",
        ran.end
    );
    Ok(())
}

/// Each program of the folder, in a worker and natively.
#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
async fn busy(python: &Path, folder: &Path) -> anyhow::Result<()> {
    let workers = workers(1)?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
    files.sort();
    let start = native(python, "pass")?.0;
    let (mut ratios, mut seconds) = (Vec::new(), Vec::new());
    for file in &files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        let program = Program {
            image: TRIVIAL.image,
            text: &text,
        };
        let code = compile(&workers, program).await?;
        let (native, expected) = native(python, &text)?;
        let native = native.saturating_sub(start);
        let before = cpu_of_children();
        let ran = run_program(&workers, program.image, &code, 0).await?;
        let cpu = cpu_of_children().saturating_sub(before);
        ensure!(
            ran.end == End::Finished && ran.stdout == expected,
            "`{}` gave {ran:?}",
            file.display()
        );
        let ratio = cpu.as_secs_f64() / native.as_secs_f64();
        println!(
            "{:14} native {:5.0} ms, worker {:5.0} ms, {ratio:.2} x; {:.2e} of work, {:.2e} a \
             native second",
            file.file_stem().unwrap_or_default().display().to_string(),
            millis(native),
            millis(cpu),
            ran.work as f64,
            ran.work as f64 / native.as_secs_f64()
        );
        ratios.push(ratio);
        seconds.push(ran.work as f64 / native.as_secs_f64());
    }
    let mean = |values: &[f64]| {
        (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
    };
    println!(
        "geometric mean of {}: {:.2} x native; {:.2e} of work a native second (a second of a \
         limit is {:.2e})",
        ratios.len(),
        mean(&ratios),
        mean(&seconds),
        WORK_PER_SECOND as f64
    );
    workers.stop().await;
    Ok(())
}

fn workers(count: usize) -> anyhow::Result<WorkerPool> {
    let images = assay_tests::config(Path::new(""))?.sandbox_workers.images;
    let program = std::env::current_exe()?;
    let arguments = Work::Programs(Folder::new(&images)).arguments(&[]);
    Ok(WorkerPool::new(WorkerOptions {
        program,
        arguments,
        count,
        uses: u32::MAX,
    }))
}

async fn compile(workers: &WorkerPool, program: Program<'_>) -> anyhow::Result<Vec<u8>> {
    let parts = vec![Part {
        name: "main".to_owned(),
        text: program.text.to_owned(),
    }];
    let request = Request::Compile(Compile {
        files: Vec::new(),
        calls: Vec::new(),
        linked: None,
        image: program.image.to_owned(),
        translation: Translation::None,
        standard: String::new(),
        parts,
    });
    match workers.ask(&request, TIMEOUT).await? {
        Reply::Compiled(Compiled::Code(code)) => Ok(code),
        other => bail!("the program does not compile: {other:?}"),
    }
}

async fn run_program(
    workers: &WorkerPool,
    image: &str,
    code: &[u8],
    number: usize,
) -> anyhow::Result<Ran> {
    ran(workers
        .ask(&run_request(image, code, number), TIMEOUT)
        .await?)
}

fn run_request(image: &str, code: &[u8], number: usize) -> Request {
    Request::Run(Run {
        image: image.to_owned(),
        code: code.to_vec(),
        translation: Translation::None,
        test: Test::Stdin(format!("1 2 3 {number}\n").into_bytes()),
        limits: Limits {
            work: 60 * WORK_PER_SECOND,
            memory_bytes: 1 << 30,
            output_bytes: 1 << 20,
        },
        seed: 0,
        files: Vec::new(),
        fetch: Vec::new(),
        arguments: Vec::new(),
    })
}

fn ran(reply: Reply) -> anyhow::Result<Ran> {
    match reply {
        Reply::Ran(ran) => Ok(ran),
        other => bail!("the program was not run: {other:?}"),
    }
}

/// The interpreter itself: `python3` may be a script that selects one.
fn interpreter() -> anyhow::Result<PathBuf> {
    let output = Command::new("python3")
        .args(["-I", "-c", "import sys; print(sys.executable, end='')"])
        .output();
    let output = output.context("`python3` is what workers are compared with")?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?))
}

fn native_trivial(python: &Path, runs: usize) -> anyhow::Result<Duration> {
    let mut total = Duration::ZERO;
    for _ in 0..runs {
        total += native(python, TRIVIAL.text)?.0;
    }
    Ok(total.div_f64(runs as f64))
}

/// Runs native Python; its processor time and its output.
fn native(python: &Path, text: &str) -> anyhow::Result<(Duration, Vec<u8>)> {
    let before = cpu_of_reaped();
    let mut child = Command::new(python)
        .args(["-I", "-S", "-c", text])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        std::io::Write::write_all(&mut stdin, b"1 2 3 4\n")?;
    }
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "native python3 ended with {}",
        output.status
    );
    Ok((cpu_of_reaped().saturating_sub(before), output.stdout))
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}
