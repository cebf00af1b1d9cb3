//! The images of a node: compiles a packaged one when the first program needs it, and compares the
//! files of each with their checksums before workers use it and whenever they have changed.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use assay_code::{ImageVersion, PrepareImages, PreparedImage};
use assay_core::{BoxFuture, Clock, SystemClock};
use assay_wasm::{
    FileStamps, Folder, IMAGES, ImageError, ImageKind, Inspection, InstallStep, Package,
};
use assay_worker::WorkerPool;
use assay_worker::program::ImageInfo;
use tokio::sync::Mutex;

use crate::config;

/// The folder of packaged images, relative to that of the binary.
const PACKAGES: &str = "../share/assay/images";

/// Time after which a package that could not be compiled is compiled again: an attempt takes up to
/// two minutes, and every item that needs the image would wait for one.
const RETRY_COMPILING: Duration = Duration::from_secs(30);

/// An installed image.
#[derive(Debug, Clone)]
pub struct ListedImage {
    /// Its name.
    pub name: &'static str,
    /// Its contents, if they are known.
    pub info: Option<Arc<ImageInfo>>,
    /// Whether programs can run in it.
    pub state: ImageState,
}

/// Whether programs can run in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageState {
    /// It is compiled, and its files match their checksums.
    Compiled,
    /// It is packaged, and compiled at its first use.
    Packaged,
    /// It cannot be used, for this reason. A packaged image is compiled again at its next use.
    Damaged(String),
}

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
    /// All that can be installed.
    images: Vec<Image>,
    workers: OnceLock<WorkerPool>,
    observer: OnceLock<ImageObserver>,
    clock: SystemClock,
}

/// An image, which need not be installed.
struct Image {
    kind: &'static ImageKind,
    /// From which it is compiled; `None` if it is built in the folder of images.
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
    /// The contents of the last files that were intact, or of the package.
    info: Option<Arc<ImageInfo>>,
    result: Kept,
}

/// What is known of the files until one of them changes.
#[derive(Default)]
enum Kept {
    /// They were not compared, or could not be read.
    #[default]
    Nothing,
    Intact,
    Unusable(String),
    /// The package could not be compiled. Tried again at this time of the clock.
    NotCompiled(String, Duration),
}

/// Whether the files of an image are still those of a version.
enum VersionState {
    Current,
    /// They must be compared with their checksums again.
    Unknown,
    Replaced,
}

impl Kept {
    fn of_error(error: &ImageError, is_packaged: bool) -> Self {
        // A package is compiled at once. What could not be read says nothing about the files.
        if error.is_temporary() || is_packaged {
            Self::Nothing
        } else {
            Self::Unusable(error.to_string())
        }
    }
}

impl Verified {
    /// The result of the comparison; `None` if the files must be compared.
    fn result(&self, now: Duration) -> Option<Result<PreparedImage, String>> {
        let result = match &self.result {
            Kept::Nothing => None,
            Kept::Intact => self.info.as_ref().map(|info| {
                Ok(PreparedImage {
                    version: self.version,
                    info: Arc::clone(info),
                })
            }),
            Kept::Unusable(reason) => Some(Err(reason.clone())),
            Kept::NotCompiled(reason, retry) => (now < *retry).then(|| Err(reason.clone())),
        };
        result.filter(|_| self.files.are_current())
    }
}

impl Image {
    fn new(
        folder: &Folder,
        kind: &'static ImageKind,
        package: Option<Package>,
    ) -> Result<Self, ImageError> {
        let info = match &package {
            Some(package) => Some(package.info()),
            None => folder.described(kind),
        };
        Ok(Self {
            kind,
            package,
            verified: RwLock::new(Verified {
                files: FileStamps::of(folder, kind)?,
                info: info.map(Arc::new),
                ..Verified::default()
            }),
            preparing: Mutex::new(()),
        })
    }

