//! `assay models score`: scores a file of inputs and writes one result per line, in the same order.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use assay_client::Client;
use assay_core::reward_model::{ModelLoad, ModelRequest, Truncate};
use assay_node::Node;
use assay_node::models::RawScale;
use assay_wire::Problem;
use assay_wire::scoring::{
    DecodedInput, InputError, InputOutcome, InputRequest, ScoreBody, ScoreReply, ScoreRequest,
    decode_input, parse_truncate,
};
use serde::Serialize;

use crate::arguments::{Score, ServerOptions};
use crate::commands::grade;
use crate::exit::CommandStatus;
use crate::process::{block_on, client, configuration};
use crate::progress::Progress;
use crate::target::named_server;
use crate::terminal;

/// Maximum number of inputs per request.
const CHUNK: usize = 1_024;

/// Bytes of lines after which a request is sent with fewer inputs. The queue of a model is bounded
/// in tokens, and an input has at most one token per byte with any tokenizer.
const CHUNK_BYTES: usize = 2 << 20;

/// Longest wait in the queue of the model. Includes the time to load the model.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Name of a model loaded from a directory.
const DIRECTORY_MODEL: &str = "model";

/// An output line.
#[derive(Serialize)]
struct OutputLine {
    id: Option<String>,
    #[serde(flatten)]
    outcome: InputOutcome,
}

/// A line of the file.
enum InputLine {
    /// An input and the text of its line.
    Valid(Box<DecodedInput>, String),
    Invalid(Problem),
}

/// Where inputs are scored.
enum Scorer {
    /// In this process, by the named model or the default one.
    Local(Box<Node>, Option<String>),
    /// On a server, by the named model.
    Remote(Client, String),
}

pub(super) fn run(
    file: Option<&Path>,
    arguments: &Score,
    server: &ServerOptions,
) -> anyhow::Result<CommandStatus> {
    grade::reject_same_file(&arguments.file, &arguments.output)?;
    let Some(truncate) = parse_truncate(&arguments.truncate) else {
        bail!(
            "`--truncate` must be `reject`, `prompt_left`, `left` or `right`, not `{}`",
            arguments.truncate
        );
    };
    let lines = open(&arguments.file)?;
    block_on(async {
        let scorer = match named_server(server.server.as_deref(), directory(arguments).is_some()) {
            Some(url) => remote(client(&url, &server.key)?, arguments).await?,
            None => local(file, arguments).await?,
        };
        let ended = write(arguments, lines, &scorer, truncate).await;
        if let Scorer::Local(node, _) = scorer {
            node.stop().await;
        }
        ended
    })
}

fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = File::open(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, opened)))
}

async fn remote(client: Client, arguments: &Score) -> anyhow::Result<Scorer> {
    let name = match &arguments.model {
        Some(name) => name.clone(),
        None => {
            let known = client.reward_models().await?.reward_models;
            let Some(default) = known.iter().find(|status| status.default) else {
                let names: Vec<_> = known
                    .iter()
                    .map(|status| format!("`{}`", status.name))
                    .collect();
                bail!(
                    "the server has no default model; name one with `--model`; available: {}",
                    names.join(", ")
                );
            };
            default.name.clone()
        }
    };
    Ok(Scorer::Remote(client, name))
}

/// The directory of the model, if it is named by one.
fn directory(arguments: &Score) -> Option<&Path> {
    let model = arguments.model.as_deref().map(Path::new);
    model.filter(|path| path.is_dir())
}

/// Starts a node in this process, without a record.
async fn local(file: Option<&Path>, arguments: &Score) -> anyhow::Result<Scorer> {
    let mut settings = vec![("store", "database", String::new().into())];
    let directory = directory(arguments).map(Path::canonicalize).transpose()?;
    if let Some(folder) = directory.as_deref().and_then(Path::parent) {
        settings.push((
            "reward_models",
            "folder",
            folder.display().to_string().into(),
        ));
    }
    let node = Node::start(configuration(file, settings)?).await?;
    let Some(directory) = directory else {
        node.load_models().await?;
        return Ok(Scorer::Local(Box::new(node), arguments.model.clone()));
    };
    let load = ModelLoad {
        source: Some(directory.display().to_string()),
        ..ModelLoad::default()
    };
    node.models().load(DIRECTORY_MODEL.to_owned(), load).await?;
    Ok(Scorer::Local(
        Box::new(node),
        Some(DIRECTORY_MODEL.to_owned()),
    ))
}

