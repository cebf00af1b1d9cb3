//! Pairs per second: with the gold parsed each time, and with the gold prepared once, as in the
//! service.
//!
//! `python benches/beside_math_verify.py` times Math-Verify from PyPI on the same pairs, in CPU
//! seconds.

use std::hint::black_box;

use assay_math::{Gold, Options, equivalent};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;

#[derive(Deserialize)]
struct Pair {
    gold: String,
    answer: String,
}

fn pairs() -> Vec<Pair> {
    include_str!("pairs.jsonl")
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn compare(c: &mut Criterion) {
    let pairs = pairs();
    let options = Options::default();
    let golds: Vec<Gold> = pairs
        .iter()
        .filter_map(|pair| Gold::read(&pair.gold, &options).ok())
        .collect();
    let mut group = c.benchmark_group("math");
    group.throughput(Throughput::Elements(pairs.len() as u64));
    group.bench_function("gold_read_each_time", |b| {
        b.iter(|| {
            for pair in &pairs {
                black_box(equivalent(&pair.gold, &pair.answer, &options));
            }
        });
    });
    group.bench_function("gold_prepared", |b| {
        b.iter(|| {
            for (gold, pair) in golds.iter().zip(&pairs) {
                black_box(gold.compare(&pair.answer, &options));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, compare);
criterion_main!(benches);