    fn verified(&self) -> RwLockReadGuard<'_, Verified> {
        self.verified.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the files are still those of this version.
    fn state_of(&self, version: ImageVersion) -> VersionState {
        let verified = self.verified();
        let files = &verified.files;
        if verified.version != version || !matches!(verified.result, Kept::Intact) {
            VersionState::Replaced
        } else if files.are_current() {
            VersionState::Current
        } else if files.now().differ_at_most_in_status(files) {
            VersionState::Unknown
        } else {
            VersionState::Replaced
        }
    }

    fn is_installed(&self) -> bool {
        self.package.is_some() || self.verified().files.exist()
    }

    /// Compares the files with their checksums and keeps the result. If workers may have loaded
    /// other files, they are replaced.
    ///
    /// # Errors
    /// [`ImageError`].
    fn verify(&self, folder: &Folder, workers: Option<&WorkerPool>) -> Result<(), ImageError> {
        let Inspection { files, image } = Inspection::of(folder, self.kind)?;
        let mut verified = self
            .verified
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(workers) = workers.filter(|_| verified.files != files) {
            // Before anyone sees the version, because it must not be taken for that of old workers.
            workers.renew();
        }
        // What old workers do with intact files that were not written is evidence, too.
        let is_same = image.is_ok()
            && matches!(verified.result, Kept::Intact)
            && files.differ_at_most_in_status(&verified.files);
        let version = verified.version.0 + u64::from(!is_same);
        let (info, result) = match &image {
            Ok(info) => (Some(Arc::new(info.clone())), Kept::Intact),
            Err(error) => (
                verified.info.clone(),
                Kept::of_error(error, self.package.is_some()),
            ),
        };
        *verified = Verified {
            version: ImageVersion(version),
            files,
            info,
            result,
        };
        image.map(drop)
    }

    /// Keeps the reason why the package cannot be compiled until then, unless a file changes.
    fn keep_failure(&self, folder: &Folder, reason: String, retry: Duration) {
        let Ok(files) = FileStamps::of(folder, self.kind) else {
            return;
        };
        let mut verified = self
            .verified
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        verified.files = files;
        verified.result = Kept::NotCompiled(reason, retry);
    }
}

