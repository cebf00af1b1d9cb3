//! Work that an asker does with a large answer, such as comparing it.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Bytes up to which work is too short to be worth moving.
const SHORT: usize = 32 << 10;

/// Does work over about this many bytes. The thread hands its other tasks to another one first if
/// the work may be long, so that connections are served meanwhile. A runtime with a single thread
/// cannot do so.
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
    fn works_in_every_runtime() {
        let double = || compute(1 << 20, || 21 * 2);
        assert_eq!(double(), 42);
        let single = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(single.block_on(async { double() }), 42);
    }

    /// With one thread, another task can finish during long work only if the thread hands it over.
    #[test]
    fn other_tasks_go_on_during_long_work() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let waited = runtime.block_on(async move {
            let long = tokio::spawn(async move { compute(1 << 20, || receiver.recv()) });
            tokio::spawn(async move { sender.send(()) })
                .await
                .unwrap()
                .unwrap();
            long.await.unwrap()
        });
        assert!(waited.is_ok());
    }
}
