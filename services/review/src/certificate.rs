//! Certificates of datasets: what a check found, signed, so that anyone with the files can check
//! them again and compare.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use assay_core::RawJson;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::receipt::{CERTIFICATE, Difference, Envelope, KeyError, Signer, differences};

/// Bytes of a file that are read at once.
const BUFFER: usize = 256 << 10;

/// What a check found, as it is signed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Version of Assay that checked the datasets.
    pub assay: String,
    /// When they were checked, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// The files of the datasets, in their order.
    pub files: Vec<CertifiedFile>,
    /// What the check depends on and what it found, as JSON by key.
    pub check: BTreeMap<String, RawJson>,
}

/// A file that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedFile {
    /// Its name without the folder, or its name on a hub.
    pub name: String,
    /// SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

impl CertifiedFile {
    /// Hashes a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(name: String, path: &Path) -> io::Result<Self> {
        let (mut file, mut digest, mut bytes) = (File::open(path)?, Context::new(&SHA256), 0);
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            digest.update(&buffer[..read]);
            bytes += read as u64;
        }
        let digest = digest.finish();
        let sha256 = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
        Ok(Self {
            name,
            sha256: sha256.collect(),
            bytes,
        })
    }
}

/// Creates the key in a file if it does not exist, and checks that it can be used.
///
/// # Errors
/// [`KeyError`] if the key cannot be used.
pub async fn ensure_key(key: PathBuf) -> Result<(), KeyError> {
    Signer::new(key).key().await.map(drop)
}

impl Certificate {
    /// Signs the certificate with the key in a file, which is created if it does not exist.
    ///
    /// # Errors
    /// [`KeyError`] if the key cannot be used.
    pub async fn sign(&self, key: PathBuf) -> Result<Envelope, KeyError> {
        let key = Signer::new(key).key().await?;
        // Texts, numbers and JSON can always be serialised.
        let json = serde_json::to_vec(self).unwrap_or_default();
        Ok(Envelope::sign(CERTIFICATE, &json, &key))
    }

    /// Reads a certificate, which must be the text in which certificates are written.
    ///
    /// # Errors
    /// Why the bytes are not a certificate.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let written = serde_json::to_vec(&read).map_err(|error| error.to_string())?;
        if written != json {
            return Err("it is not in the form in which certificates are written".to_owned());
        }
        Ok(read)
    }

    /// What differs from another check of the same datasets: files by their content, and what the
    /// check depends on and found. Names of files, versions and times are not compared.
    #[must_use]
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let contents = |files: &[CertifiedFile]| -> Vec<(String, u64)> {
            let content = |file: &CertifiedFile| (file.sha256.clone(), file.bytes);
            files.iter().map(content).collect()
        };
        let mut found = Vec::new();
        if contents(&self.files) != contents(&now.files) {
            found.push(Difference {
                key: "files".to_owned(),
                stated: json(&self.files),
                now: json(&now.files),
            });
        }
        found.extend(differences(&self.check, &now.check));
        found
    }
}

fn json(files: &[CertifiedFile]) -> Option<RawJson> {
    RawJson::stored(&serde_json::to_string(files).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str, content: &[u8], rows: u64) -> Certificate {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        std::fs::write(&path, content).unwrap();
        let check = [(
            "rows".to_owned(),
            RawJson::stored(&rows.to_string()).unwrap(),
        )];
        Certificate {
            assay: "1".to_owned(),
            time_us: 7,
            files: vec![CertifiedFile::read(name.to_owned(), &path).unwrap()],
            check: check.into(),
        }
    }

    #[tokio::test]
    async fn a_signed_certificate_is_read_back_and_compared_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let one = certificate("a.jsonl", b"abc", 3);
        assert_eq!(
            one.files[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "as the standard has it"
        );
        let envelope = one.sign(folder.path().join("key.pem")).await.unwrap();
        let (payload, keys) = envelope.open(CERTIFICATE).unwrap();
        assert_eq!(keys.len(), 1);
        let read = Certificate::read(&payload).unwrap();
        let keys_of = |other: &Certificate| -> Vec<String> {
            let found = read.differences(other).into_iter();
            found.map(|difference| difference.key).collect()
        };
        assert!(keys_of(&certificate("b.jsonl", b"abc", 3)).is_empty());
        assert_eq!(keys_of(&certificate("a.jsonl", b"abd", 3)), ["files"]);
        assert_eq!(keys_of(&certificate("a.jsonl", b"abc", 4)), ["rows"]);

        let twice = String::from_utf8(payload).unwrap();
        let twice = twice.replacen("\"assay\"", "\"time_us\":9,\"assay\"", 1);
        assert!(Certificate::read(twice.as_bytes()).is_err());
    }
}
