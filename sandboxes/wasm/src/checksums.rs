//! Checksums of the files of an image. They are stored when the image is made, and compared before
//! workers use it: wasmtime does not validate machine code, and a damaged interpreter may run a
//! program wrongly without an error.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use wasmtime::Engine;

use crate::disk::write;
use crate::image::Folder;
use crate::info::engine_name;
use crate::kind::{ImageContent, ImageKind};
use crate::{ImageError, engine};

/// The checksums of an image's files, by their path relative to the folder of the image.
type Checksums = BTreeMap<String, Checksum>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Checksum {
    bytes: u64,
    blake3: String,
}

impl Checksum {
    fn of(path: &Path) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(Self {
            bytes: hasher.count(),
            blake3: hasher.finalize().to_hex().to_string(),
        })
    }
}

/// The engine that runs an image.
fn engine_of(kind: &ImageKind) -> Result<Engine, ImageError> {
    match kind.content {
        ImageContent::Interpreter => engine::for_interpreters(),
        ImageContent::Toolchain => engine::for_toolchains(true),
    }
}

/// The path of the checksums, which are written last.
fn path_of(folder: &Folder, kind: &ImageKind, engine: &Engine) -> PathBuf {
    let name = format!("{}.{}.checksums", kind.name, engine_name(engine));
    folder.home(kind).join(name)
}

