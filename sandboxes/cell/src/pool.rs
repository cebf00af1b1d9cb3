//! The pool of cells: whoever is free answers, whoever dies is replaced.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::CellError;
use crate::process::{Asked, Cell};
use crate::words::{self, Words};

/// How cells are made.
#[derive(Debug, Clone)]
pub struct CellOptions {
    /// A binary that answers the hidden role ([`crate::role`]).
    pub program: PathBuf,
    /// What it is told beside the role.
    pub arguments: Vec<OsString>,
    /// How many cells there are at most. One for each core: threads of one process contend in page faults, processes do not.
    pub count: usize,
}

/// What became of a request that may itself be the reason for having no answer.
#[derive(Debug)]
pub enum Settled<R> {
    /// The answer.
    Answered(R),
    /// It took longer than its patience, twice, with the processor to itself most of the time.
    Overran,
    /// It broke two cells, and others are well: how they ended.
    Broke(String),
}

/// How long a cell may take to answer a probe.
const PROBE: Duration = Duration::from_secs(10);

/// A pool of cells. Cheap to clone: clones share the cells. Starts them when they are first needed.
#[derive(Clone)]
pub struct Cells(Arc<Inner>);

struct Inner {
    options: CellOptions,
    /// One permit for each cell that may be at work.
    free: Semaphore,
    idle: Mutex<Vec<Cell>>,
    /// Whether the pool is stopping; running requests watch it.
    stopping: watch::Sender<bool>,
}

impl Cells {
    /// A pool that has not started anything yet.
    #[must_use]
    pub fn new(options: CellOptions) -> Self {
        let count = options.count.max(1);
        Self(Arc::new(Inner {
            options,
            free: Semaphore::new(count),
            idle: Mutex::new(Vec::new()),
            stopping: watch::Sender::new(false),
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

    /// Asks a cell and reads its answer. Waits its turn; `patience` counts from when a cell begins. A request whose cell dies
    /// is given to another cell once.
    ///
    /// # Errors
    /// [`CellError`].
    pub async fn ask<W: Words>(&self, request: &W, patience: Duration) -> Result<W::Reply, CellError> {
        self.ask_soon(request, patience, Duration::MAX).await
    }

    /// As [`Cells::ask`], for an asker who waits no longer than `turn` for a cell to begin.
    ///
    /// # Errors
    /// [`CellError::Busy`] when none began in time, and those of [`Cells::ask`].
    pub async fn ask_soon<W: Words>(
        &self,
        request: &W,
        patience: Duration,
        turn: Duration,
    ) -> Result<W::Reply, CellError> {
        let request = words::framed(request)?;
        let mut stopping = self.0.stopping.subscribe();
        let stopped = async { drop(stopping.wait_for(|stopping| *stopping).await) };
        tokio::select! {
            biased;
            // Dropping the future drops the cell that runs the request, which kills it.
            () = stopped => Err(CellError::Stopping),
            reply = self.exchange::<W>(&request, patience, turn) => reply,
        }
    }

    /// Sends a framed request to a cell, and to another one if that cell dies.
    async fn exchange<W: Words>(
        &self,
        request: &[u8],
        patience: Duration,
        turn: Duration,
    ) -> Result<W::Reply, CellError> {
        let _turn = tokio::time::timeout(turn, self.turn()).await.map_err(|_| CellError::Busy)??;
        let mut first_death = None;
        loop {
            let mut cell = self.take()?;
            match cell.ask(request, patience).await {
                Asked::Answered(reply) => {
                    self.put_back(cell);
                    return words::reply_of::<W>(&reply);
                }
                Asked::Overran { cpu } => return Err(CellError::Overran { patience, cpu }),
                Asked::Died(how) => {
                    tracing::warn!(how, "a cell died over a request");
                    if first_death.replace(()).is_some() {
                        return Err(CellError::Died(how));
                    }
                }
            }
        }
    }

    /// As [`Cells::ask`], for a request of untrusted work: decides whether it is to blame when there is no answer.
    ///
    /// # Errors
    /// [`CellError`] when it is not.
    pub async fn settle<W: Words>(&self, request: &W, patience: Duration) -> Result<Settled<W::Reply>, CellError> {
        let mut asked = self.ask(request, patience).await;
        if matches!(asked, Err(CellError::Overran { .. })) {
            asked = self.ask(request, patience).await;
        }
        match asked {
            Ok(reply) => Ok(Settled::Answered(reply)),
            // Without the processor the machine is to blame.
            Err(CellError::Overran { cpu, .. }) if cpu > patience / 2 => Ok(Settled::Overran),
            Err(CellError::Died(how)) if self.ask(&W::probe(), PROBE).await.is_ok() => Ok(Settled::Broke(how)),
            Err(error) => Err(error),
        }
    }

    /// Rejects further requests, fails running ones with [`CellError::Stopping`], and kills all cells.
    pub async fn stop(&self) {
        self.0.stopping.send_replace(true);
        self.0.free.close();
        let idle = std::mem::take(&mut *self.idle());
        for cell in idle {
            cell.stop().await;
        }
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, CellError> {
        self.0.free.acquire().await.map_err(|_| CellError::Stopping)
    }

    /// Keeps a cell for the next request, or kills it if the pool is stopping.
    fn put_back(&self, cell: Cell) {
        let mut idle = self.idle();
        // Checked under the lock: `stop` sets the flag before it takes the idle cells.
        if !*self.0.stopping.borrow() {
            idle.push(cell);
        }
    }

    fn take(&self) -> Result<Cell, CellError> {
        let idle = self.idle().pop();
        idle.map_or_else(|| Cell::start(&self.0.options), Ok)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Cell>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
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
            format!("#!/bin/sh\necho $$ > {0}.part\nmv {0}.part {0}\nexec sleep 1000\n", id.display()),
        )
        .unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
        (Cells::new(CellOptions { program: script, arguments: Vec::new(), count: 1 }), id)
    }

    #[tokio::test]
    async fn stopping_kills_cells_and_fails_their_requests() {
        let folder = tempfile::tempdir().unwrap();
        let (cells, id) = silent(folder.path());
        let asked = tokio::spawn({
            let cells = cells.clone();
            async move { cells.ask(&program::Request::probe(), Duration::from_secs(600)).await }
        });
        let waiting = tokio::spawn({
            let cells = cells.clone();
            async move { cells.ask(&program::Request::probe(), Duration::from_secs(600)).await }
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
        assert!(matches!(cells.ask(&program::Request::probe(), Duration::MAX).await, Err(CellError::Stopping)));
        // A killed process is a zombie until the runtime has reaped it.
        let alive = || {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
        };
        while alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
