//! Restricts statements to reading tables and calling functions. There are several guards because
//! each has gaps: the authorizer is not called for `VACUUM`, `readonly()` is true for a `PRAGMA`,
//! and neither knows the length of values.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};

/// Longest value that a statement may produce, in bytes, unless the image has longer ones: by
/// default, if it reads JSON, and if the task needs long ones. Most functions take time
/// proportional to their arguments and count as one step.
const LONGEST: usize = 16_000;
pub(crate) const LONGEST_WITH_JSON: usize = 8_000;
const LONGEST_WHERE_NEEDED: usize = 100_000;

/// Longest statement, in bytes.
const LONGEST_STATEMENT: i32 = 100_000;

/// Most bytes of the column names of a statement together. A schema can contain longer names than a
/// statement.
pub(crate) const LONGEST_NAMES: usize = 1 << 20;

/// Functions that no query needs: they have side effects, reveal the version of this build, or are
/// slow inside one instruction.
const DENIED: &[&str] = &[
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
pub(crate) struct Noted(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    denied: Option<String>,
    reads_json: bool,
}

impl Noted {
    fn deny(&self, what: &str) {
        self.lock().denied.get_or_insert_with(|| what.to_owned());
    }

    /// Clears observations of earlier statements.
    pub(crate) fn clear(&self) {
        *self.lock() = Notes::default();
    }

    /// What was denied since the last call.
    pub(crate) fn take_denied(&self) -> Option<String> {
        self.lock().denied.take()
    }

    /// Longest value that the statement may produce, in bytes.
    pub(crate) fn longest(&self, long_values: bool, longest_cell: usize) -> usize {
        let longest = match (long_values, self.lock().reads_json) {
            (true, _) => LONGEST_WHERE_NEEDED,
            (false, true) => LONGEST_WITH_JSON,
            (false, false) => LONGEST,
        };
        longest.max(longest_cell)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name, as written in a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Sets limits, then allows queries only.
pub(crate) fn install(connection: &mut Connection) -> Result<Noted> {
    // Table-valued functions register themselves on first use, by statements that the authorizer
    // would deny.
    connection.execute_batch("select 1 from json_each('[]'), json_tree('[]')")?;
    let limits = [
        (Limit::SQLITE_LIMIT_SQL_LENGTH, LONGEST_STATEMENT),
        // Planning takes no steps.
        (Limit::SQLITE_LIMIT_COLUMN, 500),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        // A call is one step, and JSON functions read their document again for each of their paths.
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ];
    for (limit, most) in limits {
        connection.set_limit(limit, most)?;
    }
    let noted = Noted::default();
    let note = noted.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Function { function_name } = context.action
            && (function_name.starts_with("json") || function_name.starts_with("->"))
        {
            note.lock().reads_json = true;
        }
        match refused(&context.action) {
            None => Authorization::Allow,
            Some(what) => {
                note.deny(&what);
                Authorization::Deny
            }
        }
    }))?;
    Ok(noted)
}

/// Describes a denied action; `None` for an allowed one.
fn refused(action: &AuthAction<'_>) -> Option<String> {
    Some(match action {
        AuthAction::Select | AuthAction::Recursive => return None,
        AuthAction::Read { table_name, .. } => {
            let denied = DENIED_TABLES
                .iter()
                .any(|denied| table_name.eq_ignore_ascii_case(denied));
            return denied.then(|| format!("the table `{table_name}`"));
        }
        AuthAction::Function { function_name } => {
            let denied = DENIED
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

/// Allows scripts of a task to build a database only. Harmless pragmas are
/// ignored.
pub(crate) fn install_for_building(connection: &mut Connection) -> Result<Noted> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let noted = Noted::default();
    let note = noted.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        let what = match context.action {
            AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
                "attaching a database".to_owned()
            }
            AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } => {
                "a virtual table".to_owned()
            }
            AuthAction::Function { function_name }
                if DENIED
                    .iter()
                    .any(|denied| function_name.eq_ignore_ascii_case(denied)) =>
            {
                format!("the function `{function_name}`")
            }
            AuthAction::Pragma { .. } => return Authorization::Ignore,
            _ => return Authorization::Allow,
        };
        note.deny(&what);
        Authorization::Deny
    }))?;
    Ok(noted)
}

/// Removes the restrictions.
pub(crate) fn lift(connection: &mut Connection) -> Result<()> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
}