async fn write(
    arguments: &Score,
    mut lines: Box<dyn BufRead>,
    scorer: &Scorer,
    truncate: Truncate,
) -> anyhow::Result<CommandStatus> {
    let mut out: Box<dyn Write> = if arguments.output.as_os_str() == "-" {
        Box::new(terminal::raw_stdout())
    } else {
        Box::new(BufWriter::new(File::create(&arguments.output)?))
    };
    let mut progress = Progress::new(None, "lines");
    let mut number = 0;
    let mut scale = arguments.scale.then(RawScale::default);
    loop {
        let chunk = read(&mut lines, &mut number)?;
        if chunk.is_empty() {
            break;
        }
        let count = chunk.len() as u64;
        for line in score(scorer, chunk, truncate, &arguments.truncate).await? {
            match (&mut scale, &line.outcome) {
                (None, _) => {
                    serde_json::to_writer(&mut out, &line).map_err(std::io::Error::from)?;
                    out.write_all(b"\n")?;
                }
                (Some(scale), InputOutcome::Scored(ScoreBody { raw: Some(raw), .. })) => {
                    scale.add(*raw);
                }
                (Some(_), _) => {}
            }
        }
        progress.advance(count);
    }
    progress.finish();
    if let Some(scale) = scale {
        let (inputs, mean, std) = scale.estimate()?;
        writeln!(out, "# {inputs} inputs")?;
        writeln!(
            out,
            "normalise = \"affine\"\nmean = {mean:.4}\nstd = {std:.4}"
        )?;
    }
    out.flush()?;
    Ok(CommandStatus::Done)
}

/// Reads the next chunk of lines that are not blank; empty at the end.
fn read(lines: &mut dyn BufRead, number: &mut u64) -> anyhow::Result<Vec<InputLine>> {
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    while chunk.len() < CHUNK && bytes < CHUNK_BYTES {
        let mut line = String::new();
        *number += 1;
        if lines
            .read_line(&mut line)
            .with_context(|| format!("line {number}"))?
            == 0
        {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        bytes += line.len();
        // Some Windows editors put a byte order mark before the first line.
        let text = line.trim_start_matches('\u{feff}');
        chunk.push(match decode_input(text, "") {
            Ok((input, warnings)) => {
                for warning in warnings {
                    tracing::warn!(
                        line = *number,
                        field = warning.pointer,
                        "{}",
                        warning.message
                    );
                }
                InputLine::Valid(Box::new(input), text.to_owned())
            }
            Err(problem) => InputLine::Invalid(Problem {
                message: format!("line {number}: {}", problem.message).into(),
                ..problem
            }),
        });
    }
    Ok(chunk)
}

/// Scores a chunk; returns one output line per input line, in order.
async fn score(
    scorer: &Scorer,
    chunk: Vec<InputLine>,
    truncate: Truncate,
    truncate_name: &str,
) -> anyhow::Result<Vec<OutputLine>> {
    let (mut inputs, mut texts) = (Vec::new(), Vec::new());
    let ids: Vec<Result<Option<String>, Problem>> = chunk
        .into_iter()
        .map(|line| match line {
            InputLine::Valid(input, text) => {
                inputs.push(input.input);
                texts.push(text);
                Ok(input.id)
            }
            InputLine::Invalid(problem) => Err(problem),
        })
        .collect();
    let reply = match scorer {
        _ if inputs.is_empty() => None,
        Scorer::Local(node, model) => {
            let no_ids = vec![None; inputs.len()];
            let request = ModelRequest {
                model: model.clone(),
                caller: "local".into(),
                use_cache: true,
                inputs,
                truncate,
                expected_version: None,
                timeout: Some(TIMEOUT),
            };
            Some(ScoreReply::new(
                node.models().score(request).await?,
                no_ids,
                Vec::new(),
            ))
        }
        Scorer::Remote(client, name) => {
            // Ids are not sent: a request must not repeat an id, but a file may.
            let items = texts.iter().map(|text| {
                let item: InputRequest = serde_json::from_str(text)?;
                Ok(InputRequest { id: None, ..item })
            });
            let items = items.collect::<Result<Vec<_>, serde_json::Error>>()?;
            let request = ScoreRequest {
                items,
                truncate: Some(truncate_name.to_owned()),
                ..ScoreRequest::default()
            };
            Some(client.score(name, &request).await?)
        }
    };
    let mut results = reply.into_iter().flat_map(|reply| reply.results);
    ids.into_iter()
        .map(|id| match id {
            Ok(id) => {
                let result = results
                    .next()
                    .context("the model returned fewer results than inputs")?;
                Ok(OutputLine {
                    id,
                    outcome: result.outcome,
                })
            }
            Err(problem) => Ok(OutputLine {
                id: None,
                outcome: rejected_line(&problem),
            }),
        })
        .collect()
}

/// The outcome of a line that is not a valid input.
fn rejected_line(problem: &Problem) -> InputOutcome {
    let message = match &problem.pointer {
        Some(pointer) if !pointer.is_empty() => format!("`{pointer}`: {}", problem.message),
        _ => problem.message.to_string(),
    };
    InputOutcome::Refused {
        error: InputError {
            code: problem.code.to_string(),
            message,
        },
    }
}
