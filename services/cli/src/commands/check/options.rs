//! The options of a check, from the configuration and the command line.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use assay_check::findings::Severity;
use assay_check::{
    Baseline, Benchmark, CodeSettings, ColumnSources, Join, Options, OwnRules, Rollouts, Settings,
};
use assay_node::Config;
use assay_templates::{Templates, TextTemplate};
use serde::Deserialize;

use crate::arguments::Check;
use crate::commands::template;

/// The section `[check]`, over which the command line takes precedence.
pub(super) fn settings(config: &Config, arguments: &Check) -> anyhow::Result<Settings> {
    let table = toml::Value::Table(config.check.clone());
    let mut settings = Settings::deserialize(table)
        .map_err(|error| anyhow!("`[check]` of the configuration: {}", error.message()))?;
    if arguments.fail_on.is_some() {
        settings.fail_on = arguments.fail_on;
    }
    if arguments.rules.is_some() {
        settings.rules.clone_from(&arguments.rules);
    }
    if !arguments.ignore.is_empty() {
        settings.ignore.clone_from(&arguments.ignore);
    }
    if !arguments.select.is_empty() {
        settings.select.clone_from(&arguments.select);
    }
    Ok(settings)
}

/// Maximum size of a file of rules, in bytes.
const MAX_RULE_BYTES: u64 = 1 << 20;

fn own_rules(path: &Path) -> anyhow::Result<OwnRules> {
    let read = || -> anyhow::Result<OwnRules> {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        file.take(MAX_RULE_BYTES + 1).read_to_string(&mut text)?;
        ensure!(
            text.len() as u64 <= MAX_RULE_BYTES,
            "it has more than {MAX_RULE_BYTES} bytes"
        );
        OwnRules::parse(&text).map_err(anyhow::Error::msg)
    };
    read().with_context(|| format!("cannot read the rules `{}`", path.display()))
}

/// The template of `--prompt`, which may be the name of a column.
fn prompt_template(text: &str) -> anyhow::Result<TextTemplate> {
    let is_template = ["{{", "{%"].iter().any(|mark| text.contains(mark));
    let of_column = || {
        Ok(format!(
            "{{{{ column({}) }}}}",
            serde_json::to_string(text)?
        ))
    };
    let text = if is_template {
        text.to_owned()
    } else {
        of_column().map_err(|error: serde_json::Error| anyhow!(error))?
    };
    Ok(TextTemplate::new("/prompt", &text)?)
}

fn columns(arguments: &Check) -> anyhow::Result<ColumnSources> {
    if let Some(folder) = &arguments.databases {
        ensure!(
            folder.is_dir(),
            "`{}` of `--databases` is not a folder",
            folder.display()
        );
    }
    let join = match (&arguments.join, &arguments.on) {
        (Some(path), Some(on)) => Some(Join::read(path, &on.dataset, &on.joined)?),
        _ => None,
    };
    Ok(ColumnSources {
        join,
        map: arguments.map.clone(),
        databases: arguments.databases.clone(),
    })
}

fn baseline(path: Option<&Path>) -> anyhow::Result<Option<Baseline>> {
    path.map(Baseline::read)
        .transpose()
        .map_err(anyhow::Error::msg)
}

pub(super) fn options(
    templates: &Templates,
    settings: Settings,
    arguments: &Check,
) -> anyhow::Result<Options> {
    let own_rules = settings.rules.as_deref().map(own_rules).transpose()?;
    let own_rules = own_rules.unwrap_or_default();
    let CodeSettings {
        codes,
        ignores,
        ignore_column,
    } = settings.resolve(&own_rules).map_err(anyhow::Error::msg)?;
    let solution = arguments
        .solution
        .as_deref()
        .map(|text| TextTemplate::new("/solution", text))
        .transpose()?;
    let benchmark_template =
        template::resolve_optional(templates, arguments.against_template.as_deref())?;
    let benchmark = arguments
        .against
        .as_deref()
        .map(|path| Benchmark::read(path, benchmark_template.as_ref()))
        .transpose()?;
    let (mut rollouts, mut rollout_column) = (None, None);
    if let Some(name) = &arguments.rollouts {
        if Path::new(name).is_file() {
            rollouts = Some(Rollouts::read(Path::new(name)).map_err(anyhow::Error::msg)?);
        } else {
            rollout_column = Some(name.clone());
        }
    }
    let fail_on = settings.fail_on.unwrap_or_default();
    Ok(Options {
        template: template::resolve_optional(templates, arguments.template.as_deref())?,
        solution,
        prompt: arguments
            .prompt
            .as_deref()
            .map(prompt_template)
            .transpose()?,
        columns: Arc::new(columns(arguments)?),
        sample: arguments.sample.map(|rows| rows as usize),
        seed: arguments.seed,
        baseline: baseline(arguments.baseline.as_deref())?.unwrap_or_default(),
        compared: baseline(arguments.compare.as_deref())?,
        codes,
        own_rules,
        thresholds: settings.thresholds,
        ignored: settings.ignore.into_iter().collect(),
        selected: settings.select.into_iter().collect(),
        ignores,
        ignore_column,
        flag: arguments
            .write_clean
            .as_ref()
            .map(|_| fail_on.severity().unwrap_or(Severity::Error)),
        max_findings: arguments.max_findings,
        benchmark,
        rollouts,
        rollout_column,
        repeats: arguments.repeats as usize,
        cache: None,
    })
}
