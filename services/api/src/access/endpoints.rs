//! The endpoints with who may call them. An endpoint cannot be added without saying so.

use assay_record::access::{Access, Role};
use axum::Router;
use http::Method;
use utoipa::openapi::path::PathItem;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::Api;
use crate::roles::RoleTable;

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
