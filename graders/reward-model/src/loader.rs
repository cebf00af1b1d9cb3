//! Loads models from the models folder, from configured directories and from a hub.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_core::Clock;

use crate::serving::{Loader, Model};
use crate::{Compute, ModelOptions, RewardModel};

/// Downloads `org/name` from a hub and returns its directory.
pub type Fetch = dyn Fn(&str) -> Result<PathBuf, String> + Send + Sync;

/// Returns whether `org/name` may be fetched for a request.
pub type MayFetch = dyn Fn(&str) -> bool + Send + Sync;

/// Loads models from directories.
pub struct DirectoryLoader {
    /// Devices on which models run.
    pub devices: Vec<Compute>,
    /// Folder that contains the models. Sources outside it are rejected, except those in `named`.
    pub folder: PathBuf,
    /// Sources that the configuration names. They may be outside the folder.
    pub named: Vec<PathBuf>,
    /// Fetches models that are not in the folder. `None` disables fetching.
    pub fetch: Option<Arc<Fetch>>,
    /// Decides whether `org/name` may be fetched for a request although the configuration does not
    /// name it.
    pub may_fetch: Arc<MayFetch>,
    /// Provides the time at which a model became ready.
    pub clock: Arc<dyn Clock>,
}

impl DirectoryLoader {
    fn find(&self, source: &str) -> Result<PathBuf, String> {
        if Path::new(source)
            .components()
            .any(|part| part.as_os_str().to_string_lossy().starts_with(".fetching-"))
        {
            return Err(format!("`{source}` is an incomplete download"));
        }
        let is_named = self.named.iter().any(|named| named == Path::new(source));
        let inside = self.folder.join(source);
        // Symbolic links and `..` are resolved before the path is checked.
        if let (Ok(folder), Ok(found)) = (self.folder.canonicalize(), inside.canonicalize())
            && found.is_dir()
            && ((found.starts_with(&folder) && found != folder) || is_named)
        {
            return Ok(found);
        }
        if is_named && Path::new(source).is_dir() {
            return Ok(PathBuf::from(source));
        }
        let allowed = is_hub_name(source) && (is_named || (self.may_fetch)(source));
        match &self.fetch {
            Some(fetch) if allowed && self.can_store(source) => fetch(source),
            _ => Err(self.absent(source)),
        }
    }

    /// The error for a source that is not found. It reveals nothing about paths outside the folder:
    /// it is the same whether or not they exist.
    fn absent(&self, source: &str) -> String {
        let absent = format!(
            "`{source}` is not a directory in the folder of models, `{}`",
            self.folder.display()
        );
        if !is_hub_name(source) {
            return absent;
        }
        match &self.fetch {
            None => format!("{absent}, and fetching from a hub is disabled (`reward_models.hub`)"),
            Some(_) => format!(
                "{absent}, and `reward_models.fetch` does not allow requests to fetch it; \
                 start the service with `ASSAY_REWARD_MODELS_FETCH=true` to allow it"
            ),
        }
    }

    /// Returns whether a model can be stored under its name: nothing exists at the path, and no
    /// link leads out of the folder.
    fn can_store(&self, source: &str) -> bool {
        let path = self.folder.join(source);
        let Ok(folder) = self.folder.canonicalize() else {
            // The folder is created with its first model.
            return !self.folder.exists();
        };
        let parent = path.parent().map(Path::canonicalize);
        path.symlink_metadata().is_err()
            && !matches!(parent, Some(Ok(parent)) if !parent.starts_with(&folder))
    }
}

impl Loader for DirectoryLoader {
    fn load(
        &self,
        name: &str,
        source: &str,
        options: &ModelOptions,
    ) -> Result<Arc<dyn Model>, String> {
        let path = self.find(source)?;
        let model = RewardModel::open_on(
            name,
            source,
            &path,
            options,
            &self.devices,
            self.clock.unix_us(),
        );
        model
            .map(|model| Arc::new(model) as Arc<dyn Model>)
            .map_err(|error| format!("`{source}`: {error}"))
    }
}

/// Returns whether a string has the form `org/name`.
#[must_use]
pub fn is_hub_name(text: &str) -> bool {
    let part = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.len() <= 96 && part.chars().all(allowed) && !part.starts_with('.')
    };
    text.split_once('/')
        .is_some_and(|(org, name)| part(org) && part(name))
}

#[cfg(test)]
mod tests {
    use assay_core::SystemClock;

    use super::*;

    /// A loader for a folder of models that contains `inside` and links to directories outside,
    /// with a hub that has every model.
    fn loader(folder: &Path, may_fetch: bool) -> DirectoryLoader {
        let models = folder.join("models");
        std::fs::create_dir_all(models.join("org/inside")).unwrap();
        std::fs::create_dir_all(folder.join("outside/model")).unwrap();
        std::fs::write(models.join("file"), "").unwrap();
        for (to, link) in [
            (folder.join("outside"), "org/linked"),
            (folder.join("nowhere"), "org/broken"),
            (folder.join("outside"), "away"),
        ] {
            if models.join(link).symlink_metadata().is_err() {
                std::os::unix::fs::symlink(to, models.join(link)).unwrap();
            }
        }
        DirectoryLoader {
            devices: vec![Compute::open("cpu", 1).unwrap()],
            folder: models,
            named: vec![PathBuf::from("org/configured")],
            fetch: Some(Arc::new(|name: &str| {
                Ok(PathBuf::from("fetched").join(name))
            })),
            may_fetch: Arc::new(move |_: &str| may_fetch),
            clock: Arc::new(SystemClock::new()),
        }
    }

    #[test]
    fn errors_do_not_reveal_whether_outside_paths_exist() {
        let folder = tempfile::tempdir().unwrap();
        let loader = loader(folder.path(), false);
        let error_text = |source: &str| loader.find(source).unwrap_err().replace(source, "…");
        let absent = error_text("missing");
        let outside = folder.path().join("outside").to_string_lossy().into_owned();
        let nowhere = folder.path().join("nowhere").to_string_lossy().into_owned();
        for source in [
            "../..",
            "../outside",
            "../nowhere",
            "../../x/y/z",
            "/etc",
            "/nowhere",
            "/etc/passwd",
            "file",
            "a\0b",
            &outside,
            &nowhere,
        ] {
            assert_eq!(error_text(source), absent, "{source}");
        }
        let absent = error_text("org/missing");
        assert!(
            absent.contains("`ASSAY_REWARD_MODELS_FETCH=true`"),
            "{absent}"
        );
        for source in ["org/linked", "org/broken", "away/model", "away/missing"] {
            assert_eq!(error_text(source), absent, "{source}");
        }
        assert!(
            loader
                .find("org/inside")
                .unwrap()
                .ends_with("models/org/inside")
        );
    }

    #[test]
    fn fetches_for_requests_only_if_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let closed = loader(folder.path(), false);
        assert!(closed.find("org/other").is_err());
        assert_eq!(
            closed.find("org/configured").unwrap(),
            Path::new("fetched/org/configured"),
            "configured by the operator"
        );
        let open = loader(folder.path(), true);
        assert_eq!(
            open.find("org/other").unwrap(),
            Path::new("fetched/org/other")
        );
        assert!(
            open.find("away/new").is_err() && open.find("org/linked").is_err(),
            "nothing is written through a link"
        );
        assert!(open.find("../other").is_err());
    }
}
