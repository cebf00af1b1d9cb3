//! The header in which a reverse proxy names the user. It is believed only on connections from the
//! proxies of the configuration; no other header says where a request comes from.

use std::net::IpAddr;

use assay_access::{Gate, Proxies, RefusedUser};
use axum::extract::Request;

use crate::serve::Client;

/// The proxy's header in a request.
pub(crate) enum ProxyHeader<'r> {
    /// There is none, or no proxy is configured.
    Absent,
    /// The connection does not come from a proxy, so anyone may have written the header.
    Untrusted,
    /// A proxy sent it.
    Trusted {
        proxies: &'r Proxies,
        peer: IpAddr,
        user: Result<&'r str, RefusedUser>,
    },
}

impl<'r> ProxyHeader<'r> {
    pub(crate) fn of(gate: &'r Gate, request: &'r Request) -> Self {
        let Some(proxies) = gate.proxies() else {
            return Self::Absent;
        };
        let mut values = request.headers().get_all(&proxies.header).iter();
        let Some(value) = values.next() else {
            return Self::Absent;
        };
        let client = request.extensions().get::<Client>();
        let Some(peer) = client
            .and_then(Client::address)
            .filter(|peer| proxies.trust(*peer))
        else {
            return Self::Untrusted;
        };
        let user = match values.next() {
            Some(_) => Err(RefusedUser::Several),
            None => value.to_str().map_err(|_| RefusedUser::Malformed),
        };
        Self::Trusted {
            proxies,
            peer,
            user,
        }
    }

    /// Whether a browser on this machine could have sent the header itself: the proxy is on this
    /// machine, and has the same address as everything else on it.
    pub(crate) fn is_from_this_machine(&self) -> bool {
        matches!(self, Self::Trusted { peer, .. } if peer.is_loopback())
    }
}
