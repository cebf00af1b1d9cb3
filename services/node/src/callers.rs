//! Who may call a node, and with which certificate it answers.

use std::sync::Arc;

use assay_access::{Gate, KeyPolicy};
use assay_api::Tls;
use assay_core::Clock;
use assay_record::Record;
use assay_record::access::AccessStore;

use crate::Config;
use crate::config::{KeyRequirement, Server};
use crate::error::NodeError;

/// The certificate of the node, if one is configured.
pub(crate) fn tls(server: &Server) -> Result<Option<Arc<Tls>>, NodeError> {
    if !server.has_tls() {
        return Ok(None);
    }
    if let Some(missing) = server.missing_tls_file() {
        return Err(NodeError::NoTlsFile(missing));
    }
    let tls = Tls::load(server.tls_certificate.clone(), server.tls_key.clone())?;
    Ok(Some(Arc::new(tls)))
}

/// Decides who may call the node, by its address and its keys.
pub(crate) async fn gate(
    config: &Config,
    record: Option<&Record>,
    clock: &Arc<dyn Clock>,
) -> Result<Gate, NodeError> {
    let address = config.server.listen;
    let proxies = config.access.proxies().map_err(NodeError::Proxies)?;
    let policy = match config.access.keys {
        KeyRequirement::Off => KeyPolicy::Off,
        KeyRequirement::Auto if address.ip().is_loopback() && proxies.is_none() => KeyPolicy::IfAny,
        KeyRequirement::Auto | KeyRequirement::Required => KeyPolicy::Required,
    };
    let store = record.map(|record| Arc::new(record.access()) as Arc<dyn AccessStore>);
    let gate = Gate::start(policy, store, Arc::clone(clock)).await?;
    Ok(gate.behind(proxies))
}
