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
    let server = SERVER.get_or_init(|| {
        let server = server::server();
        server.query("postgres", &format!("create database {TEMPLATE}"));
        migrate(url(&server, TEMPLATE));
        server
    });
    let name = format!("record_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    let create = format!("create database {name} template {TEMPLATE}");
    server.query("postgres", &create);
    url(server, &name)
}

/// A database with the tables, which is copied for each test.
const TEMPLATE: &str = "record_template";

fn url(server: &server::Server, database: &str) -> String {
    let url = server.url();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{database}")
}

/// Creates the tables of a database, on a thread of its own, because tests run in a runtime.
fn migrate(url: String) {
    let migrate = move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(async {
            let opened = assay_record::open_access(&url).await.unwrap();
            opened.close().await;
        });
    };
    std::thread::spawn(migrate).join().unwrap();
}
