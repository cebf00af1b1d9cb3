//! Fetches models from a hub of Hugging Face's kind: once, whole or not at all, into the folder of
//! models; and datasets, into a folder of the caller's.

pub mod datasets;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use crate::with_causes;

/// Longest silence of a hub.
const SILENCE: Duration = Duration::from_secs(60);

/// Files of a model beside its weights. Others are not fetched.
const TEXTS: &[&str] = &[
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

/// What a hub says of a model or a dataset.
#[derive(Deserialize)]
struct Listing {
    /// The revision that its main branch stands at.
    sha: String,
    siblings: Vec<Sibling>,
}

impl Listing {
    /// The revision, which stands in addresses.
    fn revision(&self) -> Result<&str, String> {
        let plain = !self.sha.is_empty() && self.sha.chars().all(|c| c.is_ascii_alphanumeric());
        if plain {
            Ok(&self.sha)
        } else {
            Err("the hub names a revision that is none".to_owned())
        }
    }
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

/// Fetches `org/name` from the hub at `endpoint`: it becomes `folder/org/name`, which is returned.
///
/// # Errors
/// Why it cannot be fetched. Nothing is left in the folder then.
pub async fn fetch(endpoint: &str, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let endpoint = endpoint.trim_end_matches('/');
    let fetched = model(endpoint, folder, name).await;
    fetched.map_err(|error| format!("`{name}` cannot be fetched from {endpoint}: {error}"))
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
    let wanted = |file: &&str| {
        TEXTS.contains(file) || (file.ends_with(".safetensors") && !file.contains(['/', '\\']))
    };
    let files: Vec<&str> = listing
        .siblings
        .iter()
        .map(|sibling| sibling.rfilename.as_str())
        .filter(wanted)
        .collect();
    if !files.iter().any(|file| file.ends_with(".safetensors")) {
        return Err("it has no safetensors".to_owned());
    }
    let parent = folder
        .join(name)
        .parent()
        .map_or_else(|| folder.to_owned(), Path::to_owned);
    fs::create_dir_all(&parent).map_err(|error| error.to_string())?;
    // Beside its place, so that moving it there is one step; a name that no source can have.
    let unfinished = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(&parent)
        .map_err(|error| error.to_string())?;
    for file in files {
        let url = format!("{endpoint}/{name}/resolve/{revision}/{file}");
        tracing::info!(model = name, file, "fetching");
        save(get(&client, &url).await?, &unfinished.path().join(file))
            .await
            .map_err(|error| format!("{file}: {error}"))?;
    }
    let place = folder.join(name);
    let whole = unfinished.keep();
    match fs::rename(&whole, &place) {
        Ok(()) => Ok(place),
        // Another load of the same name was quicker.
        Err(_) if place.is_dir() => fs::remove_dir_all(&whole)
            .map(|()| place)
            .map_err(|error| error.to_string()),
        Err(error) => {
            // What cannot be moved cannot be used; the reason is told, whether it can be removed or
            // not.
            let _ = fs::remove_dir_all(&whole);
            Err(error.to_string())
        }
    }
}

fn client() -> Result<reqwest::Client, String> {
    // Installing a provider twice is no error worth telling: the first stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .read_timeout(SILENCE)
        .connect_timeout(SILENCE);
    builder.build().map_err(|error| with_causes(&error))
}

async fn get(client: &reqwest::Client, url: &str) -> Result<reqwest::Response, String> {
    let answer = client
        .get(url)
        .send()
        .await
        .map_err(|error| with_causes(&error))?;
    match answer.status() {
        status if status.is_success() => Ok(answer),
        status if matches!(status.as_u16(), 401 | 403) => {
            Err(format!("{status}: it is not public; fetch it yourself"))
        }
        status => Err(status.to_string()),
    }
}

/// Writes an answer to a file, and holds it to the length that was announced.
async fn save(mut answer: reqwest::Response, path: &Path) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    }
    let announced = answer.content_length();
    let mut file = File::create(path)
        .await
        .map_err(|error| error.to_string())?;
    let mut written = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|error| with_causes(&error))? {
        file.write_all(&chunk)
            .await
            .map_err(|error| error.to_string())?;
        written += chunk.len() as u64;
    }
    file.sync_all().await.map_err(|error| error.to_string())?;
    match announced {
        Some(announced) if announced != written => {
            Err(format!("{written} of {announced} bytes came"))
        }
        _ => Ok(()),
    }
}
