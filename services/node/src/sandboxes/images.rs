//! The images of a node: compiles a packaged one when the first program needs it, and compares the
//! files of each with their checksums before workers use it and whenever they have changed.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use assay_code::{ImageVersion, PrepareImages};
use assay_core::{BoxFuture, Clock, SystemClock};
use assay_wasm::{FileStamps, Folder, ImageError, ImageKind, InstallStep, Package};
use assay_worker::WorkerPool;
use assay_worker::program::ImageInfo;
use tokio::sync::Mutex;

use crate::config;

/// The folder of packaged images, relative to that of the binary.
const PACKAGES: &str = "../share/assay/images";

/// Progress of compiling a packaged image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageProgress {
    /// Another process is compiling the image.
    Waiting,
    /// The image is being compiled.
    Compiling,
    /// The image was compiled, in this time.
    Compiled(Duration),
    /// The image was compiled by another process.
    Found,
    /// The image cannot be compiled.
    Failed,
}

/// Receives the progress of compiling the image of this name.
pub type ImageObserver = Box<dyn Fn(&str, ImageProgress) + Send + Sync>;

/// The images of a node.
#[derive(Clone)]
pub(super) struct Images(Arc<ImagesState>);

struct ImagesState {
    folder: Folder,
    images: Vec<Image>,
    workers: OnceLock<WorkerPool>,
    observer: OnceLock<ImageObserver>,
}

/// An installed image.
struct Image {
    kind: &'static ImageKind,
    info: ImageInfo,
    /// From which it is compiled; `None` if it was built in the folder of images.
    package: Option<Package>,
    verified: RwLock<Verified>,
    /// Held while the image is compiled or verified.
    preparing: Mutex<()>,
}

/// The last comparison of the files of an image with their checksums.
#[derive(Default)]
struct Verified {
    version: ImageVersion,
    /// The files that workers have loaded.
    files: FileStamps,
    /// `None` before the first comparison.
    result: Option<Result<(), String>>,
}

impl Verified {
    /// The result of the comparison; `None` if the files were not compared or have changed.
    fn result(&self) -> Option<Result<ImageVersion, String>> {
        let result = self.result.as_ref()?;
        self.files
            .are_current()
            .then(|| result.clone().map(|()| self.version))
    }
}

impl Image {
    fn new(
        folder: &Folder,
        kind: &'static ImageKind,
        info: ImageInfo,
        package: Option<Package>,
    ) -> Result<Self, ImageError> {
        Ok(Self {
            kind,
            info,
            package,
            verified: RwLock::new(Verified {
                files: FileStamps::of(folder, kind)?,
                ..Verified::default()
            }),
            preparing: Mutex::new(()),
        })
    }

    fn verified(&self) -> RwLockReadGuard<'_, Verified> {
        self.verified.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the files with their checksums and keeps the result. If workers may have loaded
    /// other files, they are replaced.
    ///
    /// # Errors
    /// [`ImageError`].
    fn verify(&self, folder: &Folder, workers: Option<&WorkerPool>) -> Result<(), ImageError> {
        let files = FileStamps::of(folder, self.kind)?;
        let result = assay_wasm::verify(folder, self.kind);
        let mut verified = self
            .verified
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(workers) = workers.filter(|_| verified.files != files) {
            // Before anyone sees the version, because it must not be taken for that of old workers.
            workers.renew();
        }
        let kept = match &result {
            Ok(()) => Some(Ok(())),
            // A package is compiled at the next attempt.
            Err(_) if self.package.is_some() => None,
            Err(error) => Some(Err(error.to_string())),
        };
        *verified = Verified {
            version: ImageVersion(verified.version.0 + 1),
            files,
            result: kept,
        };
        result
    }
}

impl Images {
    /// Reads the packages of the configured folder, and lists the images that were built.
    ///
    /// # Errors
    /// [`ImageError`] if a package is malformed.
    pub(super) fn open(config: &config::SandboxWorkers) -> Result<Self, ImageError> {
        let packages = Package::all(&packages_folder(config))?;
        let folder = Package::compiled_in(&config.images, &packages);
        // Without a path there are no images, and items that need one fail with a clear error.
        if !folder.path().as_os_str().is_empty() {
            folder.check_owner()?;
        }
        let mut images: Vec<_> = packages
            .into_iter()
            .map(|package| Image::new(&folder, package.kind(), package.info(), Some(package)))
            .collect::<Result<_, _>>()?;
        for info in folder.installed() {
            let is_packaged = images.iter().any(|image| image.info.name == info.name);
            if let Some(kind) = assay_wasm::kind(&info.name).filter(|_| !is_packaged) {
                images.push(Image::new(&folder, kind, info, None)?);
            }
        }
        Ok(Self(Arc::new(ImagesState {
            folder,
            images,
            workers: OnceLock::new(),
            observer: OnceLock::new(),
        })))
    }

    /// The folder of compiled images, packaged or not.
    pub(super) fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// The installed images, packaged ones first.
    pub(super) fn list(&self) -> Vec<ImageInfo> {
        let images = self.0.images.iter();
        images.map(|image| image.info.clone()).collect()
    }

