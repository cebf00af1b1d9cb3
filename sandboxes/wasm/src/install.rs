//! Installs packaged images: compiles them for this engine, once, into a folder of images.

use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde_json::json;

use crate::build::write;
use crate::image::{Folder, started_name};
use crate::kind::ImageContent;
use crate::package::Package;
use crate::{ImageError, engine, toolchain};

/// Permissions of new folders: only this user writes to them, whatever the umask.
const FOLDER_MODE: u32 = 0o755;

/// What an installation does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStep {
    /// It waits until another process has installed the image.
    Waiting,
    /// It compiles the image.
    Compiling,
}

/// Whether the image of a package is compiled for the engine of this process.
///
/// # Errors
/// [`ImageError::Engine`].
pub fn is_installed(folder: &Folder, package: &Package) -> Result<bool, ImageError> {
    let engine = match package.kind.content {
        ImageContent::Interpreter => engine::for_interpreters()?,
        ImageContent::Toolchain => engine::for_toolchains(true)?,
    };
    Ok(folder.info_of(&engine, package.kind).is_ok())
}

/// Compiles the image of a package unless it is compiled already. Processes that install the same
/// image wait for the first of them.
///
/// # Errors
/// [`ImageError`].
pub fn install(
    folder: &Folder,
    package: &Package,
    report: &dyn Fn(InstallStep),
) -> Result<(), ImageError> {
    if is_installed(folder, package)? {
        return Ok(());
    }
    let home = folder.home(package.kind);
    let unusable = |error| ImageError::NotWritable {
        image: package.kind.name,
        folder: folder.path().to_owned(),
        error,
    };
    folder.check_owner()?;
    let mut directories = DirBuilder::new();
    directories.recursive(true).mode(FOLDER_MODE);
    directories.create(&home).map_err(unusable)?;
    // Another user may have made it meanwhile, if its parent is writable by all.
    folder.check_owner()?;
    let lock = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .custom_flags(libc::O_NOFOLLOW)
        .open(home.join("lock"))
        .map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            report(InstallStep::Waiting);
            // Ends with the other process, however that ends.
            lock.lock().map_err(unusable)?;
        }
        Err(TryLockError::Error(error)) => return Err(unusable(error)),
    }
    if is_installed(folder, package)? {
        return Ok(());
    }
    report(InstallStep::Compiling);
    remove_partial_files(&home);
    match package.kind.content {
        ImageContent::Interpreter => compile_interpreter(folder, package),
        ImageContent::Toolchain => build_toolchain(&home, package),
    }
}

/// Removes what a killed process has left. The lock must be held.
fn remove_partial_files(home: &Path) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if extension.starts_with("part") {
            // What cannot be removed only takes space.
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
    // The last file makes the image valid.
    write(&folder.compiled(kind, &engine), &compiled)?;
    write(
        &folder.info(kind),
        json!(package.info).to_string().as_bytes(),
    )
}

fn build_toolchain(home: &Path, package: &Package) -> Result<(), ImageError> {
    let guest = home.join("guest.part");
    std::fs::create_dir_all(&guest).map_err(|error| ImageError::File {
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
