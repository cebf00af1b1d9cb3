//! `assay-trainer reward-model`: fits a reward model to the pairs of the service.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, ensure};
use assay_client::{Client, Retry};
use assay_policy_model::LoraSettings;
use assay_trainer::reward_model::{
    FitSettings, Loss, PairSets, PreferencePair, Trained, accuracy, directory, fit,
};
use serde_json::{Map, Value, json};

use super::process::{CommandOutcome, device, logs, require_empty};
use crate::arguments::{Body, Fit, LossName, RewardModel as Arguments, Template};

/// Pairs of a page.
const PAGE: u32 = 500;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<CommandOutcome> {
    logs()?;
    let settings = settings(&arguments.fit)?;
    let (from, to) = (&arguments.model, &arguments.output);
    require_empty(to)?;
    let report = match &arguments.name {
        Some(name) => {
            let pairs = collect(&arguments.server, name);
            let pairs = tokio::runtime::Runtime::new()?.block_on(pairs)?;
            ensure!(
                !pairs.is_empty(),
                "the service has no pairs of `{name}`; add some with \
                 `POST /v1/reward-models/{name}/pairs`"
            );
            trained(arguments, &settings, name, &pairs)?
        }
        None => {
            let model = directory::open(from, &device(), &settings.trained, settings.seed)?;
            directory::write(&model, from, to, template(arguments), &[])?;
            json!({ "pairs": 0 })
        }
    };
    writeln!(std::io::stdout(), "{report}")?;
    Ok(CommandOutcome::Done)
}

/// Fits a model to pairs and writes it. Returns the report.
fn trained(
    arguments: &Arguments,
    settings: &FitSettings,
    name: &str,
    pairs: &[PreferencePair],
) -> anyhow::Result<Value> {
    let (from, to) = (&arguments.model, &arguments.output);
    let model = directory::open(from, &device(), &settings.trained, settings.seed)?;
    // Texts must be tokenised as the service will tokenise them: by the new model, which is written
    // untrained first.
    let options = template(arguments);
    directory::write(&model, from, to, options.clone(), &[])?;
    let reader = directory::reader(name, to)?;
    let sets = PairSets::new(&reader, pairs, arguments.fit.held_out);
    drop(reader);
    ensure!(
        sets.unreadable < pairs.len(),
        "the model cannot read any of the {} pairs; check `--template`",
        pairs.len()
    );
    ensure!(
        !sets.training.is_empty(),
        "all pairs are held out; use a smaller `--held-out`"
    );
    let micro_tokens = settings.micro_tokens;
    let loss = fit::fit(&model, &sets.training, settings, &AtomicBool::new(false))?;
    let raw = fit::scores(&model, &sets.training, micro_tokens)?;
    directory::write(&model, from, to, options, &raw)?;
    Ok(json!({
        "pairs": pairs.len(), "unreadable": sets.unreadable,
        "held_out_pairs": sets.held_out.len(), "loss": loss,
        "accuracy": accuracy(&model, &sets.training, micro_tokens)?,
        "held_out_accuracy": accuracy(&model, &sets.held_out, micro_tokens)?,
    }))
}

/// The settings of a fit, validated.
pub(super) fn settings(fit: &Fit) -> anyhow::Result<FitSettings> {
    ensure!(
        (0.0..1.0).contains(&fit.held_out),
        "`--held-out` must be at least 0 and below 1"
    );
    let settings = FitSettings {
        trained: match fit.body {
            Body::None => Trained::Head,
            Body::Adapters => Trained::Adapters(LoraSettings {
                rank: fit.rank,
                ..LoraSettings::default()
            }),
            Body::All => Trained::All,
        },
        loss: match fit.loss {
            LossName::Pairs => Loss::Pairs,
            LossName::Labels => Loss::Labels,
        },
        steps: fit.steps,
        ridge: fit.ridge,
        epochs: fit.epochs,
        batch: fit.batch,
        learning_rate: fit.learning_rate,
        seed: fit.seed,
        ..FitSettings::default()
    };
    settings.check()?;
    Ok(settings)
}

/// The options of the new model that the command declares.
fn template(arguments: &Arguments) -> Option<Map<String, Value>> {
    let name = match arguments.template? {
        Template::Chat => "chat",
        Template::Text => "text",
        Template::VerifyRm => "verify_rm",
    };
    Some(Map::from_iter([("template".to_owned(), name.into())]))
}

/// Fetches all pairs of the reward model, page by page.
async fn collect(server: &str, name: &str) -> anyhow::Result<Vec<PreferencePair>> {
    let client = Client::new(server, Retry::default())?;
    let (mut pairs, mut after) = (Vec::new(), 0);
    loop {
        let query = [("after", after.to_string()), ("limit", PAGE.to_string())];
        let page = client
            .pairs(name, &query)
            .await
            .context("cannot read the pairs")?;
        pairs.extend(page.pairs.into_iter().map(PreferencePair::from));
        if !page.more {
            return Ok(pairs);
        }
        after = page.next;
    }
}
