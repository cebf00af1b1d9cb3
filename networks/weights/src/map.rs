//! Maps files of weights into memory. The only module of this crate with `unsafe`.
#![expect(unsafe_code, reason = "weights are mapped, not read")]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps a file for reading.
pub(crate) fn map(path: &Path) -> io::Result<Mmap> {
    // Opening a named pipe would block until a process writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let file = File::open(path)?;
    // SAFETY: the bytes are only read, and everything read from them is validated as untrusted
    // input. Truncating a mapped file ends the process with a signal. The documentation for
    // operators therefore requires that weights are replaced by new files, never in place.
    unsafe { Mmap::map(&file) }
}
