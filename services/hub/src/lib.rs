//! Fetches models from a hub with the API of Hugging Face into the folder of models, completely or
//! not at all, and datasets into a folder of the caller.

pub mod datasets;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_base::causes::with_causes;
use assay_base::url::redacted;
use serde::Deserialize;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

/// Maximum time to connect to a hub, and between two parts of a response.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Files of a model that are fetched in addition to its weights.
const METADATA_FILES: &[&str] = &[
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "model.safetensors.index.json",
    "assay.json",
];

/// A hub's description of a model or a dataset.
#[derive(Deserialize)]
struct Listing {
    /// The commit of the requested revision.
    sha: String,
    siblings: Vec<Sibling>,
}

impl Listing {
    /// The commit, which is safe to use in URLs.
    fn revision(&self) -> Result<&str, String> {
        let valid = !self.sha.is_empty() && self.sha.chars().all(|c| c.is_ascii_alphanumeric());
        if valid {
            Ok(&self.sha)
        } else {
            Err("the hub returned a malformed revision".to_owned())
        }
    }
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

/// Fetches `org/name` from the hub at `endpoint` into `folder/org/name` and returns that path.
///
/// # Errors
/// The reason as text. A failed fetch leaves nothing in the folder.
pub async fn fetch(endpoint: &str, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let endpoint = endpoint.trim_end_matches('/');
    let fetched = model(endpoint, folder, name).await;
    fetched.map_err(|error| format!("cannot fetch `{name}` from {}: {error}", redacted(endpoint)))
}

async fn model(endpoint: &str, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let client = client()?;
    let listing = get(
        &client,
        &format!("{endpoint}/api/models/{name}/revision/main"),
    )
    .await?;
    let listing: Listing = listing.json().await.map_err(|error| with_causes(&error))?;
    let revision = listing.revision()?;
    let is_needed = |file: &&str| {
        METADATA_FILES.contains(file)
            || (file.ends_with(".safetensors") && !file.contains(['/', '\\']))
    };
    let files: Vec<&str> = listing
        .siblings
        .iter()
        .map(|sibling| sibling.rfilename.as_str())
        .filter(is_needed)
        .collect();
    if !files.iter().any(|file| file.ends_with(".safetensors")) {
        return Err("the model has no `.safetensors` files".to_owned());
    }
    let parent = folder
        .join(name)
        .parent()
        .map_or_else(|| folder.to_owned(), Path::to_owned);
    fs::create_dir_all(&parent).map_err(|error| error.to_string())?;
    // In the folder of the destination, so that it can be renamed atomically. No source can have a
    // name with this prefix.
    let incomplete = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(&parent)
        .map_err(|error| error.to_string())?;
    for file in files {
        let url = format!("{endpoint}/{name}/resolve/{revision}/{file}");
        tracing::info!(model = name, file, "fetching");
        save(get(&client, &url).await?, &incomplete.path().join(file))
            .await
            .map_err(|error| format!("{file}: {error}"))?;
    }
    let destination = folder.join(name);
    let complete = incomplete.keep();
    match fs::rename(&complete, &destination) {
        Ok(()) => Ok(destination),
        // Another load of the same name finished first.
        Err(_) if destination.is_dir() => fs::remove_dir_all(&complete)
            .map(|()| destination)
            .map_err(|error| error.to_string()),
        Err(error) => {
            // Report why the rename failed, even if the removal fails too.
            let _ = fs::remove_dir_all(&complete);
            Err(error.to_string())
        }
    }
}

fn client() -> Result<reqwest::Client, String> {
    // Fails if a provider is already installed, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .read_timeout(TIMEOUT)
        .connect_timeout(TIMEOUT);
    builder.build().map_err(|error| with_causes(&error))
}

async fn get(client: &reqwest::Client, url: &str) -> Result<reqwest::Response, String> {
    let response = client
        .get(url)
        .send()
        .await
        .map_err(|error| with_causes(&error))?;
    match response.status() {
        status if status.is_success() => Ok(response),
        status if matches!(status.as_u16(), 401 | 403) => Err(format!(
            "{status}: it is not public; download it to a directory and use the directory"
        )),
        status => Err(status.to_string()),
    }
}

/// Writes a response to a file and checks its length against `Content-Length`.
async fn save(mut response: reqwest::Response, path: &Path) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    }
    let expected = response.content_length();
    let mut file = File::create(path)
        .await
        .map_err(|error| error.to_string())?;
    let mut written = 0;
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| with_causes(&error))?
    {
        file.write_all(&chunk)
            .await
            .map_err(|error| error.to_string())?;
        written += chunk.len() as u64;
    }
    file.sync_all().await.map_err(|error| error.to_string())?;
    match expected {
        Some(expected) if expected != written => {
            Err(format!("received {written} of {expected} bytes"))
        }
        _ => Ok(()),
    }
}
