//! Codes of errors.

use sqlx::postgres::PgDatabaseError;

/// Classes of codes that are caused by the contents of an entry and not by the state of the
/// database: a value that is too large or has a wrong form, a constraint, a statement that is too
/// large, and a missing table or column, which
/// [`Database::probe`](crate::database::Database::probe) distinguishes.
const ENTRY_CLASSES: [&str; 4] = ["22", "23", "42", "54"];

/// Codes for damaged data and for a damaged index.
const DAMAGE_CODES: [&str; 2] = ["XX001", "XX002"];

fn code(error: &sqlx::Error) -> Option<&str> {
    let error = error.as_database_error()?;
    Some(error.try_downcast_ref::<PgDatabaseError>()?.code())
}

/// Whether the database is damaged, as opposed to one that cannot be used now.
pub(crate) fn is_damage(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| DAMAGE_CODES.contains(&code))
}

/// Whether the values of a statement may be the cause.
pub(crate) fn may_be_caused_by_values(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| ENTRY_CLASSES.iter().any(|class| code.starts_with(class)))
}
