//! `assay-trainer picture`: draws learning curves of runs.

use std::path::Path;

use anyhow::Context;
use assay_trainer::telemetry::picture::{Labels, Series, svg};
use assay_trainer::telemetry::read;

use super::CommandOutcome;
use crate::arguments::Picture;

pub(crate) fn run(picture: &Picture) -> anyhow::Result<CommandOutcome> {
    let series = picture
        .series
        .iter()
        .map(|series| read_series(series, &picture.metric))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let labels = Labels {
        title: picture.title.clone(),
        y_axis: picture.metric.clone(),
        x_axis: "step".to_owned(),
    };
    let path = picture.output.display();
    std::fs::write(&picture.output, svg(&labels, &series))
        .with_context(|| format!("cannot write `{path}`"))?;
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
