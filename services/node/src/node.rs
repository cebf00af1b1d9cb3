//! One running process: graders, record, engine and API, built from a configuration.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_access::{COMMAND_LINE, Gate, Key, ManageError, NewKey, audit_entry};
use assay_alerts::Alerts;
use assay_api::{Api, ApiLimits, ApiParts, ConnectionLimits, JobOwners, Tls};
use assay_core::execution::Execute;
use assay_core::reward_model::RewardModels;
use assay_core::{Clock, Grader, GraderTable, Ids, SystemClock};
use assay_engine::{Engine, EngineParts, Keeping, Limits, RECORD_CLOSE_TIMEOUT, REPLY_TIMEOUT};
use assay_jobs::{JobParts, Jobs};
use assay_record::access::{AccessStore, KeyError, Quotas, Role};
use assay_record::{
    Acknowledge, Backup, BackupError, CopyError, CopyProgress, PublishedServer, Record,
    RecordOptions, TableCopy, Verification,
};
use assay_review::Review;
use assay_sessions::Sessions;
use assay_templates::Templates;
use assay_worker::{Confinement, Mechanism, WorkerError};
use serde_json::json;
use tokio::net::TcpListener;

use crate::callers::{gate, tls};
use crate::config::Acknowledgement;
use crate::error::{NodeError, names};
use crate::sandboxes::Sandboxes;
use crate::sessions::NodeSessions;
use crate::{Config, files, free_memory, graders, judges, models, observe};

/// Name of the key that is created if a node needs keys and has none.
const FIRST_KEY: &str = "admin";

/// Maximum time for the database to apply the entries in the spool when the record is closed. Less
/// than [`RECORD_CLOSE_TIMEOUT`], which includes the other steps.
const DATABASE_CLOSE: Duration = Duration::from_secs(10);
const _: () = assert!(DATABASE_CLOSE.as_secs() < RECORD_CLOSE_TIMEOUT.as_secs());

/// One running process with its configuration, graders and record.
pub struct Node {
    review: Review,
    alerts: Arc<Alerts>,
    gate: Arc<Gate>,
    tls: Option<Arc<Tls>>,
    templates: Arc<Templates>,
    config: Config,
    sandboxes: Sandboxes,
    sessions: NodeSessions,
    jobs: Jobs,
    models: Arc<dyn RewardModels>,
    /// Whether the node is warming up and therefore not ready.
    warming: Arc<AtomicBool>,
    /// The URL under which commands find this node, until it stops.
    published: Mutex<Option<PublishedServer>>,
}

impl Node {
    /// Starts a node with the graders of this binary.
    ///
    /// # Errors
    /// [`NodeError`] if a part of the node cannot be started.
    pub async fn start(config: Config) -> Result<Self, NodeError> {
        Self::with_graders(config, Vec::new()).await
    }

