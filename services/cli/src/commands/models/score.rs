//! `assay models score`: each line of a file an input, each output line its result, in the same
//! order.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use assay_client::{Client, Retry};
use assay_core::reward_model::{ModelLoad, ModelRequest, Truncate};
use assay_node::Node;
use assay_wire::Problem;
use assay_wire::scoring::{
    DecodedInput, InputError, InputOutcome, InputRequest, ScoreReply, ScoreRequest, decode_input,
    truncate_named,
};
use serde::Serialize;

use crate::arguments::Score;
use crate::commands::{block_on, configuration, grade};
use crate::exit::Ended;
use crate::progress::Progress;

/// Inputs of one request.
const CHUNK: usize = 1_024;

/// Bytes of lines after which a request is sent all the same: no more tokens than may wait,
/// whatever the tokenizer.
const CHUNK_BYTES: usize = 2 << 20;

/// Longest wait for a turn. A model that is still loading is worth waiting for.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// Name under which a directory is loaded.
const DIRECTORY: &str = "model";

/// An output line.
#[derive(Serialize)]
struct Line {
    id: Option<String>,
    #[serde(flatten)]
    outcome: InputOutcome,
}

/// A line of the file: an input with the text it was read from, or what is wrong with it.
enum Read {
    Input(Box<DecodedInput>, String),
    Unread(Problem),
}

/// Whom inputs are put to.
enum Judge {
    Here(Box<Node>, Option<String>),
    There(Client, String),
}

pub(super) fn run(
    file: Option<&Path>,
    arguments: &Score,
    server: Option<&str>,
) -> anyhow::Result<Ended> {
    grade::refuse_to_overwrite(&arguments.file, &arguments.output)?;
    let Some(truncate) = truncate_named(&arguments.truncate) else {
        bail!(
            "`--truncate` is one of `refuse`, `prompt_left`, `left`, `right`: `{}`",
            arguments.truncate
        );
    };
    let lines = open(&arguments.file)?;
    block_on(async {
        let judge = match server {
            Some(server) => there(server, arguments).await?,
            None => here(file, arguments).await?,
        };
        let written = write(arguments, lines, &judge, truncate).await;
        if let Judge::Here(node, _) = judge {
            node.stop().await;
        }
        written
    })
}

fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = File::open(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, opened)))
}

async fn there(server: &str, arguments: &Score) -> anyhow::Result<Judge> {
    let client = Client::new(server, Retry::default())?;
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
                    "the server has no default model; name one with `--model`: {}",
                    names.join(", ")
                );
            };
            default.name.clone()
        }
    };
    Ok(Judge::There(client, name))
}

/// A node of this process, without a record.
async fn here(file: Option<&Path>, arguments: &Score) -> anyhow::Result<Judge> {
    let mut settings = vec![("store", "database", String::new().into())];
    let directory = arguments
        .model
        .as_deref()
        .map(Path::new)
        .filter(|path| path.is_dir());
    let directory = directory.map(Path::canonicalize).transpose()?;
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
        return Ok(Judge::Here(Box::new(node), arguments.model.clone()));
    };
    let load = ModelLoad {
        source: Some(directory.display().to_string()),
        options: None,
    };
    node.models().load(DIRECTORY.to_owned(), load).await?;
    Ok(Judge::Here(Box::new(node), Some(DIRECTORY.to_owned())))
}

async fn write(
    arguments: &Score,
    mut lines: Box<dyn BufRead>,
    judge: &Judge,
    truncate: Truncate,
) -> anyhow::Result<Ended> {
    let mut out: Box<dyn Write> = if arguments.output.as_os_str() == "-" {
        Box::new(std::io::stdout())
    } else {
        Box::new(BufWriter::new(File::create(&arguments.output)?))
    };
    let mut progress = Progress::new(None, "lines");
    let mut number = 0;
    loop {
        let chunk = read(&mut lines, &mut number)?;
        if chunk.is_empty() {
            break;
        }
        let count = chunk.len() as u64;
        for line in score(judge, chunk, truncate, &arguments.truncate).await? {
            serde_json::to_writer(&mut out, &line)?;
            out.write_all(b"\n")?;
        }
        progress.advance(count);
    }
    out.flush()?;
    progress.finish();
    Ok(Ended::Done)
}

/// The next lines that are not blank; none at the end.
fn read(lines: &mut dyn BufRead, number: &mut u64) -> anyhow::Result<Vec<Read>> {
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
        // Editors of another system put a byte order mark before the first line.
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
                Read::Input(Box::new(input), text.to_owned())
            }
            Err(problem) => Read::Unread(Problem {
                message: format!("line {number}: {}", problem.message).into(),
                ..problem
            }),
        });
    }
    Ok(chunk)
}

/// A line for each of `chunk`, in order.
async fn score(
    judge: &Judge,
    chunk: Vec<Read>,
    truncate: Truncate,
    named: &str,
) -> anyhow::Result<Vec<Line>> {
    let (mut inputs, mut texts) = (Vec::new(), Vec::new());
    let places: Vec<Result<Option<String>, Problem>> = chunk
        .into_iter()
        .map(|line| match line {
            Read::Input(input, text) => {
                inputs.push(input.input);
                texts.push(text);
                Ok(input.id)
            }
            Read::Unread(problem) => Err(problem),
        })
        .collect();
    let reply = match judge {
        _ if inputs.is_empty() => None,
        Judge::Here(node, model) => {
            let ids = vec![None; inputs.len()];
            let request = ModelRequest {
                model: model.clone(),
                caller: "local".into(),
                inputs,
                truncate,
                expected_version: None,
                timeout: Some(TIMEOUT),
            };
            Some(ScoreReply::new(
                node.models().score(request).await?,
                ids,
                Vec::new(),
            ))
        }
        Judge::There(client, name) => {
            // Ids need be unique within a request only, so they stay here.
            let items = texts.iter().map(|text| {
                let item: InputRequest = serde_json::from_str(text)?;
                Ok(InputRequest { id: None, ..item })
            });
            let items = items.collect::<Result<Vec<_>, serde_json::Error>>()?;
            let request = ScoreRequest {
                items,
                truncate: Some(named.to_owned()),
                ..ScoreRequest::default()
            };
            Some(client.score(name, &request).await?)
        }
    };
    let mut results = reply.into_iter().flat_map(|reply| reply.results);
    places
        .into_iter()
        .map(|place| match place {
            Ok(id) => {
                let result = results
                    .next()
                    .context("the model answered fewer inputs than it was asked")?;
                Ok(Line {
                    id,
                    outcome: result.outcome,
                })
            }
            Err(problem) => Ok(Line {
                id: None,
                outcome: unread(&problem),
            }),
        })
        .collect()
}

/// What stands for a line that is no input.
fn unread(problem: &Problem) -> InputOutcome {
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
