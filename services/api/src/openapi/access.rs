//! Declares how to send a key, and the role that each operation needs.

use assay_record::access::Access;
use serde_json::{Map, Value, json};

use crate::roles::RoleTable;

/// Adds the security scheme, and a requirement to each operation that needs a key. The requirement
/// is optional, because a node on loopback may have no keys.
pub(super) fn declare(document: &mut Value, roles: &RoleTable) {
    document["components"]["securitySchemes"]["key"] = json!({
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the node, if it requires one. Clients that cannot send headers \
            put `/k/KEY` before the path.",
    });
    for (path, method, access) in roles.rows() {
        let Access::Role(role) = access else { continue };
        let operation = &mut document["paths"][path];
        let name = method.as_str().to_ascii_lowercase();
        let operation = operation.as_object_mut().and_then(|it| it.get_mut(&name));
        if let Some(operation) = operation.and_then(Value::as_object_mut) {
            operation.insert("security".to_owned(), json!([{}, { "key": [] }]));
            describe_role(operation, role.as_str());
        }
    }
}

fn describe_role(operation: &mut Map<String, Value>, role: &str) {
    let described = operation.get("description").and_then(Value::as_str);
    let described = described.map_or(String::new(), |text| format!("{}\n\n", text.trim_end()));
    let description = format!("{described}Needs a key with the role `{role}`.");
    operation.insert("description".to_owned(), description.into());
}

/// Whether an operation needs a key.
pub(super) fn needs_key(operation: &Value) -> bool {
    operation.get("security").is_some()
}