    /// Starts a node with additional graders, such as one that panics in tests.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub async fn with_graders(
        config: Config,
        others: Vec<Arc<dyn Grader>>,
    ) -> Result<Self, NodeError> {
        let templates = config.templates()?;
        let sandboxes = Sandboxes::open(&config.sandbox_workers, &config.sql)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let models: Arc<dyn RewardModels> = Arc::new(models::open(&config.reward_models, &clock)?);
        let judges = judges::open(&config.judges, &clock)?;
        let graders = graders::graders(
            &sandboxes,
            Arc::clone(&models),
            judges,
            config.sessions.state_bytes,
        );
        let graders = GraderTable::new(graders.iter().cloned().chain(others).collect());
        let record = open_record(&config, &clock).await?;
        let gate = gate(&config, record.as_ref(), &clock).await?;
        let tls = tls(&config.server)?;
        let defaults = Limits::default();
        let limits = Limits {
            workers: if config.engine.workers == 0 {
                defaults.workers
            } else {
                config.engine.workers
            },
            items_in_flight: config.engine.items_in_flight,
            body_bytes_in_flight: config.engine.body_bytes_in_flight,
            completion_bytes: config.engine.completion_bytes,
            prepared_bytes: config.engine.prepared_bytes,
            outcome_bytes: config.engine.outcome_bytes,
            channels_per_caller: config.channels.per_caller,
            runs_per_caller: config.engine.runs_per_caller,
            prompts_per_run: config.engine.prompts_per_run,
            in_workers: 2 * sandboxes.count(),
            ..defaults
        };
        let policies = config
            .policies()
            .map_err(|(name, error)| NodeError::Policy { name, error })?;
        for policy in policies.iter() {
            let policy_error = |error| NodeError::Policy {
                name: policy.name().to_owned(),
                error,
            };
            policy.check_judges(&graders).map_err(policy_error)?;
        }
        let channels = config.channels.settings();
        let keeping = Keeping {
            bodies: config.retention.body_policy(),
            redactor: config.redactor().map_err(NodeError::Redaction)?,
        };
        let parts = EngineParts {
            graders,
            record,
            clock,
            ids: Ids::random(),
            limits,
            policies,
            channels,
            keeping,
        };
        let engine = Engine::start(parts).map_err(NodeError::Workers)?;
        let alerts = Alerts::new(engine.clone(), config.alerts.settings());
        let (gate, templates) = (Arc::new(gate), Arc::new(templates));
        let jobs = Jobs::new(JobParts {
            engine: engine.clone(),
            templates: Arc::clone(&templates),
            owners: Arc::new(JobOwners(Arc::clone(&gate))),
            made_bytes: config.server.parsed_bytes,
            settings: config.jobs.settings(&config.server),
        });
        Ok(Self {
            review: match config.receipts.key_file(&config.store) {
                Some(key) => Review::new(engine).with_receipt_key(key),
                None => Review::new(engine),
            },
            alerts: Arc::new(alerts.map_err(NodeError::Webhook)?),
            gate,
            tls,
            templates,
            config,
            sandboxes,
            sessions: NodeSessions::default(),
            jobs,
            models,
            warming: Arc::default(),
            published: Mutex::default(),
        })
    }

    /// Replaces the reward models that the routes use, with fake models in tests.
    #[must_use]
    pub fn with_models(self, models: Arc<dyn RewardModels>) -> Self {
        Self { models, ..self }
    }

    /// Loads the reward models of the configuration, and returns when each is ready or failed.
    /// [`Node::serve`] loads them in the background.
    ///
    /// # Errors
    /// [`NodeError::Model`] for the first model that failed.
    pub async fn load_models(&self) -> Result<(), NodeError> {
        let loaded = models::load(self.models.as_ref(), &self.config.reward_models).await;
        loaded.map_err(|(name, error)| NodeError::Model { name, error })
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        self.review.engine()
    }

    /// The review of what the engine recorded.
    #[must_use]
    pub fn review(&self) -> &Review {
        &self.review
    }

    /// The open problems of the node.
    #[must_use]
    pub fn alerts(&self) -> &Arc<Alerts> {
        &self.alerts
    }

    /// The scheme of the URL of the node.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Decides who may call the node.
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Creates the first key, of an admin, if callers need keys and there are none.
    ///
    /// # Errors
    /// [`NodeError::FirstKey`]
    pub async fn first_key(&self) -> Result<Option<Key>, NodeError> {
        let Some(store) = self.gate.store().filter(|_| self.gate.lacks_keys()) else {
            return Ok(None);
        };
        let new = NewKey {
            name: FIRST_KEY.to_owned(),
            role: Role::Admin,
            quotas: Quotas::default(),
            expires_us: None,
        };
        let key = assay_access::create(
            store.as_ref(),
            self.gate.clock().as_ref(),
            COMMAND_LINE,
            new,
        );
        let key = match key.await {
            Ok(key) => Some(key),
            // Another node on the same database was faster.
            Err(ManageError::Key(KeyError::Exists(_))) => None,
            Err(error) => return Err(error.into()),
        };
        self.gate.refresh().await?;
        Ok(key)
    }

    /// The templates that make tasks from rows.
    #[must_use]
    pub fn templates(&self) -> &Arc<Templates> {
        &self.templates
    }

    /// The reward models.
    #[must_use]
    pub fn models(&self) -> &dyn RewardModels {
        self.models.as_ref()
    }

    /// How workers are confined.
    ///
    /// # Errors
    /// [`WorkerError`] if no worker answers.
    pub async fn confinement(&self) -> Result<Confinement, WorkerError> {
        self.sandboxes.confinement().await
    }

    /// The workers of this node and their images.
    #[must_use]
    pub fn sandboxes(&self) -> &Sandboxes {
        &self.sandboxes
    }

    /// Runs programs without grading them.
    #[must_use]
    pub fn programs(&self) -> &dyn Execute {
        &self.sandboxes.programs
    }

    /// The API over this node, as [`Node::serve`] serves it.
    ///
    /// # Errors
    /// [`NodeError::Metrics`] if metrics cannot be collected, [`NodeError::Sessions`] if the folder
    /// of sessions cannot be used, and [`NodeError::NoKeys`] if callers need keys and there is no
    /// record for them.
    pub fn api(&self) -> Result<Api, NodeError> {
        let server = &self.config.server;
        if self.gate.requires_key() && self.review.engine().record().is_none() {
            return Err(NodeError::NoKeys(server.listen));
        }
        let defaults = ApiLimits::default();
        let pools = if self.config.sql.postgres.is_empty() {
            0
        } else {
            self.config.sql.postgres_databases
        };
        let connections = ConnectionLimits {
            max: files::connections(server.connections, self.sandboxes.processes(), pools),
            head: Duration::from_secs(server.head_seconds),
            idle: Duration::from_secs(server.idle_seconds),
            reply_pause: Duration::from_secs(server.reply_pause_seconds),
            ..defaults.connections
        };
        let limits = ApiLimits {
            body_bytes: server.body_bytes,
            parsed_bytes: server.parsed_bytes,
            batch_items: server.batch_items,
            body_pause: Duration::from_secs(server.body_pause_seconds),
            body_total: Duration::from_secs(server.body_seconds),
            connections,
            local_names: server.listen.ip().is_loopback(),
        };
        Ok(Api::new(ApiParts {
            review: self.review.clone(),
            templates: Arc::clone(&self.templates),
            programs: Arc::new(self.sandboxes.programs.clone()),
            sessions: self.sessions()?,
            jobs: self.jobs.clone(),
            models: Arc::clone(&self.models),
            metrics: observe::metrics()?,
            warming: Arc::clone(&self.warming),
            alerts: Arc::clone(&self.alerts),
            gate: Arc::clone(&self.gate),
            tls: self.tls.clone(),
            limits,
        }))
    }

    /// The jobs of this node, which are graded while it serves.
    #[must_use]
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// The interpreter sessions of this node. The first call reads those that an earlier process
    /// left.
    ///
    /// # Errors
    /// [`NodeError::Sessions`].
    pub fn sessions(&self) -> Result<Sessions, NodeError> {
        let clock = self.gate.clock();
        self.sessions.open(&self.config, &self.sandboxes, clock)
    }

    /// Listens on the configured address.
    ///
    /// # Errors
    /// [`NodeError::Listen`].
    pub async fn listen(&self) -> Result<TcpListener, NodeError> {
        listen(&self.config).await
    }

    /// Serves on `listener` until `stop` resolves, then finishes running batches and closes the
    /// record. After `stop`, this returns within the sum of `server.shutdown_seconds`, twice
    /// [`REPLY_TIMEOUT`] and [`RECORD_CLOSE_TIMEOUT`]; immediately if there is no load and the disk
    /// works.
    ///
    /// # Errors
    /// [`NodeError::Metrics`] if metrics cannot be collected.
    pub async fn serve(
        &self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), NodeError> {
        if !self.config.receipts.key.as_os_str().is_empty() {
            self.review.receipt_key().await?;
        }
        let api = self.api()?;
        // Workers are started before there is load. If one cannot be started, the items that need
        // it report the error.
        if let Err(error) = self.sandboxes.start() {
            tracing::warn!(%error, "cannot start the workers");
        }
        if !self.config.sandbox_workers.require.is_empty() {
            check_confinement(&self.sandboxes, &self.config.sandbox_workers.require).await?;
        }
        let warming = tokio::spawn(self.warm_up());
        let loading = tokio::spawn({
            let (models, config) = (Arc::clone(&self.models), self.config.reward_models.clone());
            async move {
                if let Err((name, error)) = models::load(models.as_ref(), &config).await {
                    tracing::error!(name, %error, "cannot load a reward model");
                }
            }
        });
        let watching = tokio::spawn({
            let gate = Arc::clone(&self.gate);
            async move { gate.run().await }
        });
        let alerting = tokio::spawn({
            let alerts = Arc::clone(&self.alerts);
            async move { alerts.run().await }
        });
        let expiring = tokio::spawn({
            let sessions = self.sessions()?;
            async move { sessions.run_expiry().await }
        });
        self.jobs.start().await;
        let returning = tokio::spawn(free_memory::return_regularly());
        let summing = tokio::spawn(observe::sum_regularly());
        let certificate = self.tls.clone().map(|tls| tokio::spawn(tls.watch()));
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let mut serving = tokio::spawn(assay_api::serve(listener, api, async move {
            stop.await;
            // The receiver lives until this function returns.
            let _ = stopping.send(());
        }));
        // The sender is also dropped when the serving task ends.
        let _ = stopped.await;
        drop(self.published().take());
        self.jobs.stop();
        warming.abort();
        loading.abort();
        watching.abort();
        alerting.abort();
        expiring.abort();
        returning.abort();
        summing.abort();
        if let Some(certificate) = certificate {
            certificate.abort();
        }
        self.gate.finish().await;
        self.finish().await;
        // The last replies are being sent. Do not wait for clients that do not read them.
        if tokio::time::timeout(REPLY_TIMEOUT, &mut serving)
            .await
            .is_err()
        {
            serving.abort();
        }
        Ok(())
    }

    /// Publishes the URL of the listener to commands on this machine that use the same database,
    /// until the node stops.
    pub fn publish(&self, listener: &TcpListener) {
        let Ok(address) = listener.local_addr() else {
            return;
        };
        // Clients cannot connect to an unspecified address everywhere.
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let url = format!(
            "{}://{}",
            self.scheme(),
            SocketAddr::new(ip, address.port())
        );
        let options = record_options(&self.config);
        match assay_record::publish_server(&options, &url) {
            Ok(published) => *self.published() = published,
            Err(error) => tracing::warn!(
                %error,
                "cannot publish the URL of the server; run commands with `--server`"
            ),
        }
    }

    fn published(&self) -> MutexGuard<'_, Option<PublishedServer>> {
        self.published
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work that would otherwise delay the first requests; the node is not ready until it
    /// is done.
    fn warm_up(&self) -> impl Future<Output = ()> + Send + 'static {
        let (engine, sandboxes, warming) = (
            self.engine().clone(),
            self.sandboxes.clone(),
            Arc::clone(&self.warming),
        );
        warming.store(true, Ordering::Release);
        async move {
            let (.., confined) = tokio::join!(
                engine.warm(),
                sandboxes.warm(),
                check_confinement(&sandboxes, &[])
            );
            if let Err(error) = confined {
                tracing::warn!(%error, "cannot determine the confinement of workers");
            }
            warming.store(false, Ordering::Release);
            tracing::info!("ready to grade");
            sandboxes.compile_rest().await;
        }
    }

    /// Lets running batches finish within `server.shutdown_seconds`, then kills the workers,
    /// rejects pending model requests, and closes the record.
    async fn finish(&self) {
        self.engine()
            .drain(Duration::from_secs(self.config.server.shutdown_seconds))
            .await;
        // What became of the last shards is stored while the record is open.
        if tokio::time::timeout(REPLY_TIMEOUT, self.jobs.ended())
            .await
            .is_err()
        {
            tracing::warn!(
                "some shards of jobs are not given back; they continue at the next start"
            );
        }
        self.sandboxes.stop().await;
        // Batches that wait for models have already failed, and other requests had the same time.
        tokio::join!(
            self.models.stop(REPLY_TIMEOUT),
            self.engine().shut_down(Duration::ZERO)
        );
    }

    /// Finishes running work and closes the record, for nodes that do not serve.
    pub async fn stop(self) {
        self.finish().await;
    }
}

