//! `assay images`: lists sandbox images with their hashes and those that are missing, builds one
//! from an interpreter, packs it, or compiles packaged ones.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use assay_node::Config;
use assay_node::sandboxes::{self, ImageState, Sandboxes};
use serde_json::json;

use crate::arguments::Images;
use crate::exit::CommandStatus;
use crate::image_progress;
use crate::process::{block_on, configuration};
use crate::table;
use crate::terminal;

pub(crate) fn run(file: Option<&Path>, arguments: &Images) -> anyhow::Result<CommandStatus> {
    let config = configuration(file, Vec::new())?;
    let interpreter = || {
        arguments
            .interpreter
            .as_deref()
            .context("`--interpreter` is missing")
    };
    if let Some(image) = &arguments.build {
        sandboxes::build_image(&config.sandbox_workers, image, interpreter()?)?;
    }
    if let (Some(image), Some(packages)) = (&arguments.pack, &arguments.packages) {
        let bytes =
            sandboxes::pack_image(&config.sandbox_workers, image, interpreter()?, packages)?;
        tracing::info!(image, bytes, "packed an image");
    }
    block_on(async {
        let sandboxes = Sandboxes::open(&config.sandbox_workers, &config.sql)?;
        if let Some(images) = &arguments.compile {
            compile(&sandboxes, &config, images).await?;
        }
        list(&sandboxes, arguments)
    })
}

async fn compile(sandboxes: &Sandboxes, config: &Config, images: &[String]) -> anyhow::Result<()> {
    let installed = sandboxes.images();
    for name in images {
        ensure!(
            installed.contains(&name.as_str()),
            "no image `{name}` is installed; run `assay images` to list them"
        );
    }
    ensure!(
        !installed.is_empty(),
        "there is no packaged image beside the binary; install `assay-rewards` with `pip`, or set \
         `sandbox_workers.packages` to their folder"
    );
    tracing::debug!(folder = %config.sandbox_workers.images.display(), "compiling images");
    image_progress::show(sandboxes);
    for image in installed {
        if images.is_empty() || images.iter().any(|name| name == image) {
            sandboxes
                .prepare(image)
                .await
                .map_err(|reason| anyhow!(reason))?;
        }
    }
    Ok(())
}

/// Lists the images, or only the one that was built or packed.
fn list(sandboxes: &Sandboxes, arguments: &Images) -> anyhow::Result<CommandStatus> {
    let one = arguments.build.as_ref().or(arguments.pack.as_ref());
    let is_listed = |name: &str| one.is_none_or(|one| one == name);
    let mut installed = sandboxes.list_images()?;
    installed.retain(|image| is_listed(image.name));
    let mut missing = sandboxes.missing_images();
    missing.retain(|image| is_listed(image.name));
    let mut out = terminal::stdout();
    if arguments.output.json {
        let installed = installed.iter().map(|image| {
            let info = image.info.as_deref();
            let reason = match &image.state {
                ImageState::Damaged(reason) => Some(reason),
                ImageState::Compiled | ImageState::Packaged => None,
            };
            json!({
                "image": image.name,
                "installed": true,
                "language": info.map(|info| &info.language),
                "version": info.map(|info| &info.version),
                "hash": info.map(|info| &info.hash),
                "compiled": image.state == ImageState::Compiled,
                "damaged": reason,
            })
        });
        let missing = missing.iter().map(
            |image| json!({"image": image.name, "installed": false, "install": image.install}),
        );
        terminal::json_lines(&mut out, installed.chain(missing))?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = installed
        .iter()
        .map(|image| {
            let info = image.info.as_deref();
            let state = match image.state {
                ImageState::Compiled => "compiled",
                ImageState::Packaged => "packaged",
                ImageState::Damaged(_) => "damaged",
            };
            [
                image.name.to_owned(),
                info.map_or_else(String::new, |info| info.version.clone()),
                state.to_owned(),
                info.map_or_else(String::new, |info| info.hash.clone()),
            ]
        })
        .collect();
    table::write(&mut out, ["IMAGE", "VERSION", "STATE", "HASH"], &rows)?;
    for image in &installed {
        if let ImageState::Damaged(reason) = &image.state {
            writeln!(out, "{reason}")?;
        }
    }
    for image in missing {
        writeln!(out, "{} is not installed; {}", image.name, image.install)?;
    }
    Ok(CommandStatus::Done)
}
