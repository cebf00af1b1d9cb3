//! Databases of tasks: made from the template and the task's scripts, found again by what they are made of, dropped when there are
//! too many. Each has a twin that holds its rows in reverse.

use std::time::Duration;

use assay_cell::query::ServerError;
use sqlx::{AssertSqlSafe, Connection, Error, PgConnection, query_scalar, raw_sql};

use super::connect::{AUTHOR, Address, Keys, READER, Role, unreachable};
use super::ends;
use super::setup::{MARK, TEMPLATE, comment, lock};

/// Time all scripts of a database may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes what scripts made readable, and tells the planner about it.
const OPEN: &str = "do $$ declare schema_name name; begin
    for schema_name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
        execute format('grant usage on schema %I to assay_reader', schema_name);
        execute format('grant select on all tables in schema %I to assay_reader', schema_name);
    end loop;
end $$; analyze";

/// Lets rows be put in another order without a trigger. A twin is only read.
const LOOSEN: &str = "do $$ declare relation regclass; begin
    for relation in select oid from pg_class where relkind = 'r' and relnamespace::regnamespace::text !~ '^pg_'
        and relnamespace <> 'information_schema'::regnamespace
    loop
        execute format('alter table only %s disable trigger all', relation);
    end loop;
end $$";

/// The name of the twin of a database.
pub(super) fn twin(name: &str) -> String {
    format!("{name}_r")
}

/// The name of a database made of these scripts.
pub(super) fn name(scripts: &[String]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("assay 2026-11 database of PostgreSQL, version 1");
    for script in scripts {
        hasher.update(&(script.len() as u64).to_le_bytes()).update(script.as_bytes());
    }
    format!("assay_{}", &hasher.finalize().to_hex()[..40])
}

/// The key of the lock under which a database is made and dropped.
fn key(name: &str) -> i64 {
    let hash = blake3::hash(name.as_bytes());
    i64::from_le_bytes(std::array::from_fn(|at| hash.as_bytes()[at]))
}

/// Makes a database, unless it is there and whole.
pub(super) async fn build(address: &Address, keys: &Keys, name: &str, scripts: &[String]) -> Result<(), ServerError> {
    let mut operator = address.operate(None).await?;
    lock(&mut operator, key(name)).await.map_err(|error| unreachable(&error))?;
    let known = comment(&mut operator, name).await.map_err(|error| unreachable(&error))?;
    if known.as_deref() != Some(MARK) {
        let made = make(&mut operator, address, keys, name, scripts).await;
        if made.is_err() {
            for name in [name, &twin(name)] {
                let _ = ask(&mut operator, format!("drop database if exists {name} with (force)")).await;
            }
        }
        made?;
    }
    let _ = operator.close().await;
    Ok(())
}

async fn make(
    operator: &mut PgConnection,
    address: &Address,
    keys: &Keys,
    name: &str,
    scripts: &[String],
) -> Result<(), ServerError> {
    let twin = twin(name);
    copy(operator, TEMPLATE, name).await.map_err(|error| unreachable(&error))?;
    let running = run(address, keys, name, scripts);
    let ran = tokio::time::timeout(PATIENCE, running).await;
    ran.unwrap_or_else(|_| Err(ServerError::Scripts(format!("the scripts take more than {} s", PATIENCE.as_secs()))))?;
    let mut inside = address.operate(Some(name)).await?;
    ask(&mut inside, OPEN.to_owned()).await.map_err(|error| unreachable(&error))?;
    // Nobody else may be connected to what is copied.
    inside.close().await.map_err(|error| unreachable(&error))?;
    copy(operator, name, &twin).await.map_err(|error| unreachable(&error))?;
    if let Err(error) = reverse(address, keys, &twin).await {
        tracing::debug!(%error, database = name, "rows could not be put in reverse");
    }
    for name in [&twin, name] {
        let end = format!(
            "revoke all on database {name} from {AUTHOR}; grant connect on database {name} to {READER};
             comment on database {name} is '{MARK}'"
        );
        ask(operator, end).await.map_err(|error| unreachable(&error))?;
    }
    Ok(())
}

/// Makes a database like another, for the author alone.
async fn copy(operator: &mut PgConnection, of: &str, name: &str) -> Result<(), Error> {
    let steps = [
        format!("drop database if exists {name} with (force)"),
        format!("create database {name} template {of}"),
        format!(
            "revoke all on database {name} from public; grant connect, create, temp on database {name} to {AUTHOR}"
        ),
    ];
    for sql in steps {
        ask(operator, sql).await?;
    }
    Ok(())
}

/// Puts the rows of each table in reverse, as the role that owns them: what a table computes is the task's.
async fn reverse(address: &Address, keys: &Keys, name: &str) -> Result<(), Error> {
    let mut inside = address.connect(&Role::Operator, Some(name)).await?;
    ask(&mut inside, LOOSEN.to_owned()).await?;
    let mut author = address.connect(&Role::Author(keys), Some(name)).await?;
    ask(&mut author, include_str!("reverse.sql").to_owned()).await?;
    author.close().await?;
    ask(&mut inside, "analyze".to_owned()).await?;
    inside.close().await
}

/// Runs scripts as the role that owns what they make.
async fn run(address: &Address, keys: &Keys, name: &str, scripts: &[String]) -> Result<(), ServerError> {
    let connected = address.connect(&Role::Author(keys), Some(name)).await;
    let mut author = connected.map_err(|error| unreachable(&error))?;
    for script in scripts {
        if let Err(error) = ask(&mut author, script.clone()).await {
            return Err(match &error {
                Error::Database(_) if !ends::is_lost(&error) => ServerError::Scripts(ends::message(&error)),
                Error::Protocol(what) if what.contains("CopyIn") => {
                    ServerError::Scripts("`COPY … FROM STDIN` brings no rows here; insert them".to_owned())
                }
                _ => unreachable(&error),
            });
        }
    }
    let _ = author.close().await;
    Ok(())
}

async fn ask(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

/// Drops databases beyond the most there may be, first those that `oldest_first` puts first. Those in use stay.
pub(super) async fn drop_beyond(
    address: &Address,
    most: usize,
    oldest_first: impl FnOnce(&mut Vec<String>),
) -> Result<(), ServerError> {
    let mut operator = address.operate(None).await?;
    let asked = "select datname::text from pg_database where datname ~ '^assay_[0-9a-f]{40}$' order by oid";
    let names = query_scalar(asked).fetch_all(&mut operator).await;
    let mut names: Vec<String> = names.map_err(|error| unreachable(&error))?;
    oldest_first(&mut names);
    let mut beyond = names.len().saturating_sub(most);
    for name in names {
        if beyond == 0 {
            break;
        }
        let free = query_scalar("select pg_try_advisory_lock($1)").bind(key(&name)).fetch_one(&mut operator).await;
        if !free.map_err(|error| unreachable(&error))? {
            continue;
        }
        // Fails while somebody is connected.
        if ask(&mut operator, format!("drop database if exists {name}")).await.is_ok() {
            let _ = ask(&mut operator, format!("drop database if exists {} with (force)", twin(&name))).await;
            beyond -= 1;
        }
        let unlocked = sqlx::query("select pg_advisory_unlock($1)").bind(key(&name)).execute(&mut operator).await;
        unlocked.map_err(|error| unreachable(&error))?;
    }
    let _ = operator.close().await;
    Ok(())
}
