//! Registry of models by name. Models can be loaded, replaced and unloaded while requests run.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use assay_core::reward_model::ModelError;

use super::slot::Slot;

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Maximum number of models. Names come from requests, and each model stays until it is unloaded.
const MAX_MODELS: usize = 256;

/// The slots of all names, and the default name.
#[derive(Default)]
pub(super) struct Registry {
    slots: RwLock<BTreeMap<String, Arc<Slot>>>,
    /// Name used by requests that name no model.
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

    /// All slots, sorted by name, with whether they are the default.
    pub(super) fn all(&self) -> Vec<(Arc<Slot>, bool)> {
        let slots = self.slots();
        let default = self.default.as_ref().or_else(|| single_name(&slots));
        slots
            .iter()
            .map(|(name, slot)| (Arc::clone(slot), default == Some(name)))
            .collect()
    }

    /// The slot of a name, or the default slot. The default depends only on the names, never on
    /// which models are currently loaded.
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
            .or_else(|| single_name(&slots).map(String::as_str))
        else {
            return Err(ModelError::Unknown(match slots.len() {
                0 => "no model is loaded; load one with `PUT /v1/reward-models/{name}` or declare \
                      one in the configuration"
                    .to_owned(),
                _ => format!("there are several models; name one of {}", list()),
            }));
        };
        slots.get(name).map(Arc::clone).ok_or_else(|| {
            ModelError::Unknown(match slots.len() {
                0 => format!(
                    "no model `{name}` is loaded; load it with `assay models load NAME SOURCE`"
                ),
                _ => format!("no model `{name}` is loaded; available: {}", list()),
            })
        })
    }

    /// Begins a load. Returns the slot of the name, which is created if it does not exist and
    /// `create` is set.
    ///
    /// # Errors
    /// [`ModelError::NotLoadable`] if the name is invalid or there are too many models,
    /// [`ModelError::Unknown`] if the slot does not exist and `create` is not set.
    pub(super) fn begin_load(&self, name: &str, create: bool) -> Result<Arc<Slot>, ModelError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_allowed) {
            return Err(ModelError::NotLoadable(format!(
                "invalid model name `{}`: use 1 to {MAX_NAME_BYTES} letters, digits, `-`, `_` and \
                 `.`",
                name.escape_default()
            )));
        }
        if !create {
            let slot = self.find(Some(name))?;
            slot.begin_load();
            return Ok(slot);
        }
        let mut slots = self.slots_mut();
        if slots.len() >= MAX_MODELS && !slots.contains_key(name) {
            return Err(ModelError::NotLoadable(format!(
                "there are already {MAX_MODELS} models; unload one first"
            )));
        }
        let slot = slots
            .entry(name.to_owned())
            .or_insert_with(|| Slot::new(name));
        // Under the lock, so that no request sees a new slot with neither a model nor a pending
        // load.
        slot.begin_load();
        Ok(Arc::clone(slot))
    }

    /// Removes a name.
    ///
    /// # Errors
    /// [`ModelError::Unknown`].
    pub(super) fn remove(&self, name: &str) -> Result<(), ModelError> {
        let slot = self.slots_mut().remove(name);
        let slot =
            slot.ok_or_else(|| ModelError::Unknown(format!("no model `{name}` is loaded")))?;
        slot.mark_removed();
        Ok(())
    }
}

/// The name, if there is exactly one.
fn single_name(slots: &BTreeMap<String, Arc<Slot>>) -> Option<&String> {
    slots.keys().next().filter(|_| slots.len() == 1)
}
