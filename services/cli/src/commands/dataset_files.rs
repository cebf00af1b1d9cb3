//! Files of datasets that are named on the command line.

use std::path::{Path, PathBuf};

use anyhow::Context;
use assay_check::{Dataset, is_dataset};
use assay_hub::datasets::{self, DatasetName, FetchedDataset};
use walkdir::WalkDir;

/// The files of a dataset: local files, or the files of a dataset on the hub, fetched into
/// `folder`.
pub(super) async fn resolve(name: &str, hub: &str, folder: &Path) -> anyhow::Result<Vec<Dataset>> {
    let Some(on_hub) = DatasetName::parse(name) else {
        return local(name);
    };
    let on_hub = on_hub.map_err(anyhow::Error::msg)?;
    anyhow::ensure!(
        !hub.is_empty(),
        "cannot fetch `{name}`: no hub is configured; set `reward_models.hub`"
    );
    let fetched = datasets::fetch(hub, folder, &on_hub)
        .await
        .map_err(anyhow::Error::msg)?;
    let FetchedDataset { revision, files } = fetched;
    let dataset = |(file, path): (String, PathBuf)| Dataset {
        name: format!("{}{}@{revision}/{file}", datasets::SCHEME, on_hub.name),
        path,
        revision: Some(revision.clone()),
    };
    Ok(files.into_iter().map(dataset).collect())
}

/// A local file, the dataset files in a folder and its folders, or those that match a pattern.
fn local(name: &str) -> anyhow::Result<Vec<Dataset>> {
    let path = Path::new(name);
    let mut paths = Vec::new();
    if path.is_dir() {
        for entry in WalkDir::new(path).sort_by_file_name() {
            let entry = entry.with_context(|| format!("cannot read the folder `{name}`"))?;
            if entry.file_type().is_file() && is_dataset(entry.path()) {
                paths.push(entry.into_path());
            }
        }
        anyhow::ensure!(
            !paths.is_empty(),
            "the folder `{name}` contains no dataset files"
        );
    } else if !path.exists() && name.contains(['*', '?', '[']) {
        for found in glob::glob(name).with_context(|| format!("invalid pattern `{name}`"))? {
            paths.push(found?);
        }
        anyhow::ensure!(!paths.is_empty(), "no file matches `{name}`");
    } else {
        paths.push(path.to_owned());
    }
    let dataset = |path: PathBuf| Dataset {
        name: path.display().to_string(),
        path,
        revision: None,
    };
    Ok(paths.into_iter().map(dataset).collect())
}
