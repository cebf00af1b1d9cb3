//! Interprets errors of the server as the end of a statement.

use std::borrow::Cow;

use assay_worker::query::End;
use sqlx::Error;
use sqlx::error::DatabaseError;

/// The `SQLSTATE`, if the server sent one.
pub(super) fn code(error: &Error) -> Option<String> {
    error
        .as_database_error()
        .and_then(DatabaseError::code)
        .map(Cow::into_owned)
}

/// The message of the server, or of the client library.
pub(super) fn message(error: &Error) -> String {
    error
        .as_database_error()
        .map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

/// Whether the connection was lost or the server is at fault, rather than the statement.
pub(super) fn is_lost(error: &Error) -> bool {
    let Some(code) = code(error) else { return true };
    let statement_is_at_fault = ["57014", "08P01", "53200", "53400"].contains(&code.as_str());
    !statement_is_at_fault
        && ["08", "53", "57", "58"]
            .iter()
            .any(|class| code.starts_with(class))
}

/// The end of a statement that caused the error.
pub(super) fn end_of(error: &Error) -> End {
    let message = message(error);
    let code = code(error).unwrap_or_default();
    match code.as_str() {
        "57014" => End::OutOfSteps,
        "53200" | "53400" => End::OutOfMemory,
        "54000" => End::TooLong,
        "42501" | "25006" => End::Denied(denied(&message)),
        "42601" if message.contains("cannot insert multiple commands") => End::Several,
        "42601" if message.contains("INTO is not allowed here") => {
            End::Denied("writing".to_owned())
        }
        "42601" if message.contains(" at or near ") || message.ends_with(" at end of input") => {
            End::Syntax(message)
        }
        "0A000" if message.contains("data-modifying statements") => {
            End::Denied("writing".to_owned())
        }
        // An excessive length has the code of an internal error, but is not a fault of the server.
        "XX000" if message.starts_with("invalid memory alloc request size") => End::TooLong,
        _ => End::Error(message),
    }
}

/// Describes the denied action, from the message of the server.
fn denied(message: &str) -> String {
    if let Some(what) = message.strip_prefix("permission denied for ") {
        return match what.split_once(' ') {
            Some((kind, name)) => format!("the {kind} `{name}`"),
            None => what.to_owned(),
        };
    }
    let write = message
        .strip_prefix("cannot execute ")
        .and_then(|rest| rest.strip_suffix(" in a read-only transaction"));
    write.map_or_else(
        || format!("an action that the server denies ({message})"),
        |what| format!("`{what}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_denied_action() {
        assert_eq!(
            denied("permission denied for function pg_sleep"),
            "the function `pg_sleep`"
        );
        assert_eq!(
            denied("cannot execute nextval() in a read-only transaction"),
            "`nextval()`"
        );
        assert_eq!(
            denied("must be superuser"),
            "an action that the server denies (must be superuser)"
        );
    }
}
