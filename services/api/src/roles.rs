//! The table of the roles that endpoints and pages need.

use std::collections::HashMap;

use assay_record::access::{Access, Role};
use http::Method;

/// Who may call each method of each path.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleTable(HashMap<String, Vec<(Method, Access)>>);

impl RoleTable {
    pub(crate) fn insert(&mut self, path: &str, method: Method, access: Access) {
        self.0
            .entry(path.to_owned())
            .or_default()
            .push((method, access));
    }

    /// Who may call `method` of a path that the router matched. For anything else a key is needed,
    /// and the answer is that it does not exist.
    pub(crate) fn access(&self, method: &Method, path: Option<&str>) -> Access {
        // The router answers `HEAD` as `GET`.
        let method = if method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        path.and_then(|path| self.0.get(path))
            .and_then(|methods| methods.iter().find(|(known, _)| known == method))
            .map_or(Access::Role(Role::Trainer), |(_, access)| *access)
    }

    /// All entries, by path and method.
    #[must_use]
    pub(crate) fn rows(&self) -> Vec<(&str, &Method, Access)> {
        let mut rows: Vec<_> = self
            .0
            .iter()
            .flat_map(|(path, methods)| {
                methods
                    .iter()
                    .map(|(method, access)| (path.as_str(), method, *access))
            })
            .collect();
        rows.sort_by_key(|(path, method, _)| (*path, method.as_str()));
        rows
    }
}
