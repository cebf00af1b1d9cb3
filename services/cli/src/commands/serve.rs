//! `assay serve`: the service.

use std::io::Write;
use std::path::Path;

use assay_node::Node;

use super::{block_on, configuration, stop_signal};
use crate::arguments::Serve;
use crate::exit::Ended;

pub(crate) fn run(file: Option<&Path>, serve: &Serve) -> anyhow::Result<Ended> {
    let mut settings = Vec::new();
    if let Some(listen) = serve.listen {
        settings.push(("server", "listen", listen.to_string().into()));
    }
    if let Some(database) = &serve.database {
        settings.push(("store", "database", database.clone().into()));
    }
    let config = configuration(file, settings)?;
    if serve.print_config {
        write!(std::io::stdout(), "{}", config.to_toml())?;
        return Ok(Ended::Done);
    }
    assay_node::files::raise_limit();
    // Collected from the start: what is described before there is a collector stays without a
    // description.
    assay_node::observe::metrics()?;
    block_on(async {
        let listener = assay_node::listen(&config).await?;
        let node = Node::start(config).await?;
        tracing::info!(address = %listener.local_addr()?, "listening");
        node.serve(listener, stop_signal()).await?;
        tracing::info!("stopped in order");
        Ok(Ended::Done)
    })
}
