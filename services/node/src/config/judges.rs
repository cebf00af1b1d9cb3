//! The section `[judges]`: the judges that `external` tasks name.

use std::collections::BTreeMap;
use std::ffi::OsString;

use assay_external::JudgeSettings;
use assay_external::settings::{Secret, is_judge_name};

use super::error::shown;

/// `[judges]`, by name.
pub type JudgeSection = BTreeMap<String, JudgeSettings>;

/// Checks names and settings.
///
/// # Errors
/// A message with the invalid key.
pub(super) fn check(judges: &JudgeSection) -> Result<(), String> {
    for (name, judge) in judges {
        if !is_judge_name(name) {
            return Err(format!(
                "`judges`: a name must have 1 to 64 letters, digits, `-`, `_` and `.`: `{}`",
                shown(name)
            ));
        }
        judge
            .check()
            .map_err(|message| format!("`judges.{name}`: {message}"))?;
    }
    Ok(())
}

/// Takes keys from the variables that judges name. A variable that is missing is an error only when
/// a judge needs its key.
pub(super) fn take_keys(judges: &mut JudgeSection, variables: &[(OsString, OsString)]) {
    for judge in judges.values_mut() {
        if judge.key_env.is_empty() {
            continue;
        }
        let variable = variables
            .iter()
            .find(|(variable, _)| **variable == *judge.key_env);
        let value = variable.and_then(|(_, value)| value.to_str());
        judge.key = value.map(Secret::new).unwrap_or_default();
        judge.key_error = judge.key.is_empty().then(|| {
            let variable = shown(&judge.key_env);
            format!("the variable `{variable}` of `key_env` contains no key")
        });
    }
}
