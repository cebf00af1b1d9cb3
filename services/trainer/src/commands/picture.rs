//! `assay-trainer picture`: learning curves of runs.

use std::path::Path;

use anyhow::Context;
use assay_trainer::telemetry::picture::{Labels, Series, svg};
use assay_trainer::telemetry::read;

use super::Ended;
use crate::arguments::Picture;

pub(crate) fn run(picture: &Picture) -> anyhow::Result<Ended> {
    let series = picture
        .series
        .iter()
        .map(|series| one(series, &picture.metric))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let labels = Labels {
        title: picture.title.clone(),
        up: picture.metric.clone(),
        across: "step".to_owned(),
    };
    let place = picture.output.display();
    std::fs::write(&picture.output, svg(&labels, &series))
        .with_context(|| format!("cannot write `{place}`"))?;
    Ok(Ended::Done)
}

fn one(series: &str, metric: &str) -> anyhow::Result<Series> {
    let (label, files) = series
        .split_once('=')
        .with_context(|| format!("`{series}` is not `LABEL=FILE,FILE`"))?;
    let one = |file: &str| {
        let numbers = read(Path::new(file), metric)?;
        anyhow::ensure!(
            !numbers.is_empty(),
            "no step of `{file}` has `{metric}`; its lines name what there is"
        );
        Ok(numbers)
    };
    let runs = files.split(',').map(one).collect::<anyhow::Result<_>>()?;
    Ok(Series {
        label: label.to_owned(),
        runs,
    })
}
