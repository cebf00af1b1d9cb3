//! The section `[access]`.

use std::collections::BTreeMap;

use assay_access::{Network, Proxies, is_user_or_others};
use assay_record::access::Role;
use serde::{Deserialize, Serialize};

use super::error::shown;

/// Headers with a meaning of their own. Clients write those about their address, which proxies
/// only extend.
const OTHER_HEADERS: &[&str] = &[
    "authorization",
    "cookie",
    "forwarded",
    "host",
    "origin",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-real-ip",
];

/// `[access]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// Whether callers need a key: `auto` if the node listens beyond loopback, has keys or trusts a
    /// proxy's header; `required`; or `off`, which is for nodes behind a proxy that authenticates.
    pub keys: KeyRequirement,
    /// Name of the header in which a reverse proxy names the user it has authenticated; empty for
    /// none.
    pub proxy_header: String,
    /// Addresses and networks of the proxies whose header is believed, such as `10.0.0.5` or
    /// `10.0.0.0/24`.
    pub proxies: Vec<String>,
    /// Roles of the users that a proxy names, such as `"alice@lab.example" = "operator"`; `*` is
    /// for all others.
    pub proxy_users: BTreeMap<String, Role>,
}

/// Value of `access.keys`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRequirement {
    /// If the node listens beyond loopback, has keys or trusts a proxy's header.
    #[default]
    Auto,
    /// Always.
    Required,
    /// Never.
    Off,
}

impl Access {
    /// The proxies whose header names the user; `None` if there are none.
    ///
    /// # Errors
    /// The setting that is invalid, and why.
    pub fn proxies(&self) -> Result<Option<Proxies>, String> {
        let header = self.proxy_header.to_ascii_lowercase();
        if header.is_empty() {
            return if self.proxies.is_empty() && self.proxy_users.is_empty() {
                Ok(None)
            } else {
                Err(
                    "`access.proxies` and `access.proxy_users` need `access.proxy_header`, the \
                     name of the header in which the proxy names the user"
                        .to_owned(),
                )
            };
        }
        let is_name = header
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name || header.len() > 64 || OTHER_HEADERS.contains(&header.as_str()) {
            return Err(format!(
                "`access.proxy_header` must be a header that only the proxy sets, such as \
                 `X-Auth-Request-Email`: `{}`",
                shown(&self.proxy_header)
            ));
        }
        if self.keys == KeyRequirement::Off {
            return Err(
                "`access.proxy_header` has no effect with `access.keys = \"off\"`; set one of them"
                    .to_owned(),
            );
        }
        if self.proxies.is_empty() {
            return Err(
                "`access.proxy_header` needs `access.proxies`, the addresses of the proxies whose \
                 header is believed"
                    .to_owned(),
            );
        }
        let parsed = self.proxies.iter().map(|text| text.parse::<Network>());
        let networks = parsed
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("`access.proxies`: {error}"))?;
        if let Some(user) = self
            .proxy_users
            .keys()
            .find(|user| !is_user_or_others(user))
        {
            return Err(format!(
                "`access.proxy_users`: `{}` is not a user; use letters, digits and the characters \
                 `._-+|@`, or `*` for all others",
                shown(user)
            ));
        }
        Ok(Some(Proxies {
            header,
            networks,
            users: self.proxy_users.clone(),
        }))
    }
}
