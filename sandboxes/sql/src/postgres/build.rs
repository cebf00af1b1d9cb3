//! Databases of tasks: built from the template and the task's scripts, found by a hash of their
//! sources, dropped when there are too many. Each has a copy with its rows in reverse order.

use std::time::Duration;

use assay_worker::query::ServerError;
use sqlx::{AssertSqlSafe, Connection, Error, PgConnection, query_scalar, raw_sql};

use super::connect::{Address, Keys, Role, unreachable};
use super::setup::{MARK, TEMPLATE, UNLOGGED, comment, lock};
use super::{ends, roles};

/// Time limit of all scripts of a database.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Makes the objects that scripts created readable.
const OPEN: &str = "do $$ declare schema_name name; begin
    for schema_name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
        execute format('grant usage on schema %I to assay_reader', schema_name);
        execute format('grant select on all tables in schema %I to assay_reader', schema_name);
    end loop;
end $$";

/// Allows rows to be reordered without a trigger. A reversed copy is only read.
const LOOSEN: &str = "do $$ declare relation regclass; begin
    for relation in select oid from pg_class where relkind = 'r' and relnamespace::regnamespace::text !~ '^pg_'
        and relnamespace <> 'information_schema'::regnamespace
    loop
        execute format('alter table only %s disable trigger all', relation);
    end loop;
end $$";

/// The name of the reversed copy of a database.
pub(super) fn twin(name: &str) -> String {
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
    keys: &Keys,
    name: &str,
    scripts: &[String],
) -> Result<(), ServerError> {
    let mut operator = address.operate(None).await?;
    lock(&mut operator, key(name))
        .await
        .map_err(|error| unreachable(&error))?;
    let known = comment(&mut operator, name)
        .await
        .map_err(|error| unreachable(&error))?;
    if known.as_deref() != Some(MARK) {
        let author = roles::author_of(name);
        let made = Build {
            address,
            keys,
            name,
            author: &author,
        }
        .make(&mut operator, scripts)
        .await;
        if made.is_err() {
            let _ = drop_databases(&mut operator, name).await;
        }
        drop_author(&mut operator, &author).await;
        made?;
    }
    let _ = operator.close().await;
    Ok(())
}

/// A database that is being built.
struct Build<'a> {
    address: &'a Address,
    keys: &'a Keys,
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
        let twin = twin(self.name);
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
        self.hand_over()
            .await
            .map_err(|error| unreachable(&error))?;
        self.copy(operator, self.name, &twin)
            .await
            .map_err(|error| unreachable(&error))?;
        if let Err(error) = self.reverse(operator, &twin).await {
            tracing::debug!(%error, database = self.name, "rows could not be reversed");
        }
        ask(operator, roles::disable(self.author))
            .await
            .map_err(|error| unreachable(&error))?;
        for name in [&twin, self.name] {
            let end = format!(
                "revoke all on database {name} from {}; alter database {name} reset all;
                 grant connect on database {name} to {}; comment on database {name} is '{MARK}'",
                self.author,
                roles::READER
            );
            ask(operator, end)
                .await
                .map_err(|error| unreachable(&error))?;
        }
        Ok(())
    }

    /// Creates the author role, and a database for it.
    async fn begin(&self, operator: &mut PgConnection) -> Result<(), Error> {
        ask(operator, UNLOGGED.to_owned()).await?;
        // Left by an interrupted build.
        drop_databases(operator, self.name).await?;
        self.restore_author(operator).await?;
        self.copy(operator, TEMPLATE, self.name).await
    }

    /// Needed before each of its connections: a script may have changed its password and settings.
    async fn restore_author(&self, operator: &mut PgConnection) -> Result<(), Error> {
        ask(operator, roles::author(self.author, self.keys)).await
    }

    /// Copies a database that only the author can access.
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
            ask(operator, sql).await?;
        }
        Ok(())
    }

    async fn as_author(&self, database: &str) -> Result<PgConnection, Error> {
        self.address
            .connect(&Role::Author(self.keys, self.author), Some(database))
            .await
    }

    /// Runs scripts, and collects statistics for the planner.
    async fn run(
        &self,
        operator: &mut PgConnection,
        scripts: &[String],
    ) -> Result<(), ServerError> {
        let mut author = self
            .as_author(self.name)
            .await
            .map_err(|error| unreachable(&error))?;
        for script in scripts {
            ask(&mut author, script.clone())
                .await
                .map_err(|error| script_failed(&error))?;
        }
        let _ = author.close().await;
        self.restore_author(operator)
            .await
            .map_err(|error| unreachable(&error))?;
        let mut author = self
            .as_author(self.name)
            .await
            .map_err(|error| unreachable(&error))?;
        // As the author, because this runs functions in indexes. If one fails, the planner has no
        // statistics.
        if let Err(error) = ask(&mut author, "analyze".to_owned()).await
            && ends::is_lost(&error)
        {
            return Err(unreachable(&error));
        }
        let _ = author.close().await;
        Ok(())
    }

    /// Makes the author's objects readable, and transfers them to the owner.
    async fn hand_over(&self) -> Result<(), Error> {
        let mut inside = self
            .address
            .connect(&Role::Operator, Some(self.name))
            .await?;
        ask(&mut inside, OPEN.to_owned()).await?;
        ask(&mut inside, roles::hand_over(self.author)).await?;
        // A database cannot be copied while someone is connected to it.
        inside.close().await
    }

    /// Reverses the rows of each table, as the author, because tables may run functions of the
    /// task.
    async fn reverse(&self, operator: &mut PgConnection, name: &str) -> Result<(), Error> {
        let mut inside = self.address.connect(&Role::Operator, Some(name)).await?;
        ask(&mut inside, LOOSEN.to_owned()).await?;
        inside.close().await?;
        self.restore_author(operator).await?;
        let mut author = self.as_author(name).await?;
        ask(&mut author, include_str!("reverse.sql").to_owned()).await?;
        ask(&mut author, "reset search_path".to_owned()).await?;
        ask(&mut author, "analyze".to_owned()).await?;
        author.close().await
    }
}

