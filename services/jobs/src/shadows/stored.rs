//! What the record keeps of a shadow as JSON.

use assay_record::RecordError;
use assay_record::shadow::Shadow;
use assay_wire::shadows::ShadowFindings;
use serde_json::{Map, Value};

/// What a shadow found so far.
pub(super) fn findings(shadow: &Shadow) -> Result<ShadowFindings, RecordError> {
    let found = shadow.summary.as_deref().map(serde_json::from_str);
    let found = found.transpose();
    let found = found.map_err(|error| unreadable(shadow, &error))?;
    Ok(found.unwrap_or_default())
}

/// The fields of a shadow.
pub(super) fn options(shadow: &Shadow) -> Result<Map<String, Value>, RecordError> {
    serde_json::from_str(&shadow.options).map_err(|error| unreadable(shadow, &error))
}

fn unreadable(shadow: &Shadow, error: &serde_json::Error) -> RecordError {
    RecordError::Inconsistent(format!("shadow {}: {error}", shadow.id))
}
