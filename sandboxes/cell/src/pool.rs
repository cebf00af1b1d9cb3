//! The pool of cells: whoever is free answers, whoever dies is replaced.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::confine::{self, Confinement};
use crate::metrics::{self, ended};
use crate::process::{Asked, Cell};
use crate::words::{self, Words};
use crate::{CellError, Death};

/// How cells are made.
#[derive(Debug, Clone)]
pub struct CellOptions {
    /// A binary that answers the hidden role ([`crate::role`]).
    pub program: PathBuf,
    /// What it is told beside the role.
    pub arguments: Vec<OsString>,
    /// How many cells there are at most. One for each core: threads of one process contend in page
    /// faults, processes do not.
    pub count: usize,
    /// Requests after which a cell is replaced, so that a compromised cell does not last.
    pub uses: u32,
}

/// What became of a request that may itself be the reason for having no answer.
#[derive(Debug)]
pub enum Settled<R> {
    /// The answer.
    Answered(R),
    /// It took longer than its patience, twice, with the processor to itself most of the time.
    Overran,
}

/// Cells that receive a request before it fails. One may die because the system is out of memory or
/// an operator kills processes; after several in a row another attempt is unlikely to succeed.
const TRIES: usize = 3;

/// How long a cell may take to report its confinement.
const CONFINEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// A pool of cells. Cheap to clone: clones share the cells. Starts them when they are first needed.
#[derive(Clone)]
pub struct Cells(Arc<Inner>);

struct Inner {
    options: CellOptions,
    /// One permit for each cell that may be at work, in this pool and its siblings.
    free: Arc<Semaphore>,
    idle: Mutex<Vec<Cell>>,
    /// Whether the pool is stopping; running requests watch it.
    stopping: watch::Sender<bool>,
}

impl Cells {
    /// A pool that has not started anything yet.
    #[must_use]
    pub fn new(options: CellOptions) -> Self {
        let free = Arc::new(Semaphore::new(options.count.max(1)));
        Self::with_permits(options, free)
    }

    /// A pool for another kind of work. It has its own processes and shares the limit on running
    /// requests: together both pools run as many requests at once as this one does alone.
    #[must_use]
    pub fn sibling(&self, options: CellOptions) -> Self {
        Self::with_permits(
            CellOptions {
                count: self.count(),
                ..options
            },
            Arc::clone(&self.0.free),
        )
    }

    fn with_permits(options: CellOptions, free: Arc<Semaphore>) -> Self {
        metrics::describe();
        let stopping = watch::Sender::new(false);
        Self(Arc::new(Inner {
            options,
            free,
            idle: Mutex::new(Vec::new()),
            stopping,
        }))
    }

    /// Starts one cell for each that may work at once. Best called before the process takes load.
    ///
    /// # Errors
    /// [`CellError::Start`].
    pub fn warm(&self) -> Result<(), CellError> {
        let mut idle = self.idle();
        while idle.len() < self.0.options.count {
            idle.push(Cell::start(&self.0.options)?);
        }
        Ok(())
    }

