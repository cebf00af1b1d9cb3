//! TLS with the certificate of the node, which is read again when its files change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// How often the files are checked.
const CHECK: Duration = Duration::from_secs(5);

/// The certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("cannot read `{}`: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The certificate does not belong to the key, or is malformed.
    #[error("the certificate does not match the private key, or cannot be used: {0}")]
    Pair(rustls::Error),
}

/// When the files were changed last, and their sizes.
type Stamp = [(SystemTime, u64); 2];

/// The certificate chain and the private key of the node, in PEM files.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<(Stamp, Arc<ServerConfig>)>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`]
    pub fn load(certificate: PathBuf, key: PathBuf) -> Result<Self, TlsError> {
        let current = (stamp(&certificate, &key)?, read(&certificate, &key)?);
        Ok(Self {
            certificate,
            key,
            current: RwLock::new(current),
        })
    }

    /// Reads the files again if they were changed. New connections then use them; open ones are not
    /// affected.
    ///
    /// # Errors
    /// [`TlsError`]; the earlier certificate stays in use.
    pub fn reload(&self) -> Result<bool, TlsError> {
        // Taken first: a file that changes while it is read is read again the next time.
        let stamp = stamp(&self.certificate, &self.key)?;
        let is_current = self
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            == stamp;
        if is_current {
            return Ok(false);
        }
        let config = read(&self.certificate, &self.key)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (stamp, config);
        Ok(true)
    }

    /// Checks the files until it is dropped.
    pub async fn watch(self: Arc<Self>) {
        let mut failing = false;
        loop {
            tokio::time::sleep(CHECK).await;
            let tls = Arc::clone(&self);
            let Ok(reloaded) = tokio::task::spawn_blocking(move || tls.reload()).await else {
                return;
            };
            match &reloaded {
                Ok(true) => tracing::info!("loaded the changed certificate"),
                Err(error) if !failing => {
                    tracing::error!(%error, "cannot load the changed certificate; the earlier one \
                        stays in use");
                }
                Ok(false) | Err(_) => {}
            }
            failing = reloaded.is_err();
        }
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current.1))
    }
}

fn file_error(path: &Path, reason: &dyn ToString) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn stamp(certificate: &Path, key: &Path) -> Result<Stamp, TlsError> {
    let of = |path: &Path| {
        let metadata = fs::metadata(path).map_err(|error| file_error(path, &error))?;
        let modified = metadata
            .modified()
            .map_err(|error| file_error(path, &error))?;
        Ok((modified, metadata.len()))
    };
    Ok([of(certificate)?, of(key)?])
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| file_error(certificate, &error))?;
    if chain.is_empty() {
        return Err(file_error(certificate, &"it contains no certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| file_error(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
