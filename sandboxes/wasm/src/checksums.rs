//! Checksums of the files of an image. They are stored when the image is made, and compared before
//! workers use it: wasmtime does not validate machine code, and a damaged interpreter may run a
//! program wrongly without an error.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_worker::program::ImageInfo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasmtime::Engine;

use crate::disk::write;
use crate::image::{Folder, public_info};
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

/// The files of an image that are always in the same places: metadata, compiled code and checksums.
/// None if there is no folder of images.
fn landmarks(folder: &Folder, kind: &ImageKind, engine: &Engine) -> Vec<PathBuf> {
    if folder.path().as_os_str().is_empty() {
        return Vec::new();
    }
    vec![
        folder.info(kind),
        folder.compiled(kind, engine),
        path_of(folder, kind, engine),
    ]
}

/// The stored checksums.
///
/// # Errors
/// [`ImageError::Missing`] if there is no file of the image, [`ImageError::Incomplete`],
/// [`ImageError::Damaged`] and [`ImageError::File`].
fn stored(
    folder: &Folder,
    kind: &'static ImageKind,
    engine: &Engine,
) -> Result<Checksums, ImageError> {
    let path = path_of(folder, kind, engine);
    let landmarks = landmarks(folder, kind, engine);
    if !has_files(&landmarks) {
        return Err(folder.missing(kind));
    }
    match std::fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|_| ImageError::Damaged {
            image: kind.name,
            path,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ImageError::Incomplete {
            image: kind.name,
            path,
        }),
        Err(error) => Err(ImageError::File { path, error }),
    }
}

/// Whether one of these files exists, or may exist.
fn has_files(paths: &[PathBuf]) -> bool {
    let is_absent = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    let mut found = paths.iter().map(std::fs::symlink_metadata);
    found.any(|file| !file.is_err_and(is_absent))
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
    Ok(stored(folder, kind, &engine).is_ok_and(|stored| {
        stored.iter().all(|(name, checksum)| {
            std::fs::metadata(home.join(name)).is_ok_and(|file| file.len() == checksum.bytes)
        })
    }))
}

