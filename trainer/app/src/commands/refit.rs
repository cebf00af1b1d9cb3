//! `assay-trainer refit`: refits a served reward model beside a training run.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::ensure;
use assay_client::{Client, Retry};
use assay_trainer::reward_model::refit::{MIN_HELD_OUT, Refit, RefitSettings};
use assay_wire::pairs::RunPairsRequest;

use super::process::{CommandOutcome, device, logs, on_deep_stack, stop_flag};
use super::reward_model;
use crate::arguments::Refit as Arguments;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<CommandOutcome> {
    logs()?;
    let settings = settings(arguments)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let stop = stop_flag(&runtime)?;
    let client = Client::new(&arguments.server, Retry::default())?;
    let device = device();
    let refit = Refit {
        settings: &settings,
        client: &client,
        runtime: runtime.handle(),
        device: &device,
        stop: &stop,
    };
    on_deep_stack(|| {
        refit.run(&mut |round| {
            let mut out = std::io::stdout();
            writeln!(out, "{}", serde_json::to_string(round)?)?;
            Ok(out.flush()?)
        })
    })?;
    Ok(if stop.load(Ordering::Relaxed) {
        CommandOutcome::Interrupted
    } else {
        CommandOutcome::Done
    })
}

fn settings(arguments: &Arguments) -> anyhow::Result<RefitSettings> {
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => format!("{}-refits", arguments.name),
    };
    ensure!(
        !output.is_empty()
            && output
                .split('/')
                .all(|part| !matches!(part, "" | "." | "..")),
        "`--output` must be a path below `--folder`, without `.` and `..`"
    );
    ensure!(
        arguments.folder.is_dir(),
        "`{}` is not a directory; set `--folder` to the service's `reward_models.folder`",
        arguments.folder.display()
    );
    let fit = reward_model::settings(&arguments.fit)?;
    ensure!(arguments.keep > 0, "`--keep` must be at least 1");
    let (window, least) = (arguments.window as f64, MIN_HELD_OUT as f64);
    ensure!(
        window * arguments.fit.held_out >= least,
        "`--window {}` with `--held-out {}` has fewer than {MIN_HELD_OUT} held-out pairs; \
         increase one of them",
        arguments.window,
        arguments.fit.held_out
    );
    Ok(RefitSettings {
        name: arguments.name.clone(),
        folder: arguments.folder.clone(),
        output,
        choice: RunPairsRequest {
            run: arguments.run.clone(),
            channel: arguments.channel.clone(),
            since_us: None,
            grades: None,
            per_prompt: Some(arguments.per_prompt),
            min_certainty: arguments.min_certainty,
            reference: arguments.reference.clone(),
        },
        fit,
        held_out: arguments.fit.held_out,
        min_pairs: arguments.min_pairs,
        window: arguments.window,
        interval: Duration::from_secs(arguments.interval),
        rounds: arguments.rounds,
        keep: arguments.keep,
    })
}
