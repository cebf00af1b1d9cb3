//! `assay serve`: runs the HTTP service.

use std::io::Write;
use std::path::Path;

use assay_node::Node;

use crate::arguments::Serve;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration, stdin_closed, stop_signal};
use crate::terminal;

/// Value of `server.shutdown_seconds` for a node that ends with the program that started it.
const SHUTDOWN_WITH_PARENT: i64 = 2;

pub(crate) fn run(file: Option<&Path>, serve: &Serve) -> anyhow::Result<CommandStatus> {
    let mut settings = Vec::new();
    if let Some(listen) = serve.listen {
        settings.push(("server", "listen", listen.to_string().into()));
    }
    if let Some(database) = &serve.database {
        settings.push(("store", "database", database.clone().into()));
    }
    if let Some(format) = &serve.log_format {
        settings.push(("log", "format", format.clone().into()));
    }
    if serve.no_auth {
        settings.push(("access", "keys", "off".into()));
    }
    if serve.exit_on_stdin_close {
        // The program that would read the replies has ended.
        settings.push(("server", "shutdown_seconds", SHUTDOWN_WITH_PARENT.into()));
    }
    let config = configuration(file, settings)?;
    if serve.print_config {
        write!(terminal::raw_stdout(), "{}", config.to_toml())?;
        return Ok(CommandStatus::Done);
    }
    assay_node::judges::check_keys(&config.judges)?;
    assay_node::files::raise_limit();
    // Before the node starts: metrics registered before the collector have no description.
    assay_node::observe::metrics()?;
    block_on(async {
        let listener = assay_node::listen(&config).await?;
        let node = Node::start(config).await?;
        if let Some(key) = node.first_key().await? {
            // Not a log line, which would be stored and forwarded.
            let mut err = std::io::stderr().lock();
            writeln!(
                err,
                "created the key `admin`, which is shown only now:\n\n    {}\n\ncreate others with \
                 `assay keys create`",
                key.reveal()
            )?;
        }
        let address = listener.local_addr()?;
        // Before programs that wait for the next line run other commands.
        node.publish(&listener);
        tracing::info!(%address, "listening");
        if serve.print_url {
            writeln!(terminal::raw_stdout(), "{}://{address}", node.scheme())?;
        }
        let input_closed = serve.exit_on_stdin_close.then(stdin_closed);
        let stop = async {
            match input_closed {
                Some(closed) => tokio::select! {
                    () = stop_signal() => {}
                    () = closed => tracing::info!("standard input was closed, shutting down"),
                },
                None => stop_signal().await,
            }
        };
        node.serve(listener, stop).await?;
        tracing::info!("shutdown complete");
        Ok(CommandStatus::Done)
    })
}
