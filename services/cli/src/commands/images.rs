//! `assay images`: lists sandbox images with their hashes, or builds one from an interpreter.

use std::io::Write;
use std::path::Path;

use assay_node::sandboxes;
use serde_json::json;

use crate::arguments::Images;
use crate::exit::CommandStatus;
use crate::process::configuration;
use crate::table;
use crate::terminal;

pub(crate) fn run(file: Option<&Path>, images: &Images) -> anyhow::Result<CommandStatus> {
    let config = configuration(file, Vec::new())?;
    if let (Some(image), Some(interpreter)) = (&images.build, &images.interpreter) {
        sandboxes::build_image(&config.sandbox_workers, image, interpreter)?;
    }
    let installed = sandboxes::images(&config.sandbox_workers);
    let mut out = terminal::stdout();
    if images.output.json {
        let list: Vec<_> = installed
            .iter()
            .map(|image| {
                json!({
                    "image": image.name, "language": image.language, "version": image.version,
                    "hash": image.hash,
                })
            })
            .collect();
        writeln!(out, "{}", terminal::pretty(&json!({"images": list}))?)?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = installed
        .into_iter()
        .map(|image| [image.name, image.version, image.hash])
        .collect();
    table::write(&mut out, ["IMAGE", "VERSION", "HASH"], &rows)?;
    Ok(CommandStatus::Done)
}
