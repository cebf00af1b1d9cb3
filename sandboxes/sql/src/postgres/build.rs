//! Builds databases of tasks from the template and the scripts of the task, and drops them when
//! there are too many. The name of a database is a hash of its scripts. Each database has a copy
//! with its rows in reverse order.

use std::time::Duration;

use assay_worker::query::ServerError;
use sqlx::{AssertSqlSafe, Connection, Error, PgConnection, query_scalar, raw_sql};

use super::connect::{Address, Role, unreachable};
use super::passwords::Passwords;
use super::setup::{COMPLETE_MARK, TEMPLATE, UNLOGGED, comment, lock};
use super::{errors, roles};

/// Time limit of all scripts of a database.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Allows the reader to read the objects that scripts created.
const GRANT_SELECT: &str = "do $$ declare schema_name name; begin
    for schema_name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
        execute format('grant usage on schema %I to assay_reader', schema_name);
        execute format('grant select on all tables in schema %I to assay_reader', schema_name);
    end loop;
end $$";

/// Disables triggers, which would run when rows are reordered. A reversed copy is only read.
const DISABLE_TRIGGERS: &str = "do $$ declare relation regclass; begin
    for relation in select oid from pg_class where relkind = 'r' and relnamespace::regnamespace::text !~ '^pg_'
        and relnamespace <> 'information_schema'::regnamespace
    loop
        execute format('alter table only %s disable trigger all', relation);
    end loop;
end $$";

/// The name of the reversed copy of a database.
pub(super) fn reversed_copy(name: &str) -> String {
    format!("{name}_r")
}

/// The name of a database built from these scripts. The version is increased when the build process
/// changes.
pub(super) fn name(scripts: &[String]) -> String {
    let mut hasher =
        blake3::Hasher::new_derive_key("assay 2026-11 database of PostgreSQL, version 2");
    for script in scripts {
        hasher
            .update(&(script.len() as u64).to_le_bytes())
            .update(script.as_bytes());
    }
    format!("assay_{}", &hasher.finalize().to_hex()[..40])
}

/// The key of the lock under which a database is built and dropped.
fn key(name: &str) -> i64 {
    let hash = blake3::hash(name.as_bytes());
    i64::from_le_bytes(std::array::from_fn(|at| hash.as_bytes()[at]))
}

/// Builds a database, unless it exists and is complete.
pub(super) async fn build(
    address: &Address,
    passwords: &Passwords,
    name: &str,
    scripts: &[String],
) -> Result<(), ServerError> {
    let mut operator = address.connect_as_operator(None).await?;
    lock(&mut operator, key(name))
        .await
        .map_err(|error| unreachable(&error))?;
    let existing = comment(&mut operator, name)
        .await
        .map_err(|error| unreachable(&error))?;
    if existing.as_deref() != Some(COMPLETE_MARK) {
        let author = roles::author_of(name);
        let built = Build {
            address,
            passwords,
            name,
            author: &author,
        }
        .make(&mut operator, scripts)
        .await;
        if built.is_err() {
            let _ = drop_databases(&mut operator, name).await;
        }
        drop_author(&mut operator, &author).await;
        built?;
    }
    let _ = operator.close().await;
    Ok(())
}

/// A database that is being built.
struct Build<'a> {
    address: &'a Address,
    passwords: &'a Passwords,
    name: &'a str,
    /// The role that scripts run as.
    author: &'a str,
}