impl Images {
    /// Reads the packages of the configured folder.
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
        // Packaged images first.
        let mut kinds: Vec<_> = IMAGES
            .iter()
            .map(|kind| {
                let package = packages.iter().find(|package| package.kind() == kind);
                (kind, package.cloned())
            })
            .collect();
        kinds.sort_by_key(|(_, package)| package.is_none());
        let images = kinds
            .into_iter()
            .map(|(kind, package)| Image::new(&folder, kind, package))
            .collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(ImagesState {
            folder,
            images,
            workers: OnceLock::new(),
            observer: OnceLock::new(),
            clock: SystemClock::new(),
        })))
    }

    /// The folder of compiled images, packaged or not.
    pub(super) fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// The names of the installed images, packaged ones first.
    pub(super) fn installed(&self) -> Vec<&'static str> {
        let installed = self.0.images.iter().filter(|image| image.is_installed());
        installed.map(|image| image.kind.name).collect()
    }

    /// The state of the installed images, packaged ones first. Reads all their files.
    pub(super) fn list(&self) -> Result<Vec<ListedImage>, ImageError> {
        let installed = self.0.images.iter().filter(|image| image.is_installed());
        installed
            .map(|image| {
                let state = match Inspection::of(&self.0.folder, image.kind)?.image {
                    Ok(_) => ImageState::Compiled,
                    // Perhaps a process is compiling it.
                    Err(ImageError::Missing { .. } | ImageError::Incomplete { .. })
                        if image.package.is_some() =>
                    {
                        ImageState::Packaged
                    }
                    Err(error) => ImageState::Damaged(error.to_string()),
                };
                Ok(ListedImage {
                    name: image.kind.name,
                    info: image.verified().info.clone(),
                    state,
                })
            })
            .collect()
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
        self.0.images.iter().find(|image| image.kind.name == name)
    }

    /// Compiles an image if it is packaged and not compiled yet, and compares its files with their
    /// checksums.
    async fn make_ready(&self, image: &Image) -> Result<PreparedImage, String> {
        let _preparing = image.preparing.lock().await;
        if let Some(result) = self.result_of(image) {
            return result;
        }
        let name = image.kind.name;
        let this = self.clone();
        let ready = tokio::task::spawn_blocking(move || {
            this.of(name)
                .map_or(Ok(()), |image| this.make_ready_now(image))
        })
        .await;
        match ready {
            Ok(Ok(())) => self.result_of(image).unwrap_or_else(|| {
                Err(format!(
                    "the files of the image `{name}` changed while it was read"
                ))
            }),
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

    fn result_of(&self, image: &Image) -> Option<Result<PreparedImage, String>> {
        image.verified().result(self.0.clock.monotonic())
    }

    fn make_ready_now(&self, image: &Image) -> Result<(), ImageError> {
        let (folder, name) = (&self.0.folder, image.kind.name);
        let verify = || image.verify(folder, self.0.workers.get());
        match (verify(), &image.package) {
            (Err(_), Some(package)) => {
                let ready = self.install(name, package).and_then(|()| verify());
                if let Err(error) = &ready
                    && !error.is_temporary()
                {
                    let retry = self.0.clock.monotonic() + RETRY_COMPILING;
                    image.keep_failure(folder, error.to_string(), retry);
                }
                ready
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
    fn is_installed(&self, image: &str) -> bool {
        self.of(image).is_some_and(Image::is_installed)
    }

    fn info(&self, image: &str) -> Option<Arc<ImageInfo>> {
        let image = self.of(image).filter(|image| image.is_installed())?;
        image.verified().info.clone()
    }

    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<PreparedImage, String>> {
        let Some(image) = self.of(image) else {
            let error = ImageError::Unknown(image.to_owned());
            return Box::pin(std::future::ready(Err(error.to_string())));
        };
        match self.result_of(image) {
            Some(result) => Box::pin(std::future::ready(result)),
            None => Box::pin(self.make_ready(image)),
        }
    }

    fn is_current<'a>(&'a self, image: &'a str, version: ImageVersion) -> BoxFuture<'a, bool> {
        let Some(image) = self.of(image) else {
            return Box::pin(std::future::ready(false));
        };
        match image.state_of(version) {
            VersionState::Current => Box::pin(std::future::ready(true)),
            VersionState::Replaced => Box::pin(std::future::ready(false)),
            VersionState::Unknown => Box::pin(async move {
                let again = self.make_ready(image).await;
                again.is_ok_and(|prepared| prepared.version == version)
            }),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(result: Kept) -> Verified {
        Verified {
            result,
            ..Verified::default()
        }
    }

    #[test]
    fn errors_of_a_busy_system_are_not_kept() {
        let error = |code| ImageError::File {
            path: PathBuf::from("x"),
            error: std::io::Error::from_raw_os_error(code),
        };
        let kept = |code, is_packaged| {
            let kept = Kept::of_error(&error(code), is_packaged);
            verified(kept).result(Duration::ZERO).is_some()
        };
        let too_many_files = 24;
        let permission_denied = 13;
        assert!(!kept(too_many_files, false));
        assert!(kept(permission_denied, false));
        assert!(!kept(permission_denied, true), "it is compiled again");
    }

    #[test]
    fn a_package_is_compiled_again_after_a_while() {
        let retry = Duration::from_secs(30);
        let verified = verified(Kept::NotCompiled("no space".to_owned(), retry));
        let before = verified.result(Duration::from_secs(29)).unwrap();
        assert_eq!(before.unwrap_err(), "no space");
        assert!(verified.result(retry).is_none());
    }
}
