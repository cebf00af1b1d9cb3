//! Restricts access to files, the network and other processes with Landlock.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest Landlock ABI in use. An older kernel applies the rules that it knows.
const NEWEST: ABI = ABI::V6;

/// The process's own entry in `/proc`: the sandbox of programs reads its page map.
const OWN_ENTRY: &str = "/proc/self";

/// Allows this thread, and those that it starts, to read files in `readable` and nothing else.
/// Returns whether the kernel enforces it.
pub(super) fn restrict(readable: &[&Path]) -> bool {
    match try_restrict(readable) {
        Ok(status) => status != RulesetStatus::NotEnforced,
        Err(error) => {
            tracing::warn!(%error, "cannot restrict the worker's access to files");
            false
        }
    }
}

fn try_restrict(readable: &[&Path]) -> Result<RulesetStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for path in readable.iter().copied().chain([Path::new(OWN_ENTRY)]) {
        // A path that does not exist cannot be read either.
        if let Ok(opened) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(
                opened,
                AccessFs::ReadFile | AccessFs::ReadDir,
            ))?;
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}
