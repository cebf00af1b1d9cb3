//! Runs work on a large reply, such as comparing it, without blocking other tasks of the runtime.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Work on at most this many bytes is too short to be worth moving other tasks.
const SHORT: usize = 32 << 10;

/// Runs `work`, which processes about `bytes` bytes. If it may take long, the thread first hands
/// its other tasks to another thread, so that connections are served meanwhile. A runtime with a
/// single thread cannot do that.
pub fn compute<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let can_move = || {
        Handle::try_current()
            .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > SHORT && can_move() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_every_runtime() {
        let double = || compute(1 << 20, || 21 * 2);
        assert_eq!(double(), 42);
        let single = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(single.block_on(async { double() }), 42);
    }

    /// With one thread, another task can finish during long work only if the thread hands it off.
    #[test]
    fn other_tasks_progress_during_long_work() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let received = runtime.block_on(async move {
            let long = tokio::spawn(async move { compute(1 << 20, || receiver.recv()) });
            tokio::spawn(async move { sender.send(()) })
                .await
                .unwrap()
                .unwrap();
            long.await.unwrap()
        });
        assert!(received.is_ok());
    }
}