    /// The workers to replace when an image is ready.
    pub(super) fn set_workers(&self, workers: WorkerPool) {
        // Set once, when the pool is created.
        let _ = self.0.workers.set(workers);
    }

    /// Reports progress to `observer` instead of to the log.
    pub(super) fn observe(&self, observer: ImageObserver) {
        // The first observer is kept.
        let _ = self.0.observer.set(observer);
    }

    /// Whether an image is compiled, so that preparing it is fast.
    pub(super) fn is_compiled(&self, image: &str) -> bool {
        let package = self.of(image).and_then(|image| image.package.as_ref());
        package.is_none_or(|package| {
            assay_wasm::is_installed(&self.0.folder, package).unwrap_or(false)
        })
    }

    fn of(&self, name: &str) -> Option<&Image> {
        self.0.images.iter().find(|image| image.info.name == name)
    }

    /// Compiles an image if it is packaged and not compiled yet, and compares its files with their
    /// checksums.
    async fn make_ready(&self, image: &Image) -> Result<ImageVersion, String> {
        let _preparing = image.preparing.lock().await;
        if let Some(result) = image.verified().result() {
            return result;
        }
        let name = &image.info.name;
        let (this, name_of_task) = (self.clone(), name.clone());
        let ready = tokio::task::spawn_blocking(move || {
            this.of(&name_of_task)
                .map_or(Ok(()), |image| this.make_ready_now(image))
        })
        .await;
        match ready {
            Ok(Ok(())) => Ok(image.verified().version),
            Ok(Err(error)) => {
                tracing::error!(image = name, %error, "cannot prepare an image");
                Err(error.to_string())
            }
            Err(error) => {
                tracing::error!(image = name, %error, "preparing an image panicked");
                Err(format!("preparing the image `{name}` failed"))
            }
        }
    }

    fn make_ready_now(&self, image: &Image) -> Result<(), ImageError> {
        let verify = || image.verify(&self.0.folder, self.0.workers.get());
        match (verify(), &image.package) {
            (Err(_), Some(package)) => {
                self.install(&image.info.name, package)?;
                verify()
            }
            (result, _) => result,
        }
    }

    /// Compiles a packaged image unless it is compiled.
    fn install(&self, image: &str, package: &Package) -> Result<(), ImageError> {
        let (clock, last) = (SystemClock::new(), Cell::new(None));
        let report = |step| {
            last.set(Some(step));
            let progress = match step {
                InstallStep::Waiting => ImageProgress::Waiting,
                InstallStep::Compiling => ImageProgress::Compiling,
            };
            self.report(image, progress);
        };
        let installed = assay_wasm::install(&self.0.folder, package, &report);
        match (&installed, last.get()) {
            (_, None) => {}
            (Err(_), _) => self.report(image, ImageProgress::Failed),
            (Ok(_), Some(InstallStep::Compiling)) => {
                self.report(image, ImageProgress::Compiled(clock.monotonic()));
            }
            (Ok(_), Some(InstallStep::Waiting)) => self.report(image, ImageProgress::Found),
        }
        installed.map(drop)
    }

    fn report(&self, image: &str, progress: ImageProgress) {
        if let Some(observer) = self.0.observer.get() {
            observer(image, progress);
            return;
        }
        match progress {
            ImageProgress::Compiling => {
                tracing::info!(
                    image,
                    "compiling an image for this machine, which is done once"
                );
            }
            ImageProgress::Waiting => {
                tracing::info!(image, "waiting for another process that compiles an image");
            }
            ImageProgress::Compiled(time) => {
                tracing::info!(image, seconds = time.as_secs_f32(), "compiled an image");
            }
            ImageProgress::Found => tracing::info!(image, "another process compiled an image"),
            // The caller logs the error.
            ImageProgress::Failed => {}
        }
    }
}

impl PrepareImages for Images {
    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<ImageVersion, String>> {
        let Some(image) = self.of(image) else {
            // Workers report that it is missing.
            return Box::pin(std::future::ready(Ok(ImageVersion::default())));
        };
        match image.verified().result() {
            Some(result) => Box::pin(std::future::ready(result)),
            None => Box::pin(self.make_ready(image)),
        }
    }

    fn is_current(&self, image: &str, version: ImageVersion) -> bool {
        self.of(image).is_none_or(|image| {
            let verified = image.verified();
            verified.version == version && verified.result().is_some_and(|result| result.is_ok())
        })
    }
}

/// The configured folder of packages; by default the one beside the folder of the binary.
fn packages_folder(config: &config::SandboxWorkers) -> PathBuf {
    if !config.packages.as_os_str().is_empty() {
        return config.packages.clone();
    }
    // Links to the binary are resolved: a package puts the images beside the binary itself.
    let binary = std::env::current_exe().and_then(std::fs::canonicalize);
    binary
        .ok()
        .as_deref()
        .and_then(Path::parent)
        .map(|folder| folder.join(PACKAGES))
        .unwrap_or_default()
}
