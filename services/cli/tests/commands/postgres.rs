//! Databases on PostgreSQL.

#[path = "../../../../tests/postgres/server.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod server;

pub(crate) use server::{Server, server};

/// Creates a database; returns its URL.
pub(crate) fn new_database(server: &Server, name: &str) -> String {
    server.query("postgres", &format!("create database {name}"));
    let url = server.url();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}
