//! Where models come from: directories under the operator's folder, those that the configuration names, and a hub.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_core::Clock;

use crate::serving::{Loader, Model};
use crate::{Compute, ModelOptions, RewardModel};

/// Fetches `org/name` from a hub and says in which directory it is now.
pub type Fetch = dyn Fn(&str) -> Result<PathBuf, String> + Send + Sync;

/// Loads models from directories.
pub struct DirectoryLoader {
    /// The device they run on.
    pub compute: Compute,
    /// Sources are looked for here. Other places are refused, but for those in `named`.
    pub folder: PathBuf,
    /// Sources that the operator named, wherever they are.
    pub named: Vec<PathBuf>,
    /// Fetches what is not in the folder; without it nothing is fetched.
    pub fetch: Option<Arc<Fetch>>,
    /// Tells when a model became ready.
    pub clock: Arc<dyn Clock>,
}

impl DirectoryLoader {
    fn find(&self, source: &str) -> Result<PathBuf, String> {
        if Path::new(source).components().any(|part| part.as_os_str().to_string_lossy().starts_with(".fetching-")) {
            return Err(format!("`{source}` is not whole"));
        }
        let inside = self.folder.join(source);
        // Links and `..` are followed before the place is judged.
        if let (Ok(folder), Ok(found)) = (self.folder.canonicalize(), inside.canonicalize())
            && found.is_dir()
        {
            if (found.starts_with(&folder) && found != folder) || self.is_named(source) {
                return Ok(found);
            }
            return Err(format!("`{source}` is not inside the folder of models, `{}`", self.folder.display()));
        }
        if self.is_named(source) && Path::new(source).is_dir() {
            return Ok(PathBuf::from(source));
        }
        match &self.fetch {
            Some(fetch) if is_hub_name(source) => fetch(source),
            _ if is_hub_name(source) => Err(format!(
                "`{source}` is not in the folder of models, `{}`, and fetching from a hub is off (`reward_models.hub`)",
                self.folder.display()
            )),
            _ => Err(format!("`{source}` is no directory in the folder of models, `{}`", self.folder.display())),
        }
    }

    /// Whether the operator named it.
    fn is_named(&self, source: &str) -> bool {
        self.named.iter().any(|named| named == Path::new(source))
    }
}

impl Loader for DirectoryLoader {
    fn load(&self, name: &str, source: &str, options: &ModelOptions) -> Result<Arc<dyn Model>, String> {
        let path = self.find(source)?;
        let model = RewardModel::open(name, source, &path, options, &self.compute, self.clock.unix_us());
        model.map(|model| Arc::new(model) as Arc<dyn Model>).map_err(|error| format!("`{source}`: {error}"))
    }
}

/// Whether a text has the form `org/name`.
#[must_use]
pub fn is_hub_name(text: &str) -> bool {
    let part = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.len() <= 96 && part.chars().all(allowed) && !part.starts_with('.')
    };
    text.split_once('/').is_some_and(|(org, name)| part(org) && part(name))
}
