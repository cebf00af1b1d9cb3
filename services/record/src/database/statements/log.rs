//! Collects the statements that the connections of a test execute.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::database::sqlite::test_name;

/// Name of the test whose statements are collected.
static TEST: OnceLock<String> = OnceLock::new();
static COLLECTED: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);

/// Begins to collect the statements of the current test, once in a process.
pub(super) fn collect() {
    TEST.set(test_name()).unwrap();
    tracing::subscriber::set_global_default(Collector).unwrap();
}

/// The statements that were executed so far. Those of a connection are complete once it is closed.
pub(super) fn collected() -> BTreeSet<String> {
    let collected = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner);
    collected.clone()
}

/// A subscriber for what the driver logs. It logs on the threads of connections.
struct Collector;

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn event(&self, event: &Event<'_>) {
        if TEST.get() != Some(&test_name()) {
            return;
        }
        let mut logged = Logged::default();
        event.record(&mut logged);
        // The driver logs a short statement only as its summary.
        let sql = if logged.statement.is_empty() {
            logged.summary
        } else {
            logged.statement
        };
        let words: Vec<&str> = sql.split_whitespace().collect();
        let mut collected = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner);
        collected.insert(words.join(" "));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Logged {
    summary: String,
    statement: String,
}

impl Visit for Logged {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => value.clone_into(&mut self.summary),
            "db.statement" => value.clone_into(&mut self.statement),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
