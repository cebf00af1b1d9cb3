//! Pickled strings, as in the private tests of LiveCodeBench: base64 of a zlib stream of a pickle
//! of one string. The pickle is not executed: only the operations that load a single string are
//! read, and all others are errors.

use std::io::Read;

use assay_jinja::MAX_BYTES;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The string in a base64-encoded, zlib-compressed pickle.
///
/// # Errors
/// What is wrong with the text, or that it has more than [`MAX_BYTES`].
pub(crate) fn text(encoded: &str) -> Result<String, String> {
    let compressed = STANDARD
        .decode(encoded.trim())
        .map_err(|error| format!("the text is not base64: {error}"))?;
    let mut pickle = Vec::new();
    let mut reader = flate2::read::ZlibDecoder::new(&*compressed).take(MAX_BYTES as u64 + 1);
    reader
        .read_to_end(&mut pickle)
        .map_err(|error| format!("the text is not a zlib stream: {error}"))?;
    if pickle.len() > MAX_BYTES {
        return Err(format!(
            "the text has more than {} MiB uncompressed",
            MAX_BYTES >> 20
        ));
    }
    unpickled(&pickle)
}

/// The string of a pickle (protocols 1 to 5) that contains only a string.
fn unpickled(pickle: &[u8]) -> Result<String, String> {
    let other = || "the pickle is not that of one string".to_owned();
    let mut rest = pickle;
    let mut found = None;
    loop {
        let operation = take(&mut rest, 1).ok_or_else(other)?[0];
        match operation {
            b'.' if rest.is_empty() => return found.ok_or_else(other),
            // The protocol, the length of a frame, and stores to the memo, without effect on the
            // string.
            0x80 | b'q' => drop(take(&mut rest, 1).ok_or_else(other)?),
            0x95 => drop(take(&mut rest, 8).ok_or_else(other)?),
            b'r' => drop(take(&mut rest, 4).ok_or_else(other)?),
            0x94 => {}
            // A string of UTF-8 after its length in 4, 1 or 8 bytes.
            b'X' | 0x8c | 0x8d if found.is_none() => {
                let width = match operation {
                    b'X' => 4,
                    0x8c => 1,
                    _ => 8,
                };
                let mut length = [0; 8];
                length[..width].copy_from_slice(take(&mut rest, width).ok_or_else(other)?);
                let length = usize::try_from(u64::from_le_bytes(length)).map_err(|_| other())?;
                let bytes = take(&mut rest, length).ok_or_else(other)?;
                let text = std::str::from_utf8(bytes)
                    .map_err(|error| format!("the string of the pickle is not UTF-8: {error}"))?;
                found = Some(text.to_owned());
            }
            _ => return Err(other()),
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `base64.b64encode(zlib.compress(pickle.dumps("[]", protocol)))`.
    #[test]
    fn reads_strings_of_all_protocols() {
        for (protocol, pickle) in [
            (1, &b"X\x02\0\0\0[]q\0."[..]),
            (2, b"\x80\x02X\x02\0\0\0[]q\0."),
            (4, b"\x80\x04\x95\x06\0\0\0\0\0\0\0\x8c\x02[]\x94."),
            (5, b"\x80\x05\x8d\x02\0\0\0\0\0\0\0[]\x94."),
        ] {
            assert_eq!(unpickled(pickle).unwrap(), "[]", "protocol {protocol}");
        }
    }

    #[test]
    fn rejects_other_pickles_without_executing_them() {
        for pickle in [
            &b"\x80\x04cos\nsystem\n."[..],
            b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
            b"\x80\x04]\x94.",
            b"\x80\x04\x8c\x05[].",
            b"\x80\x04X\xff\xff\xff\xff[].",
            b"\x80\x04\x8c\x02[].\0",
            b"\x80\x04.",
            b"",
        ] {
            let error = unpickled(pickle).unwrap_err();
            assert_eq!(error, "the pickle is not that of one string", "{pickle:?}");
        }
        assert!(text("!").unwrap_err().contains("not base64"));
        assert!(text("AAAA").unwrap_err().contains("not a zlib stream"));
    }

    #[test]
    fn bounds_the_uncompressed_size() {
        use std::io::Write;
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        let zeros = vec![0; 1 << 20];
        for _ in 0..129 {
            writer.write_all(&zeros).unwrap();
        }
        let bomb = STANDARD.encode(writer.finish().unwrap());
        assert!(bomb.len() < 1 << 20);
        let error = text(&bomb).unwrap_err();
        assert_eq!(error, "the text has more than 128 MiB uncompressed");
    }
}
