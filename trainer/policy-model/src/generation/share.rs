//! Values of texts that several completions share.

use std::sync::Arc;

/// The text of each completion, where completions of the same text share it.
pub(super) fn share_texts<T>(texts: impl Iterator<Item = T>, text_of: &[usize]) -> Vec<Arc<T>> {
    let texts: Vec<Arc<T>> = texts.map(Arc::new).collect();
    text_of
        .iter()
        .map(|text| Arc::clone(&texts[*text]))
        .collect()
}
