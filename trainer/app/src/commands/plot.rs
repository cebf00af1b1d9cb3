//! `assay-trainer plot`: draws learning curves of runs.

use std::path::Path;

use anyhow::Context;
use assay_trainer::telemetry::plot::{Labels, Series, svg};
use assay_trainer::telemetry::read;

use super::process::CommandOutcome;
use crate::arguments::Plot;

pub(crate) fn run(plot: &Plot) -> anyhow::Result<CommandOutcome> {
    let series = plot
        .series
        .iter()
        .map(|series| read_series(series, &plot.metric))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let labels = Labels {
        title: plot.title.clone(),
        y_axis: plot.metric.clone(),
        x_axis: "step".to_owned(),
    };
    let path = plot.output.display();
    let image = svg(&labels, &series).context("cannot draw the curves")?;
    std::fs::write(&plot.output, image).with_context(|| format!("cannot write `{path}`"))?;
    Ok(CommandOutcome::Done)
}

fn read_series(series: &str, metric: &str) -> anyhow::Result<Series> {
    let (label, files) = series
        .split_once('=')
        .with_context(|| format!("`{series}` is not `LABEL=FILE,FILE`"))?;
    let read_run = |file: &str| {
        let numbers = read(Path::new(file), metric)?;
        anyhow::ensure!(
            !numbers.is_empty(),
            "no step in `{file}` has the metric `{metric}`; use one of the names in the file"
        );
        Ok(numbers)
    };
    let runs = files
        .split(',')
        .map(read_run)
        .collect::<anyhow::Result<_>>()?;
    Ok(Series {
        label: label.to_owned(),
        runs,
    })
}
