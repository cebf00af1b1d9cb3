//! Restores an instance to the state of a fresh one, so that it can serve another run.
//!
//! The state of an instance consists of its memory and its mutable globals. The builder of images
//! rejects modules with other state: instructions that change tables or drop segments, and imported
//! memories, tables and globals.

use std::sync::Arc;

use wasmtime::{AsContextMut, Global, InstancePre, Memory, Store, Val, format_err};

use crate::globals;
use crate::pages::PageMap;
use crate::state::State;

/// Most pages that a restored instance keeps for itself. Each of them is copied in every reset, so
/// many pages cost more than the page faults of a fresh instance.
const MOST_PAGES: usize = 512;

/// An instance in which no code ever runs. It shows what a fresh one contains.
pub(crate) struct Untouched {
    store: Store<State>,
    memory: Memory,
    globals: Vec<Val>,
    page_map: Arc<PageMap>,
}

impl Untouched {
    /// Creates the instance. `globals` is the number of mutable globals that the image exports.
    /// `None` if the kernel does not tell which pages were written to.
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

    /// Restores the memory and the globals of another instance of the image. Returns `false` if
    /// that is impossible or too expensive, in which case the instance must not be used again.
    pub(crate) fn restore(
        &self,
        mut store: impl AsContextMut<Data = State>,
        memory: Memory,
        globals: &[Global],
    ) -> bool {
        let original = self.memory.data(&self.store);
        let changed = memory.data_mut(&mut store);
        // A memory cannot shrink.
        if changed.len() != original.len() {
            return false;
        }
        let Some(pages) = self.page_map.private(changed, MOST_PAGES) else {
            return false;
        };
        for page in pages {
            changed[page.clone()].copy_from_slice(&original[page]);
        }
        globals.len() == self.globals.len()
            && globals
                .iter()
                .zip(&self.globals)
                .all(|(global, value)| global.set(&mut store, value.clone()).is_ok())
    }
}
