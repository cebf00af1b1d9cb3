//! Restricts statements to reading tables and calling functions. There are several guards because
//! each has gaps: the authorizer is not called for `VACUUM`, `readonly()` is true for a `PRAGMA`,
//! and neither knows the length of values.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};

/// Maximum length of a value that a statement may produce, in bytes: within its full limit on
/// steps, within the limit for long values, if the statement reads JSON, and if the task needs long
/// values. Values as long as those that the image stores are
/// always allowed. The limits are low because most functions take time proportional to their
/// arguments and count as one step.
pub(crate) const SHORT_VALUE_BYTES: usize = 1_000;
const MAX_VALUE_BYTES: usize = 16_000;
pub(crate) const MAX_VALUE_BYTES_WITH_JSON: usize = 8_000;
const MAX_LONG_VALUE_BYTES: usize = 100_000;

/// Maximum length of a statement, in bytes.
const MAX_STATEMENT_BYTES: i32 = 100_000;

/// Maximum total length of the column names of a result, in bytes. A schema can contain longer
/// names than a statement.
pub(crate) const MAX_NAME_BYTES: usize = 1 << 20;

/// Denied functions. They have side effects, reveal the version of SQLite, or are slow within one
/// instruction.
const DENIED_FUNCTIONS: &[&str] = &[
    "load_extension",
    "edit",
    "readfile",
    "writefile",
    "fts3_tokenizer",
    "sqlite_log",
    "sqlite_version",
    "sqlite_source_id",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_offset",
    "json_patch",
    "jsonb_patch",
];

/// Virtual tables that expose the file or SQLite itself.
const DENIED_TABLES: &[&str] = &[
    "dbstat",
    "sqlite_dbpage",
    "sqlite_stmt",
    "bytecode",
    "tables_used",
];

/// What the authorizer observed about a statement.
#[derive(Clone, Default)]
pub(crate) struct AuthorizerLog(Arc<Mutex<Observations>>);

#[derive(Default)]
struct Observations {
    denied: Option<String>,
    reads_json: bool,
    reads_row_ids: bool,
}

impl AuthorizerLog {
    fn deny(&self, what: &str) {
        self.lock().denied.get_or_insert_with(|| what.to_owned());
    }

    /// Clears observations of earlier statements.
    pub(crate) fn clear(&self) {
        *self.lock() = Observations::default();
    }

    /// Takes the description of the first denied action since the last call.
    pub(crate) fn take_denied(&self) -> Option<String> {
        self.lock().denied.take()
    }

    /// Whether the last statement that was prepared reads JSON.
    pub(crate) fn reads_json(&self) -> bool {
        self.lock().reads_json
    }

    /// Whether the last statement that was prepared reads row ids by their own name.
    pub(crate) fn reads_row_ids(&self) -> bool {
        self.lock().reads_row_ids
    }

    /// Maximum length of a value that the statement may produce, in bytes.
    pub(crate) fn max_value_bytes(&self, long_values: bool, longest_value: usize) -> usize {
        let max_value_bytes = match (long_values, self.lock().reads_json) {
            (true, _) => MAX_LONG_VALUE_BYTES,
            (false, true) => MAX_VALUE_BYTES_WITH_JSON,
            (false, false) => MAX_VALUE_BYTES,
        };
        max_value_bytes.max(longest_value)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Observations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A quoted name for a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Sets limits, and allows only queries.
pub(crate) fn install(connection: &mut Connection) -> Result<AuthorizerLog> {
    restrict(connection, denied_action)
}

/// Sets limits, and allows queries and what changes the rows and the schema of a session's own
/// database.
pub(crate) fn install_for_session(connection: &mut Connection) -> Result<AuthorizerLog> {
    restrict(connection, denied_in_session)
}

fn restrict(
    connection: &mut Connection,
    denied: fn(&AuthAction<'_>) -> Option<String>,
) -> Result<AuthorizerLog> {
    // Table-valued functions register themselves on first use with statements that the authorizer
    // would deny.
    connection.execute_batch("select 1 from json_each('[]'), json_tree('[]')")?;
    let limits = [
        (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT_BYTES),
        // Limits the time of planning, which counts no steps.
        (Limit::SQLITE_LIMIT_COLUMN, 500),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        // A call is one step, but JSON functions read their document again for each path.
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ];
    for (limit, value) in limits {
        connection.set_limit(limit, value)?;
    }
    let authorizer_log = AuthorizerLog::default();
    let log = authorizer_log.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Function { function_name } = context.action
            && (function_name.starts_with("json") || function_name.starts_with("->"))
        {
            log.lock().reads_json = true;
        }
        // A row id that is an `integer primary key` has the name of its column.
        if let AuthAction::Read { column_name, .. } = context.action
            && column_name == "ROWID"
        {
            log.lock().reads_row_ids = true;
        }
        match denied(&context.action) {
            None => Authorization::Allow,
            Some(what) => {
                log.deny(&what);
                Authorization::Deny
            }
        }
    }))?;
    Ok(authorizer_log)
}

/// Describes an action that is denied in a session; `None` for an allowed one.
fn denied_in_session(action: &AuthAction<'_>) -> Option<String> {
    match action {
        AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } => {
            Some("a virtual table".to_owned())
        }
        AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Pragma { .. }
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. } => denied_action(action),
        _ => None,
    }
}

/// Describes an action that queries may not do; `None` for an allowed one.
fn denied_action(action: &AuthAction<'_>) -> Option<String> {
    Some(match action {
        AuthAction::Select | AuthAction::Recursive => return None,
        AuthAction::Read { table_name, .. } => {
            let denied = DENIED_TABLES
                .iter()
                .any(|denied| table_name.eq_ignore_ascii_case(denied));
            return denied.then(|| format!("the table `{table_name}`"));
        }
        AuthAction::Function { function_name } => {
            let denied = DENIED_FUNCTIONS
                .iter()
                .any(|denied| function_name.eq_ignore_ascii_case(denied));
            return denied.then(|| format!("the function `{function_name}`"));
        }
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => {
            format!("writing to `{table_name}`")
        }
        AuthAction::Pragma { pragma_name, .. } => format!("the pragma `{pragma_name}`"),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => "attaching a database".to_owned(),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => "a transaction".to_owned(),
        _ => "changing the schema".to_owned(),
    })
}

/// Allows only actions that build a database. Pragmas are ignored.
pub(crate) fn install_for_building(connection: &mut Connection) -> Result<AuthorizerLog> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let authorizer_log = AuthorizerLog::default();
    let log = authorizer_log.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        let what = match context.action {
            AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
                "attaching a database".to_owned()
            }
            AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } => {
                "a virtual table".to_owned()
            }
            AuthAction::Function { function_name }
                if DENIED_FUNCTIONS
                    .iter()
                    .any(|denied| function_name.eq_ignore_ascii_case(denied)) =>
            {
                format!("the function `{function_name}`")
            }
            AuthAction::Pragma { .. } => return Authorization::Ignore,
            _ => return Authorization::Allow,
        };
        log.deny(&what);
        Authorization::Deny
    }))?;
    Ok(authorizer_log)
}

/// Removes the authorizer.
pub(crate) fn uninstall(connection: &mut Connection) -> Result<()> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
}
