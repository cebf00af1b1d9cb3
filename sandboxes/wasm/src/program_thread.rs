//! The thread on which programs run that are judged by another instance.

use std::sync::mpsc::{Sender, channel};

use crate::engine::THREAD_STACK;

type Job = Box<dyn FnOnce() + Send>;

/// A second thread with a large stack, for programs that are judged by another instance.
pub(crate) struct ProgramThread(Sender<Job>);

impl ProgramThread {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (sender, receiver) = channel::<Job>();
        std::thread::Builder::new()
            .name("assay-program".to_owned())
            .stack_size(THREAD_STACK)
            .spawn(move || {
                receiver.into_iter().for_each(|job| job());
            })?;
        Ok(Self(sender))
    }

    pub(crate) fn run(&self, job: Job) {
        // The thread lives as long as this sender.
        let _ = self.0.send(job);
    }
}
