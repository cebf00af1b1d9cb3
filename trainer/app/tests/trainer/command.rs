//! Runs the binary.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::path::Path;
use std::process::Command;

/// The standard output of a command, or its standard error if it fails.
pub(crate) fn trainer(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-trainer"));
    let output = command
        .args(arguments)
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}
