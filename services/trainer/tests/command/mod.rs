//! The binary, as a user starts it.

use std::path::Path;
use std::process::Command;

/// What a command says, or its error.
pub(crate) fn trainer(folder: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-trainer"));
    let done = command
        .args(words)
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if done.status.success() {
        Ok(text(done.stdout))
    } else {
        Err(text(done.stderr))
    }
}
