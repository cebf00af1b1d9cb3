//! A cache of compiled tests. A task's tests judge all of its completions, and compiling a test
//! takes as long as running it.

use std::sync::Arc;

use blake3::Hash;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Size of the cache of a worker, in bytes.
const CACHE_BYTES: u64 = 32 << 20;

/// Number of tests that the cache is sized for.
const EXPECTED: usize = 4_096;

/// A compiled test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompiledTest {
    /// Its code, in the format of the image.
    pub(crate) code: Vec<u8>,
    /// The request for the names of the program that the test uses. Empty if the test requests them
    /// itself.
    pub(crate) names: Vec<u8>,
}

/// A compiled test, or the error message of the compiler.
pub(crate) type CompileOutcome = Arc<Result<CompiledTest, String>>;

/// The compiled tests of a worker.
pub(crate) struct CompiledTests(Cache<Hash, CompileOutcome, Bytes>);

#[derive(Clone)]
struct Bytes;

impl Weighter<Hash, CompileOutcome> for Bytes {
    fn weight(&self, _: &Hash, outcome: &CompileOutcome) -> u64 {
        let bytes = match outcome.as_ref() {
            Ok(test) => test.code.len() + test.names.len(),
            Err(message) => message.len(),
        };
        256 + bytes as u64
    }
}

impl CompiledTests {
    pub(crate) fn new() -> Self {
        Self(Cache::with_weighter(EXPECTED, CACHE_BYTES, Bytes))
    }

    /// The compiled test with this setup and text. `compile` is called if the cache does not
    /// contain it. Error messages of the compiler are cached; failures of `compile` are not.
    pub(crate) fn get<E>(
        &self,
        image: &str,
        texts: [&str; 2],
        compile: impl FnOnce() -> Result<Result<CompiledTest, String>, E>,
    ) -> Result<CompileOutcome, E> {
        let key = key(image, texts);
        if let Some(found) = self.0.get(&key) {
            return Ok(found);
        }
        let outcome = Arc::new(compile()?);
        self.0.insert(key, Arc::clone(&outcome));
        Ok(outcome)
    }
}

/// The hash of everything on which the code depends.
fn key(image: &str, texts: [&str; 2]) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key("assay compiled test");
    for part in [image, texts[0], texts[1]] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiles_each_test_once() {
        let tests = CompiledTests::new();
        let mut compiled = 0;
        let mut get = |image, texts| {
            let outcome: Result<_, ()> = tests.get(image, texts, || {
                compiled += 1;
                Ok(Err(format!("number {compiled}")))
            });
            match outcome.unwrap().as_ref() {
                Ok(_) => unreachable!(),
                Err(message) => message.clone(),
            }
        };
        assert_eq!(get("python", ["a", "b"]), "number 1");
        assert_eq!(get("python", ["ab", ""]), "number 2");
        assert_eq!(get("javascript", ["a", "b"]), "number 3");
        assert_eq!(get("python", ["a", "b"]), "number 1");
    }

    #[test]
    fn does_not_cache_failures_of_the_compiler() {
        let tests = CompiledTests::new();
        assert!(tests.get("python", ["", ""], || Err("no memory")).is_err());
        let found = tests.get("python", ["", ""], || {
            Ok::<_, ()>(Err("refused".to_owned()))
        });
        assert!(found.is_ok_and(|outcome| outcome.is_err()));
    }
}
