//! `assay models bench`: measures the speed of forward passes.

use std::io::Write;

use anyhow::bail;
use assay_node::models::{Bench, BenchReport, GpuOptions, Subject, bench};

use crate::arguments::BenchArguments;
use crate::exit::CommandStatus;
use crate::table;
use crate::terminal;

pub(super) fn run(arguments: &BenchArguments, json: bool) -> anyhow::Result<CommandStatus> {
    let subject = match (&arguments.model, &arguments.shape) {
        (Some(directory), _) => Subject::Directory(directory.clone()),
        (None, Some(shape)) => Subject::Shape(shape.clone()),
        (None, None) => bail!("name a model with `--model DIR` or `--shape NAME`"),
    };
    let settings = Bench {
        subject,
        lengths: arguments.lengths.clone(),
        tokens: arguments.tokens,
        rounds: arguments.rounds,
        batch_tokens: arguments.batch_tokens,
        dtype: arguments.dtype.clone(),
        gpu: GpuOptions {
            product_rows: arguments.product_rows,
            attention: arguments.attention,
        },
    };
    let report = bench(&settings, &arguments.device, arguments.threads)?;
    let mut out = terminal::stdout();
    if json {
        writeln!(out, "{}", terminal::json(&report)?)?;
        return Ok(CommandStatus::Done);
    }
    let BenchReport {
        device,
        threads,
        dtype,
        product_rows,
        attention,
        body_parameters,
        load_seconds,
        rows,
    } = report;
    let kernels = match (product_rows, attention) {
        (Some(rows), Some(attention)) => {
            format!("products of {rows} rows, attention `{attention}`, ")
        }
        _ => String::new(),
    };
    writeln!(
        out,
        "{device}, {threads} threads, {dtype}, {kernels}{:.1} M parameters without embeddings, loaded in \
         {load_seconds:.1} s",
        millions(body_parameters)
    )?;
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            [
                row.length.clone(),
                row.lengths.len().to_string(),
                row.tokens.to_string(),
                format!("{:.3}", row.seconds),
                format!("{:.0}", row.tokens_per_second),
                format!("{:.1}", row.gflops),
                format!("{:.1} %", 100.0 * row.padding_avoided),
                if row.invariant { "yes" } else { "NO" }.to_owned(),
            ]
        })
        .collect();
    let head = [
        "LENGTH",
        "INPUTS",
        "TOKENS",
        "SECONDS",
        "TOKENS/S",
        "GFLOP/S",
        "PADDING AVOIDED",
        "BATCH INVARIANT",
    ];
    table::write(&mut out, head, &rows)?;
    Ok(CommandStatus::Done)
}

fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}
