//! Images: the files on disk, and loading.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_worker::program::ImageInfo;
use wasmtime::Engine;

use crate::guest::Guest;
use crate::info::Info;
use crate::instances::{Instances, Role};
use crate::kind::{IMAGES, ImageContent, ImageKind};
use crate::pages::PageMap;
use crate::request_error::RequestError;
use crate::state::State;
use crate::{ImageError, engine, info, trusted, wasi};

/// The permission of all users to write.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// Whether another user owns a file or folder, or can write to it. Links are followed.
fn is_foreign(path: &Path, user: u32) -> bool {
    let link = std::fs::symlink_metadata(path);
    let target = std::fs::metadata(path);
    let is_owned = |file: &Metadata| file.uid() == 0 || file.uid() == user;
    link.is_ok_and(|link| !is_owned(&link))
        || target.is_ok_and(|file| !is_owned(&file) || file.mode() & WRITABLE_BY_OTHERS != 0)
}

/// A folder of images. For each image with an interpreter it contains the module `NAME.wasm`, the
/// compiled module `NAME.ENGINE.cwasm` and the metadata `NAME.json`. An image with a compiler is a
/// folder `NAME`, with the same metadata beside it.
///
/// The files of a packaged image are in a folder that is named by the image's hash, so that
/// processes with different packages can share a folder of images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    /// The folders of packaged images, by image.
    packaged: BTreeMap<String, String>,
}

impl Folder {
    /// The images in this folder, which need not exist.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            packaged: BTreeMap::new(),
        }
    }

    /// The images in this folder, and packaged images, which take precedence: pairs of an image and
    /// the name of its folder.
    #[must_use]
    pub(crate) fn with_packaged(
        path: &Path,
        packaged: impl Iterator<Item = (String, String)>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            packaged: packaged.collect(),
        }
    }

    /// The packaged images as one argument of a process.
    #[must_use]
    pub fn packaged(&self) -> String {
        let pairs: Vec<_> = self
            .packaged
            .iter()
            .map(|(image, hash)| format!("{image}={hash}"))
            .collect();
        pairs.join(",")
    }

    /// The folder with this path and the packaged images that [`Folder::packaged`] returned; `None`
    /// if they are malformed.
    #[must_use]
    pub fn from_argument(path: &Path, packaged: &str) -> Option<Self> {
        let pairs = packaged.split(',').filter(|pair| !pair.is_empty());
        let packaged = pairs.map(|pair| {
            let (image, hash) = pair.split_once('=')?;
            Some((image.to_owned(), hash.to_owned()))
        });
        Some(Self {
            path: path.to_owned(),
            packaged: packaged.collect::<Option<_>>()?,
        })
    }

    /// The folder of an image's files.
    pub(crate) fn home(&self, kind: &ImageKind) -> PathBuf {
        match self.packaged.get(kind.name) {
            Some(hash) => self.path.join(hash),
            None => self.path.clone(),
        }
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that no other user can write to the folder, whose machine code workers run, and that
    /// no other user has placed images in it before. A folder that does not exist passes.
    ///
    /// # Errors
    /// [`ImageError::NoFolder`] without a path, [`ImageError::OtherOwner`],
    /// [`ImageError::WritableByOthers`], and [`ImageError::Foreign`].
    pub fn check_owner(&self) -> Result<(), ImageError> {
        if self.path.as_os_str().is_empty() {
            return Err(ImageError::NoFolder);
        }
        let Ok(metadata) = std::fs::metadata(&self.path) else {
            return Ok(());
        };
        let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
        if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
            return Err(ImageError::WritableByOthers {
                folder: self.path.clone(),
            });
        }
        if owner != 0 && owner != user {
            return Err(ImageError::OtherOwner {
                folder: self.path.clone(),
                owner,
                user,
            });
        }
        let entries = std::fs::read_dir(&self.path).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.is_of_image(&name) && is_foreign(&entry.path(), user) {
                return Err(ImageError::Foreign { path: entry.path() });
            }
        }
        Ok(())
    }

    /// Whether an entry of the folder is that of an image.
    fn is_of_image(&self, name: &str) -> bool {
        let mut kinds = IMAGES.iter();
        self.packaged.values().any(|hash| hash == name)
            || kinds.any(|kind| name.split('.').next() == Some(kind.name))
    }

    /// What the metadata of an image says, if it can be read. The image is neither read nor loaded.
    #[must_use]
    pub fn described(&self, kind: &'static ImageKind) -> Option<ImageInfo> {
        let engine = match kind.content {
            ImageContent::Interpreter => engine::for_interpreters(),
            ImageContent::Toolchain => engine::for_toolchains(true),
        };
        let info = self.info_of(&engine.ok()?, kind).ok()?;
        Some(public_info(kind, info))
    }

    /// The metadata of an image, if it is built and compatible with the engine.
    pub(crate) fn info_of(
        &self,
        engine: &Engine,
        kind: &'static ImageKind,
    ) -> Result<Info, ImageError> {
        let info = self.info(kind);
        let has_path = !self.path.as_os_str().is_empty();
        if !has_path || !info.exists() || !self.compiled(kind, engine).exists() {
            return Err(self.missing(kind));
        }
        let text = std::fs::read(&info).map_err(|error| ImageError::File { path: info, error })?;
        let read = serde_json::from_slice(&text);
        read.map_err(|error| ImageError::SyntaxError {
            image: kind.name,
            reason: error.to_string(),
        })
    }

    pub(crate) fn missing(&self, kind: &'static ImageKind) -> ImageError {
        ImageError::Missing {
            image: kind.name,
            folder: self.path.clone(),
        }
    }

    /// Path of the image: an interpreter's memory as a module.
    pub(crate) fn started(&self, kind: &ImageKind) -> PathBuf {
        self.home(kind).join(started_name(kind))
    }

    /// Path of the metadata, as JSON.
    pub(crate) fn info(&self, kind: &ImageKind) -> PathBuf {
        self.home(kind).join(format!("{}.json", kind.name))
    }

    /// Path of the image compiled for this engine on this machine.
    pub(crate) fn compiled(&self, kind: &ImageKind, engine: &Engine) -> PathBuf {
        let engine = info::engine_name(engine);
        let home = self.home(kind);
        match kind.content {
            ImageContent::Interpreter => home.join(format!("{}.{engine}.cwasm", kind.name)),
            ImageContent::Toolchain => home.join(kind.name).join(format!("library.{engine}.cwasm")),
        }
    }
}

