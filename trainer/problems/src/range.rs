//! Validation of numeric options.

use crate::FamilyError;

/// Returns `given` if it is within the range.
///
/// # Errors
/// [`FamilyError::OutOfRange`].
pub(crate) fn within(
    field: &'static str,
    given: u64,
    least: u64,
    most: u64,
) -> Result<u64, FamilyError> {
    if (least..=most).contains(&given) {
        Ok(given)
    } else {
        Err(FamilyError::OutOfRange {
            field,
            given,
            least,
            most,
        })
    }
}
