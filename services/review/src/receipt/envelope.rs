//! Signed envelopes, in the format DSSE 1.0 (Dead Simple Signing Envelope), so that other tools
//! can check them too: <https://github.com/secure-systems-lab/dsse>.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::key::{PublicKey, SigningKey};

/// Media type of the payload of a receipt: JSON with the keys `assay`, `grade`, `time_us`, `item`
/// and `result`.
pub const RECEIPT: &str = "application/vnd.assay.receipt+json";

/// Media type of the payload of a certificate of a dataset.
pub const CERTIFICATE: &str = "application/vnd.assay.certificate+json";

/// A signed envelope. The payload of a receipt is JSON with the keys `assay`, `grade`, `time_us`,
/// `item` and `result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Receipt)]
pub struct Envelope {
    /// Media type of the payload, `application/vnd.assay.receipt+json` of receipts.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// The payload in Base64.
    pub payload: String,
    /// The signatures; at least one.
    #[schema(min_items = 1)]
    pub signatures: Vec<Signature>,
}

/// A signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReceiptSignature)]
pub struct Signature {
    /// The public Ed25519 key, as 64 hexadecimal digits.
    #[serde(default)]
    pub keyid: String,
    /// The signature of the payload and its type in Base64.
    pub sig: String,
}

/// Why an envelope is not valid.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// It contains something else.
    #[error("the `payloadType` is `{0}`, not `{1}`")]
    Type(String, &'static str),
    /// The payload is not Base64.
    #[error("the `payload` is not Base64: {0}")]
    Base64(base64::DecodeError),
    /// No key has signed it.
    #[error("none of its signatures is one of its `keyid` for this payload")]
    Unsigned,
}

impl Envelope {
    /// Signs a payload of this media type.
    #[must_use]
    pub(crate) fn sign(kind: &str, payload: &[u8], key: &SigningKey) -> Self {
        let signature = key.sign(&signed_bytes(kind, payload));
        Self {
            payload_type: kind.to_owned(),
            payload: STANDARD.encode(payload),
            signatures: vec![Signature {
                keyid: key.public().to_string(),
                sig: STANDARD.encode(signature),
            }],
        }
    }

    /// Returns the payload, which has this media type, and the keys that signed it. Other
    /// signatures are ignored, as DSSE requires.
    ///
    /// # Errors
    /// [`EnvelopeError`] if no signature is valid.
    pub fn open(&self, kind: &'static str) -> Result<(Vec<u8>, Vec<PublicKey>), EnvelopeError> {
        if self.payload_type != kind {
            return Err(EnvelopeError::Type(self.payload_type.clone(), kind));
        }
        let payload = decoded(&self.payload).map_err(EnvelopeError::Base64)?;
        let signed = signed_bytes(kind, &payload);
        let signers = self.signatures.iter().filter_map(|signature| {
            let key: PublicKey = signature.keyid.parse().ok()?;
            let signature = decoded(&signature.sig).ok()?;
            key.has_signed(&signed, &signature).then_some(key)
        });
        let keys: Vec<_> = signers.collect();
        if keys.is_empty() {
            return Err(EnvelopeError::Unsigned);
        }
        Ok((payload, keys))
    }
}

/// Decodes Base64 of either alphabet.
fn decoded(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    if text.contains(['-', '_']) {
        return URL_SAFE.decode(text);
    }
    STANDARD.decode(text)
}

/// The bytes that are signed: the pre-authentication encoding of DSSE.
fn signed_bytes(kind: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification, with its own type of payload.
    #[test]
    fn signs_the_encoding_of_the_specification() {
        let bytes = signed_bytes(RECEIPT, b"hello");
        let expected = b"DSSEv1 34 application/vnd.assay.receipt+json 5 hello";
        assert_eq!(bytes, expected);
    }

    #[test]
    fn every_changed_byte_is_found() {
        let key = SigningKey::generate().unwrap();
        let envelope = Envelope::sign(RECEIPT, br#"{"grade":"x"}"#, &key);
        assert_eq!(
            envelope.open(RECEIPT).unwrap(),
            (br#"{"grade":"x"}"#.to_vec(), vec![key.public()])
        );
        let json = serde_json::to_vec(&envelope).unwrap();
        for at in 0..json.len() {
            for bit in 0..8 {
                let mut changed = json.clone();
                changed[at] ^= 1 << bit;
                let Ok(read) = serde_json::from_slice::<Envelope>(&changed) else {
                    continue;
                };
                // The digits of a key may be upper case.
                let same_key = read.signatures[0].keyid.to_lowercase();
                let is_case = same_key == envelope.signatures[0].keyid;
                assert!(
                    read.open(RECEIPT).is_err() || is_case,
                    "byte {at}, bit {bit}"
                );
            }
        }
    }

    #[test]
    fn rejects_what_is_not_signed() {
        let key = SigningKey::generate().unwrap();
        let mut envelope = Envelope::sign(RECEIPT, b"{}", &key);
        envelope.signatures.clear();
        assert!(matches!(
            envelope.open(RECEIPT),
            Err(EnvelopeError::Unsigned)
        ));
        let other = SigningKey::generate().unwrap();
        let mut envelope = Envelope::sign(RECEIPT, b"{}", &key);
        envelope.signatures[0].keyid = other.public().to_string();
        assert!(matches!(
            envelope.open(RECEIPT),
            Err(EnvelopeError::Unsigned)
        ));
        // A signature that cannot be checked does not take away a valid one.
        let mut envelope = Envelope::sign(RECEIPT, b"{}", &key);
        let unknown = Signature {
            keyid: String::new(),
            sig: "?".to_owned(),
        };
        envelope.signatures.insert(0, unknown);
        assert_eq!(envelope.open(RECEIPT).unwrap().1, [key.public()]);
        let mut envelope = Envelope::sign(RECEIPT, b"{}", &key);
        assert!(matches!(
            envelope.open(CERTIFICATE),
            Err(EnvelopeError::Type(..))
        ));
        envelope.payload_type = CERTIFICATE.to_owned();
        assert!(matches!(
            envelope.open(CERTIFICATE),
            Err(EnvelopeError::Unsigned)
        ));
        assert!(matches!(
            envelope.open(RECEIPT),
            Err(EnvelopeError::Type(..))
        ));
    }
}
