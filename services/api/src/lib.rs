//! Owns HTTP: routes, bodies, limits, errors, the OpenAPI document and its page. Does not own
//! grading or storage.
//!
//! Each endpoint has its own file; `routes` lists them.

mod access;
mod arrival;
mod body;
mod compat;
mod docs;
mod error;
mod health;
mod host;
mod ndjson;
mod openapi;
mod origin;
mod over_limit;
mod path;
mod query;
mod replies;
mod request_id;
mod roles;
mod routes;
mod serve;
mod state;
mod tls;
mod trace;
mod v1;

pub use access::JobOwners;
pub use routes::{document, route_table, router};
pub use serve::serve;
pub use state::{Api, ApiLimits, ApiParts, ConnectionLimits};
pub use tls::{Tls, TlsError};
