//! Packaged images: compressed, and independent of machine and engine. A folder of packages has a
//! folder for each image with `package.json`, which contains the metadata of the image and the
//! hashes of its files, and the files as `NAME.zst`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use assay_worker::program::ImageInfo;
use serde::{Deserialize, Serialize};

use crate::disk::{read, write};
use crate::image::{Folder, public_info, started_name};
use crate::info::Info;
use crate::kind::{IMAGES, ImageContent, ImageKind};
use crate::{ImageError, toolchain};

/// Compression level. Packages are compressed once, and their size matters to every installation.
const LEVEL: i32 = 19;

/// Window of the compression, as a power of two: the largest that decompressors accept by default.
const WINDOW: u32 = 27;

/// The name of the description of a package.
const DESCRIPTION: &str = "package.json";

/// Digits of an image's hash in the name of its folder.
const SHORT_HASH: usize = 16;

/// A packaged image.
#[derive(Debug, Clone)]
pub struct Package {
    pub(crate) kind: &'static ImageKind,
    pub(crate) info: Info,
    folder: PathBuf,
    files: BTreeMap<String, FileOfPackage>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Description {
    info: Info,
    files: BTreeMap<String, FileOfPackage>,
}

/// A file before its compression.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileOfPackage {
    /// BLAKE3 of its bytes.
    blake3: String,
    /// Number of its bytes.
    bytes: u64,
}

impl Package {
    /// The packages in a folder, which need not exist.
    ///
    /// # Errors
    /// [`ImageError`] if the description of one cannot be read.
    pub fn all(folder: &Path) -> Result<Vec<Self>, ImageError> {
        IMAGES
            .iter()
            .map(|kind| (kind, folder.join(kind.name)))
            .filter(|(_, folder)| folder.join(DESCRIPTION).exists())
            .map(|(kind, folder)| {
                let text = read(&folder.join(DESCRIPTION))?;
                let description: Description =
                    serde_json::from_slice(&text).map_err(|error| ImageError::Package {
                        path: folder.join(DESCRIPTION),
                        reason: error.to_string(),
                    })?;
                Ok(Self {
                    kind,
                    info: description.info,
                    folder,
                    files: description.files,
                })
            })
            .collect()
    }

    /// The image.
    #[must_use]
    pub fn kind(&self) -> &'static ImageKind {
        self.kind
    }

    /// Name, version and hash of the image, and what programs may import.
    #[must_use]
    pub fn info(&self) -> ImageInfo {
        public_info(self.kind, self.info.clone())
    }

    /// Bytes of the files before their compression.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }

    /// A folder of images with the images of these packages.
    #[must_use]
    pub fn compiled_in(path: &Path, packages: &[Self]) -> Folder {
        let packaged = packages.iter().map(|package| {
            let hash = &package.info.hash;
            let short = hash.get(..SHORT_HASH).unwrap_or(hash);
            (package.kind.name.to_owned(), short.to_owned())
        });
        Folder::with_packaged(path, packaged)
    }

    /// The names of the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Decompresses a file and verifies its hash.
    ///
    /// # Errors
    /// [`ImageError`].
    pub(crate) fn file(&self, name: &str) -> Result<Vec<u8>, ImageError> {
        let path = self.folder.join(format!("{name}.zst"));
        let broken = |reason: String| ImageError::Package {
            path: path.clone(),
            reason,
        };
        let expected = self
            .files
            .get(name)
            .ok_or_else(|| broken("`package.json` does not list it".to_owned()))?;
        let compressed = read(&path)?;
        let mut bytes = Vec::new();
        zstd::Decoder::new(compressed.as_slice())
            .and_then(|decoder| {
                // One more byte than expected shows that the file is too long.
                decoder
                    .take(expected.bytes.saturating_add(1))
                    .read_to_end(&mut bytes)
            })
            .map_err(|error| broken(error.to_string()))?;
        if bytes.len() as u64 != expected.bytes || hash(&bytes) != expected.blake3 {
            return Err(broken("its content does not match its hash".to_owned()));
        }
        Ok(bytes)
    }
}

/// Packs an image of a folder of images, which was built from `guest`. Returns the size of the
/// package in bytes.
///
/// # Errors
/// [`ImageError`], also if the image was not built.
pub fn pack(
    images: &Folder,
    kind: &'static ImageKind,
    guest: &Path,
    output: &Path,
) -> Result<u64, ImageError> {
    let info: Info = serde_json::from_slice(&read(&images.info(kind))?).map_err(|error| {
        ImageError::SyntaxError {
            image: kind.name,
            reason: error.to_string(),
        }
    })?;
    let sources: Vec<(String, PathBuf)> = match kind.content {
        ImageContent::Interpreter => {
            vec![(started_name(kind), images.started(kind))]
        }
        ImageContent::Toolchain => toolchain::GUEST_FILES
            .iter()
            .map(|name| ((*name).to_owned(), guest.join(name)))
            .collect(),
    };
    let folder = output.join(kind.name);
    std::fs::create_dir_all(&folder).map_err(|error| ImageError::File {
        path: folder.clone(),
        error,
    })?;
    let mut size = 0;
    let mut files = BTreeMap::new();
    for (name, source) in sources {
        let bytes = read(&source)?;
        let packed = compress(&bytes).map_err(|error| ImageError::File {
            path: source,
            error,
        })?;
        size += packed.len() as u64;
        write(&folder.join(format!("{name}.zst")), &packed)?;
        let file = FileOfPackage {
            blake3: hash(&bytes),
            bytes: bytes.len() as u64,
        };
        files.insert(name, file);
    }
    // The last file makes the package valid.
    let description = serde_json::json!(Description { info, files });
    write(
        &folder.join(DESCRIPTION),
        description.to_string().as_bytes(),
    )?;
    Ok(size)
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.window_log(WINDOW)?;
    encoder.long_distance_matching(true)?;
    std::io::copy(&mut &*bytes, &mut encoder)?;
    encoder.finish()
}
