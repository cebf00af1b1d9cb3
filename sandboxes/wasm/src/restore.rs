//! Restores an instance to the state of a fresh one, so that it can serve another run.
//!
//! The state of an instance consists of its memory and its mutable globals. The builder of images
//! rejects modules with other state: instructions that change tables or drop segments, and imported
//! memories, tables and globals.

use std::ops::Range;
use std::sync::Arc;

use wasmtime::{AsContextMut, Global, InstancePre, Memory, Store, Val, format_err};

use crate::globals;
use crate::pages::{PAGE, PageFaults, PageMap};
use crate::state::State;

/// How many times in a row a changed page is copied without comparing it first, because a
/// comparison takes as long as a copy.
const COPIES: u8 = 16;

/// A private page.
#[derive(Debug)]
struct PrivatePage {
    at: Range<usize>,
    /// How often it is copied before it is compared again.
    copies_left: u8,
}

/// The private pages of an instance. A run changes some of them.
#[derive(Debug, Default)]
pub(crate) struct PrivatePages {
    /// The pages that the last scan found.
    pages: Vec<PrivatePage>,
    /// The page faults when the run began. `None` if `pages` may be incomplete, because the
    /// instance has not been restored yet.
    at_start: Option<PageFaults>,
    /// Number of unchanged pages that were compared since the instance was created, less the number
    /// of changed pages.
    pub(crate) wasted: usize,
}

impl PrivatePages {
    /// Replaces the pages with those of a scan.
    fn replace(&mut self, ranges: &[Range<usize>]) {
        let mut known = std::mem::take(&mut self.pages).into_iter().peekable();
        self.pages = ranges
            .iter()
            .flat_map(pages_of)
            .map(|at| {
                while known.next_if(|page| page.at.start < at.start).is_some() {}
                let known = known.next_if(|page| page.at == at);
                known.unwrap_or(PrivatePage { at, copies_left: 0 })
            })
            .collect();
    }

    /// Starts the run of a restored instance on this thread.
    pub(crate) fn begin(&mut self) {
        self.at_start = PageFaults::of_this_thread();
    }
}

/// The parts of a range that are compared.
fn pages_of(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = range.end;
    let starts = range.clone().step_by(PAGE);
    starts.map(move |start| start..end.min(start + PAGE))
}

/// An instance in which no code ever runs. It shows what a fresh one contains.
pub(crate) struct Untouched {
    store: Store<State>,
    memory: Memory,
    globals: Vec<Val>,
    /// `None` if the kernel does not report which pages were written to.
    page_map: Option<Arc<PageMap>>,
}

impl Untouched {
    /// Creates the instance. `globals` is the number of mutable globals that the image exports.
    pub(crate) fn start(
        image: &InstancePre<State>,
        globals: usize,
        page_map: Option<Arc<PageMap>>,
    ) -> wasmtime::Result<Self> {
        let mut store = Store::new(image.module().engine(), State::idle());
        let instance = image.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory");
        let memory = memory.ok_or_else(|| format_err!("the image exports no memory"))?;
        let globals = globals::of(&mut store, &instance, globals)?;
        let globals = globals.iter().map(|global| global.get(&mut store));
        let globals = globals.collect();
        let page_map = page_map.filter(|map| map.all_private(memory.data(&store)).is_some());
        Ok(Self {
            globals,
            store,
            memory,
            page_map,
        })
    }

    /// The memory of a new instance.
    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    /// The ranges of the memory of another instance that may differ, in order.
    pub(crate) fn written(&self, found: &[u8]) -> Vec<Range<usize>> {
        let map = self.page_map.as_ref();
        let written = map.and_then(|map| map.all_private(found));
        // Without a page map, all pages are compared.
        written.unwrap_or_else(|| std::iter::once(0..found.len()).collect())
    }

    /// Restores the memory and the globals of another instance of the image, whose private pages
    /// are given. `None` if that is impossible, or too expensive because more than `most_bytes` are
    /// private, in which case the instance must not be used again.
    pub(crate) fn restore(
        &self,
        mut store: impl AsContextMut<Data = State>,
        memory: Memory,
        globals: &[Global],
        pages: &mut PrivatePages,
        most_bytes: usize,
    ) -> Option<()> {
        let original = self.memory.data(&self.store);
        let found = memory.data_mut(&mut store);
        // A memory cannot shrink.
        if found.len() != original.len() {
            return None;
        }
        // Scanning all pages takes longer than restoring those that a small program changes.
        if !pages.at_start.is_some_and(PageFaults::are_all_until_now) {
            let ranges = self.page_map.as_ref()?.private(found, most_bytes / PAGE)?;
            if ranges.iter().map(Range::len).sum::<usize>() > most_bytes {
                return None;
            }
            pages.replace(&ranges);
        }
        let mut changed = 0_usize;
        for page in &mut pages.pages {
            let (found, original) = (&mut found[page.at.clone()], &original[page.at.clone()]);
            if page.copies_left > 0 {
                page.copies_left -= 1;
            } else if found != original {
                page.copies_left = COPIES;
            } else {
                continue;
            }
            found.copy_from_slice(original);
            changed += 1;
        }
        pages.wasted += pages.pages.len().saturating_sub(2 * changed);
        let mut values = globals.iter().zip(&self.globals);
        let are_set = globals.len() == self.globals.len()
            && values.all(|(global, value)| global.set(&mut store, *value).is_ok());
        are_set.then_some(())
    }
}
