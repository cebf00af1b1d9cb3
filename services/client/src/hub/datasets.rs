//! Fetches the files of a dataset from a hub, at a revision that never changes.

use std::path::{Component, Path, PathBuf};

use super::{Listing, client, get, save};
use crate::with_causes;

/// How names of datasets on a hub begin.
pub const SCHEME: &str = "hf://";

/// Endings of files of rows. Where a path names no file, those of the first ending that any file
/// has are taken, so that what describes a dataset is not taken for it.
const ENDINGS: &[&[&str]] = &[
    &["parquet"],
    &["jsonl", "ndjson"],
    &["csv", "tsv"],
    &["json"],
];

/// A dataset on a hub, as it is named: `hf://ORG/NAME[@REVISION][/PATH]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetName {
    /// `org/name`.
    pub name: String,
    /// A branch, a tag or a commit.
    pub revision: String,
    /// A file or a folder of it; empty for all of it.
    pub path: String,
}

impl DatasetName {
    /// Reads a name; `None` when it is none of a dataset on a hub.
    ///
    /// # Errors
    /// In a sentence, for a name that begins as one and is none.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix(SCHEME)?;
        // The path of hub's own addresses.
        let rest = rest.strip_prefix("datasets/").unwrap_or(rest);
        let (organisation, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (named, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, revision) = named.split_once('@').unwrap_or((named, "main"));
        let is_name = |text: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !text.is_empty() && text.chars().all(plain) && !text.starts_with('.')
        };
        let path_is_plain = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if [organisation, name, revision].into_iter().all(is_name) && path_is_plain {
            let (name, revision) = (format!("{organisation}/{name}"), revision.to_owned());
            return Some(Ok(Self {
                name,
                revision,
                path: path.trim_end_matches('/').to_owned(),
            }));
        }
        Some(Err(format!(
            "`{text}` is no dataset of a hub; name it as `{SCHEME}ORG/NAME[@REVISION][/PATH]`"
        )))
    }
}

/// The files of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDataset {
    /// The commit they are of.
    pub revision: String,
    /// Their names in the dataset, and where they are.
    pub files: Vec<(String, PathBuf)>,
}

/// Fetches a dataset's files of rows from the hub at `endpoint` into `folder`.
///
/// # Errors
/// In a sentence: why it cannot be fetched.
pub async fn fetch(
    endpoint: &str,
    folder: &Path,
    dataset: &DatasetName,
) -> Result<FetchedDataset, String> {
    let endpoint = endpoint.trim_end_matches('/');
    let fetched = files(endpoint, folder, dataset).await;
    fetched.map_err(|error| {
        format!(
            "the dataset `{}` cannot be fetched from {endpoint}: {error}",
            dataset.name
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
    let wanted = chosen(&names, path)?;
    let mut files = Vec::with_capacity(wanted.len());
    for file in wanted {
        if !Path::new(file)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err(format!("the hub names a file that is none: `{file}`"));
        }
        let url = format!("{endpoint}/datasets/{name}/resolve/{revision}/{file}");
        tracing::info!(dataset = name, file, "fetching");
        let place = folder.join(file);
        save(get(&client, &url).await?, &place)
            .await
            .map_err(|error| format!("{file}: {error}"))?;
        files.push((file.to_owned(), place));
    }
    Ok(FetchedDataset {
        revision: revision.to_owned(),
        files,
    })
}

/// The files of rows under `path`.
fn chosen<'a>(names: &[&'a str], path: &str) -> Result<Vec<&'a str>, String> {
    if let Some(file) = names.iter().find(|name| **name == path) {
        return Ok(vec![file]);
    }
    let under = |name: &&&str| {
        path.is_empty()
            || name
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    let ending = |name: &str| {
        name.rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase())
    };
    for endings in ENDINGS {
        let of_ending =
            |name: &&&str| ending(name).is_some_and(|ending| endings.contains(&ending.as_str()));
        let found: Vec<&str> = names
            .iter()
            .filter(under)
            .filter(of_ending)
            .copied()
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(match path {
        "" => "it has no files of rows in a format that is read".to_owned(),
        path => format!("it has no `{path}`, or no files of rows under it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_slips_are_told() {
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
        for slip in [
            "hf://gsm8k",
            "hf://a/b@",
            "hf://a/../b",
            "hf://a/b/../../c",
            "hf://a/b?c",
            "hf://../b",
        ] {
            assert!(read(slip).is_err(), "{slip}");
        }
        assert_eq!(DatasetName::parse("rows.jsonl"), None);
    }

    #[test]
    fn files_of_rows_are_chosen_by_their_endings() {
        let names = [
            "README.md",
            "dataset_infos.json",
            "main/test.parquet",
            "main/train.parquet",
            "raw/a.jsonl",
        ];
        assert_eq!(
            chosen(&names, "").unwrap(),
            ["main/test.parquet", "main/train.parquet"]
        );
        assert_eq!(chosen(&names, "raw").unwrap(), ["raw/a.jsonl"]);
        assert_eq!(
            chosen(&names, "dataset_infos.json").unwrap(),
            ["dataset_infos.json"]
        );
        assert!(chosen(&names, "mai").is_err());
    }
}
