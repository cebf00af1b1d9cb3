//! `assay show`: shows one recorded grade as its page does: why it has its verdict, in a sentence
//! and as expected and actual values, then its attributes, evidence, reward and texts.

use std::io::{self, Write};
use std::path::Path;

use assay_base::truncated;
use assay_review::explanation::{ExpectedActual, comparisons, sentence};
use assay_wire::grades::GradeDetail;
use serde::Serialize;
use serde_json::Value;

use super::record::{Source, open};
use crate::arguments::Show;
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::{table, terminal};

/// Maximum length of a text, in characters. `--json` prints it whole.
const MAX_TEXT_CHARACTERS: usize = 4_000;

pub(crate) fn run(file: Option<&Path>, arguments: &Show) -> anyhow::Result<CommandStatus> {
    let (detail, meaning) = block_on(async {
        let source = open(file, &arguments.record).await?;
        let found = read(&source, &arguments.id).await;
        source.close().await;
        found
    })?;
    let mut out = terminal::stdout();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&detail)?)?;
    } else {
        write(&mut out, &detail, meaning.as_deref())?;
    }
    Ok(CommandStatus::Done)
}

/// The grade, and the meaning of its verdict by the specification of its grader.
async fn read(source: &Source, id: &str) -> anyhow::Result<(GradeDetail, Option<String>)> {
    let detail = source.grade(id).await?;
    let grade = &detail.stored.grade;
    let Some(verdict) = grade.verdict.as_deref() else {
        return Ok((detail, None));
    };
    let meaning = match source {
        Source::Server(client) => {
            let graders = client.graders().await?.graders.into_iter();
            let mut verdicts = graders
                .filter(|known| known.name == *grade.grader.name)
                .flat_map(|known| known.verdicts);
            let found = verdicts.find(|known| known.verdict == verdict);
            found.map(|known| known.meaning)
        }
        Source::Node(node) => {
            let grader = node.engine().graders().by_name(&grade.grader.name);
            let mut verdicts = grader.into_iter().flat_map(|grader| grader.spec().verdicts);
            let found = verdicts.find(|known| known.verdict.as_str() == verdict);
            found.map(|known| known.meaning.to_owned())
        }
    };
    Ok((detail, meaning))
}

fn write(out: &mut impl Write, detail: &GradeDetail, meaning: Option<&str>) -> io::Result<()> {
    let grade = &detail.stored.grade;
    let evidence = json(&grade.evidence);
    let task = json(&detail.task);
    writeln!(out, "{}\n", sentence(grade, meaning, &evidence, &task))?;
    let attributes = attributes(detail);
    let width = attributes.iter().map(|(name, _)| name.len()).max();
    for (name, value) in &attributes {
        let value = table::printable(value);
        writeln!(
            out,
            "{name:width$}  {value}",
            width = width.unwrap_or_default()
        )?;
    }
    for ExpectedActual {
        title,
        expected,
        got,
    } in comparisons(&task, &evidence)
    {
        writeln!(out, "\n{}", table::printable(&title))?;
        indented(out, "expected", &expected)?;
        indented(out, "got", &got)?;
    }
    facts(out, "Evidence", &evidence)?;
    facts(out, "Reward", &json(&grade.reward_breakdown))?;
    let texts = [
        ("Task", &detail.task),
        ("Prompt", &detail.prompt),
        ("Completion", &detail.completion),
    ];
    for (title, body) in texts {
        if let Some(text) = shown(&json(body)) {
            writeln!(out, "\n{title}")?;
            indented(out, "", &text)?;
        }
    }
    if detail.bodies != "stored" {
        writeln!(out, "\nTexts of the item are {}.", detail.bodies)?;
    }
    for adjudication in &detail.adjudications {
        let decision = if adjudication.pass { "right" } else { "wrong" };
        let (caller, time) = (&adjudication.caller, table::time(adjudication.time_us));
        let note = adjudication.note.as_deref().unwrap_or_default();
        writeln!(out, "\nAdjudicated {decision} by {caller} at {time} {note}")?;
    }
    for comment in &detail.comments {
        let (caller, time) = (&comment.caller, table::time(comment.time_us));
        let labels = comment.labels.join(" ");
        writeln!(out, "\nComment by {caller} at {time} {labels}")?;
        indented(out, "", &comment.text)?;
    }
    Ok(())
}

fn attributes(detail: &GradeDetail) -> Vec<(&'static str, String)> {
    let (source, grade) = (&detail.stored.source, &detail.stored.grade);
    let appeal = grade.appeal.as_ref().map(|appeal| {
        let verdict = appeal.verdict.as_deref().unwrap_or("no verdict");
        format!("{} by {}: {verdict}", appeal.as_str(), appeal.judge)
    });
    let number = |number: Option<f64>| number.map(|number| number.to_string());
    let all = [
        ("grade", Some(grade.grade.to_string())),
        ("time", Some(table::time(grade.time_us))),
        ("caller", Some(source.caller.to_string())),
        ("run", source.run.as_deref().map(str::to_owned)),
        ("step", source.step.map(|step| step.to_string())),
        ("item", grade.id.clone()),
        ("group", grade.group.clone()),
        ("prompt key", grade.prompt_key.clone()),
        ("channel", Some(grade.channel.to_string())),
        ("grader", Some(grade.grader.to_string())),
        ("score", number(grade.score)),
        ("appeal", appeal),
        ("policy", Some(source.policy.to_string())),
        ("reward", number(grade.reward)),
        ("advantage", number(grade.advantage)),
    ];
    let present = all.into_iter();
    present
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The fields of an object, one per line; nothing if it is absent.
fn facts(out: &mut impl Write, title: &str, object: &Value) -> io::Result<()> {
    let Some(fields) = object.as_object().filter(|fields| !fields.is_empty()) else {
        return Ok(());
    };
    writeln!(out, "\n{title}")?;
    for (name, value) in fields {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        writeln!(out, "  {name}: {}", table::printable(&value))?;
    }
    Ok(())
}

/// Writes the lines of a text, the first after its name.
fn indented(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    let short = truncated(text, MAX_TEXT_CHARACTERS);
    let mut lines = short.lines();
    let first = lines.next().unwrap_or("(nothing)");
    match name {
        "" => writeln!(out, "  {first}")?,
        name => writeln!(out, "  {name:8}  {first}")?,
    }
    let margin = if name.is_empty() { 2 } else { 12 };
    for line in lines {
        writeln!(out, "{:margin$}{line}", "")?;
    }
    if short.len() < text.len() {
        let more = text.len() - short.len();
        writeln!(
            out,
            "{:margin$}… {more} more bytes; `--json` prints all",
            ""
        )?;
    }
    Ok(())
}

/// A text as it is, messages as indented JSON; `None` if there is none.
fn shown(body: &Value) -> Option<String> {
    match body {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => serde_json::to_string_pretty(other).ok(),
    }
}

/// A part of a grade as JSON. All parts can be serialised.
fn json(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or(Value::Null)
}
