//! `assay models bench`: how fast forward passes are.

use std::io::Write;

use anyhow::bail;
use assay_node::models::{Bench, BenchModel, bench};

use crate::arguments::BenchArguments;
use crate::exit::Ended;
use crate::table;

pub(super) fn run(arguments: &BenchArguments, json: bool) -> anyhow::Result<Ended> {
    let model = match (&arguments.model, &arguments.shape) {
        (Some(directory), _) => BenchModel::Directory(directory.clone()),
        (None, Some(shape)) => BenchModel::Shape(shape.clone()),
        (None, None) => bail!("name a model by `--model DIR` or `--shape NAME`"),
    };
    let lines = bench(&Bench {
        model,
        lengths: arguments.lengths.clone(),
        tokens: arguments.tokens,
        rounds: arguments.rounds,
        threads: arguments.threads,
        device: arguments.device.clone(),
        dtype: arguments.dtype.clone(),
    })?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&lines)?)?;
        return Ok(Ended::Done);
    }
    let rows: Vec<_> = lines
        .iter()
        .map(|line| {
            [
                line.length.clone(),
                line.inputs.to_string(),
                line.tokens.to_string(),
                format!("{:.3}", line.seconds),
                format!("{:.0}", line.tokens_per_second),
            ]
        })
        .collect();
    table::write(&mut out, ["LENGTH", "INPUTS", "TOKENS", "SECONDS", "TOKENS/S"], &rows)?;
    Ok(Ended::Done)
}
