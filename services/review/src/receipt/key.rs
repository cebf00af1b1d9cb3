//! The Ed25519 key that signs receipts, in a file in PEM (PKCS #8), as `openssl genpkey` writes it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use tokio::sync::OnceCell;

/// Maximum size of the file, in bytes.
const MAX_PEM: u64 = 16 << 10;

/// Length of a line of PEM, in characters.
const PEM_LINE: usize = 64;

/// Why the key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the key of receipts `{}`: {reason}", path.display())]
pub struct KeyError {
    path: PathBuf,
    reason: String,
}

/// Where the key is. It is read when it is needed first, and created if the file does not exist.
#[derive(Debug)]
pub(crate) struct Signer {
    path: PathBuf,
    key: OnceCell<Arc<SigningKey>>,
}

impl Signer {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            key: OnceCell::new(),
        }
    }

    pub(crate) async fn key(&self) -> Result<Arc<SigningKey>, KeyError> {
        let key = self.key.get_or_try_init(async || {
            let path = self.path.clone();
            let opened = tokio::task::spawn_blocking(move || SigningKey::open(&path)).await;
            opened
                .unwrap_or_else(|error| Err(error.to_string()))
                .map(Arc::new)
                .map_err(|reason| KeyError {
                    path: self.path.clone(),
                    reason,
                })
        });
        Ok(Arc::clone(key.await?))
    }
}

/// An Ed25519 key.
#[derive(Debug)]
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// A new key that is not stored.
    ///
    /// # Errors
    /// If the operating system has no random numbers.
    pub fn generate() -> Result<Self, String> {
        Self::read_der(&new_der()?)
    }

    /// Reads the key in a file, which is created with a new key if it does not exist.
    fn open(path: &Path) -> Result<Self, String> {
        match read(path) {
            Ok(pem) => Self::read_pem(&pem),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(path, &pem_of(&new_der()?)).map_err(|error| error.to_string())?;
                // Another process may have created it first.
                Self::read_pem(&read(path).map_err(|error| error.to_string())?)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn read_pem(pem: &[u8]) -> Result<Self, String> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem)
            .map_err(|error| format!("it is not a private key in PEM: {error}"))?;
        Self::read_der(der.secret_pkcs8_der())
    }

    fn read_der(der: &[u8]) -> Result<Self, String> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)
            .map(Self)
            .map_err(|error| format!("it is not an Ed25519 key: {error}"))
    }

    /// The public part.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

/// A public Ed25519 key. It is written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        key.verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.as_bytes();
        let mut key = [0; 32];
        if digits.len() != 2 * key.len() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(());
        }
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| ())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| ())?;
        }
        Ok(Self(key))
    }
}

fn new_der() -> Result<Vec<u8>, String> {
    let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let der = der.map_err(|_| "the operating system has no random numbers".to_owned())?;
    Ok(der.as_ref().to_vec())
}

fn pem_of(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = "-----BEGIN PRIVATE KEY-----\n".to_owned();
    for at in (0..text.len()).step_by(PEM_LINE) {
        pem.push_str(&text[at..text.len().min(at + PEM_LINE)]);
        pem.push('\n');
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    pem
}

/// Creates a file that only its owner can read, whole or not at all. Keeps a file that exists.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Its name is random, and its mode is 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => Err(failed.error),
        _ => File::open(folder)?.sync_all(),
    }
}

/// Reads a file, of which no more than a key can have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.mode();
    if mode & 0o077 != 0 {
        tracing::warn!(
            path = %path.display(),
            "others can read the key of receipts; set its mode to 0600"
        );
    }
    let mut pem = Vec::new();
    file.take(MAX_PEM).read_to_end(&mut pem)?;
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_key_is_created_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipts.pem");
        let first = Signer::new(path.clone()).key().await.unwrap().public();
        let again = Signer::new(path.clone()).key().await.unwrap().public();
        assert_eq!(first, again);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(first.to_string().parse(), Ok(first));
    }

    #[test]
    fn first_uses_at_the_same_time_have_one_key() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("receipts.pem");
            let keys: Vec<_> = std::thread::scope(|scope| {
                let uses: Vec<_> = (0..8)
                    .map(|_| scope.spawn(|| SigningKey::open(&path).unwrap().public()))
                    .collect();
                uses.into_iter().map(|used| used.join().unwrap()).collect()
            });
            assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    /// Made by `openssl genpkey -algorithm ed25519`; the public part by `openssl pkey -pubout`.
    #[tokio::test]
    async fn reads_keys_of_openssl() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("openssl.pem");
        fs::write(
            &path,
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEOXz1sefmoYhIkZUN9UJVu0mUkaBq7bQmIcoOKR7JXb\n-----END PRIVATE KEY-----\n",
        )
        .unwrap();
        let key = Signer::new(path).key().await.unwrap().public();
        assert_eq!(
            key.to_string(),
            "7d599fa94955fca78607e8aea79cb8764e68de61cc321ba4088afe52ec72cf28"
        );
    }

    #[tokio::test]
    async fn other_files_are_errors_and_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipts.pem");
        fs::write(&path, "not a key").unwrap();
        let error = Signer::new(path.clone()).key().await.unwrap_err();
        assert!(error.to_string().contains("receipts.pem"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"not a key");
    }
}
