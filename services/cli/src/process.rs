//! What commands need of their process: its configuration, a runtime, and signals.

use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use assay_client::{Client, Retry};
use assay_node::Config;
use assay_node::config::Override;
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::ServerKey;

/// Reads the configuration of this process. Environment variables override the file, and `settings`
/// override both.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read for `assay_node::config`"
)]
pub(crate) fn configuration(
    file: Option<&Path>,
    settings: Vec<Override>,
) -> anyhow::Result<Config> {
    let loaded = Config::read(file, std::env::vars_os(), settings)?;
    assay_node::observe::logs(&loaded.config.log)?;
    loaded.warn();
    Ok(loaded.config)
}

/// The configuration with another database, if one is named.
pub(crate) fn configuration_of(
    file: Option<&Path>,
    database: Option<&str>,
) -> anyhow::Result<Config> {
    let database = database.map(|url| ("store", "database", url.into()));
    configuration(file, database.into_iter().collect())
}

/// A client of `server` that sends the key, if there is one.
pub(crate) fn client(server: &str, key: &ServerKey) -> anyhow::Result<Client> {
    let client = Client::new(server, Retry::default())?;
    match key.key.as_deref().filter(|key| !key.is_empty()) {
        Some(key) => Ok(client.with_key(key)?),
        None => Ok(client),
    }
}

/// Rejects unknown variables, for `--strict`.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read for `assay_node::config`"
)]
pub(crate) fn reject_unknown_variables() -> anyhow::Result<()> {
    Ok(Config::reject_unknown(std::env::vars_os())?)
}

/// Lowers the priority of this process, for work beside a server on the same machine.
pub(crate) fn yield_to_others() {
    // The work is done all the same.
    let _ = rustix::process::nice(10);
}

/// The current time, in microseconds since the Unix epoch.
pub(crate) fn unix_us() -> i64 {
    assay_core::Clock::unix_us(&assay_core::SystemClock::new())
}

/// Longest wait at exit for threads that are blocked on a file of the user, such as a pipe.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(1);

/// Exit codes of a process ended by a signal, as shells report them.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// Runs a future to completion on a new runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(future);
    runtime.shutdown_timeout(SHUTDOWN_WAIT);
    result
}

/// Resolves when the process receives an interrupt or terminate signal. The next signal ends the
/// process immediately.
pub(crate) async fn stop_signal() {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the default action of the signals ends the process.
        return std::future::pending().await;
    };
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => INTERRUPTED,
            _ = terminate.recv() => TERMINATED,
        }
    };
    next().await;
    tokio::spawn(async move { std::process::exit(next().await) });
}

/// Resolves at the end of standard input. What is read before is ignored.
pub(crate) fn stdin_closed() -> impl Future<Output = ()> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    // Not a task of the runtime, which would wait at shutdown for its blocked read.
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        let mut input = std::io::stdin().lock();
        loop {
            match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // The receiver is dropped if the process is stopping already.
        let _ = sender.send(());
    });
    async {
        let _ = receiver.await;
    }
}
