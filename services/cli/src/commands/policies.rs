//! `assay policies`: lists, explains and validates reward policies.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use assay_base::truncated;
use assay_engine::RewardPolicy;
use assay_mapping::render;
use assay_node::Node;
use assay_rewards::policy::FUNCTIONS;
use assay_wire::channels::{PoliciesBody, PolicyBody};

use crate::arguments::Policies;
use crate::exit::CommandStatus;
use crate::process::{block_on, client, configuration};
use crate::target::named_server;
use crate::{table, terminal};

pub(crate) fn run(file: Option<&Path>, arguments: &Policies) -> anyhow::Result<CommandStatus> {
    let json = arguments.output.json;
    let mut out = terminal::stdout();
    if arguments.functions {
        if json {
            terminal::json_lines(&mut out, FUNCTIONS)?;
            return Ok(CommandStatus::Done);
        }
        let rows: Vec<_> = FUNCTIONS
            .iter()
            .map(|known| {
                [known.section, known.name, known.summary, known.formula].map(str::to_owned)
            })
            .collect();
        table::write(
            &mut out,
            ["SECTION", "FUNCTION", "SUMMARY", "FORMULA"],
            &rows,
        )?;
        return Ok(CommandStatus::Done);
    }
    if let Some(path) = &arguments.check {
        let config = configuration(file, vec![("store", "database", String::new().into())])?;
        let policy = read(path)?;
        let known = block_on(async {
            let node = Node::start(config).await?;
            let known = policy.check_judges(node.engine().graders());
            node.stop().await;
            Ok(known)
        })?;
        known.map_err(|error| anyhow::anyhow!("`{}`: {error}", path.display()))?;
        return explain(&mut out, &render::policy_body(&policy), json);
    }
    let config = configuration(file, Vec::new())?;
    let server = named_server(arguments.server.as_deref(), false);
    let body = match server.or_else(|| assay_node::published_server(&config)) {
        Some(server) => block_on(async { Ok(client(&server, &arguments.key)?.policies().await?) })?,
        None => {
            let policies = config
                .policies()
                .map_err(|(name, error)| anyhow::anyhow!("`policies.{name}`: {error}"))?;
            PoliciesBody {
                policies: policies.iter().map(render::policy_body).collect(),
            }
        }
    };
    if let Some(name) = &arguments.name {
        let Some(policy) = body.policies.iter().find(|policy| policy.name == *name) else {
            let known: Vec<_> = body
                .policies
                .iter()
                .map(|policy| format!("`{}`", policy.name))
                .collect();
            bail!(
                "no policy is named `{name}`; available: {}",
                known.join(", ")
            );
        };
        return explain(&mut out, policy, json);
    }
    if json {
        terminal::json_lines(&mut out, &body.policies)?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = body.policies.iter().map(row).collect();
    table::write(&mut out, ["POLICY", "HASH", "FUNCTIONS", "SUMMARY"], &rows)?;
    Ok(CommandStatus::Done)
}

fn row(policy: &PolicyBody) -> [String; 4] {
    let summary = policy
        .policy
        .get("summary")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let functions: Vec<&str> = policy
        .explained
        .iter()
        .map(|line| line.function.as_str())
        .collect();
    let hash = policy.hash.as_deref().unwrap_or_default();
    let functions = if functions.is_empty() {
        "reward = score".to_owned()
    } else {
        functions.join(", ")
    };
    [
        policy.name.clone(),
        truncated(hash, 12).to_owned(),
        functions,
        summary.to_owned(),
    ]
}

/// Reads a policy from a file: JSON if it starts with a brace, otherwise TOML.
fn read(path: &Path) -> anyhow::Result<RewardPolicy> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let json: serde_json::Value = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))?
    } else {
        let table: toml::Table = text
            .parse()
            .with_context(|| format!("`{}` is not TOML", path.display()))?;
        serde_json::to_value(table)?
    };
    RewardPolicy::inline(&json).map_err(|error| anyhow::anyhow!("`{}`: {error}", path.display()))
}

fn explain(out: &mut impl Write, policy: &PolicyBody, json: bool) -> anyhow::Result<CommandStatus> {
    if json {
        writeln!(out, "{}", terminal::pretty(policy)?)?;
        return Ok(CommandStatus::Done);
    }
    if policy.explained.is_empty() {
        writeln!(out, "{}: the reward is the score", policy.name)?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = policy
        .explained
        .iter()
        .map(|line| {
            [
                line.field.clone(),
                line.formula.clone(),
                line.meaning.clone(),
                line.source.clone(),
            ]
        })
        .collect();
    table::write(out, ["FIELD", "FORMULA", "MEANING", "SOURCE"], &rows)?;
    Ok(CommandStatus::Done)
}