impl Build<'_> {
    async fn make(
        &self,
        operator: &mut PgConnection,
        scripts: &[String],
    ) -> Result<(), ServerError> {
        let reversed_copy = reversed_copy(self.name);
        self.begin(operator)
            .await
            .map_err(|error| unreachable(&error))?;
        let ran = tokio::time::timeout(TIMEOUT, self.run(operator, scripts)).await;
        ran.unwrap_or_else(|_| {
            Err(ServerError::Scripts(format!(
                "the scripts take more than {} s",
                TIMEOUT.as_secs()
            )))
        })?;
        self.transfer_to_owner()
            .await
            .map_err(|error| unreachable(&error))?;
        self.copy(operator, self.name, &reversed_copy)
            .await
            .map_err(|error| unreachable(&error))?;
        if let Err(error) = self.reverse(operator, &reversed_copy).await {
            tracing::debug!(%error, database = self.name, "cannot reverse the rows of a database");
        }
        execute(operator, roles::disable(self.author))
            .await
            .map_err(|error| unreachable(&error))?;
        for name in [&reversed_copy, self.name] {
            let finish = format!(
                "revoke all on database {name} from {}; alter database {name} reset all;
                 grant connect on database {name} to {}; comment on database {name} is '{COMPLETE_MARK}'",
                self.author,
                roles::READER
            );
            execute(operator, finish)
                .await
                .map_err(|error| unreachable(&error))?;
        }
        Ok(())
    }

    /// Creates the author role, and a database for it.
    async fn begin(&self, operator: &mut PgConnection) -> Result<(), Error> {
        execute(operator, UNLOGGED.to_owned()).await?;
        // An interrupted build may have left databases of this name.
        drop_databases(operator, self.name).await?;
        self.restore_author(operator).await?;
        self.copy(operator, TEMPLATE, self.name).await
    }

    /// Resets the author role. Needed before each of its connections, because a script may have
    /// changed its password and settings.
    async fn restore_author(&self, operator: &mut PgConnection) -> Result<(), Error> {
        execute(operator, roles::create_author(self.author, self.passwords)).await
    }

    /// Creates a copy of a database that only the author can access.
    async fn copy(&self, operator: &mut PgConnection, of: &str, name: &str) -> Result<(), Error> {
        let steps = [
            format!("create database {name} template {of}"),
            format!(
                "revoke all on database {name} from public; grant connect, create, temp on \
                 database {name} to {}",
                self.author
            ),
        ];
        for sql in steps {
            execute(operator, sql).await?;
        }
        Ok(())
    }

    async fn connect_as_author(&self, database: &str) -> Result<PgConnection, Error> {
        self.address
            .connect(&Role::Author(self.passwords, self.author), Some(database))
            .await
    }

    /// Runs scripts, and collects statistics for the planner.
    async fn run(
        &self,
        operator: &mut PgConnection,
        scripts: &[String],
    ) -> Result<(), ServerError> {
        let mut author = self
            .connect_as_author(self.name)
            .await
            .map_err(|error| unreachable(&error))?;
        for script in scripts {
            execute(&mut author, script.clone())
                .await
                .map_err(|error| script_failed(&error))?;
        }
        let _ = author.close().await;
        self.restore_author(operator)
            .await
            .map_err(|error| unreachable(&error))?;
        let mut author = self
            .connect_as_author(self.name)
            .await
            .map_err(|error| unreachable(&error))?;
        // Runs as the author, because it calls functions of indexes. If one fails, the planner has
        // no statistics.
        if let Err(error) = execute(&mut author, "analyze".to_owned()).await
            && errors::is_lost(&error)
        {
            return Err(unreachable(&error));
        }
        let _ = author.close().await;
        Ok(())
    }

    /// Allows the reader to read the author's objects, and transfers them to the owner.
    async fn transfer_to_owner(&self) -> Result<(), Error> {
        let mut connection = self
            .address
            .connect(&Role::Operator, Some(self.name))
            .await?;
        execute(&mut connection, GRANT_SELECT.to_owned()).await?;
        execute(&mut connection, roles::transfer_to_owner(self.author)).await?;
        // A database cannot be copied while a client is connected to it.
        connection.close().await
    }

    /// Reverses the rows of each table. Runs as the author, because tables may call functions of
    /// the task.
    async fn reverse(&self, operator: &mut PgConnection, name: &str) -> Result<(), Error> {
        let mut connection = self.address.connect(&Role::Operator, Some(name)).await?;
        execute(&mut connection, DISABLE_TRIGGERS.to_owned()).await?;
        connection.close().await?;
        self.restore_author(operator).await?;
        let mut author = self.connect_as_author(name).await?;
        execute(&mut author, include_str!("reverse.sql").to_owned()).await?;
        execute(&mut author, "reset search_path".to_owned()).await?;
        execute(&mut author, "analyze".to_owned()).await?;
        author.close().await
    }
}

