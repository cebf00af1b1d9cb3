//! Errors of starting a node.

use assay_core::reward_model::ModelError;
use assay_engine::RedactionError;
use assay_external::JudgeError;
use assay_record::OpenError;
use assay_review::receipt::ReceiptError;
use assay_rewards::PolicyError;
use assay_weights::LoadError;
use assay_worker::{Mechanism, WorkerError};

use crate::config::ConfigError;

/// The node cannot start or serve.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The record cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The folder of sessions cannot be used.
    #[error(transparent)]
    Sessions(#[from] assay_sessions::OpenError),
    /// The certificate cannot be used.
    #[error("cannot use `server.tls_certificate` with `server.tls_key`")]
    Tls(#[from] assay_api::TlsError),
    /// One of the two settings of TLS is empty.
    #[error("`{0}` is empty; TLS needs a certificate and its key")]
    NoTlsFile(&'static str),
    /// The keys of callers cannot be read.
    #[error("cannot read the keys of callers")]
    Keys(#[from] assay_record::RecordError),
    /// The first key cannot be created.
    #[error("cannot create the first key")]
    FirstKey(#[from] assay_access::ManageError),
    /// Callers need keys, which are in the record, and the node has none.
    #[error(
        "callers of `{0}` need keys, which are stored with the record, but `store.database` is \
         empty; name a database, listen on loopback, or set `access.keys = \"off\"` behind a proxy \
         that authenticates"
    )]
    NoKeys(std::net::SocketAddr),
    /// The settings of reverse proxies are invalid.
    #[error("{0}")]
    Proxies(String),
    /// A reward policy is invalid.
    #[error("`policies.{name}`: {error}")]
    Policy {
        /// Name of the policy.
        name: String,
        /// The cause.
        error: PolicyError,
    },
    /// A pattern of the configuration cannot be used.
    #[error("`redaction`: {0}")]
    Redaction(#[source] RedactionError),
    /// The client of the webhook for alerts cannot be created.
    #[error("cannot use `alerts.webhook`: {0}")]
    Webhook(String),
    /// A template of the configuration cannot be used.
    #[error(transparent)]
    Template(#[from] ConfigError),
    /// Reward models cannot run with this configuration.
    #[error("cannot use the settings of `reward_models`")]
    Models(#[from] LoadError),
    /// A judge cannot be used.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// A reward model cannot be loaded.
    #[error("`reward_models.load.{name}`: {error}")]
    Model {
        /// Name of the model.
        name: String,
        /// The cause.
        error: ModelError,
    },
    /// The key of receipts cannot be used.
    #[error(transparent)]
    Receipts(#[from] ReceiptError),
    /// Threads cannot be started.
    #[error("cannot start the worker threads: {0}")]
    Workers(std::io::Error),
    /// The path of this binary, which is also the binary of workers, cannot be determined.
    #[error("cannot find the binary of the workers: {0}; set `sandbox_workers.program`")]
    WorkerPool(std::io::Error),
    /// A packaged image is malformed.
    #[error("{0}")]
    Image(assay_wasm::ImageError),
    /// The kernel does not confine workers as the configuration requires.
    #[error(
        "this machine cannot confine workers with {}, which `sandbox_workers.require` lists; \
         enable it or remove it from the list",
        names(.0)
    )]
    Unconfined(Vec<Mechanism>),
    /// Workers did not report their confinement.
    #[error("workers did not report their confinement: {0}")]
    Silent(WorkerError),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`: {error}; choose another with `--listen`")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The cause.
        error: std::io::Error,
    },
    /// Metrics cannot be collected.
    #[error("cannot collect metrics: {0}")]
    Metrics(String),
}

pub(super) fn names(mechanisms: &[Mechanism]) -> String {
    mechanisms
        .iter()
        .map(|mechanism| format!("`{}`", mechanism.as_str()))
        .collect::<Vec<_>>()
        .join(", ")
}
