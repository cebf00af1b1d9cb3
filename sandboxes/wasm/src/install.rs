//! Installs packaged images: compiles them for this engine, once, into a folder of images.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use wasmtime::Engine;

use crate::build::{create_folder, write};
use crate::image::{Folder, started_name};
use crate::info::engine_name;
use crate::kind::ImageContent;
use crate::package::Package;
use crate::{ImageError, engine, toolchain};

/// The current step of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process installs the image; this one waits.
    Waiting,
    /// The image is being compiled.
    Compiling,
}

/// The files that an installation made, by their path relative to the folder of the image.
type Checksums = BTreeMap<String, Checksum>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Checksum {
    bytes: u64,
    blake3: String,
}

/// Whether the image of a package is compiled for the engine of this process. Compares sizes of
/// files only; [`install`] compares hashes.
///
/// # Errors
/// [`ImageError::Engine`].
pub fn is_installed(folder: &Folder, package: &Package) -> Result<bool, ImageError> {
    let recorded = checksums(folder, package)?;
    let home = folder.home(package.kind);
    Ok(recorded.is_some_and(|recorded| {
        recorded.iter().all(|(name, checksum)| {
            std::fs::metadata(home.join(name)).is_ok_and(|file| file.len() == checksum.bytes)
        })
    }))
}

/// Whether the files of the image are those that its installation made.
fn is_intact(folder: &Folder, package: &Package) -> Result<bool, ImageError> {
    if !is_installed(folder, package)? {
        return Ok(false);
    }
    let home = folder.home(package.kind);
    let recorded = checksums(folder, package)?.unwrap_or_default();
    Ok(recorded.iter().all(|(name, checksum)| {
        checksum_of(&home.join(name)).is_ok_and(|found| found == *checksum)
    }))
}

/// The engine of an image.
fn engine_of(package: &Package) -> Result<Engine, ImageError> {
    match package.kind.content {
        ImageContent::Interpreter => engine::for_interpreters(),
        ImageContent::Toolchain => engine::for_toolchains(true),
    }
}

/// The path of the checksums, which are written last.
fn checksums_path(folder: &Folder, package: &Package, engine: &Engine) -> PathBuf {
    let name = format!("{}.{}.checksums", package.kind.name, engine_name(engine));
    folder.home(package.kind).join(name)
}

/// The checksums of an installed image; `None` if it is not installed.
fn checksums(folder: &Folder, package: &Package) -> Result<Option<Checksums>, ImageError> {
    let engine = engine_of(package)?;
    if folder.info_of(&engine, package.kind).is_err() {
        return Ok(None);
    }
    let text = std::fs::read(checksums_path(folder, package, &engine));
    Ok(text
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok()))
}

fn checksum_of(path: &Path) -> io::Result<Checksum> {
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(Checksum {
        bytes,
        blake3: hasher.finalize().to_hex().to_string(),
    })
}

/// Writes the checksums of the files of an image.
fn write_checksums(folder: &Folder, package: &Package) -> Result<(), ImageError> {
    let engine = engine_of(package)?;
    let home = folder.home(package.kind);
    let names = match package.kind.content {
        ImageContent::Interpreter => {
            vec![folder.compiled(package.kind, &engine)]
        }
        ImageContent::Toolchain => {
            let files = std::fs::read_dir(home.join(package.kind.name));
            files
                .map_err(|error| ImageError::File {
                    path: home.clone(),
                    error,
                })?
                .flatten()
                .map(|file| file.path())
                .collect()
        }
    };
    let mut checksums = Checksums::new();
    for path in names {
        let checksum = checksum_of(&path).map_err(|error| ImageError::File {
            path: path.clone(),
            error,
        })?;
        let name = path.strip_prefix(&home).unwrap_or(&path);
        checksums.insert(name.to_string_lossy().into_owned(), checksum);
    }
    write(
        &checksums_path(folder, package, &engine),
        json!(checksums).to_string().as_bytes(),
    )
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
    if is_intact(folder, package)? {
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
    if is_intact(folder, package)? {
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
    write_checksums(folder, package)?;
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
    // The last file makes the image valid.
    write(&folder.compiled(kind, &engine), &compiled)?;
    write(
        &folder.info(kind),
        json!(package.info).to_string().as_bytes(),
    )
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
