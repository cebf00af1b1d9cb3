//! Users whom a reverse proxy has authenticated, for example by OpenID Connect. The proxy names the
//! user in a header, which is believed only if the connection comes from the proxy's address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use assay_record::access::Role;

/// Stands for all users that are not listed.
const OTHERS: &str = "*";

/// Maximum length of the name of a user, in bytes.
const MAX_USER_BYTES: usize = 128;

/// Start of the names of such callers. Names of keys do not contain it, so a user and a key with
/// the same name are two callers.
pub(crate) const USER_PREFIX: char = '@';

/// An address, or all addresses with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

/// A text is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not an address such as `10.0.0.5` or a network such as `10.0.0.0/24`",
    .0.escape_debug()
)]
pub struct MalformedNetwork(String);

/// The address as a number, aligned to the left, and its length in bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl Network {
    /// Whether the network contains an address. An IPv4 address that is mapped to IPv6, as a socket
    /// for both reports it, is that IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let ((own, length), (other, of_other)) =
            (number(self.address), number(address.to_canonical()));
        let differing = (own ^ other).leading_zeros();
        length == of_other && differing >= self.bits
    }
}

impl FromStr for Network {
    type Err = MalformedNetwork;

    /// Rejects a network of all addresses, and bits beyond the prefix, which are likely mistakes.
    fn from_str(text: &str) -> Result<Self, MalformedNetwork> {
        let parse = || {
            let (address, bits) = match text.split_once('/') {
                Some((address, bits)) => (address, Some(bits)),
                None => (text, None),
            };
            let address = address.parse::<IpAddr>().ok()?.to_canonical();
            let (value, length) = number(address);
            let bits = match bits {
                Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    bits.parse().ok()?
                }
                Some(_) => return None,
                None => length,
            };
            let is_valid = (1..=length).contains(&bits)
                && value.checked_shl(bits).is_none_or(|rest| rest == 0);
            is_valid.then_some(Self { address, bits })
        };
        parse().ok_or_else(|| MalformedNetwork(text.to_owned()))
    }
}

/// Proxies whose header names the user.
#[derive(Debug, Clone)]
pub struct Proxies {
    /// Name of the header, in lower case.
    pub header: String,
    /// From where it is believed.
    pub networks: Vec<Network>,
    /// Roles by user. `*` stands for all other users; without it, they have none.
    pub users: BTreeMap<String, Role>,
}

/// Why a user is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedUser {
    /// The name is empty, too long or has other characters.
    #[error(
        "the proxy's header does not name a user; it must contain one name of 1 to \
         {MAX_USER_BYTES} letters, digits and the characters `._-+|@`"
    )]
    Malformed,
    /// The header occurs several times.
    #[error(
        "the proxy's header occurs several times; the proxy must replace the one that its client \
         sends"
    )]
    Several,
    /// The request also has a key.
    #[error("the request has a key and the proxy's header; send one of them")]
    WithKey,
    /// The user has no role.
    #[error(
        "this user has no role on this node; ask its operator to add the user to \
         `access.proxy_users`"
    )]
    Unknown,
}

impl Proxies {
    /// Whether the header is believed on a connection from `address`.
    #[must_use]
    pub fn trust(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }

    /// The role of a user.
    pub(crate) fn role(&self, user: &str) -> Result<Role, RefusedUser> {
        if !is_user(user) {
            return Err(RefusedUser::Malformed);
        }
        self.users
            .get(user)
            .or_else(|| self.users.get(OTHERS))
            .copied()
            .ok_or(RefusedUser::Unknown)
    }
}

/// Whether a text can name users in `access.proxy_users`: a user, or `*`.
#[must_use]
pub fn is_user_or_others(text: &str) -> bool {
    text == OTHERS || is_user(text)
}

/// Colons separate the name of a caller from that of its run, and commas several users.
fn is_user(text: &str) -> bool {
    (1..=MAX_USER_BYTES).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-+|@".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn networks_contain_their_addresses_only() {
        let contains = |text: &str, address: &str| network(text).contains(address.parse().unwrap());
        assert!(contains("10.0.0.5", "10.0.0.5"));
        assert!(!contains("10.0.0.5", "10.0.0.4"));
        assert!(contains("10.1.0.0/16", "10.1.255.255"));
        assert!(!contains("10.1.0.0/16", "10.2.0.0"));
        assert!(contains("128.0.0.0/1", "255.0.0.0"));
        assert!(contains("10.0.0.5", "::ffff:10.0.0.5"));
        assert!(contains("::ffff:10.0.0.5", "10.0.0.5"));
        assert!(contains("fd00::/8", "fd12::1"));
        assert!(!contains("fd00::/8", "fe00::1"));
        // The same bits in the other version.
        assert!(!contains("10.0.0.0/8", "a00::"));
        assert!(!contains("a00::/8", "10.0.0.0"));
    }

    #[test]
    fn rejects_malformed_networks() {
        for text in [
            "",
            "proxy",
            "10.0.0",
            "0.0.0.0/0",
            "::/0",
            "10.0.0.5/24",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "fd00::1/64",
            "10.0.0.5:80",
            " 10.0.0.5",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn users_have_the_listed_roles() {
        let listed = [("alice@lab.example".to_owned(), Role::Operator)];
        let mut proxies = Proxies {
            header: "x-user".to_owned(),
            networks: Vec::new(),
            users: listed.into(),
        };
        assert_eq!(proxies.role("alice@lab.example"), Ok(Role::Operator));
        assert_eq!(proxies.role("bob"), Err(RefusedUser::Unknown));
        proxies.users.insert(OTHERS.to_owned(), Role::Trainer);
        assert_eq!(proxies.role("bob"), Ok(Role::Trainer));
        for user in ["", "*", "a:b", "a,b", "a b", "é", "a/b", &"a".repeat(129)] {
            assert_eq!(proxies.role(user), Err(RefusedUser::Malformed), "{user}");
        }
    }
}
