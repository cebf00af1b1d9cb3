//! A database on PostgreSQL for each test, if [`VARIABLE`] is set.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../../../../tests/postgres/server.rs"]
mod server;

/// If this variable is set, tests run on PostgreSQL instead of SQLite.
const VARIABLE: &str = "ASSAY_TEST_POSTGRES";

/// Whether tests run on PostgreSQL.
#[expect(clippy::disallowed_methods, reason = "tests have no settings")]
pub(crate) fn is_tested() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The URL of a new database.
pub(crate) fn new_database() -> String {
    static SERVER: OnceLock<Arc<server::Server>> = OnceLock::new();
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let server = SERVER.get_or_init(server::server);
    let name = format!("record_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    server.query(
        "postgres",
        &format!("create database {name} template template0"),
    );
    let url = server.url();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}
