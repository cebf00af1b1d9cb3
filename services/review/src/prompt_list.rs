//! Reads the status and the order of a list of prompts by their names. A misspelled one would
//! silently list all prompts, or others first.

use assay_record::prompt_list::{PromptOrder, PromptStatus};

use crate::filter::{FilterError, named};

/// The status with this name; `None` without a name.
///
/// # Errors
/// [`FilterError::Invalid`] with the most similar name.
pub fn status(name: Option<&str>) -> Result<Option<PromptStatus>, FilterError> {
    named("status", name, PromptStatus::ALL, PromptStatus::name)
}

/// The order with this name; the default without a name.
///
/// # Errors
/// [`FilterError::Invalid`] with the most similar name.
pub fn order(name: Option<&str>) -> Result<PromptOrder, FilterError> {
    let order = named("order", name, PromptOrder::ALL, PromptOrder::name)?;
    Ok(order.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_suggests_similar_ones() {
        assert_eq!(status(Some("lost")).unwrap(), Some(PromptStatus::Lost));
        assert_eq!(status(None).unwrap(), None);
        assert_eq!(order(None).unwrap(), PromptOrder::Visits);
        assert_eq!(
            status(Some("never_solve")).unwrap_err().to_string(),
            "unknown status `never_solve`; did you mean `never_solved`?"
        );
        let message = order(Some("?")).unwrap_err().to_string();
        assert!(
            message.contains("expected one of `visits`, `lowest_rate`"),
            "{message}"
        );
    }
}
