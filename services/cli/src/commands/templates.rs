//! `assay templates`: lists templates, shows one, and makes tasks from rows.

use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_core::{Item, RawJson};
use assay_engine::{BatchItem, Engine};
use assay_mapping::batch;
use assay_node::{Config, Node};
use assay_templates::{Row, Template, expected_form, read_row};
use serde::Serialize;
use serde_json::Value;

use super::grade::reject_same_file;
use super::{dataset_files, template};
use crate::arguments::Templates;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration, stop_signal};
use crate::progress::Progress;
use crate::{table, terminal};

/// Maximum number of rows without a task that are listed.
const MAX_REPORTED: u64 = 20;

/// Maximum size of the file of `--row`, in bytes.
const MAX_ROW_BYTES: u64 = 64 << 20;

pub(crate) fn run(file: Option<&Path>, arguments: &Templates) -> anyhow::Result<CommandStatus> {
    // Nothing is graded or recorded.
    let config = configuration(file, vec![("store", "database", String::new().into())])?;
    let Some(named) = arguments.template.as_deref() else {
        list(&config, arguments.format.json)?;
        return Ok(CommandStatus::Done);
    };
    let chosen = Chosen::new(&config, named)?;
    match (&arguments.row, &arguments.dataset) {
        (Some(row), _) => block_on(try_row(config, &chosen, row, arguments)),
        (None, Some(dataset)) => block_on(write_tasks(config, &chosen, dataset, arguments)),
        (None, None) => {
            show(&chosen, arguments)?;
            Ok(CommandStatus::Done)
        }
    }
}

/// The template of the command.
struct Chosen {
    name: String,
    json: String,
    template: Template,
}

impl Chosen {
    fn new(config: &Config, name: &str) -> anyhow::Result<Self> {
        let json = template::json(&config.templates()?, name)?;
        let template = Template::from_json(&json)?;
        // A template that is given as JSON has no name.
        let name = if name.trim_start().starts_with('{') {
            "template"
        } else {
            name
        };
        Ok(Self {
            name: name.to_owned(),
            json,
            template,
        })
    }
}

/// What `--json` prints about a template.
#[derive(Serialize)]
struct Description<'a> {
    name: &'a str,
    dataset: Option<&'a str>,
    graders: Vec<&'a str>,
    columns: Vec<&'a str>,
    expects: Vec<String>,
}

impl<'a> Description<'a> {
    fn new(name: &'a str, template: &'a Template) -> Self {
        Self {
            name,
            dataset: template.dataset(),
            graders: template.graders().into_iter().collect(),
            columns: template.columns().into_iter().collect(),
            expects: template.expected_forms().into_iter().collect(),
        }
    }

    fn graders(&self) -> String {
        if self.graders.is_empty() {
            "by row".to_owned()
        } else {
            self.graders.join(", ")
        }
    }
}

