//! `assay compare`: compares two recorded runs, or two ranges of steps of one run.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use assay_review::comparison::{
    ComparedGrades, ComparedPart, Comparison, Difference, PartBody, RunRange, compare,
};

use super::record::{Source, open, record_of};
use crate::arguments::CompareArguments;
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table::{self, cell};
use crate::terminal;

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &CompareArguments,
) -> anyhow::Result<CommandStatus> {
    let comparison = block_on(async {
        let source = open(file, &arguments.record).await?;
        let comparison = compared(&source, arguments).await;
        source.close().await;
        comparison
    })?;
    let mut out = terminal::stdout();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&comparison)?)?;
    } else {
        write(&mut out, &comparison)?;
    }
    Ok(CommandStatus::Done)
}

async fn compared(source: &Source, arguments: &CompareArguments) -> anyhow::Result<Comparison> {
    let second = arguments.b.as_ref().unwrap_or(&arguments.a);
    match source {
        Source::Server(client) => {
            let mut query = vec![
                ("a", arguments.a.clone()),
                ("b", second.clone()),
                ("prompts", arguments.prompts.to_string()),
            ];
            for (name, step) in [
                ("a_from", arguments.a_from),
                ("a_to", arguments.a_to),
                ("b_from", arguments.b_from),
                ("b_to", arguments.b_to),
            ] {
                query.extend(step.map(|step| (name, step.to_string())));
            }
            Ok(client.compare_runs(&query).await?)
        }
        Source::Node(node) => {
            let record = record_of(node)?;
            for run in [&arguments.a, second] {
                if record.run(run).await?.is_none() {
                    bail!("{}", node.review().unknown_run(run).await?);
                }
            }
            let range = |run: &String, from, to| RunRange {
                run: run.clone(),
                from,
                to,
            };
            let a = range(&arguments.a, arguments.a_from, arguments.a_to);
            let b = range(second, arguments.b_from, arguments.b_to);
            Ok(compare(record, &a, &b, arguments.prompts.into()).await?)
        }
    }
}

/// Writes tables of totals, of what contributes to the difference of the rewards, and of prompts.
fn write(out: &mut impl Write, comparison: &Comparison) -> std::io::Result<()> {
    table::write(
        out,
        ["", "A", "B", "DIFFERENCE", "95 % INTERVAL"],
        &totals(comparison),
    )?;
    if !comparison.parts.is_empty() {
        let parts: Vec<_> = comparison.parts.iter().map(part).collect();
        let head = [
            "TOPIC",
            "VALUE",
            "A SHARE",
            "B SHARE",
            "A REWARD",
            "B REWARD",
            "CONTRIBUTION",
        ];
        writeln!(out)?;
        table::write(out, head, &parts)?;
    }
    let prompts = &comparison.prompts;
    writeln!(
        out,
        "\n{} prompts in both: B solves {} that A does not, and A solves {} that B does not",
        prompts.common, prompts.gained, prompts.lost
    )?;
    if !prompts.flipped.is_empty() {
        let rate = |passes: u64, judged: u64| format!("{passes} of {judged}");
        let rows: Vec<_> = (prompts.flipped.iter())
            .map(|prompt| {
                [
                    prompt.prompt_key.clone(),
                    rate(prompt.a_passes, prompt.a_judged),
                    rate(prompt.b_passes, prompt.b_judged),
                ]
            })
            .collect();
        writeln!(out)?;
        table::write(out, ["PROMPT", "A PASSED", "B PASSED"], &rows)?;
    }
    Ok(())
}

fn totals(comparison: &Comparison) -> Vec<[String; 5]> {
    let both = |name: &str, of: &dyn Fn(&ComparedGrades) -> String| {
        let (a, b) = (of(&comparison.a), of(&comparison.b));
        [name.to_owned(), a, b, String::new(), String::new()]
    };
    let measured = |row: [String; 5], difference: Option<Difference>, shown: fn(f64) -> String| {
        let [name, a, b, ..] = row;
        let interval = |Difference { low, high, .. }| format!("{} to {}", shown(low), shown(high));
        let value = difference.map(|difference| shown(difference.value));
        [name, a, b, cell(value), cell(difference.map(interval))]
    };
    let signed = |value: f64| format!("{value:+.4}");
    let percent = |value: f64| format!("{:+.1} %", 100.0 * value);
    vec![
        both("run", &|set| set.range.run.clone()),
        both("steps", &|set| match (set.range.from, set.range.to) {
            (None, None) => "all".to_owned(),
            (from, to) => format!("{} to {}", cell(from), cell(to)).trim().to_owned(),
        }),
        both("grades", &|set| set.grades.to_string()),
        measured(
            both("mean reward", &|set| {
                let error = set.mean_reward.zip(set.reward_error);
                cell(error.map(|(mean, error)| format!("{mean:.4} ± {error:.4}")))
            }),
            comparison.reward,
            signed,
        ),
        measured(
            both("passed", &|set| share(set.passed, set.graded)),
            comparison.pass,
            percent,
        ),
        measured(
            both("mean bytes", &|set| {
                cell(set.mean_bytes.map(|bytes| format!("{bytes:.0}")))
            }),
            comparison.bytes,
            |bytes| format!("{bytes:+.0}"),
        ),
        both("truncated", &|set| share(set.truncated, set.grades)),
        both("ungradable", &|set| share(set.ungradable, set.grades)),
        both("failed", &|set| share(set.failed, set.grades)),
    ]
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

fn part(part: &ComparedPart) -> [String; 7] {
    let share = |part: &PartBody| format!("{:.1} %", 100.0 * part.share);
    let reward = |part: &PartBody| cell(part.mean_reward.map(|mean| format!("{mean:.4}")));
    [
        part.topic.clone(),
        part.value.clone(),
        share(&part.a),
        share(&part.b),
        reward(&part.a),
        reward(&part.b),
        cell(part.contribution.map(|share| format!("{share:+.4}"))),
    ]
}