/// Listens on the configured address. Called before [`Node::start`], so that no record is created
/// if the address is in use.
///
/// # Errors
/// [`NodeError::Listen`].
pub async fn listen(config: &Config) -> Result<TcpListener, NodeError> {
    let address = config.server.listen;
    TcpListener::bind(address)
        .await
        .map_err(|error| NodeError::Listen { address, error })
}

/// The file of the configured database, whether it exists or not; `None` if the node has no
/// database or has it in memory.
#[must_use]
pub fn database_file(config: &Config) -> Option<PathBuf> {
    assay_record::database_file(config.store.database.reveal())
}

/// The URL of the server that uses the configured database; `None` if no server does.
#[must_use]
pub fn published_server(config: &Config) -> Option<String> {
    assay_record::published_server(&record_options(config))
}

/// Opens the keys and the audit log of the configured database, which a node may be using. Creates
/// the database if it does not exist.
///
/// # Errors
/// [`NodeError::Store`] if the database cannot be opened.
pub async fn open_keys(config: &Config) -> Result<Box<dyn AccessStore>, NodeError> {
    let access = assay_record::open_access(config.store.database.reveal()).await?;
    Ok(Box::new(access))
}

/// Logs which kernel mechanisms are missing.
///
/// # Errors
/// [`NodeError::Unconfined`] if a required one is missing, and [`NodeError::Silent`].
async fn check_confinement(sandboxes: &Sandboxes, required: &[Mechanism]) -> Result<(), NodeError> {
    let confinement = sandboxes.confinement().await.map_err(NodeError::Silent)?;
    let missing: Vec<Mechanism> = confinement
        .mechanisms()
        .filter(|(_, is_in_place)| !is_in_place)
        .map(|(mechanism, _)| mechanism)
        .collect();
    let missing_required: Vec<Mechanism> = missing
        .iter()
        .copied()
        .filter(|mechanism| required.contains(mechanism))
        .collect();
    if !missing_required.is_empty() {
        return Err(NodeError::Unconfined(missing_required));
    }
    if !missing.is_empty() {
        tracing::warn!(
            missing = names(&missing),
            "this machine cannot confine workers fully"
        );
    }
    Ok(())
}