/// The name of the file of a started interpreter.
pub(crate) fn started_name(kind: &ImageKind) -> String {
    format!("{}.wasm", kind.name)
}

/// The part of the metadata that a worker reports.
pub(crate) fn public_info(kind: &ImageKind, info: Info) -> ImageInfo {
    let Info {
        hash,
        version,
        modules,
        ..
    } = info;
    ImageInfo {
        name: kind.name.to_owned(),
        language: kind.language.to_owned(),
        hash,
        version,
        modules,
    }
}

/// A loaded image: mapped from its file and shared by all instances.
pub(crate) struct Image {
    pub(crate) info: ImageInfo,
    pub(crate) instances: Instances,
}

impl Image {
    /// Maps an image. Without a page map, every run gets a fresh instance.
    ///
    /// # Errors
    /// [`ImageError`].
    pub(crate) fn load(
        engine: &Engine,
        folder: &Folder,
        kind: &'static ImageKind,
        page_map: Option<&Arc<PageMap>>,
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
        let instances = Instances::new(ready, info.globals, page_map)
            .map_err(|error| broken(format!("{error:#}")))?;
        Ok(Self {
            info: public_info(kind, info),
            instances,
        })
    }

    /// An instance for a run.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn start(&self, role: Role, state: State) -> Result<Guest, RequestError> {
        self.instances
            .take(role, state)
            .map_err(RequestError::no_instance)
    }

    /// Ends the run of an instance, and records whether the program broke its interpreter.
    pub(crate) fn finish(&self, tainted: &AtomicBool, role: Role, guest: Guest) {
        tainted.fetch_or(guest.is_broken(), Ordering::Relaxed);
        self.instances.give_back(role, guest);
    }
}
