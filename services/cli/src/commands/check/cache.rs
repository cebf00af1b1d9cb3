//! The folder of the results that unchanged rows keep between checks.

use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::Context;
use assay_check::ResultCache;
use assay_core::Hash;
use assay_node::{Config, Node};

use crate::arguments::Check;
use crate::process::unix_us;

const US_PER_DAY: i64 = 86_400_000_000;

/// Opens the results of earlier checks. `None` with `--no-cache`, with `--repeats`, which is there
/// to grade again, and if the default folder cannot be used.
///
/// # Errors
/// The folder of `--cache` cannot be used.
pub(super) fn open(
    config: &Config,
    node: &Node,
    arguments: &Check,
) -> anyhow::Result<Option<ResultCache>> {
    if arguments.no_cache || arguments.repeats > 1 {
        return Ok(None);
    }
    let default = config.cache.as_deref().map(|cache| cache.join("checks"));
    let Some(folder) = arguments.cache.as_deref().or(default.as_deref()) else {
        return Ok(None);
    };
    let opened = identity(config, node).and_then(|identity| {
        let day = unix_us().div_euclid(US_PER_DAY);
        Ok(ResultCache::open(folder, identity, day)?)
    });
    match opened {
        Ok(cache) => Ok(Some(cache)),
        Err(error) if arguments.cache.is_none() => {
            tracing::warn!("results of earlier checks are not used: {error:#}");
            Ok(None)
        }
        Err(error) => Err(error.context("cannot use the folder of `--cache`")),
    }
}

/// The hash of what determines verdicts apart from the rows: the program, which a new build
/// changes, the images of programs, and the settings that affect verdicts.
fn identity(config: &Config, node: &Node) -> anyhow::Result<Hash> {
    let mut parts = vec![
        env!("CARGO_PKG_VERSION").to_owned(),
        config.engine.completion_bytes.to_string(),
        config.sql.result_bytes.to_string(),
        config.sql.statement_seconds.to_string(),
    ];
    let own = std::env::current_exe().context("cannot find the binary")?;
    for program in [own.as_path(), &config.sandbox_workers.program] {
        if !program.as_os_str().is_empty() {
            parts.push(build_of(program)?);
        }
    }
    for image in node.sandboxes().list_images()? {
        let hash = image.info.as_ref().map(|info| info.hash.as_str());
        parts.push(format!("{} {}", image.name, hash.unwrap_or_default()));
    }
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    Ok(Hash::of_parts(&parts))
}

/// Identifies the build of a program by the size and time of its file, because reading it takes
/// longer than checking a small dataset.
fn build_of(program: &Path) -> anyhow::Result<String> {
    let metadata = program.metadata();
    let metadata = metadata.with_context(|| format!("cannot read `{}`", program.display()))?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH)?;
    Ok(format!("{} {}", metadata.len(), modified.as_nanos()))
}
