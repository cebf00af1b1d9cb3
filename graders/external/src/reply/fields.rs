//! What a reply contains, whatever its encoding.

/// The judgements that a reply may contain, before they are compared with the settings.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) score: Option<f64>,
    pub(super) label: Option<String>,
    pub(super) preferred: Option<String>,
    pub(super) criteria: Option<Vec<(String, bool)>>,
}
