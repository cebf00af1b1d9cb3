//! Opens the judges of the configuration.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use assay_core::Clock;
pub use assay_external::audit;
use assay_external::settings::Secret;
use assay_external::{JudgeError, Judges};

use crate::config::JudgeSection;

/// Maximum size of the file of a key, in bytes.
const MAX_KEY_BYTES: u64 = 16 << 10;

/// Reads the files with keys, and creates the judges. No judge is called.
///
/// # Errors
/// [`JudgeError`] for the first judge that cannot be used.
pub fn open(config: &JudgeSection, clock: &Arc<dyn Clock>) -> Result<Judges, JudgeError> {
    let mut judges = config.clone();
    for (name, judge) in &mut judges {
        if judge.key_file.as_os_str().is_empty() {
            continue;
        }
        judge.key = read_key(&judge.key_file).map_err(|reason| JudgeError {
            name: name.clone(),
            reason: format!("cannot use `key_file`: {reason}"),
        })?;
    }
    Judges::new(&judges, clock)
}

/// No error contains a part of the file.
fn read_key(path: &Path) -> Result<Secret, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_KEY_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_KEY_BYTES {
        return Err(format!("a key has at most {MAX_KEY_BYTES} bytes"));
    }
    let key = Secret::new(&text);
    if key.is_empty() {
        return Err("the file is empty".to_owned());
    }
    Ok(key)
}
