//! What a command reads: a server or a database. All commands look for it in this order:
//!
//! 1. the option `--server` or `--database`;
//! 2. the variable `ASSAY_SERVER`;
//! 3. the server that uses the configured database on this machine;
//! 4. the configured database, if its file exists;
//! 5. the configured address, if a server listens there.
//!
//! Commands that need a server skip the database.

use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use assay_client::Client;
use assay_node::Config;

use crate::arguments::ServerOptions;
use crate::process::{self, configuration, configuration_of};

/// The variable with the server of commands whose options name none.
const SERVER: &str = "ASSAY_SERVER";

/// Time for the connection that shows whether a server listens at the configured address. It is
/// nearly always an address of this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

/// What a command reads.
pub(crate) enum Target {
    /// The URL of a server.
    Server(String),
    /// The database of this configuration.
    Database(Box<Config>),
}

/// The target of a command with the options `--server` and `--database`.
///
/// # Errors
/// The configuration is invalid, or there is neither a database nor a server.
pub(crate) fn target(
    file: Option<&Path>,
    server: Option<&str>,
    database: Option<&str>,
) -> anyhow::Result<Target> {
    // Read for servers too, because it configures the log.
    let config = configuration_of(file, database)?;
    if let Some(url) = named_server(server, database.is_some()) {
        return Ok(Target::Server(url));
    }
    if database.is_none()
        && let Some(url) = assay_node::published_server(&config)
    {
        return Ok(Target::Server(url));
    }
    let Some(missing) = assay_node::database_file(&config).filter(|path| !path.exists()) else {
        return Ok(Target::Database(Box::new(config)));
    };
    // Opening it would create it, and only `assay serve`, `assay grade` and `assay keys create`
    // should.
    let missing = missing.display();
    if database.is_some() {
        bail!("no database at `{missing}`; name one with `--database` or `--server`");
    }
    let url = config.server.url();
    if TcpStream::connect_timeout(&config.server.listen, CONNECT_TIMEOUT).is_ok() {
        return Ok(Target::Server(url));
    }
    bail!(
        "no database at `{missing}` and no server at `{url}`; name one with `--database` or \
         `--server`, or set `{SERVER}`"
    )
}

/// The server that a command works through: the named one, or that of `ASSAY_SERVER` unless other
/// options require this process. `None` without one.
#[expect(
    clippy::disallowed_methods,
    reason = "the variable is that of an option"
)]
pub(crate) fn named_server(named: Option<&str>, in_this_process: bool) -> Option<String> {
    let variable = || std::env::var_os(SERVER).filter(|url| !in_this_process && !url.is_empty());
    named
        .map(str::to_owned)
        .or_else(|| variable().map(|url| url.to_string_lossy().into_owned()))
}

/// The server of a command that always needs one.
///
/// # Errors
/// The configuration is invalid.
pub(crate) fn server(file: Option<&Path>, named: Option<&str>) -> anyhow::Result<String> {
    if let Some(server) = named_server(named, false) {
        return Ok(server);
    }
    let config = configuration(file, Vec::new())?;
    Ok(assay_node::published_server(&config).unwrap_or_else(|| config.server.url()))
}

/// A client of this server.
///
/// # Errors
/// The configuration, the URL or the key is invalid.
pub(crate) fn client(file: Option<&Path>, options: &ServerOptions) -> anyhow::Result<Client> {
    process::client(&server(file, options.server.as_deref())?, &options.key)
}
