//! What processes used: this one, its children, those that ended.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Workers for programs with these images. A separate folder or link distinguishes the workers of
/// one test from those of others.
#[must_use]
pub fn workers_of(images: &Path) -> BTreeSet<u32> {
    let wanted = images.display().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of = |process: std::fs::DirEntry| {
        let id = process.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        let mut words = line.split(|byte| *byte == 0);
        (words.nth(1)? == b"__sandbox_worker" && words.next()? == wanted.as_bytes()).then_some(id)
    };
    processes.filter_map(of).collect()
}

/// Kills a process, which may have ended a moment ago.
pub fn kill(id: u32) {
    let id = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let _ = id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::KILL));
}

/// Processor time of this process, all threads.
#[must_use]
pub fn cpu_of_this() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Processor time of children that ended and were waited for.
#[must_use]
pub fn cpu_of_reaped() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    // Fields 16 and 17 of the file, in ticks of 10 ms; the name and the fields before it are cut
    // off.
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<u64>().ok())
            .unwrap_or_default()
    };
    Duration::from_millis(10 * (ticks(13) + ticks(14)))
}

/// Processor time of a running process, over all its threads.
#[must_use]
pub fn cpu_of(id: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let of = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace()
            .next()?
            .parse()
            .ok()
            .map(Duration::from_nanos)
    };
    tasks.filter_map(of).sum()
}

/// Processor time of running children: the workers.
#[must_use]
pub fn cpu_of_children() -> Duration {
    let ids = children().into_iter().filter_map(|id| id.parse().ok());
    ids.map(cpu_of).sum()
}

/// Memory that a running child has to itself, in KiB.
#[must_use]
pub fn private_kib_of_a_child() -> u64 {
    let ids = children().into_iter().filter_map(|id| id.parse().ok());
    ids.map(private_kib)
        .find(|kib| *kib > 0)
        .unwrap_or_default()
}

/// Memory that a running process has to itself, in KiB; 0 if it has ended.
#[must_use]
pub fn private_kib(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("Private_"));
    lines
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum()
}

fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}
