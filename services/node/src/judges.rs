//! Opens the judges of the configuration.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use assay_core::Clock;
pub use assay_external::audit;
pub use assay_external::settings::Kind;
use assay_external::settings::Secret;
use assay_external::{JudgeError, Judges};

use crate::config::JudgeSection;

/// Maximum size of the file of a key, in bytes.
const MAX_KEY_BYTES: u64 = 16 << 10;

/// Creates the judges, with the keys in files. No judge is called, and one without its key fails
/// only when it is called.
///
/// # Errors
/// [`JudgeError`] for the first judge that cannot be used.
pub fn open(config: &JudgeSection, clock: &Arc<dyn Clock>) -> Result<Judges, JudgeError> {
    Judges::new(&with_keys(config), clock)
}

/// Checks that each judge has the key that its settings name.
///
/// # Errors
/// [`JudgeError`] for the first judge without its key.
pub fn check_keys(config: &JudgeSection) -> Result<(), JudgeError> {
    let without_key = with_keys(config)
        .into_iter()
        .find_map(|(name, judge)| Some((name, judge.key_error?)));
    without_key.map_or(Ok(()), |(name, reason)| Err(JudgeError { name, reason }))
}

fn with_keys(config: &JudgeSection) -> JudgeSection {
    let mut judges = config.clone();
    for judge in judges.values_mut() {
        if judge.key_file.as_os_str().is_empty() {
            continue;
        }
        match read_key(&judge.key_file) {
            Ok(key) => judge.key = key,
            Err(reason) => judge.key_error = Some(format!("cannot use `key_file`: {reason}")),
        }
    }
    judges
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
