//! Restores an instance to the state of a fresh one, so that it can serve another run.
//!
//! The state of an instance consists of its memory and its mutable globals. The builder of images
//! rejects modules with other state: instructions that change tables or drop segments, and imported
//! memories, tables and globals.

use std::ops::Range;
use std::sync::Arc;

use wasmtime::{AsContextMut, Global, InstancePre, Memory, Store, Val, format_err};

use crate::globals;
use crate::pages::{PageFaults, PageMap};
use crate::state::State;

/// Most memory that a restored instance keeps for itself, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Size of the parts that are compared, in bytes: that of a page on most machines, and a part of it
/// on others.
const PAGE: usize = 4 << 10;

const MOST_PAGES: usize = MOST_BYTES / PAGE;

/// The private pages of an instance. A run changes some of them.
#[derive(Debug, Default)]
pub(crate) struct PrivatePages {
    /// The ranges that the last scan found.
    ranges: Vec<Range<usize>>,
    /// The page faults when the run began. `None` if `ranges` may be incomplete, because the
    /// instance has not been restored yet.
    at_start: Option<PageFaults>,
    /// Number of unchanged pages that were compared since the instance was created, less the number
    /// of changed pages.
    pub(crate) wasted: usize,
}

impl PrivatePages {
    /// Starts the run of a restored instance on this thread.
    pub(crate) fn begin(&mut self) {
        self.at_start = PageFaults::of_this_thread();
    }
}

/// An instance in which no code ever runs. It shows what a fresh one contains.
pub(crate) struct Untouched {
    store: Store<State>,
    memory: Memory,
    globals: Vec<Val>,
    page_map: Arc<PageMap>,
}

impl Untouched {
    /// Creates the instance. `globals` is the number of mutable globals that the image exports.
    /// `None` if the kernel does not report which pages were written to.
    pub(crate) fn start(
        image: &InstancePre<State>,
        globals: usize,
        page_map: Arc<PageMap>,
    ) -> wasmtime::Result<Option<Self>> {
        let mut store = Store::new(image.module().engine(), State::idle());
        let instance = image.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory");
        let memory = memory.ok_or_else(|| format_err!("the image exports no memory"))?;
        let globals = globals::of(&mut store, &instance, globals)?;
        let globals = globals.iter().map(|global| global.get(&mut store));
        let untouched = Self {
            globals: globals.collect(),
            store,
            memory,
            page_map,
        };
        let pages = untouched.memory.data(&untouched.store);
        let can_scan = untouched.page_map.private(pages, MOST_PAGES).is_some();
        Ok(can_scan.then_some(untouched))
    }

    /// Restores the memory and the globals of another instance of the image, whose private pages
    /// are given. `None` if that is impossible or too expensive, in which case the instance must
    /// not be used again.
    pub(crate) fn restore(
        &self,
        mut store: impl AsContextMut<Data = State>,
        memory: Memory,
        globals: &[Global],
        pages: &mut PrivatePages,
    ) -> Option<()> {
        let original = self.memory.data(&self.store);
        let found = memory.data_mut(&mut store);
        // A memory cannot shrink.
        if found.len() != original.len() {
            return None;
        }
        // Scanning all pages takes longer than restoring those that a small program changes.
        if !pages.at_start.is_some_and(PageFaults::are_all_until_now) {
            pages.ranges = self.page_map.private(found, MOST_PAGES)?;
            if pages.ranges.iter().map(Range::len).sum::<usize>() > MOST_BYTES {
                return None;
            }
        }
        let (mut private, mut changed) = (0_usize, 0);
        for range in &pages.ranges {
            let (found, original) = (&mut found[range.clone()], &original[range.clone()]);
            for (found, original) in found.chunks_mut(PAGE).zip(original.chunks(PAGE)) {
                private += 1;
                if found != original {
                    found.copy_from_slice(original);
                    changed += 1;
                }
            }
        }
        pages.wasted += private.saturating_sub(2 * changed);
        let mut values = globals.iter().zip(&self.globals);
        let are_set = globals.len() == self.globals.len()
            && values.all(|(global, value)| global.set(&mut store, *value).is_ok());
        are_set.then_some(())
    }
}
