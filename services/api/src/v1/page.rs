//! Pages of lists.

use crate::query::Within;

const DEFAULT: u32 = 100;
const MAX: u32 = 1_000;

/// The requested number of entries on a page.
pub(crate) type PageLimit = Within<1, MAX>;

/// The number of entries on a page, 100 by default.
pub(crate) fn limit(requested: Option<PageLimit>) -> u32 {
    requested.map_or(DEFAULT, PageLimit::get)
}

/// As [`limit`], with the largest page as the default: for lists that had no pages before.
pub(crate) fn limit_or_largest(requested: Option<PageLimit>) -> u32 {
    requested.map_or(MAX, PageLimit::get)
}

/// The entries of a page and whether another page follows, from up to `limit + 1` entries.
pub(crate) fn split<T>(mut entries: Vec<T>, limit: u32) -> (Vec<T>, bool) {
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    (entries, more)
}