/// Interprets the error of a script.
fn script_failed(error: &Error) -> ServerError {
    match error {
        Error::Database(_) if !errors::is_lost(error) => {
            ServerError::Scripts(errors::message(error))
        }
        Error::Protocol(what) if what.contains("CopyIn") => {
            ServerError::Scripts("`COPY … FROM STDIN` is not supported; use `INSERT`".to_owned())
        }
        _ => unreachable(error),
    }
}

/// Drops a database and its reversed copy, even while clients are connected.
async fn drop_databases(operator: &mut PgConnection, name: &str) -> Result<(), Error> {
    for name in [name, &reversed_copy(name)] {
        execute(
            operator,
            format!("drop database if exists {name} with (force)"),
        )
        .await?;
    }
    Ok(())
}

/// Drops an author. If a script of another build granted it privileges, it remains without login
/// until the server is next set up.
async fn drop_author(operator: &mut PgConnection, author: &str) {
    if let Err(error) = execute(operator, roles::drop(author)).await {
        tracing::debug!(%error, author, "cannot drop the role of a build");
        let _ = execute(operator, roles::disable(author)).await;
    }
}

/// Drops the author roles and incomplete databases of interrupted builds.
pub(super) async fn drop_leftovers(address: &Address) -> Result<(), ServerError> {
    let mut operator = address.connect_as_operator(None).await?;
    let query = "select rolname::text from pg_roles where rolname ~ '^assay_author_[0-9a-f]{40}$'";
    let authors = query_scalar(query).fetch_all(&mut operator).await;
    let authors: Vec<String> = authors.map_err(|error| unreachable(&error))?;
    for author in authors {
        let Some(name) = roles::database_of(&author) else {
            continue;
        };
        if !try_lock(&mut operator, &name).await? {
            continue;
        }
        let existing = comment(&mut operator, &name)
            .await
            .map_err(|error| unreachable(&error))?;
        if existing.as_deref() != Some(COMPLETE_MARK) {
            drop_databases(&mut operator, &name)
                .await
                .map_err(|error| unreachable(&error))?;
        }
        drop_author(&mut operator, &author).await;
        unlock(&mut operator, &name).await?;
    }
    let _ = operator.close().await;
    Ok(())
}

/// Acquires the lock of a database unless it is held.
async fn try_lock(operator: &mut PgConnection, name: &str) -> Result<bool, ServerError> {
    let free = query_scalar("select pg_try_advisory_lock($1)")
        .bind(key(name))
        .fetch_one(operator)
        .await;
    free.map_err(|error| unreachable(&error))
}

async fn unlock(operator: &mut PgConnection, name: &str) -> Result<(), ServerError> {
    let unlocked = sqlx::query("select pg_advisory_unlock($1)")
        .bind(key(name))
        .execute(operator)
        .await;
    unlocked.map(drop).map_err(|error| unreachable(&error))
}

/// Runs statements without parameters.
async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(drop)
}

/// Drops databases in the order of `oldest_first` until at most `max_databases` remain. Databases
/// in use are not dropped.
pub(super) async fn drop_excess(
    address: &Address,
    max_databases: usize,
    oldest_first: impl FnOnce(&mut Vec<String>),
) -> Result<(), ServerError> {
    let mut operator = address.connect_as_operator(None).await?;
    let query =
        "select datname::text from pg_database where datname ~ '^assay_[0-9a-f]{40}$' order by oid";
    let names = query_scalar(query).fetch_all(&mut operator).await;
    let mut names: Vec<String> = names.map_err(|error| unreachable(&error))?;
    oldest_first(&mut names);
    let mut excess = names.len().saturating_sub(max_databases);
    for name in names {
        if excess == 0 {
            break;
        }
        if !try_lock(&mut operator, &name).await? {
            continue;
        }
        // Fails while a client is connected.
        if execute(&mut operator, format!("drop database if exists {name}"))
            .await
            .is_ok()
        {
            let _ = execute(
                &mut operator,
                format!(
                    "drop database if exists {} with (force)",
                    reversed_copy(&name)
                ),
            )
            .await;
            excess -= 1;
        }
        unlock(&mut operator, &name).await?;
    }
    let _ = operator.close().await;
    Ok(())
}
