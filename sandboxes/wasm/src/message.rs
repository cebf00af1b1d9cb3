//! Messages between the host and the driver of an image: the length of the header (four bytes,
//! little-endian), a JSON header, then blobs. The header lists their lengths under `blobs`.

use serde_json::{Map, Value};

/// Longest accepted header, in bytes: many times the length that drivers write. A parsed header
/// takes up to 16 times its length.
pub(crate) const MAX_HEADER: usize = 1 << 20;

/// A header from a JSON object.
pub(crate) fn header(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(header) => header,
        _ => Map::new(),
    }
}

/// Writes a message.
pub(crate) fn write(mut header: Map<String, Value>, blobs: &[&[u8]]) -> Vec<u8> {
    let lengths: Vec<usize> = blobs.iter().map(|blob| blob.len()).collect();
    header.insert("blobs".to_owned(), lengths.into());
    let header = Value::Object(header).to_string();
    let mut message =
        Vec::with_capacity(4 + header.len() + blobs.iter().map(|blob| blob.len()).sum::<usize>());
    // Headers contain names and options, so they are far below four gigabytes.
    message.extend_from_slice(
        &u32::try_from(header.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    message.extend_from_slice(header.as_bytes());
    blobs
        .iter()
        .for_each(|blob| message.extend_from_slice(blob));
    message
}

/// A parsed message.
pub(crate) struct Message<'a> {
    pub(crate) header: Map<String, Value>,
    pub(crate) blobs: Vec<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Reads a message; `None` if it is malformed, which a hostile program can cause.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_at_checked(4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        if length > MAX_HEADER {
            return None;
        }
        let (header, mut rest) = rest.split_at_checked(length)?;
        let header: Map<String, Value> = serde_json::from_slice(header).ok()?;
        let mut blobs = Vec::new();
        for length in header.get("blobs")?.as_array()? {
            let (blob, after) = rest.split_at_checked(usize::try_from(length.as_u64()?).ok()?)?;
            blobs.push(blob);
            rest = after;
        }
        Some(Self { header, blobs })
    }

    /// A string field of the header; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.header
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Whether a field of the header is `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.header
            .get(name)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    }

    /// The first blob; empty if there is none.
    pub(crate) fn blob(&self) -> &'a [u8] {
        self.blobs.first().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_round_trip() {
        let Value::Object(header) = json!({"op": "load"}) else {
            unreachable!()
        };
        let bytes = write(header, &[b"one", b"", b"two"]);
        let message = Message::read(&bytes).unwrap();
        assert_eq!((message.text("op"), message.text("none")), ("load", ""));
        assert_eq!(message.blobs, [b"one".as_slice(), b"", b"two"]);
    }

    #[test]
    fn rejects_malformed_messages() {
        for bytes in [
            b"".as_slice(),
            b"\xff\xff\xff\xff",
            b"\x02\0\0\0{}",
            b"\x0d\0\0\0{\"blobs\":[9]}",
        ] {
            assert!(Message::read(bytes).is_none());
        }
    }

    #[test]
    fn rejects_long_headers() {
        let with_header_of = |length: usize| {
            let text = "x".repeat(length - r#"{"blobs":[],"message":""}"#.len());
            let header = [("message".to_owned(), Value::String(text))]
                .into_iter()
                .collect();
            write(header, &[])
        };
        assert!(Message::read(&with_header_of(MAX_HEADER)).is_some());
        assert!(Message::read(&with_header_of(MAX_HEADER + 1)).is_none());
    }
}
