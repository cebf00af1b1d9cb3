//! Installs packaged images: compiles them for this engine, once, into a folder of images.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::json;

use crate::disk::{create_folder, write};
use crate::image::{Folder, started_name};
use crate::kind::ImageContent;
use crate::package::Package;
use crate::{ImageError, checksums, engine, toolchain};

/// The current step of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process installs the image; this one waits.
    Waiting,
    /// The image is being compiled.
    Compiling,
}

/// Whether the image of a package is compiled for the engine of this process. Compares sizes of
/// files only; [`install`] compares hashes.
///
/// # Errors
/// [`ImageError::Engine`].
pub fn is_installed(folder: &Folder, package: &Package) -> Result<bool, ImageError> {
    checksums::is_complete(folder, package.kind)
}

/// Compiles the image of a package unless it is compiled already. Processes that install the same
/// image wait for the first of them. A damaged image is compiled again. Returns whether it was
/// installed by this call or while it waited.
///
/// # Errors
/// [`ImageError`].
pub fn install(
    folder: &Folder,
    package: &Package,
    report: &dyn Fn(InstallStep),
) -> Result<bool, ImageError> {
    if checksums::is_intact(folder, package.kind)? {
        return Ok(false);
    }
    let home = folder.home(package.kind);
    let unusable = |error| ImageError::NotWritable {
        image: package.kind.name,
        folder: folder.path().to_owned(),
        error,
    };
    folder.check_owner()?;
    create_folder(&home).map_err(unusable)?;
    // Another user may have created it in the meantime, if its parent is writable by all.
    folder.check_owner()?;
    let lock = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        // Opening a pipe would wait for its other end.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(home.join("lock"))
        .map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            report(InstallStep::Waiting);
            // Returns when the other process ends, even if it is killed.
            lock.lock().map_err(unusable)?;
        }
        Err(TryLockError::Error(error)) => return Err(unusable(error)),
    }
    if checksums::is_intact(folder, package.kind)? {
        return Ok(true);
    }
    report(InstallStep::Compiling);
    remove_partial_files(&home);
    match package.kind.content {
        ImageContent::Interpreter => compile_interpreter(folder, package)?,
        ImageContent::Toolchain => {
            // Without its parts the image is built from the beginning. Running workers keep their
            // mappings.
            let _ = std::fs::remove_file(folder.info(package.kind));
            let _ = std::fs::remove_dir_all(home.join(package.kind.name));
            build_toolchain(&home, package)?;
        }
    }
    Ok(true)
}

/// Removes the partial files of a killed process. The lock must be held.
fn remove_partial_files(home: &Path) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if extension.starts_with("part") {
            // A file that cannot be removed only takes space.
            let _ = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
        }
    }
}

fn compile_interpreter(folder: &Folder, package: &Package) -> Result<(), ImageError> {
    let kind = package.kind;
    let engine = engine::for_interpreters()?;
    let started = package.file(&started_name(kind))?;
    let compiled = engine
        .precompile_module(&started)
        .map_err(|error| ImageError::SyntaxError {
            image: kind.name,
            reason: format!("{error:#}"),
        })?;
    write(&folder.compiled(kind, &engine), &compiled)?;
    write(
        &folder.info(kind),
        json!(package.info).to_string().as_bytes(),
    )?;
    // The last file makes the image valid.
    checksums::store(folder, kind, &engine)
}

fn build_toolchain(home: &Path, package: &Package) -> Result<(), ImageError> {
    let guest = home.join("guest.part");
    create_folder(&guest).map_err(|error| ImageError::File {
        path: guest.clone(),
        error,
    })?;
    for name in package.files() {
        write(&guest.join(name), &package.file(name)?)?;
    }
    let images = Folder::new(home);
    let built = toolchain::build(&images, package.kind, &guest)?;
    let _ = std::fs::remove_dir_all(&guest);
    if built.hash != package.info.hash {
        // The image must not be used: its hash would identify another compiler.
        let _ = std::fs::remove_file(images.info(package.kind));
        return Err(ImageError::SyntaxError {
            image: package.kind.name,
            reason: format!(
                "its hash on this machine is {}, but that of the package is {}",
                built.hash, package.info.hash
            ),
        });
    }
    Ok(())
}