/// Interprets the error of a script.
fn script_failed(error: &Error) -> ServerError {
    match error {
        Error::Database(_) if !ends::is_lost(error) => ServerError::Scripts(ends::message(error)),
        Error::Protocol(what) if what.contains("CopyIn") => {
            ServerError::Scripts("`COPY … FROM STDIN` has no input here; use `INSERT`".to_owned())
        }
        _ => unreachable(error),
    }
}

/// Drops a database and its reversed copy, even while clients are connected.
async fn drop_databases(operator: &mut PgConnection, name: &str) -> Result<(), Error> {
    for name in [name, &twin(name)] {
        ask(
            operator,
            format!("drop database if exists {name} with (force)"),
        )
        .await?;
    }
    Ok(())
}

/// Drops an author. If a script of another build granted it something, it stays, without login,
/// until the server is next set up.
async fn drop_author(operator: &mut PgConnection, author: &str) {
    if let Err(error) = ask(operator, roles::drop(author)).await {
        tracing::debug!(%error, author, "the role of a build could not be dropped");
        let _ = ask(operator, roles::disable(author)).await;
    }
}

/// Drops leftovers of interrupted builds: their author roles and incomplete databases.
pub(super) async fn drop_left_over(address: &Address) -> Result<(), ServerError> {
    let mut operator = address.operate(None).await?;
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
        let known = comment(&mut operator, &name)
            .await
            .map_err(|error| unreachable(&error))?;
        if known.as_deref() != Some(MARK) {
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

async fn ask(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(drop)
}

/// Drops databases beyond the limit, in the order of `oldest_first`. Databases
/// in use remain.
pub(super) async fn drop_beyond(
    address: &Address,
    most: usize,
    oldest_first: impl FnOnce(&mut Vec<String>),
) -> Result<(), ServerError> {
    let mut operator = address.operate(None).await?;
    let query =
        "select datname::text from pg_database where datname ~ '^assay_[0-9a-f]{40}$' order by oid";
    let names = query_scalar(query).fetch_all(&mut operator).await;
    let mut names: Vec<String> = names.map_err(|error| unreachable(&error))?;
    oldest_first(&mut names);
    let mut beyond = names.len().saturating_sub(most);
    for name in names {
        if beyond == 0 {
            break;
        }
        if !try_lock(&mut operator, &name).await? {
            continue;
        }
        // Fails while somebody is connected.
        if ask(&mut operator, format!("drop database if exists {name}"))
            .await
            .is_ok()
        {
            let _ = ask(
                &mut operator,
                format!("drop database if exists {} with (force)", twin(&name)),
            )
            .await;
            beyond -= 1;
        }
        unlock(&mut operator, &name).await?;
    }
    let _ = operator.close().await;
    Ok(())
}
