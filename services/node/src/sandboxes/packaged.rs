//! Packaged images: compiles each once, when the first program needs it.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use assay_code::PrepareImages;
use assay_core::{BoxFuture, Clock, SystemClock};
use assay_wasm::{Folder, ImageError, InstallStep, Package};
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

/// The packaged images of a node.
#[derive(Clone)]
pub(super) struct PackagedImages(Arc<PackagedState>);

struct PackagedState {
    folder: Folder,
    packages: Vec<Prepared>,
    workers: OnceLock<WorkerPool>,
    observer: OnceLock<ImageObserver>,
}

struct Prepared {
    package: Package,
    /// Whether workers can run programs in the image.
    is_ready: AtomicBool,
    /// Held while the image is compiled.
    compiling: Mutex<()>,
}

impl PackagedImages {
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
        let packages = packages
            .into_iter()
            .map(|package| Prepared {
                package,
                is_ready: AtomicBool::new(false),
                compiling: Mutex::new(()),
            })
            .collect();
        Ok(Self(Arc::new(PackagedState {
            folder,
            packages,
            workers: OnceLock::new(),
            observer: OnceLock::new(),
        })))
    }

    /// The folder of compiled images, packaged or not.
    pub(super) fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// The packaged images and the others that are installed in the same folder.
    pub(super) fn images(&self) -> Vec<ImageInfo> {
        let packaged: Vec<_> = self
            .0
            .packages
            .iter()
            .map(|prepared| prepared.package.info())
            .collect();
        let others = self
            .0
            .folder
            .installed()
            .into_iter()
            .filter(|image| packaged.iter().all(|packaged| packaged.name != image.name));
        packaged.iter().cloned().chain(others).collect()
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
        self.of(image).is_none_or(|prepared| {
            assay_wasm::is_installed(&self.0.folder, &prepared.package).unwrap_or(false)
        })
    }

    fn of(&self, image: &str) -> Option<&Prepared> {
        let mut packages = self.0.packages.iter();
        packages.find(|prepared| prepared.package.info().name == image)
    }

    async fn compile(&self, image: &str, prepared: &Prepared) -> Result<(), String> {
        let _compiling = prepared.compiling.lock().await;
        if prepared.is_ready.load(Ordering::Acquire) {
            return Ok(());
        }
        let (this, package, name) = (self.clone(), prepared.package.clone(), image.to_owned());
        let installed = tokio::task::spawn_blocking(move || {
            let (clock, last) = (SystemClock::new(), Cell::new(None));
            let report = |step| {
                last.set(Some(step));
                let progress = match step {
                    InstallStep::Waiting => ImageProgress::Waiting,
                    InstallStep::Compiling => ImageProgress::Compiling,
                };
                this.report(&name, progress);
            };
            let installed = assay_wasm::install(&this.0.folder, &package, &report);
            match (&installed, last.get()) {
                (_, None) => {}
                (Err(_), _) => this.report(&name, ImageProgress::Failed),
                (Ok(_), Some(InstallStep::Compiling)) => {
                    this.report(&name, ImageProgress::Compiled(clock.monotonic()));
                }
                (Ok(_), Some(InstallStep::Waiting)) => this.report(&name, ImageProgress::Found),
            }
            installed
        })
        .await;
        let is_new = match installed {
            Ok(Ok(is_new)) => is_new,
            Ok(Err(error)) => {
                tracing::error!(image, %error, "cannot prepare a packaged image");
                return Err(error.to_string());
            }
            Err(error) => {
                tracing::error!(image, %error, "compiling a packaged image panicked");
                return Err(format!("compiling the image `{image}` failed"));
            }
        };
        // Workers load images when they start.
        if let Some(workers) = self.0.workers.get().filter(|_| is_new) {
            workers.renew();
        }
        prepared.is_ready.store(true, Ordering::Release);
        Ok(())
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

impl PrepareImages for PackagedImages {
    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), String>> {
        match self.of(image) {
            Some(prepared) if !prepared.is_ready.load(Ordering::Acquire) => {
                Box::pin(self.compile(image, prepared))
            }
            _ => Box::pin(std::future::ready(Ok(()))),
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