/// The stored checksums; `None` if the image is not complete.
fn stored(folder: &Folder, kind: &ImageKind, engine: &Engine) -> Option<Checksums> {
    let text = std::fs::read(path_of(folder, kind, engine)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Stores the checksums of the files of an image, which completes it.
///
/// # Errors
/// [`ImageError::File`].
pub(crate) fn store(
    folder: &Folder,
    kind: &'static ImageKind,
    engine: &Engine,
) -> Result<(), ImageError> {
    let home = folder.home(kind);
    let mut paths = vec![folder.info(kind)];
    match kind.content {
        ImageContent::Interpreter => paths.push(folder.compiled(kind, engine)),
        ImageContent::Toolchain => {
            let path = home.join(kind.name);
            let files = std::fs::read_dir(&path);
            let files = files.map_err(|error| ImageError::File { path, error })?;
            paths.extend(files.flatten().map(|file| file.path()));
        }
    }
    let mut checksums = Checksums::new();
    for path in paths {
        let checksum = Checksum::of(&path).map_err(|error| ImageError::File {
            path: path.clone(),
            error,
        })?;
        let name = path.strip_prefix(&home).unwrap_or(&path);
        checksums.insert(name.to_string_lossy().into_owned(), checksum);
    }
    write(
        &path_of(folder, kind, engine),
        json!(checksums).to_string().as_bytes(),
    )
}

/// Whether an image is complete and the sizes of its files are right. Does not read the files.
pub(crate) fn is_complete(folder: &Folder, kind: &'static ImageKind) -> Result<bool, ImageError> {
    let engine = engine_of(kind)?;
    if folder.info_of(&engine, kind).is_err() {
        return Ok(false);
    }
    let home = folder.home(kind);
    let stored = stored(folder, kind, &engine);
    Ok(stored.is_some_and(|stored| {
        stored.iter().all(|(name, checksum)| {
            std::fs::metadata(home.join(name)).is_ok_and(|file| file.len() == checksum.bytes)
        })
    }))
}

/// Whether the files of an image are those that were stored.
pub(crate) fn is_intact(folder: &Folder, kind: &'static ImageKind) -> Result<bool, ImageError> {
    match verify(folder, kind) {
        Ok(()) => Ok(true),
        Err(error @ ImageError::Engine(_)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether a file of an image is the one that was stored.
pub(crate) fn is_intact_file(
    folder: &Folder,
    kind: &ImageKind,
    engine: &Engine,
    path: &Path,
) -> bool {
    let home = folder.home(kind);
    let name = path.strip_prefix(&home).unwrap_or(path).to_string_lossy();
    stored(folder, kind, engine)
        .and_then(|stored| Some(Checksum::of(path).ok()? == *stored.get(name.as_ref())?))
        .unwrap_or(false)
}

/// Compares the files of an image with their checksums. Takes about a second for 2 GB.
///
/// # Errors
/// [`ImageError::Missing`], [`ImageError::Damaged`] and [`ImageError::File`].
pub fn verify(folder: &Folder, kind: &'static ImageKind) -> Result<(), ImageError> {
    let engine = engine_of(kind)?;
    if let Err(error @ ImageError::Missing { .. }) = folder.info_of(&engine, kind) {
        return Err(error);
    }
    let damaged = |path: PathBuf| ImageError::Damaged {
        image: kind.name,
        path,
    };
    let Some(stored) = stored(folder, kind, &engine) else {
        return Err(damaged(path_of(folder, kind, &engine)));
    };
    let home = folder.home(kind);
    let compiled = folder.compiled(kind, &engine);
    let is_listed = |path: &Path| {
        let name = path.strip_prefix(&home).unwrap_or(path).to_string_lossy();
        stored.contains_key(name.as_ref())
    };
    if !is_listed(&compiled) || !is_listed(&folder.info(kind)) {
        return Err(damaged(path_of(folder, kind, &engine)));
    }
    for (name, checksum) in &stored {
        let path = home.join(name);
        match Checksum::of(&path) {
            Ok(found) if found == *checksum => {}
            Ok(_) => return Err(damaged(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged(path)),
            Err(error) => return Err(ImageError::File { path, error }),
        }
    }
    Ok(())
}

/// The identities of an image's files: whatever changes a file through the file system changes its
/// identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStamps(Vec<(PathBuf, Option<FileStamp>)>);

/// Device, inode, size, and the times of the last changes in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let read = |file: Metadata| Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        };
        std::fs::metadata(path).ok().map(read)
    }
}

impl FileStamps {
    /// The identities of the files of an image now.
    ///
    /// # Errors
    /// [`ImageError::Engine`].
    pub fn of(folder: &Folder, kind: &'static ImageKind) -> Result<Self, ImageError> {
        let engine = engine_of(kind)?;
        let home = folder.home(kind);
        let stored = stored(folder, kind, &engine).unwrap_or_default();
        let files = stored.keys().map(|name| home.join(name));
        let all = files.chain([path_of(folder, kind, &engine)]);
        Ok(Self(
            all.map(|path| {
                let stamp = FileStamp::of(&path);
                (path, stamp)
            })
            .collect(),
        ))
    }

    /// Whether no file has changed. Takes about a microsecond for each file.
    #[must_use]
    pub fn are_current(&self) -> bool {
        self.0
            .iter()
            .all(|(path, stamp)| FileStamp::of(path) == *stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::kind;

    /// A folder with the files of an image, which need not be code.
    fn image(name: &str) -> (tempfile::TempDir, Folder, &'static ImageKind, Engine) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path());
        let kind = kind(name).unwrap();
        let engine = engine_of(kind).unwrap();
        let info = json!({"hash": "0a", "version": "1", "modules": [], "interpreter": "0b"});
        std::fs::write(folder.info(kind), info.to_string()).unwrap();
        let compiled = folder.compiled(kind, &engine);
        std::fs::create_dir_all(compiled.parent().unwrap()).unwrap();
        std::fs::write(&compiled, [7; 5_000]).unwrap();
        if kind.content == ImageContent::Toolchain {
            std::fs::write(folder.home(kind).join(kind.name).join("x.pch"), [8; 100]).unwrap();
        }
        (temporary, folder, kind, engine)
    }

    #[test]
    fn finds_every_changed_byte_and_every_missing_file() {
        for name in ["javascript", "cpp"] {
            let (_temporary, folder, kind, engine) = image(name);
            assert!(matches!(
                verify(&folder, kind),
                Err(ImageError::Damaged { .. })
            ));
            store(&folder, kind, &engine).unwrap();
            verify(&folder, kind).unwrap();
            let files = FileStamps::of(&folder, kind).unwrap();
            for (path, _) in &files.0 {
                let intact = std::fs::read(path).unwrap();
                for at in [0, intact.len() / 2, intact.len() - 1] {
                    let mut damaged = intact.clone();
                    damaged[at] ^= 1;
                    std::fs::write(path, damaged).unwrap();
                    assert!(verify(&folder, kind).is_err(), "{} at {at}", path.display());
                }
                std::fs::write(path, &intact[1..]).unwrap();
                assert!(verify(&folder, kind).is_err(), "{}", path.display());
                assert!(!is_complete(&folder, kind).unwrap() || path.ends_with("checksums"));
                std::fs::remove_file(path).unwrap();
                assert!(verify(&folder, kind).is_err(), "{}", path.display());
                assert!(!files.are_current());
                std::fs::write(path, intact).unwrap();
            }
            verify(&folder, kind).unwrap();
        }
    }

    #[test]
    fn stamps_show_that_a_file_was_replaced_by_an_equal_one() {
        let (_temporary, folder, kind, engine) = image("javascript");
        store(&folder, kind, &engine).unwrap();
        let files = FileStamps::of(&folder, kind).unwrap();
        assert!(files.are_current());
        let compiled = folder.compiled(kind, &engine);
        let other = compiled.with_extension("new");
        std::fs::copy(&compiled, &other).unwrap();
        std::fs::rename(&other, &compiled).unwrap();
        assert!(!files.are_current());
        assert_eq!(verify(&folder, kind).ok(), Some(()));
    }
}