/// Counts the entries of the configured record that the database rejected. Works while a server
/// uses the record.
///
/// # Errors
/// If the spool's folder cannot be read.
pub fn set_aside_entries(config: &Config) -> std::io::Result<u64> {
    assay_record::set_aside_entries(&record_options(config))
}

/// Copies the configured record to a new folder. Works while a server uses the record. The audit
/// log gets an entry; if that fails, a warning is logged, because the copy exists.
///
/// # Errors
/// [`BackupError`].
pub async fn backup(config: &Config, destination: &Path) -> Result<Backup, BackupError> {
    let database = config.store.database.reveal();
    let copied = assay_record::backup(&record_options(config), destination).await?;
    let target = std::path::absolute(destination).unwrap_or_else(|_| destination.to_owned());
    let entry = audit_entry(
        &SystemClock::new(),
        COMMAND_LINE,
        "record.backup",
        &target.display().to_string(),
        json!({ "batches": copied.batches, "grades": copied.grades }),
    );
    if let Err(error) = assay_record::append_audit(database, &entry).await {
        tracing::warn!(%error, "the record was copied, but the audit log has no entry for it");
    }
    Ok(copied)
}

/// Copies the record at the URL `from` to the new database at `to`, and compares their rows. The
/// audit log of the source gets an entry; if that fails, a warning is logged, because the copy
/// exists.
///
/// # Errors
/// [`CopyError`].
pub async fn copy_record(
    config: &Config,
    from: &str,
    to: &str,
    progress: impl FnMut(CopyProgress),
) -> Result<Vec<TableCopy>, CopyError> {
    let options = if config.store.database.reveal() == from {
        record_options(config)
    } else {
        RecordOptions::new(from)
    };
    let copied = assay_record::copy(&options, to, progress).await?;
    let rows: u64 = copied.iter().map(|table| table.rows).sum();
    let entry = audit_entry(
        &SystemClock::new(),
        COMMAND_LINE,
        "record.copy",
        &assay_base::url::redacted(to),
        json!({ "tables": copied.len(), "rows": rows }),
    );
    if let Err(error) = assay_record::append_audit(from, &entry).await {
        tracing::warn!(%error, "the record was copied, but the audit log has no entry for it");
    }
    Ok(copied)
}

/// Checks the configured record. Works while a server uses it. `progress` is called with the number
/// of grades that were checked.
///
/// # Errors
/// [`BackupError`] if the record cannot be read.
pub async fn verify(
    config: &Config,
    progress: impl FnMut(u64),
) -> Result<Verification, BackupError> {
    assay_record::verify(&record_options(config), progress).await
}

/// Where the configured record is.
fn record_options(config: &Config) -> RecordOptions {
    let spool = &config.store.spool;
    RecordOptions {
        spool: (!spool.as_os_str().is_empty()).then(|| spool.clone()),
        ..RecordOptions::new(config.store.database.reveal())
    }
}

async fn open_record(config: &Config, clock: &Arc<dyn Clock>) -> Result<Option<Record>, NodeError> {
    if config.store.database.is_empty() {
        return Ok(None);
    }
    let options = RecordOptions {
        close_timeout: DATABASE_CLOSE,
        limits: config.retention.limits(),
        text_search: config.store.text_search,
        acknowledge: match config.store.acknowledge {
            Acknowledgement::Spool => Acknowledge::Spool,
            Acknowledgement::Database => Acknowledge::Database,
        },
        ..record_options(config)
    };
    Ok(Some(Record::open(&options, Arc::clone(clock)).await?))
}
