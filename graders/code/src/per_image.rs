//! Results that are computed once for all completions of a task, and again if the image changes.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

/// A result in the image that was used last.
#[derive(Debug)]
pub(crate) struct PerImage<T>(Mutex<Of<T>>);

#[derive(Debug)]
struct Of<T> {
    /// The hash of the image.
    image: String,
    result: Arc<OnceCell<T>>,
}

impl<T> PerImage<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Of {
            image: String::new(),
            result: Arc::default(),
        }))
    }

    /// The result in the image with this hash, which may not be computed yet.
    pub(crate) fn of(&self, image: &str) -> Arc<OnceCell<T>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.image != image {
            *last = Of {
                image: image.to_owned(),
                result: Arc::default(),
            };
        }
        Arc::clone(&last.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_belongs_to_one_image() {
        let results = PerImage::new();
        results.of("a").set(1).unwrap();
        assert_eq!(results.of("a").get(), Some(&1));
        assert_eq!(results.of("b").get(), None);
        assert_eq!(results.of("a").get(), None);
    }
}
