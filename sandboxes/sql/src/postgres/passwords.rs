//! Passwords of the roles.

/// Passwords of the roles. They are derived from a secret that only superusers can read, so that
/// all nodes that use a server derive the same passwords.
pub(super) struct Passwords {
    secret: String,
}

impl Passwords {
    pub(super) const fn new(secret: String) -> Self {
        Self { secret }
    }

    pub(super) fn password(&self, role: &str) -> String {
        let bytes = blake3::derive_key(
            "assay 2026-11 password of a PostgreSQL role",
            format!("{role} {}", self.secret).as_bytes(),
        );
        blake3::Hash::from_bytes(bytes).to_hex().to_string()
    }
}
