//! Types and encodings of bodies.

use std::io::Write;

use crate::http::fixtures::{batch, item, service, service_with};

#[tokio::test]
async fn decompresses_bodies_and_compresses_replies_on_request() {
    let service = service().await;
    let request = batch((0..50).map(|_| item("1", "1"))).to_string();
    let packed = zstd::encode_all(request.as_bytes(), 1).unwrap();
    let got = service
        .grade_with(
            packed,
            &[("content-encoding", "zstd"), ("accept-encoding", "zstd")],
        )
        .await;
    assert_eq!(got.headers["content-encoding"], "zstd");
    let body: serde_json::Value =
        serde_json::from_slice(&zstd::decode_all(&got.bytes[..]).unwrap()).unwrap();
    assert_eq!(body["results"].as_array().unwrap().len(), 50);
    let got = service
        .grade_with(
            stored_gzip(request.as_bytes()),
            &[("content-encoding", "gzip")],
        )
        .await;
    assert_eq!(got.status, 200);
}

#[tokio::test]
async fn rejects_other_content_types_and_encodings() {
    let service = service().await;
    let request = batch([item("1", "1")]).to_string();
    let got = service
        .grade_with(request.clone(), &[("content-encoding", "br")])
        .await;
    assert_eq!(got.refusal().0, 415);
    let twice = service
        .grade_with(request.clone(), &[("content-encoding", "gzip, gzip")])
        .await;
    assert_eq!(twice.refusal().0, 415);
    let got = service.send(
        http::Request::post("/v1/grade")
            .header("content-type", "text/csv")
            .body(request.into())
            .unwrap(),
    );
    assert_eq!(got.await.refusal(), (415, "unsupported_media".into(), None));
    let got = service
        .grade_with("not packed at all", &[("content-encoding", "zstd")])
        .await;
    assert_eq!(got.refusal(), (400, "malformed_json".into(), None));
}

#[tokio::test]
async fn counts_or_ignores_every_part_of_a_compressed_body() {
    let service = service_with(|config| config.server.body_bytes = 100_000).await;
    // Each part is small and declares its own window.
    let part = zstd::encode_all(&[b' '; 20_000][..], 19).unwrap();
    let got = service
        .grade_with(part.repeat(10), &[("content-encoding", "zstd")])
        .await;
    assert_eq!(got.refusal(), (413, "body_too_large".into(), None));
    // Only the first part of a gzip body is read; the truncated request is not JSON.
    let request = batch([item("1", "1")]).to_string();
    let (start, end) = request.split_at(20);
    let parts = [stored_gzip(start.as_bytes()), stored_gzip(end.as_bytes())].concat();
    let got = service
        .grade_with(parts, &[("content-encoding", "gzip")])
        .await;
    assert_eq!(got.refusal(), (400, "malformed_json".into(), None));
}

#[tokio::test]
async fn rejects_large_zstd_windows() {
    // A zstd frame (RFC 8878, section 3.1.1) with a window of 2 GiB and one block: 65,536 spaces.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 0x03, 0x00, 0x08, b' '];
    let got = service()
        .await
        .grade_with(frame.to_vec(), &[("content-encoding", "zstd")])
        .await;
    assert_eq!(got.refusal(), (400, "malformed_json".into(), None));
    assert!(
        got.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot be decompressed")
    );
}

/// The bytes as a gzip file with one stored block (RFC 1951 section 3.2.4, RFC 1952): no packer
/// needed.
fn stored_gzip(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    file.write_all(&length.to_le_bytes()).unwrap();
    file.write_all(&(!length).to_le_bytes()).unwrap();
    file.write_all(bytes).unwrap();
    file.write_all(&crc32(bytes).to_le_bytes()).unwrap();
    file.write_all(&u32::from(length).to_le_bytes()).unwrap();
    file
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    })
}
