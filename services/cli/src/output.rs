//! Output files that are replaced atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// An output file. Its content is written to a temporary file in the same directory, which
/// [`finish`](Self::finish) renames to the final path. Dropping it without `finish` deletes the
/// temporary file and leaves an existing file unchanged.
#[derive(Debug)]
pub(crate) struct OutputFile {
    name: String,
    file: File,
    /// The temporary file and the final path; `None` for devices and pipes, which are written
    /// directly.
    temporary: Option<(TemporaryFile, PathBuf)>,
}

/// Deletes the file on drop.
#[derive(Debug)]
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // The file no longer exists if it was renamed.
        let _ = fs::remove_file(&self.0);
    }
}

impl OutputFile {
    /// Opens an output file. If `path` is a symbolic link, its target is written.
    ///
    /// # Errors
    /// The file or the temporary file cannot be created.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let unwritable = || format!("cannot write `{name}`");
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.starts_with("/dev") || target.metadata().is_ok_and(|found| !found.is_file()) {
            let file = File::options()
                .append(true)
                .open(path)
                .with_context(unwritable)?;
            return Ok(Self {
                name,
                file,
                temporary: None,
            });
        }
        let mut part = target.as_os_str().to_owned();
        part.push(format!(".{}.part", std::process::id()));
        let part = PathBuf::from(part);
        let file = File::options()
            .write(true)
            .create_new(true)
            .open(&part)
            .with_context(unwritable)?;
        Ok(Self {
            name,
            file,
            temporary: Some((TemporaryFile(part), target)),
        })
    }

    /// A buffered writer of the file.
    pub(crate) fn writer(&self) -> io::Result<impl Write + Send + 'static> {
        Ok(io::BufWriter::new(self.file.try_clone()?))
    }

    /// The path as given to [`open`](Self::open).
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Moves the written file to its final path.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let Some((part, target)) = &self.temporary else {
            return Ok(());
        };
        fs::rename(&part.0, target).with_context(|| format!("cannot write `{}`", self.name))
    }
}
