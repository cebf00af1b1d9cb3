//! The endpoints with who may call them. An endpoint cannot be added without saying so.

use std::collections::HashMap;

use assay_record::access::{Access, Role};
use axum::Router;
use http::Method;
use utoipa::openapi::path::PathItem;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::Api;

/// Who may call each method of each path.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleTable(HashMap<String, Vec<(Method, Access)>>);

impl RoleTable {
    fn insert(&mut self, path: &str, method: Method, access: Access) {
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

/// Endpoints of the OpenAPI document and others, with who may call them.
pub(crate) struct Endpoints {
    pub(crate) router: OpenApiRouter<Api>,
    pub(crate) roles: RoleTable,
}

impl Endpoints {
    pub(crate) fn new() -> Self {
        Self {
            router: OpenApiRouter::new(),
            roles: RoleTable::default(),
        }
    }

    /// Adds endpoints of one path that anyone may call.
    pub(crate) fn public(self, endpoints: UtoipaMethodRouter<Api>) -> Self {
        self.add(Access::Public, endpoints)
    }

    /// Adds endpoints of one path that need a role.
    pub(crate) fn role(self, role: Role, endpoints: UtoipaMethodRouter<Api>) -> Self {
        self.add(Access::Role(role), endpoints)
    }

    fn add(mut self, access: Access, endpoints: UtoipaMethodRouter<Api>) -> Self {
        for (path, item) in &endpoints.1.paths {
            for method in methods(item) {
                self.roles.insert(path, method, access);
            }
        }
        Self {
            router: self.router.routes(endpoints),
            ..self
        }
    }

    /// Adds routes that are not in the OpenAPI document, with a row for each.
    pub(crate) fn merge(
        mut self,
        router: Router<Api>,
        rows: impl IntoIterator<Item = (Method, &'static str, Access)>,
    ) -> Self {
        for (method, path, access) in rows {
            self.roles.insert(path, method, access);
        }
        Self {
            router: self.router.merge(OpenApiRouter::from(router)),
            ..self
        }
    }
}

fn methods(item: &PathItem) -> impl Iterator<Item = Method> {
    let methods = [
        (Method::GET, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::DELETE, &item.delete),
        (Method::PATCH, &item.patch),
    ];
    methods
        .into_iter()
        .filter(|(_, operation)| operation.is_some())
        .map(|(method, _)| method)
}
