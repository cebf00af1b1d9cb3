//! Images: the table of languages, the files on disk, and loading.

use std::path::{Path, PathBuf};

use assay_worker::program::ImageInfo;
use wasmtime::{Engine, InstancePre};

use crate::info::Info;
use crate::state::State;
use crate::{ImageError, engine, info, trusted, wasi};

/// A language that can have an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Its name in tasks.
    pub name: &'static str,
}

/// All languages, in the order in which they are shown.
pub const LANGUAGES: &[Language] = &[Language { name: "python" }];

/// The language of this name.
pub(crate) fn language(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}

/// A folder of images. For each language it contains the module `NAME.wasm`, the compiled module
/// `NAME.ENGINE.cwasm` and the metadata `NAME.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The images in this folder, which need not exist.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The images that are built and compatible with this binary. They are not loaded.
    #[must_use]
    pub fn installed(&self) -> Vec<ImageInfo> {
        let Ok(engine) = engine::engine() else {
            return Vec::new();
        };
        LANGUAGES
            .iter()
            .filter_map(|language| self.info_of(&engine, language).ok())
            .collect()
    }

    /// The metadata of a language's image, if it is built and compatible with the engine.
    fn info_of(
        &self,
        engine: &Engine,
        language: &'static Language,
    ) -> Result<ImageInfo, ImageError> {
        let info = self.info(language);
        if !info.exists() || !self.compiled(language, engine).exists() {
            return Err(ImageError::Missing {
                language: language.name,
                folder: self.0.clone(),
            });
        }
        let text = std::fs::read(&info).map_err(|error| ImageError::File { path: info, error })?;
        let read = serde_json::from_slice(&text);
        let info: info::Info = read.map_err(|error| ImageError::SyntaxError {
            language: language.name,
            reason: error.to_string(),
        })?;
        let Info {
            hash,
            version,
            modules,
            ..
        } = info;
        Ok(ImageInfo {
            language: language.name.to_owned(),
            hash,
            version,
            modules,
        })
    }

    /// Path of the image: an interpreter's memory as a module.
    pub(crate) fn started(&self, language: &Language) -> PathBuf {
        self.0.join(format!("{}.wasm", language.name))
    }

    /// Path of the metadata, as JSON.
    pub(crate) fn info(&self, language: &Language) -> PathBuf {
        self.0.join(format!("{}.json", language.name))
    }

    /// Path of the image compiled for this engine on this machine.
    pub(crate) fn compiled(&self, language: &Language, engine: &Engine) -> PathBuf {
        self.0.join(format!(
            "{}.{}.cwasm",
            language.name,
            info::engine_name(engine)
        ))
    }
}

/// A loaded image: mapped from its file and shared by all instances.
pub(crate) struct Image {
    pub(crate) info: ImageInfo,
    pub(crate) ready: InstancePre<State>,
}

impl Image {
    /// Maps the image of a language.
    ///
    /// # Errors
    /// [`ImageError`].
    pub(crate) fn load(
        engine: &Engine,
        folder: &Folder,
        language: &'static Language,
    ) -> Result<Self, ImageError> {
        let broken = |reason: String| ImageError::SyntaxError {
            language: language.name,
            reason,
        };
        let info = folder.info_of(engine, language)?;
        let compiled = folder.compiled(language, engine);
        let module =
            trusted::map(engine, &compiled).map_err(|error| broken(format!("{error:#}")))?;
        let linker = wasi::linker(engine, &module).map_err(|error| broken(format!("{error:#}")))?;
        let ready = linker
            .instantiate_pre(&module)
            .map_err(|error| broken(format!("{error:#}")))?;
        Ok(Self { info, ready })
    }
}
