//! Files of datasets that are named on the command line.

use std::path::{Path, PathBuf};

use assay_check::Dataset;
use assay_hub::datasets::{self, DatasetName, FetchedDataset};

/// The files of a dataset: a local file, or the files of a dataset on the hub, fetched into
/// `folder`.
pub(super) async fn resolve(name: &str, hub: &str, folder: &Path) -> anyhow::Result<Vec<Dataset>> {
    let Some(on_hub) = DatasetName::parse(name) else {
        return Ok(vec![Dataset {
            name: name.to_owned(),
            path: PathBuf::from(name),
            revision: None,
        }]);
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
