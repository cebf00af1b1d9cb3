//! Reads the filter and the order of a list of runs. A misspelled name would silently list other
//! runs, or others first.

use assay_record::run_list::{Direction, RunFilter, RunKey, RunOrder};
use assay_record::run_notes::is_tag;

use crate::filter::{FilterError, named};

/// Maximum length of a search, in bytes.
pub const MAX_SEARCH_BYTES: usize = 256;

/// The filter of a list of runs. Archived runs are listed only if `archived` is true.
///
/// # Errors
/// [`FilterError::Invalid`] for a search that is too long and a text that is not a tag.
pub fn filter(
    search: Option<&str>,
    tag: Option<&str>,
    archived: Option<bool>,
) -> Result<RunFilter, FilterError> {
    let invalid = |parameter, message| FilterError::Invalid { parameter, message };
    if search.is_some_and(|search| search.len() > MAX_SEARCH_BYTES) {
        let message = format!("`search` is longer than {MAX_SEARCH_BYTES} bytes; shorten it");
        return Err(invalid("search", message));
    }
    if tag.is_some_and(|tag| !is_tag(tag)) {
        let message = "`tag` must be a tag: `a-z`, `0-9`, `.`, `_` and `-`".to_owned();
        return Err(invalid("tag", message));
    }
    Ok(RunFilter {
        search: search.map(str::to_owned),
        tag: tag.map(str::to_owned),
        archived: Some(archived.unwrap_or(false)),
    })
}

/// The order with these names; by default by the last use, and in the direction of the key.
///
/// # Errors
/// [`FilterError::Invalid`] with the most similar name.
pub fn order(sort: Option<&str>, order: Option<&str>) -> Result<RunOrder, FilterError> {
    let key = named("sort", sort, RunKey::ALL, RunKey::name)?.unwrap_or_default();
    let direction = named("order", order, Direction::ALL, Direction::name)?;
    Ok(RunOrder {
        key,
        direction: direction.unwrap_or(key.direction()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_filters_and_orders() {
        assert_eq!(filter(None, None, None).unwrap().archived, Some(false));
        let archived = filter(Some("x"), Some("a-b"), Some(true)).unwrap();
        assert_eq!(archived.archived, Some(true));
        assert!(filter(Some(&"x".repeat(257)), None, None).is_err());
        assert!(filter(None, Some("A"), None).is_err());
        assert_eq!(order(None, None).unwrap(), RunOrder::from(RunKey::LastUsed));
        let lowest = order(Some("mean_reward"), Some("asc")).unwrap();
        assert_eq!(
            (lowest.key, lowest.direction),
            (RunKey::MeanReward, Direction::Ascending)
        );
        assert_eq!(
            order(Some("mean_rewart"), None).unwrap_err().to_string(),
            "unknown sort `mean_rewart`; did you mean `mean_reward`?"
        );
    }
}