    /// Cells that could take a request now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.free.available_permits()
    }

    /// Most cells that work at once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.options.count.max(1)
    }

    /// Waits for a turn, no longer than `wait`. The holder may ask one request after another.
    ///
    /// # Errors
    /// [`CellError::Busy`] when none became free in time, [`CellError::Stopping`].
    pub async fn turn(&self, wait: Duration) -> Result<Turn<'_>, CellError> {
        match tokio::time::timeout(wait, self.0.free.acquire()).await {
            Ok(Ok(_permit)) => Ok(Turn {
                cells: self,
                _permit,
            }),
            Ok(Err(_)) => Err(CellError::Stopping),
            Err(_) => Err(CellError::Busy),
        }
    }

    /// Waits for a turn, then as [`Turn::ask`].
    ///
    /// # Errors
    /// [`CellError`].
    pub async fn ask<W: Words>(
        &self,
        request: &W,
        patience: Duration,
    ) -> Result<W::Reply, CellError> {
        self.turn(Duration::MAX).await?.ask(request, patience).await
    }

    /// Waits for a turn, then as [`Turn::settle`].
    ///
    /// # Errors
    /// [`CellError`].
    pub async fn settle<W: Words>(
        &self,
        request: &W,
        patience: Duration,
    ) -> Result<Settled<W::Reply>, CellError> {
        self.turn(Duration::MAX)
            .await?
            .settle(request, patience)
            .await
    }

    /// How the cells of this pool are confined.
    ///
    /// # Errors
    /// [`CellError`].
    pub async fn confinement(&self) -> Result<Confinement, CellError> {
        let confinement = self.ask(&confine::Request, CONFINEMENT_TIMEOUT).await?;
        metrics::confined(confinement);
        Ok(confinement)
    }

    /// Rejects further requests, fails running ones with [`CellError::Stopping`], and kills all
    /// cells. Sibling pools get no more turns; their idle cells end when they are stopped or
    /// dropped.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.free.close();
        let idle = std::mem::take(&mut *self.idle());
        for cell in idle {
            cell.stop().await;
        }
    }

    /// Sends a framed request to a cell, and to another one if that cell dies.
    async fn exchange<W: Words>(
        &self,
        request: &[u8],
        patience: Duration,
    ) -> Result<W::Reply, CellError> {
        let mut deaths: Vec<Death> = Vec::new();
        loop {
            let mut cell = self.take()?;
            match cell.ask(request, patience).await {
                Asked::Answered(reply) => {
                    let (reply, is_good) = words::reply_of::<W>(&reply);
                    if is_good && cell.uses() < self.0.options.uses {
                        self.put_back(cell);
                    } else {
                        ended(if is_good { "used" } else { "tainted" });
                        self.replace();
                    }
                    return reply;
                }
                Asked::Overran { cpu } => {
                    ended("overran");
                    return Err(CellError::Overran { patience, cpu });
                }
                Asked::Died(death) => {
                    tracing::warn!(%death, "a cell died over a request");
                    ended(if death.is_crash() { "crashed" } else { "died" });
                    deaths.push(death);
                    if deaths.len() == TRIES {
                        // A crash is reported only if every cell crashed: else the request need not
                        // be the reason.
                        let other = deaths
                            .iter()
                            .position(|death| !death.is_crash())
                            .unwrap_or_default();
                        return Err(CellError::Died(deaths.swap_remove(other)));
                    }
                }
            }
        }
    }

    /// Keeps a cell for the next request, or kills it if the pool is stopping.
    fn put_back(&self, cell: Cell) {
        let mut idle = self.idle();
        // Checked under the lock: `stop` sets the flag before it takes the idle cells.
        if !*self.0.stopping.borrow() {
            idle.push(cell);
        }
    }

    /// Starts a replacement for a cell that is not used again, before a request needs it.
    fn replace(&self) {
        match Cell::start(&self.0.options) {
            Ok(cell) => self.put_back(cell),
            // The next request that needs a cell tries again and reports the error.
            Err(error) => tracing::warn!(%error, "a cell could not be replaced"),
        }
    }

    /// An idle cell that still runs, else a new one.
    fn take(&self) -> Result<Cell, CellError> {
        loop {
            let Some(mut cell) = self.idle().pop() else {
                return Cell::start(&self.0.options);
            };
            if cell.is_alive() {
                return Ok(cell);
            }
            tracing::warn!("an idle cell died");
            ended("died");
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Cell>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run one request at a time. Dropping it passes it to the next waiter.
pub struct Turn<'a> {
    cells: &'a Cells,
    _permit: SemaphorePermit<'a>,
}

impl Turn<'_> {
    /// Asks a cell and reads its answer. `patience` counts from when a cell begins. A request whose
    /// cell dies is retried in another cell, up to three times in all. Dropping the future kills
    /// the cell that runs the request.
    ///
    /// # Errors
    /// [`CellError`].
    pub async fn ask<W: Words>(
        &self,
        request: &W,
        patience: Duration,
    ) -> Result<W::Reply, CellError> {
        let request = words::framed(request)?;
        let mut stopping = self.cells.0.stopping.subscribe();
        let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
        tokio::select! {
            biased;
            () = stopped => Err(CellError::Stopping),
            reply = self.cells.exchange::<W>(&request, patience) => reply,
        }
    }

    /// As [`Turn::ask`], for a request of untrusted work: decides whether it is to blame for taking
    /// too long.
    ///
    /// # Errors
    /// [`CellError`] when it is not.
    pub async fn settle<W: Words>(
        &self,
        request: &W,
        patience: Duration,
    ) -> Result<Settled<W::Reply>, CellError> {
        let mut asked = self.ask(request, patience).await;
        if matches!(asked, Err(CellError::Overran { .. })) {
            asked = self.ask(request, patience).await;
        }
        match asked {
            Ok(reply) => Ok(Settled::Answered(reply)),
            // Without the processor the machine is to blame.
            Err(CellError::Overran { cpu, .. }) if cpu > patience / 2 => Ok(Settled::Overran),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::program;

    /// A pool with one cell that writes its process id to a file and never answers.
    fn silent(folder: &std::path::Path) -> (Cells, PathBuf) {
        let (script, id) = (folder.join("cell.sh"), folder.join("id"));
        std::fs::write(
            &script,
            format!(
                "#!/bin/sh\necho $$ > {0}.part\nmv {0}.part {0}\nexec sleep 1000\n",
                id.display()
            ),
        )
        .unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
        (
            Cells::new(CellOptions {
                program: script,
                arguments: Vec::new(),
                count: 1,
                uses: u32::MAX,
            }),
            id,
        )
    }

    #[tokio::test]
    async fn stopping_kills_cells_and_fails_their_requests() {
        let folder = tempfile::tempdir().unwrap();
        let (cells, id) = silent(folder.path());
        let asked = tokio::spawn({
            let cells = cells.clone();
            async move {
                cells
                    .ask(&program::Request::probe(), Duration::from_secs(600))
                    .await
            }
        });
        let waiting = tokio::spawn({
            let cells = cells.clone();
            async move {
                cells
                    .ask(&program::Request::probe(), Duration::from_secs(600))
                    .await
            }
        });
        let id = loop {
            match std::fs::read_to_string(&id) {
                Ok(id) => break id.trim().to_owned(),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        cells.stop().await;
        assert!(matches!(asked.await.unwrap(), Err(CellError::Stopping)));
        assert!(matches!(waiting.await.unwrap(), Err(CellError::Stopping)));
        assert!(matches!(
            cells.ask(&program::Request::probe(), Duration::MAX).await,
            Err(CellError::Stopping)
        ));
        // A killed process is a zombie until the runtime has reaped it.
        let alive = || {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            state
                .rsplit(')')
                .next()
                .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
        };
        while alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
