//! The text of a key: `assay_ID_SECRET`. The id is public. The secret has 256 random bits and ends
//! with a checksum, which distinguishes a mistyped key from a wrong one.

use std::borrow::Cow;
use std::fmt;

/// Start of every key, by which tools that search for leaked secrets find them.
const PREFIX: &str = "assay_";

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of an id, of a secret and of its checksum. 62^43 exceeds 2^256.
const ID: usize = 12;
const SECRET: usize = 43;
const CHECKSUM: usize = 4;

/// A key. Its text is secret and is not part of its debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    text: String,
}

/// A text is not a key, which says nothing about the valid keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedKey {
    /// It does not have the form of a key.
    #[error("malformed key; keys have the form `assay_ID_SECRET`")]
    Form,
    /// Its checksum is wrong.
    #[error("the key is mistyped or incomplete: its checksum is wrong")]
    Checksum,
}

impl Key {
    /// Creates a random key.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let text = format!("{PREFIX}{}_{}", random_text(ID)?, random_text(SECRET)?);
        let checksum = checksum(&text);
        Ok(Self {
            text: text + &checksum,
        })
    }

    /// Parses the text of a key.
    ///
    /// # Errors
    /// [`MalformedKey`]
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let (id, secret) = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('_'))
            .ok_or(MalformedKey::Form)?;
        let is_text = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if id.len() != ID || !is_text(id) || !is_text(secret) {
            return Err(MalformedKey::Form);
        }
        // A truncated key is mistyped too.
        if secret.len() != SECRET + CHECKSUM {
            return Err(MalformedKey::Checksum);
        }
        let (body, sum) = text.split_at(text.len() - CHECKSUM);
        if checksum(body) != sum {
            return Err(MalformedKey::Checksum);
        }
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// The public part, which identifies the key.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.text[PREFIX.len()..PREFIX.len() + ID]
    }

    /// The whole key, to show it once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The hash of the key under the secret of a node.
    #[must_use]
    pub fn hash(&self, secret: &[u8; 32]) -> [u8; 32] {
        *blake3::keyed_hash(secret, self.text.as_bytes()).as_bytes()
    }

    /// A new key with the same id.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn with_id(id: &str) -> std::io::Result<Self> {
        let text = format!("{PREFIX}{id}_{}", random_text(SECRET)?);
        let checksum = checksum(&text);
        Ok(Self {
            text: text + &checksum,
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id())
    }
}

/// Random characters of the alphabet, each with the same probability.
pub(crate) fn random_text(length: usize) -> std::io::Result<String> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0u8; 64];
    while text.len() < length {
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        // 248 is the largest multiple of 62 in a byte; larger values would favour some characters.
        let characters = bytes
            .iter()
            .filter(|byte| **byte < 248)
            .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
        text.extend(characters.take(length - text.len()));
    }
    Ok(text)
}

/// The checksum of a text: the start of its BLAKE3 hash.
fn checksum(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes()[..CHECKSUM]
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
        .collect()
}

/// Replaces the secret of everything in `text` that looks like a key, complete or not.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, key) = rest.split_at(at + PREFIX.len());
        let id = key
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(key.len());
        shown.push_str(before);
        // An id alone is no secret; names such as `assay_grades_total` have words as short as ids.
        let after_id = &key[id..];
        let secret = after_id.strip_prefix('_').map_or(0, |secret| {
            secret
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(secret.len())
        });
        if id == ID && secret > 0 {
            shown.push_str(&key[..id]);
            shown.push_str("_…");
            rest = &after_id[1 + secret..];
        } else if id >= ID + SECRET {
            // A key whose separator was lost. Other names are shorter.
            shown.push('…');
            rest = after_id;
        } else {
            shown.push_str(&key[..id]);
            rest = after_id;
        }
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_parse_and_differ() {
        let (one, other) = (Key::random().unwrap(), Key::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(Key::parse(one.reveal()), Ok(one.clone()));
        assert_eq!(
            one.reveal().len(),
            "assay_".len() + ID + 1 + SECRET + CHECKSUM
        );
        assert_eq!(Key::with_id(one.id()).unwrap().id(), one.id());
        assert_ne!(one.hash(&[1; 32]), one.hash(&[2; 32]));
        assert!(!format!("{one:?}").contains(&one.reveal()[20..]));
    }

    #[test]
    fn distinguishes_typing_errors_from_other_texts() {
        let key = Key::random().unwrap();
        let text = key.reveal();
        assert_eq!(
            Key::parse(&text[..text.len() - 1]),
            Err(MalformedKey::Checksum)
        );
        let other = if text.ends_with('0') { "1" } else { "0" };
        let typo = format!("{}{other}", &text[..text.len() - 1]);
        assert_eq!(Key::parse(&typo), Err(MalformedKey::Checksum));
        for text in [
            "",
            "EMPTY",
            "assay_",
            "assay__",
            "assay_a_b",
            "sk-abc",
            "assay_é_é",
        ] {
            assert_eq!(Key::parse(text), Err(MalformedKey::Form), "{text}");
        }
    }

    #[test]
    fn hides_the_secret_of_every_key_in_a_text() {
        let (one, other) = (Key::random().unwrap(), Key::random().unwrap());
        let text = format!("a {}/b?{}", one.reveal(), other.reveal());
        assert_eq!(
            redact(&text),
            format!("a assay_{}_…/b?assay_{}_…", one.id(), other.id())
        );
        for text in [
            "",
            "assay_grades_total",
            "assay_",
            "a/v1",
            "assay_0123456789ab",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_secret_survives(before in ".{0,20}", after in "[^A-Za-z0-9].{0,20}") {
            let key = Key::random().unwrap();
            let text = format!("{before}{}{after}", key.reveal());
            let secret = &key.reveal()["assay_".len() + ID + 1..];
            prop_assert!(!redact(&text).contains(&secret[..12]));
        }
    }
}
