//! Throughput of the scan that precedes parsing, compared with parsing: for a batch of math items,
//! for numbers and for objects.

use std::hint::black_box;

use assay_wire::{DecodeLimits, OwnForm, decode, parsed};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// A batch of 1,024 math items with completions of a few hundred bytes.
fn mathematics() -> String {
    let completion =
        "So the sum is $\\\\frac{1}{3}$, since both have the denominator 6 and 1 + 1 is 2.\\n"
            .repeat(4)
            + r"\\boxed{1/3}";
    let task = r#"{"type":"math","answer":"1/3"}"#;
    let item = format!(
        r#"{{"group":"p17","completion":"{completion}","task":{task},"meta":{{"tokens":120}}}}"#
    );
    format!(r#"{{"items":[{}]}}"#, vec![item; 1_024].join(","))
}

fn scan(c: &mut Criterion) {
    let texts = [
        ("mathematics", mathematics()),
        ("numbers", format!("[{}]", vec!["12345"; 100_000].join(","))),
        (
            "objects",
            format!("[{}]", vec![r#"{"a":0}"#; 100_000].join(",")),
        ),
    ];
    let mut group = c.benchmark_group("scan");
    for (name, text) in &texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(*name, |b| b.iter(|| black_box(parsed(text.as_bytes()))));
    }
    let batch = &texts[0].1;
    group.throughput(Throughput::Bytes(batch.len() as u64));
    group.bench_function("decoding_mathematics", |b| {
        b.iter(|| {
            black_box(decode(
                batch.as_bytes(),
                &DecodeLimits {
                    items: 1_024,
                    shared_bytes: 0,
                },
                &mut OwnForm,
            ))
        });
    });
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
