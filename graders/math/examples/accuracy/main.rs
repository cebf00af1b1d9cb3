//! Compares verdicts with labels, by kind of answer. Run it as `make accuracy`.
//!
//! Without files, the rows are those of `labelled`, and the run fails if a kind has fewer right
//! verdicts than `labelled/table.json`. `--update` writes that table. Files are JSON lines: a row
//! has a `completion`, a `gold` (a text or a list), `expected` (`true`, `false` or a verdict), and
//! may have `kind`, `id` and `options` (keys of the task). Each miss is printed; `--all` prints
//! every row, `--forms` the equal rows whose sides have two normal forms. `--set KEY=VALUE` adds a
//! key to the tasks that lack it, such as `rounding=auto`. `--time` also prints the slowest rows,
//! the pairs per CPU second and the 99th percentile of the CPU time of a pair, with the gold read
//! each time.
//! `--peer PYTHON` also asks Math-Verify, which that Python must have.

mod labelled;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::process::{Command, ExitCode, Stdio};
use std::task::{Context, Poll, Waker};
use std::{env, fs};

use assay_core::{GradeContext, Grader as _, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_math::MathGrader;
use labelled::{Counts, Row, Table};
use rustix::time::{ClockId, clock_gettime};

/// Relative to the workspace.
const TABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/accuracy/labelled/table.json"
);

/// Times that each row is graded to measure its CPU time.
const TIMES: usize = 5;

/// Slowest rows that `--time` prints.
const SLOWEST: usize = 40;

const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/accuracy/peer.py");

/// The options of the command line.
#[derive(Default)]
struct Arguments {
    all: bool,
    forms: bool,
    update: bool,
    time: bool,
    peer: Option<String>,
    /// Keys for the tasks that lack them.
    keys: Vec<(String, String)>,
    files: Vec<String>,
}

impl Arguments {
    fn read() -> Self {
        let mut options = Self::default();
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--all" => options.all = true,
                "--forms" => options.forms = true,
                "--update" => options.update = true,
                "--time" => options.time = true,
                "--peer" => options.peer = arguments.next(),
                "--set" => options.keys.extend(
                    (arguments.next())
                        .and_then(|key| key.split_once('=').map(|(k, v)| (k.into(), v.into()))),
                ),
                _ => options.files.push(argument),
            }
        }
        options
    }
}

/// The outcome of a row.
fn graded(row: &Row) -> io::Result<Outcome> {
    let table = GraderTable::new(Vec::new());
    let task = Task::from_raw(&row.task()?).map_err(io::Error::other)?;
    let prepared = match MathGrader.prepare(&task, &PrepareContext::new(&table)) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(Outcome::from(error)),
    };
    let item = Item::text(&row.completion);
    let (items, context) = ([&item], GradeContext::default());
    let mut grading = prepared.grade(&items, &context);
    match Pin::new(&mut grading).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(mut outcomes) => outcomes.pop(),
        Poll::Pending => None,
    }
    .ok_or_else(|| io::Error::other("no outcome"))
}

/// What Math-Verify did with the rows.
struct Peer {
    version: String,
    /// Whether it agrees, if it can grade the row, and the CPU time in seconds, by row.
    rows: Vec<(Option<bool>, f64)>,
}

fn peer(python: &str, rows: &[Row]) -> io::Result<Peer> {
    let mut child = Command::new(python)
        .arg(PEER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // The script reads all rows before it writes.
    if let Some(input) = child.stdin.take() {
        let mut input = io::BufWriter::new(input);
        for row in rows {
            writeln!(input, "{}", row.line())?;
        }
    }
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stdout).map_err(io::Error::other)?;
    let mut lines = text.lines();
    let version = lines.next().unwrap_or_default().to_owned();
    let graded = |line: &str| {
        let (agrees, seconds) = line.split_once(' ')?;
        Some((agrees.parse().ok(), seconds.parse().ok()?))
    };
    let graded: Vec<_> = lines.filter_map(graded).collect();
    if graded.len() == rows.len() {
        Ok(Peer {
            version,
            rows: graded,
        })
    } else {
        Err(io::Error::other("Math-Verify did not grade every row"))
    }
}

/// CPU time that this thread has used, in seconds.
fn used() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The CPU time of each row in seconds, the least of a few, because other processes empty the
/// caches.
fn times(rows: &[Row]) -> io::Result<Vec<f64>> {
    let mut times = Vec::with_capacity(rows.len());
    for row in rows {
        let mut least = f64::INFINITY;
        for _ in 0..TIMES {
            let start = used();
            graded(row)?;
            least = least.min(used() - start);
        }
        times.push(least);
    }
    Ok(times)
}

/// The slowest rows, with the CPU time of each in seconds.
fn slowest<'a>(times: &[f64], rows: &'a [Row]) -> Vec<(f64, &'a Row)> {
    let mut timed: Vec<(f64, &Row)> = times.iter().copied().zip(rows).collect();
    timed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    timed.truncate(SLOWEST);
    timed
}

