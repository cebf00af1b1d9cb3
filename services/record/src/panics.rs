//! Converts panics to errors, so that one bad entry does not end the task that processes it.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

/// A future that returns a panic as an error. Values that it borrowed may then be in an
/// inconsistent state and must not be used again.
pub(crate) struct CatchPanic<'f, T>(Pin<Box<dyn Future<Output = T> + Send + 'f>>);

impl<'f, T> CatchPanic<'f, T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'f) -> Self {
        Self(Box::pin(future))
    }
}

impl<T> Future for CatchPanic<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(message(panic.as_ref()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn returns_a_panic_as_an_error_with_its_message() {
        let panics = CatchPanic::new(async {
            tokio::task::yield_now().await;
            assert!(std::hint::black_box(false), "no {}", "luck");
        });
        assert_eq!(panics.await, Err("no luck".to_owned()));
        assert_eq!(CatchPanic::new(async { 7 }).await, Ok(7));
    }
}
