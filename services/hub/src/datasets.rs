//! Fetches the files of a dataset from a hub, at a fixed commit.

use std::path::{Component, Path, PathBuf};

use assay_base::causes::with_causes;
use assay_base::url::redacted;

use crate::{Listing, client, get, save};

/// Prefix of the names of datasets on a hub.
pub const SCHEME: &str = "hf://";

/// File extensions of rows, in order of preference. If a path does not name a file, the files with
/// the first extension that occurs are fetched, so that metadata files are not mistaken for rows.
const EXTENSIONS: &[&[&str]] = &[
    &["parquet"],
    &["jsonl", "ndjson"],
    &["csv", "tsv"],
    &["json"],
];

/// The name of a dataset on a hub: `hf://ORG/NAME[@REVISION][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetName {
    /// `org/name`.
    pub name: String,
    /// A branch, a tag or a commit.
    pub revision: String,
    /// A file or folder of the dataset; empty for the whole dataset.
    pub path: String,
}

impl DatasetName {
    /// Parses a name; `None` if it does not start with [`SCHEME`].
    ///
    /// # Errors
    /// A message, if the name starts with [`SCHEME`] and is malformed.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix(SCHEME)?;
        // URLs of the hub contain this folder.
        let rest = rest.strip_prefix("datasets/").unwrap_or(rest);
        let (organisation, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (name_and_revision, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, revision) = name_and_revision
            .split_once('@')
            .unwrap_or((name_and_revision, "main"));
        let is_name = |text: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !text.is_empty() && text.chars().all(allowed) && !text.starts_with('.')
        };
        let path_is_relative = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if [organisation, name, revision].into_iter().all(is_name) && path_is_relative {
            let (name, revision) = (format!("{organisation}/{name}"), revision.to_owned());
            return Some(Ok(Self {
                name,
                revision,
                path: path.trim_end_matches('/').to_owned(),
            }));
        }
        Some(Err(format!(
            "malformed dataset name `{text}`; write `{SCHEME}ORG/NAME[@REVISION][/PATH]`"
        )))
    }
}

/// The fetched files of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDataset {
    /// The commit of the files.
    pub revision: String,
    /// Their names in the dataset, and their local paths.
    pub files: Vec<(String, PathBuf)>,
}

/// Fetches the files with rows of a dataset from the hub at `endpoint` into `folder`.
///
/// # Errors
/// The reason as text.
pub async fn fetch(
    endpoint: &str,
    folder: &Path,
    dataset: &DatasetName,
) -> Result<FetchedDataset, String> {
    let endpoint = endpoint.trim_end_matches('/');
    let fetched = files(endpoint, folder, dataset).await;
    fetched.map_err(|error| {
        format!(
            "cannot fetch the dataset `{}` from {}: {error}",
            dataset.name,
            redacted(endpoint)
        )
    })
}

async fn files(
    endpoint: &str,
    folder: &Path,
    dataset: &DatasetName,
) -> Result<FetchedDataset, String> {
    let DatasetName {
        name,
        revision,
        path,
    } = dataset;
    let client = client()?;
    let listing = get(
        &client,
        &format!("{endpoint}/api/datasets/{name}/revision/{revision}"),
    )
    .await?;
    let listing: Listing = listing.json().await.map_err(|error| with_causes(&error))?;
    let revision = listing.revision()?;
    let mut names: Vec<&str> = listing
        .siblings
        .iter()
        .map(|sibling| sibling.rfilename.as_str())
        .collect();
    names.sort_unstable();
    let selected = select(&names, path)?;
    let mut files = Vec::with_capacity(selected.len());
    for file in selected {
        if !Path::new(file)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err(format!("the hub returned a malformed file name: `{file}`"));
        }
        let url = format!("{endpoint}/datasets/{name}/resolve/{revision}/{file}");
        tracing::info!(dataset = name, file, "fetching");
        let destination = folder.join(file);
        save(get(&client, &url).await?, &destination)
            .await
            .map_err(|error| format!("{file}: {error}"))?;
        files.push((file.to_owned(), destination));
    }
    Ok(FetchedDataset {
        revision: revision.to_owned(),
        files,
    })
}

/// The file `path`, or the files with rows under it.
fn select<'a>(names: &[&'a str], path: &str) -> Result<Vec<&'a str>, String> {
    if let Some(file) = names.iter().find(|name| **name == path) {
        return Ok(vec![file]);
    }
    let under = |name: &&&str| {
        path.is_empty()
            || name
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    let extension = |name: &str| {
        name.rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase())
    };
    for extensions in EXTENSIONS {
        let has_extension = |name: &&&str| {
            extension(name).is_some_and(|extension| extensions.contains(&extension.as_str()))
        };
        let found: Vec<&str> = names
            .iter()
            .filter(under)
            .filter(has_extension)
            .copied()
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(match path {
        "" => "it has no Parquet, JSON lines, CSV, TSV or JSON files".to_owned(),
        path => format!(
            "it has no file `{path}`, and no Parquet, JSON lines, CSV, TSV or JSON files under it"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names_and_rejects_malformed_ones() {
        let read = |text| DatasetName::parse(text).unwrap();
        let name = |name: &str, revision: &str, path: &str| DatasetName {
            name: name.to_owned(),
            revision: revision.to_owned(),
            path: path.to_owned(),
        };
        assert_eq!(
            read("hf://openai/gsm8k"),
            Ok(name("openai/gsm8k", "main", ""))
        );
        assert_eq!(
            read("hf://datasets/openai/gsm8k@e53f/main/"),
            Ok(name("openai/gsm8k", "e53f", "main"))
        );
        for malformed in [
            "hf://gsm8k",
            "hf://a/b@",
            "hf://a/../b",
            "hf://a/b/../../c",
            "hf://a/b?c",
            "hf://../b",
        ] {
            assert!(read(malformed).is_err(), "{malformed}");
        }
        assert_eq!(DatasetName::parse("rows.jsonl"), None);
    }

    #[test]
    fn selects_files_by_extension() {
        let names = [
            "README.md",
            "dataset_infos.json",
            "main/test.parquet",
            "main/train.parquet",
            "raw/a.jsonl",
        ];
        assert_eq!(
            select(&names, "").unwrap(),
            ["main/test.parquet", "main/train.parquet"]
        );
        assert_eq!(select(&names, "raw").unwrap(), ["raw/a.jsonl"]);
        assert_eq!(
            select(&names, "dataset_infos.json").unwrap(),
            ["dataset_infos.json"]
        );
        assert!(select(&names, "mai").is_err());
    }
}