fn read(files: &[String]) -> io::Result<Vec<Row>> {
    if files.is_empty() {
        return Ok(labelled::rows());
    }
    let mut rows = Vec::new();
    for file in files {
        rows.extend(Row::all(&fs::read_to_string(file)?)?);
    }
    Ok(rows)
}

fn main() -> io::Result<ExitCode> {
    let arguments = Arguments::read();
    let mut rows = read(&arguments.files)?;
    for row in &mut rows {
        for (key, value) in &arguments.keys {
            (row.options.entry(key)).or_insert_with(|| value.as_str().into());
        }
    }
    let python = arguments.peer.as_deref();
    let peer = python.map(|python| peer(python, &rows)).transpose()?;
    let mut table = Table::new();
    let mut peers: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut out = io::stdout().lock();
    for (at, row) in rows.iter().enumerate() {
        let outcome = graded(row)?;
        table
            .entry(row.kind.clone())
            .or_default()
            .add(row, &outcome);
        if let Some(peer) = &peer {
            let [agreed, rows] = peers.entry(&row.kind).or_default();
            let (agrees, _) = peer.rows[at];
            *agreed += u64::from(agrees == Some(true));
            *rows += u64::from(agrees.is_some());
        }
        let agrees = row.agrees(&outcome);
        if arguments.forms
            && let Some([gold, answer]) = labelled::two_forms(&outcome)
        {
            writeln!(out, "{gold}\n{answer}\n  {}", row.line())?;
        }
        if arguments.all || !agrees {
            let mark = match (agrees, &row.reason) {
                (true, None) => "right".to_owned(),
                (true, Some(_)) => "right, remove its reason".to_owned(),
                (false, None) => "MISS".to_owned(),
                (false, Some(reason)) => format!("known miss ({reason})"),
            };
            writeln!(
                out,
                "{mark}, got {}: {}",
                labelled::verdict(&outcome),
                row.line()
            )?;
        }
    }
    let mut total = Counts::default();
    let version = peer.as_ref().map(|peer| peer.version.as_str());
    writeln!(
        out,
        "{:>6} {:>6} {:>6} {:>9}  kind; {}",
        "agreed",
        "known",
        "rows",
        "one form",
        version.map_or(String::new(), |version| format!("last column: {version}")),
    )?;
    for (kind, counts) in &table {
        total.merge(*counts);
        print(
            &mut out,
            kind,
            *counts,
            peer.as_ref().map(|_| peers[kind.as_str()]),
        )?;
    }
    let sum = |[a, b]: [u64; 2], [c, d]: &[u64; 2]| [a + c, b + d];
    let all = peer.as_ref().map(|_| peers.values().fold([0; 2], sum));
    print(&mut out, "in all", total, all)?;
    if arguments.time {
        let mut times = times(&rows)?;
        if let Some(Peer { version, rows }) = &peer {
            let of_both = rows.iter().zip(&times);
            let of_both: Vec<_> = of_both
                .filter(|((agrees, _), _)| agrees.is_some())
                .collect();
            let own: f64 = of_both.iter().map(|(_, own)| **own).sum();
            let other: f64 = of_both.iter().map(|((_, other), _)| other).sum();
            writeln!(
                out,
                "{version}: {:.0} pairs per CPU second; `math` is {:.0} times as fast on these {} rows",
                of_both.len() as f64 / other,
                other / own,
                of_both.len(),
            )?;
        }
        for (time, row) in slowest(&times, &rows) {
            writeln!(out, "{:.3} ms: {}", time * 1e3, row.line())?;
        }
        times.sort_by(f64::total_cmp);
        let [p99, max] = [times.len() * 99 / 100, times.len().saturating_sub(1)]
            .map(|at| times.get(at).map_or(0.0, |time| time * 1e3));
        let rate = times.len() as f64 / times.iter().sum::<f64>();
        writeln!(
            out,
            "{rate:.0} pairs per CPU second; p99 {p99:.3} ms, slowest {max:.3} ms"
        )?;
    }
    if !arguments.files.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.update {
        fs::write(TABLE, serde_json::to_string_pretty(&table)? + "\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let drops = labelled::drops(&table);
    for drop in &drops {
        writeln!(out, "{drop}")?;
    }
    Ok(ExitCode::from(u8::from(!drops.is_empty())))
}

fn print(
    out: &mut impl io::Write,
    kind: &str,
    counts: Counts,
    peer: Option<[u64; 2]>,
) -> io::Result<()> {
    let Counts {
        rows,
        agreed,
        known_misses,
        equal,
        one_form,
    } = counts;
    let one_form = format!("{one_form}/{equal}");
    write!(
        out,
        "{agreed:6} {known_misses:6} {rows:6} {one_form:>9}  {kind}"
    )?;
    match peer {
        Some([agreed, rows]) => writeln!(out, "; {agreed}/{rows}"),
        None => writeln!(out),
    }
}
