//! Files that are written: under its name stands a whole one or the one of before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A file being written beside its place. It is gone unless it is finished.
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    file: File,
    /// The file beside the place, and the place; none for devices and pipes, which are written to
    /// as they are.
    beside: Option<(Part, PathBuf)>,
}

#[derive(Debug)]
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // It is not there any more if all went well.
        let _ = fs::remove_file(&self.0);
    }
}

impl Output {
    /// Opens a file to be written. A link stays one.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let unwritable = || format!("cannot write `{name}`");
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.starts_with("/dev") || place.metadata().is_ok_and(|there| !there.is_file()) {
            let file = File::options()
                .append(true)
                .open(path)
                .with_context(unwritable)?;
            return Ok(Self {
                name,
                file,
                beside: None,
            });
        }
        let mut part = place.as_os_str().to_owned();
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
            beside: Some((Part(part), place)),
        })
    }

    /// What the file is written through.
    pub(crate) fn writer(&self) -> io::Result<impl Write + Send + 'static> {
        Ok(io::BufWriter::new(self.file.try_clone()?))
    }

    /// The name it was opened by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Gives what was written its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let Some((part, place)) = &self.beside else {
            return Ok(());
        };
        fs::rename(&part.0, place).with_context(|| format!("cannot write `{}`", self.name))
    }
}
