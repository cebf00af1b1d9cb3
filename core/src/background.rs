//! Work in the background: it uses a share of the node of its own, whose name says so, and gives
//! way to the work of requests. It is never starved: each such share has a thread, and gets a
//! worker if it has none.

use std::sync::Arc;

/// Shares of work in the background start with this. Other shares start with the name of a caller
/// or an address, which contain no space.
const PREFIX: &str = "background ";

/// The share that the work of `share` uses in the background.
#[must_use]
pub fn share_of(share: &str) -> Arc<str> {
    format!("{PREFIX}{share}").into()
}

/// Whether the work of a share is in the background.
#[must_use]
pub fn is_background(share: &str) -> bool {
    share.starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_says_whether_it_is_in_the_background() {
        let share = share_of("alice");
        assert!(is_background(&share) && !is_background("alice") && *share != *"alice");
        assert!(!is_background("background"), "a caller may have this name");
    }
}