/// Whether the files of an image are those that were stored.
///
/// # Errors
/// [`ImageError`] if this cannot be determined at present.
pub(crate) fn is_intact(folder: &Folder, kind: &'static ImageKind) -> Result<bool, ImageError> {
    match verify(folder, kind) {
        Ok(()) => Ok(true),
        Err(error) if error.is_temporary() => Err(error),
        Err(error @ ImageError::Engine(_)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether a file of an image is the one that was stored.
pub(crate) fn is_intact_file(
    folder: &Folder,
    kind: &'static ImageKind,
    engine: &Engine,
    path: &Path,
) -> bool {
    let home = folder.home(kind);
    let name = path.strip_prefix(&home).unwrap_or(path).to_string_lossy();
    stored(folder, kind, engine)
        .ok()
        .and_then(|stored| Some(Checksum::of(path).ok()? == *stored.get(name.as_ref())?))
        .unwrap_or(false)
}

/// Compares the files of an image with their checksums. Takes about a second for 2 GB.
///
/// # Errors
/// [`ImageError::Missing`], [`ImageError::Incomplete`], [`ImageError::Damaged`] and
/// [`ImageError::File`].
fn verify(folder: &Folder, kind: &'static ImageKind) -> Result<(), ImageError> {
    Inspection::of(folder, kind)?.image.map(drop)
}

/// The files of an image at one time, and what they contain.
#[derive(Debug)]
pub struct Inspection {
    /// Their identities before they were read.
    pub files: FileStamps,
    /// The image, if all files match their checksums.
    pub image: Result<ImageInfo, ImageError>,
}

impl Inspection {
    /// Compares the files of an image with their checksums. Takes about a second for 2 GB.
    ///
    /// # Errors
    /// [`ImageError::Engine`].
    pub fn of(folder: &Folder, kind: &'static ImageKind) -> Result<Self, ImageError> {
        let engine = engine_of(kind)?;
        let mut files = FileStamps::of_paths(landmarks(folder, kind, &engine));
        let stored = match stored(folder, kind, &engine) {
            Ok(stored) => stored,
            Err(error) => {
                return Ok(Self {
                    files,
                    image: Err(error),
                });
            }
        };
        let home = folder.home(kind);
        files.add(stored.keys().map(|name| home.join(name)));
        let image = compare(folder, kind, &engine, &stored)
            .and_then(|()| folder.info_of(&engine, kind))
            .map(|info| public_info(kind, info));
        Ok(Self { files, image })
    }
}

fn compare(
    folder: &Folder,
    kind: &'static ImageKind,
    engine: &Engine,
    stored: &Checksums,
) -> Result<(), ImageError> {
    let image = kind.name;
    let home = folder.home(kind);
    let is_listed = |path: &Path| {
        let name = path.strip_prefix(&home).unwrap_or(path).to_string_lossy();
        stored.contains_key(name.as_ref())
    };
    if !is_listed(&folder.compiled(kind, engine)) || !is_listed(&folder.info(kind)) {
        let path = path_of(folder, kind, engine);
        return Err(ImageError::Damaged { image, path });
    }
    for (name, checksum) in stored {
        let path = home.join(name);
        match Checksum::of(&path) {
            Ok(found) if found == *checksum => {}
            Ok(_) => return Err(ImageError::Damaged { image, path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ImageError::Incomplete { image, path });
            }
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
    /// The identities of the files of an image, of which none need exist.
    ///
    /// # Errors
    /// [`ImageError::Engine`].
    pub fn of(folder: &Folder, kind: &'static ImageKind) -> Result<Self, ImageError> {
        let engine = engine_of(kind)?;
        let mut files = Self::of_paths(landmarks(folder, kind, &engine));
        if let Ok(stored) = stored(folder, kind, &engine) {
            let home = folder.home(kind);
            files.add(stored.keys().map(|name| home.join(name)));
        }
        Ok(files)
    }

    fn of_paths(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut files = Self::default();
        files.add(paths);
        files
    }

    fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if self.0.iter().all(|(known, _)| *known != path) {
                let stamp = FileStamp::of(&path);
                self.0.push((path, stamp));
            }
        }
    }

    /// Whether one of the files exists now.
    #[must_use]
    pub fn exist(&self) -> bool {
        self.0.iter().any(|(path, _)| path.exists())
    }

    /// Whether the files are the same as at another time, except for the time of their last change
    /// of status. A hard link or another mode sets it without a change of the contents.
    #[must_use]
    pub fn differ_at_most_in_status(&self, other: &Self) -> bool {
        let without_status = |stamp: &Option<FileStamp>| {
            stamp.map(|stamp| FileStamp {
                changed: (0, 0),
                ..stamp
            })
        };
        let is_same = |((path, stamp), (other_path, other)): (&(PathBuf, _), &(PathBuf, _))| {
            path == other_path && without_status(stamp) == without_status(other)
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(is_same)
    }

    /// The same files as they are now. Takes about a microsecond for each.
    #[must_use]
    pub fn now(&self) -> Self {
        Self::of_paths(self.0.iter().map(|(path, _)| path.clone()))
    }

    /// Whether no file has changed.
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
                Err(ImageError::Incomplete { .. })
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
        let replaced = FileStamps::of(&folder, kind).unwrap();
        assert!(!replaced.differ_at_most_in_status(&files));
        std::fs::hard_link(&compiled, &other).unwrap();
        let linked = FileStamps::of(&folder, kind).unwrap();
        assert!(!replaced.are_current());
        assert!(linked.differ_at_most_in_status(&replaced));
        std::fs::write(&other, [7; 5_000]).unwrap();
        let written = FileStamps::of(&folder, kind).unwrap();
        assert!(!written.differ_at_most_in_status(&linked));
    }

    #[test]
    fn absent_incomplete_and_unreadable_images_differ() {
        let (_temporary, folder, kind, engine) = image("javascript");
        store(&folder, kind, &engine).unwrap();
        let checksums = path_of(&folder, kind, &engine);
        let intact = std::fs::read(&checksums).unwrap();
        let inspected = |path: &Path| {
            let inspection = Inspection::of(&folder, kind).unwrap();
            assert!(inspection.files.0.iter().any(|(known, _)| known == path));
            (inspection.files, inspection.image.unwrap_err())
        };

        // A folder instead of the file is an error of reading, like a failing disk.
        std::fs::remove_file(&checksums).unwrap();
        std::fs::create_dir(&checksums).unwrap();
        let (files, error) = inspected(&checksums);
        assert!(matches!(error, ImageError::File { .. }), "{error}");
        assert!(files.are_current());

        std::fs::remove_dir(&checksums).unwrap();
        let (files, error) = inspected(&checksums);
        assert!(matches!(error, ImageError::Incomplete { .. }), "{error}");
        std::fs::write(&checksums, &intact).unwrap();
        // The file that was missing counts among those of the image.
        assert!(!files.are_current());
        assert_eq!(
            Inspection::of(&folder, kind).unwrap().image.unwrap().hash,
            "0a"
        );

        for path in landmarks(&folder, kind, &engine) {
            std::fs::remove_file(path).unwrap();
        }
        let (files, error) = inspected(&checksums);
        assert!(matches!(error, ImageError::Missing { .. }), "{error}");
        assert!(!files.exist());
        std::fs::write(&checksums, &intact).unwrap();
        assert!(files.exist() && !files.are_current());
    }

    #[test]
    fn errors_of_a_busy_system_are_temporary() {
        let is_temporary = |code| {
            let error = io::Error::from_raw_os_error(code);
            let path = PathBuf::from("x");
            ImageError::File { path, error }.is_temporary()
        };
        for code in [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EIO] {
            assert!(is_temporary(code), "{code}");
        }
        for code in [libc::EACCES, libc::EISDIR, libc::ELOOP] {
            assert!(!is_temporary(code), "{code}");
        }
    }
}