fn list(config: &Config, is_json: bool) -> anyhow::Result<()> {
    let templates = config.templates()?;
    let mut descriptions = Vec::new();
    for name in templates.names() {
        descriptions.push(Description::new(name, templates.get(name)?));
    }
    let mut out = terminal::stdout();
    if is_json {
        terminal::json_lines(&mut out, &descriptions)?;
        return Ok(());
    }
    let rows: Vec<_> = descriptions
        .iter()
        .map(|template| {
            [
                template.name.to_owned(),
                template.graders(),
                template.columns.join(", "),
                template.dataset.unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    table::write(
        &mut out,
        ["TEMPLATE", "GRADER", "COLUMNS", "DATASET"],
        &rows,
    )?;
    Ok(())
}

fn show(chosen: &Chosen, arguments: &Templates) -> anyhow::Result<()> {
    let description = Description::new(&chosen.name, &chosen.template);
    let mut out = terminal::stdout();
    if arguments.prompt {
        for form in &description.expects {
            writeln!(out, "{form}")?;
        }
        return Ok(());
    }
    if arguments.format.json {
        writeln!(out, "{}", terminal::pretty(&description)?)?;
        return Ok(());
    }
    if let Some(dataset) = description.dataset {
        writeln!(out, "dataset: {dataset}")?;
    }
    writeln!(out, "grader: {}", description.graders())?;
    writeln!(out, "columns: {}", description.columns.join(", "))?;
    for form in &description.expects {
        writeln!(out, "completion: {form}")?;
    }
    writeln!(out, "\n{}", chosen.json.trim_end())?;
    Ok(())
}

/// What a template makes from a row, with the names of the columns that `assay check` reads.
#[derive(Serialize)]
struct Made {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<Value>,
    task: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_solution: Option<Value>,
}

/// Applies the template to a row and checks the task as a request does.
fn make(
    engine: &Engine,
    templates: &assay_templates::Templates,
    chosen: &Chosen,
    row: &Row,
) -> Result<Made, String> {
    let suggested = |message: String| message + &templates.suggestion(row, &chosen.name);
    let template = &chosen.template;
    let part = |made: Result<Option<Value>, assay_templates::RowError>| {
        made.map_err(|error| suggested(error.to_string()))
    };
    let task = template
        .task(row)
        .map_err(|error| suggested(error.to_string()))?;
    let item = BatchItem::new(Item::text(""), task);
    engine
        .check(&item)
        .map_err(|error| suggested(batch::problem(error).to_string()))?;
    Ok(Made {
        id: part(template.id(row))?.or_else(|| row.get("id").cloned()),
        prompt: part(template.prompt(row))?,
        task: item.task.body,
        reference_solution: part(template.solution(row))?,
    })
}

async fn try_row(
    config: Config,
    chosen: &Chosen,
    file: &Path,
    arguments: &Templates,
) -> anyhow::Result<CommandStatus> {
    let row = read_row_of(file)?;
    let node = Node::start(config).await?;
    let made = make(node.engine(), node.templates(), chosen, &row);
    node.stop().await;
    let made = made.map_err(|message| anyhow::anyhow!("`{}`: {message}", file.display()))?;
    let mut out = terminal::stdout();
    if arguments.prompt {
        let task: Value = serde_json::from_str(made.task.get())?;
        writeln!(out, "{}", expected_form(&task))?;
    } else {
        writeln!(out, "{}", terminal::pretty(&made)?)?;
    }
    Ok(CommandStatus::Done)
}

fn read_row_of(file: &Path) -> anyhow::Result<Row> {
    let shown = file.display();
    let reader: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).with_context(|| format!("cannot read `{shown}`"))?)
    };
    let mut text = String::new();
    reader
        .take(MAX_ROW_BYTES + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read `{shown}`"))?;
    ensure!(
        text.len() as u64 <= MAX_ROW_BYTES,
        "`{shown}` has more than {MAX_ROW_BYTES} bytes; it must contain one row"
    );
    read_row(&text).with_context(|| {
        format!("`{shown}` must contain one row, a JSON object of columns by name")
    })
}

async fn write_tasks(
    config: Config,
    chosen: &Chosen,
    dataset: &str,
    arguments: &Templates,
) -> anyhow::Result<CommandStatus> {
    reject_same_file(Path::new(dataset), &arguments.output)?;
    // Fetched files are deleted when this is dropped.
    let fetched = tempfile::tempdir()?;
    let hub = config.reward_models.hub.reveal().to_owned();
    let files = dataset_files::resolve(dataset, &hub, fetched.path()).await?;
    let node = Node::start(config).await?;
    let written = tokio::select! {
        biased;
        () = stop_signal() => Ok(CommandStatus::Interrupted),
        written = async {
            tokio::task::block_in_place(|| write_all(&node, chosen, &files, arguments))
        } => written,
    };
    node.stop().await;
    written
}

fn write_all(
    node: &Node,
    chosen: &Chosen,
    files: &[assay_check::Dataset],
    arguments: &Templates,
) -> anyhow::Result<CommandStatus> {
    let mut out: Box<dyn Write> = if arguments.output.as_os_str() == "-" {
        Box::new(BufWriter::new(terminal::raw_results()))
    } else {
        let output = &arguments.output;
        let file = std::fs::File::create(output)
            .with_context(|| format!("cannot write `{}`", output.display()))?;
        Box::new(BufWriter::new(file))
    };
    let mut progress = Progress::new(None, "rows");
    let (mut rows, mut failed) = (0u64, 0u64);
    for file in files {
        for (location, row) in assay_check::read_rows(&file.name, &file.path)? {
            rows += 1;
            progress.advance(1);
            let made = row.and_then(|row| make(node.engine(), node.templates(), chosen, &row));
            match made {
                Ok(made) => {
                    serde_json::to_writer(&mut out, &made)?;
                    out.write_all(b"\n")?;
                }
                Err(message) => {
                    failed += 1;
                    if failed <= MAX_REPORTED {
                        // If stderr is closed, only the exit code reports the error.
                        let _ = writeln!(terminal::stderr(), "{location}: {message}");
                    }
                }
            }
        }
    }
    out.flush()?;
    progress.finish();
    if rows == 0 {
        bail!("the dataset has no rows");
    }
    if failed == 0 {
        return Ok(CommandStatus::Done);
    }
    let _ = writeln!(
        terminal::stderr(),
        "assay: {failed} of {rows} rows have no task"
    );
    Ok(CommandStatus::Findings)
}
