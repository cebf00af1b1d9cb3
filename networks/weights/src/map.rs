//! The one room with `unsafe`: mapping files of weights.
#![expect(unsafe_code, reason = "weights are mapped, not read")]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// Maps a file for reading.
pub(crate) fn map(path: &Path) -> io::Result<Mmap> {
    // A pipe would wait for whoever writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let file = File::open(path)?;
    // SAFETY: the bytes are only read, and everything read from them is checked as if it were
    // hostile. A file that is cut short under the map ends the process by a signal, as documented
    // for operators: weights are replaced by new files, never in place.
    unsafe { Mmap::map(&file) }
}
