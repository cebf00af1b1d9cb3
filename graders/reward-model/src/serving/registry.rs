//! Models by name: loaded, replaced and taken away while they are asked.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use assay_core::reward_model::ModelError;

use super::slot::Slot;

/// Longest name.
const NAME_BYTES: usize = 64;

/// Most models: names come from requests, and each model stays until it is unloaded.
const MOST_MODELS: usize = 256;

/// The slots of all names.
#[derive(Default)]
pub(super) struct Registry {
    slots: RwLock<BTreeMap<String, Arc<Slot>>>,
    /// The name that is meant where there is none.
    default: Option<String>,
}

impl Registry {
    pub(super) fn new(default: Option<String>) -> Self {
        Self {
            slots: RwLock::default(),
            default,
        }
    }

    fn slots(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots_mut(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.slots.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// All slots with whether they are the default, by name.
    pub(super) fn all(&self) -> Vec<(Arc<Slot>, bool)> {
        let slots = self.slots();
        let default = self.default.as_ref().or_else(|| only(&slots));
        slots
            .iter()
            .map(|(name, slot)| (Arc::clone(slot), default == Some(name)))
            .collect()
    }

    /// The slot of a name, or the one that is meant. Which is meant depends on the names alone,
    /// never on what is loaded just now.
    ///
    /// # Errors
    /// [`ModelError::Unknown`].
    pub(super) fn find(&self, name: Option<&str>) -> Result<Arc<Slot>, ModelError> {
        let slots = self.slots();
        let list = || {
            slots
                .keys()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let Some(name) = name
            .or(self.default.as_deref())
            .or_else(|| only(&slots).map(String::as_str))
        else {
            return Err(ModelError::Unknown(match slots.len() {
                0 => "there is no model; load one with `PUT /v1/reward-models/{name}` or name one \
                      in the configuration"
                    .to_owned(),
                _ => format!("there are several models; name one of {}", list()),
            }));
        };
        slots.get(name).map(Arc::clone).ok_or_else(|| {
            ModelError::Unknown(match slots.len() {
                0 => format!(
                    "no model `{name}` is loaded; load it with `assay models load NAME SOURCE`"
                ),
                _ => format!("there is no model `{name}`; there is {}", list()),
            })
        })
    }

    /// Begins a load: the slot of a name, made where there is none and `make` says so.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] for a text that is no name, [`ModelError::Unknown`] where there
    /// is none and none is made.
    pub(super) fn begin(&self, name: &str, make: bool) -> Result<Arc<Slot>, ModelError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(fits) {
            return Err(ModelError::NotLoadable(format!(
                "`{}` is no name for a model: 1 to {NAME_BYTES} letters, digits, `-`, `_` and `.` \
                 make one",
                name.escape_default()
            )));
        }
        if !make {
            let slot = self.find(Some(name))?;
            slot.begin();
            return Ok(slot);
        }
        let mut slots = self.slots_mut();
        if slots.len() >= MOST_MODELS && !slots.contains_key(name) {
            return Err(ModelError::NotLoadable(format!(
                "there are already {MOST_MODELS} models; unload one first"
            )));
        }
        let slot = slots
            .entry(name.to_owned())
            .or_insert_with(|| Slot::new(name));
        // Before anybody can see a new slot, so that it is never seen without a model and without
        // one to come.
        slot.begin();
        Ok(Arc::clone(slot))
    }

    /// Gives a name up.
    ///
    /// # Errors
    /// [`ModelError::Unknown`].
    pub(super) fn remove(&self, name: &str) -> Result<(), ModelError> {
        let slot = self.slots_mut().remove(name);
        let slot =
            slot.ok_or_else(|| ModelError::Unknown(format!("there is no model `{name}`")))?;
        slot.give_up();
        Ok(())
    }
}

/// The name, where there is one alone.
fn only(slots: &BTreeMap<String, Arc<Slot>>) -> Option<&String> {
    slots.keys().next().filter(|_| slots.len() == 1)
}
