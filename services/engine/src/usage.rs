//! What callers use of a node, and how metrics report it.

use std::sync::Arc;

use crate::metrics::{CALLER_BYTES, CALLER_ITEMS};

/// What a caller uses of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerUse {
    /// The caller; without a key its address, followed by the run for items of a run.
    pub caller: Arc<str>,
    /// Its items in progress.
    pub items: usize,
    /// Bytes of its bodies and replies.
    pub bytes: usize,
}

/// Most callers whose use is reported: those with the most items.
const MAX_CALLERS: usize = 64;

/// What callers use of the node, in the text format of Prometheus. It is made when it is requested,
/// because a caller that uses nothing has no line.
#[must_use]
pub fn usage_metrics(callers: &[CallerUse]) -> String {
    let gauges = [
        (CALLER_ITEMS, "Items in flight, by caller or address."),
        (
            CALLER_BYTES,
            "Bytes of bodies and replies in memory, by caller or address.",
        ),
    ];
    let mut text = String::new();
    for (name, description) in gauges {
        text += &format!("# HELP {name} {description}\n# TYPE {name} gauge\n");
        for used in callers.iter().take(MAX_CALLERS) {
            let value = if name == CALLER_ITEMS {
                used.items
            } else {
                used.bytes
            };
            let caller = used
                .caller
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            text += &format!("{name}{{caller=\"{caller}\"}} {value}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_use_of_callers() {
        let used = |caller: &str, items, bytes| CallerUse {
            caller: caller.into(),
            items,
            bytes,
        };
        let text = usage_metrics(&[used("alice", 3, 40), used("127.0.0.1 \"r\\\n", 0, 5)]);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                r#"assay_caller_items_in_flight{caller="alice"} 3"#,
                r#"assay_caller_items_in_flight{caller="127.0.0.1 \"r\\\n"} 0"#,
                r#"assay_caller_bytes_in_flight{caller="alice"} 40"#,
                r#"assay_caller_bytes_in_flight{caller="127.0.0.1 \"r\\\n"} 5"#,
            ]
        );
    }
}
