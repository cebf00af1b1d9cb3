//! Images: their table, the files on disk, and loading.

use std::path::{Path, PathBuf};

use assay_worker::program::ImageInfo;
use wasmtime::{Engine, InstancePre};

use crate::info::Info;
use crate::state::State;
use crate::{ImageError, engine, info, trusted, wasi};

/// An image that can be built. A language can have several, with different packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageKind {
    /// Its name in tasks.
    pub name: &'static str,
    /// The language of its programs.
    pub language: &'static str,
}

/// All images, in the order in which they are shown.
pub const IMAGES: &[ImageKind] = &[
    ImageKind {
        name: "python",
        language: "python",
    },
    ImageKind {
        name: "python-scientific",
        language: "python",
    },
];

/// The image of this name.
pub(crate) fn kind(name: &str) -> Option<&'static ImageKind> {
    IMAGES.iter().find(|kind| kind.name == name)
}

/// A folder of images. For each image it contains the module `NAME.wasm`, the compiled module
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
        IMAGES
            .iter()
            .filter_map(|kind| self.info_of(&engine, kind).ok())
            .collect()
    }

    /// The metadata of an image, if it is built and compatible with the engine.
    fn info_of(&self, engine: &Engine, kind: &'static ImageKind) -> Result<ImageInfo, ImageError> {
        let info = self.info(kind);
        if !info.exists() || !self.compiled(kind, engine).exists() {
            return Err(ImageError::Missing {
                image: kind.name,
                folder: self.0.clone(),
            });
        }
        let text = std::fs::read(&info).map_err(|error| ImageError::File { path: info, error })?;
        let read = serde_json::from_slice(&text);
        let info: info::Info = read.map_err(|error| ImageError::SyntaxError {
            image: kind.name,
            reason: error.to_string(),
        })?;
        let Info {
            hash,
            version,
            modules,
            ..
        } = info;
        Ok(ImageInfo {
            name: kind.name.to_owned(),
            language: kind.language.to_owned(),
            hash,
            version,
            modules,
        })
    }

    /// Path of the image: an interpreter's memory as a module.
    pub(crate) fn started(&self, kind: &ImageKind) -> PathBuf {
        self.0.join(format!("{}.wasm", kind.name))
    }

    /// Path of the metadata, as JSON.
    pub(crate) fn info(&self, kind: &ImageKind) -> PathBuf {
        self.0.join(format!("{}.json", kind.name))
    }

    /// Path of the image compiled for this engine on this machine.
    pub(crate) fn compiled(&self, kind: &ImageKind, engine: &Engine) -> PathBuf {
        self.0
            .join(format!("{}.{}.cwasm", kind.name, info::engine_name(engine)))
    }
}

/// A loaded image: mapped from its file and shared by all instances.
pub(crate) struct Image {
    pub(crate) info: ImageInfo,
    pub(crate) ready: InstancePre<State>,
}

impl Image {
    /// Maps an image.
    ///
    /// # Errors
    /// [`ImageError`].
    pub(crate) fn load(
        engine: &Engine,
        folder: &Folder,
        kind: &'static ImageKind,
    ) -> Result<Self, ImageError> {
        let broken = |reason: String| ImageError::SyntaxError {
            image: kind.name,
            reason,
        };
        let info = folder.info_of(engine, kind)?;
        let compiled = folder.compiled(kind, engine);
        let module =
            trusted::map(engine, &compiled).map_err(|error| broken(format!("{error:#}")))?;
        let linker = wasi::linker(engine, &module).map_err(|error| broken(format!("{error:#}")))?;
        let ready = linker
            .instantiate_pre(&module)
            .map_err(|error| broken(format!("{error:#}")))?;
        Ok(Self { info, ready })
    }
}
