//! The role of this binary as a worker: its arguments, its confinement, and the requests that it
//! answers.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use assay_sqlbox::Databases;
use assay_wasm::{Folder, ProgramHandler};
use assay_worker::{
    Confinement, ExecutableCode, Handlers, Isolation, Mechanism, close_inherited, end_with_parent,
    ignore_stop_signals, isolate, role, survive_file_limits,
};

use crate::{config, observe};

/// Stack size of the thread that answers requests in a worker, on which guests run.
const WORKER_STACK: usize = 288 << 20;

/// Maximum time that an exiting worker waits until the log is written.
const LOG_FLUSH: Duration = Duration::from_secs(1);

/// The kind of requests that a worker answers. Programs and queries never share a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Programs, with the images in this folder.
    Programs(Folder),
    /// Queries on databases.
    Queries,
}

impl Work {
    /// The arguments of a worker for this work that requires these kernel mechanisms.
    #[must_use]
    pub fn arguments(&self, mechanisms: &[Mechanism]) -> Vec<OsString> {
        let mechanisms: Vec<&str> = mechanisms
            .iter()
            .map(|mechanism| mechanism.as_str())
            .collect();
        let (kind, images, packaged) = match self {
            Self::Programs(images) => ("programs", images.path().into(), images.packaged()),
            Self::Queries => ("queries", OsString::new(), String::new()),
        };
        vec![
            images,
            packaged.into(),
            kind.into(),
            mechanisms.join(",").into(),
        ]
    }

    /// Parses what [`Work::arguments`] returned.
    fn read(arguments: Vec<OsString>) -> Option<(Self, Vec<Mechanism>)> {
        let [images, packaged, kind, mechanisms] = <[OsString; 4]>::try_from(arguments).ok()?;
        let work = match kind.to_str()? {
            "programs" => {
                let images = Folder::from_argument(Path::new(&images), packaged.to_str()?)?;
                Self::Programs(images)
            }
            "queries" => Self::Queries,
            _ => return None,
        };
        let mechanisms = mechanisms
            .to_str()?
            .split(',')
            .filter(|name| !name.is_empty())
            .map(Mechanism::named);
        Some((work, mechanisms.collect::<Option<_>>()?))
    }
}

/// Serves as a worker if this process was started as one; returns `None` otherwise. Every binary
/// with a node must call this first.
#[must_use]
pub fn run_as_worker() -> Option<ExitCode> {
    survive_file_limits();
    let arguments = role()?;
    close_inherited();
    ignore_stop_signals();
    let Some((work, mechanisms)) = Work::read(arguments) else {
        return Some(ExitCode::FAILURE);
    };
    let readable: &[&Path] = match &work {
        Work::Programs(images) => &[images.path()],
        Work::Queries => &[],
    };
    // Must precede logging, which starts a thread.
    let isolation = isolate(readable);
    // A worker works without a log.
    let _ = observe::logs(&config::Log {
        filter: "warn".to_owned(),
        ..config::Log::default()
    });
    let worker = std::thread::Builder::new()
        .name("assay-worker".to_owned())
        .stack_size(WORKER_STACK);
    let served = worker
        .spawn(move || serve(&work, isolation, &mechanisms))
        .map(std::thread::JoinHandle::join);
    observe::flush(LOG_FLUSH);
    Some(match served {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Loads what the work needs, drops all other privileges, and answers requests until the parent
/// exits.
fn serve(work: &Work, isolation: Isolation, mechanisms: &[Mechanism]) -> bool {
    if let Err(error) = end_with_parent() {
        tracing::error!(%error, "cannot arrange for this worker to end with its parent");
        return false;
    }
    let (handlers, code) = match work {
        Work::Programs(images) => match ProgramHandler::load(images) {
            Ok(programs) => {
                let code = programs.code();
                (Handlers::new().with(programs), code)
            }
            Err(error) => {
                tracing::error!(%error, "this worker cannot run programs");
                return false;
            }
        },
        Work::Queries => match Databases::new() {
            Ok(databases) => (Handlers::new().with(databases), ExecutableCode::Mapped),
            Err(error) => {
                tracing::error!(%error, "this worker cannot run queries");
                return false;
            }
        },
    };
    let confinement = isolation.confine(code);
    // If a required mechanism is missing, the worker only reports its confinement.
    let handlers = if has_all(confinement, mechanisms) {
        handlers
    } else {
        Handlers::new()
    };
    handlers.serve(confinement).is_ok()
}

fn has_all(confinement: Confinement, mechanisms: &[Mechanism]) -> bool {
    mechanisms
        .iter()
        .all(|mechanism| confinement.has(*mechanism))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_its_own_arguments() {
        let path = Path::new("/path with spaces");
        let packaged = Folder::from_argument(path, "cpp=0a,python=1b").unwrap();
        for work in [
            Work::Programs(Folder::new(path)),
            Work::Programs(packaged),
            Work::Queries,
        ] {
            for mechanisms in [Vec::new(), Mechanism::ALL.to_vec()] {
                assert_eq!(
                    Work::read(work.arguments(&mechanisms)),
                    Some((work.clone(), mechanisms))
                );
            }
        }
        assert_eq!(Work::read(Vec::new()), None);
        assert_eq!(
            Work::read(vec!["".into(), "".into(), "queries".into(), "moat".into()]),
            None
        );
    }
}
