//! Sets a server up before the first database of a task: roles and the template.

use assay_worker::query::ServerError;
use sqlx::{AssertSqlSafe, Connection, Error, PgConnection, query_as, query_scalar, raw_sql};

use super::connect::{Address, Keys, unreachable};
use super::roles;

/// The template of databases. Its number is increased when its content changes.
pub(super) const TEMPLATE: &str = "assay_template_v1";

/// Comment of a complete database.
pub(super) const MARK: &str = "assay 1";

/// Oldest supported server: it ends statements of disconnected clients.
const OLDEST: i32 = 140_000;

/// Key of the lock under which a server is set up.
const LOCK: i64 = 0x6173_7361_7920_7631;

/// A role with a random password. The server stores its hash, a secret that only superusers
/// can read.
const SECRET: &str = "do $$ begin
    if not exists (select from pg_roles where rolname = 'assay_key') then
        execute format('create role assay_key nologin password %L', gen_random_uuid()::text || gen_random_uuid()::text);
    end if;
end $$";

/// Settings that keep passwords out of the server's log.
pub(super) const UNLOGGED: &str = "set log_statement = 'none'; set log_min_error_statement = \
                                   'panic'; set log_min_duration_statement = -1";

/// Creates roles and the template unless they exist.
pub(super) async fn set_up(address: &Address) -> Result<Keys, ServerError> {
    let mut operator = address.operate(None).await?;
    let query = "select current_setting('is_superuser') = 'on', \
                 current_setting('server_version_num')::int, current_user::text";
    let (is_superuser, version, user): (bool, i32, String) = query_as(query)
        .fetch_one(&mut operator)
        .await
        .map_err(|error| unreachable(&error))?;
    if version < OLDEST {
        let message = format!(
            "it is PostgreSQL {}; {} or later is needed",
            version / 10_000,
            OLDEST / 10_000
        );
        return Err(ServerError::Unreachable(message));
    }
    if !is_superuser {
        return Err(ServerError::Unreachable(format!(
            "the role `{user}` of `sql.postgres` is no superuser, so that it cannot take rights \
             from queries; set a server aside that holds nothing else, and name a superuser of it"
        )));
    }
    let keys = make(&mut operator, address)
        .await
        .map_err(|error| unreachable(&error))?;
    let _ = operator.close().await;
    Ok(keys)
}

async fn make(operator: &mut PgConnection, address: &Address) -> Result<Keys, Error> {
    raw_sql(UNLOGGED).execute(&mut *operator).await?;
    lock(operator, LOCK).await?;
    raw_sql(SECRET).execute(&mut *operator).await?;
    let secret: String =
        query_scalar("select rolpassword from pg_authid where rolname = 'assay_key'")
            .fetch_optional(&mut *operator)
            .await?
            .flatten()
            .ok_or_else(|| {
                Error::Configuration("the role `assay_key` has no password; drop it".into())
            })?;
    let keys = Keys::new(secret);
    raw_sql(AssertSqlSafe(roles::of_all_builds(&keys)))
        .execute(&mut *operator)
        .await?;
    if comment(operator, TEMPLATE).await?.as_deref() != Some(MARK) {
        template(operator, address).await?;
    }
    Ok(keys)
}

/// Acquires a lock that is released with the connection.
pub(super) async fn lock(connection: &mut PgConnection, key: i64) -> Result<(), Error> {
    sqlx::query("select pg_advisory_lock($1)")
        .bind(key)
        .execute(connection)
        .await
        .map(drop)
}

/// The comment of a database.
pub(super) async fn comment(
    operator: &mut PgConnection,
    database: &str,
) -> Result<Option<String>, Error> {
    let query = "select shobj_description(oid, 'pg_database') from pg_database where datname = $1";
    let found: Option<Option<String>> = query_scalar(query)
        .bind(database)
        .fetch_optional(operator)
        .await?;
    Ok(found.flatten())
}

async fn template(operator: &mut PgConnection, address: &Address) -> Result<(), Error> {
    let drop = format!("drop database if exists {TEMPLATE} with (force)");
    raw_sql(AssertSqlSafe(drop)).execute(&mut *operator).await?;
    let create = |ctype: &str| {
        format!(
            "create database {TEMPLATE} template template0 encoding 'UTF8' lc_collate 'C' \
             lc_ctype '{ctype}'"
        )
    };
    // Texts sort by their bytes on every system. Not every system has the other collations.
    let made = raw_sql(AssertSqlSafe(create("C.UTF-8")))
        .execute(&mut *operator)
        .await;
    if made.is_err() {
        raw_sql(AssertSqlSafe(create("C")))
            .execute(&mut *operator)
            .await?;
    }
    let mut inside = address
        .connect(&super::Role::Operator, Some(TEMPLATE))
        .await?;
    raw_sql(include_str!("template.sql"))
        .execute(&mut inside)
        .await?;
    inside.close().await?;
    let finish = format!(
        "revoke all on database {TEMPLATE} from public; alter database {TEMPLATE} allow_connections false;
         comment on database {TEMPLATE} is '{MARK}'"
    );
    raw_sql(AssertSqlSafe(finish))
        .execute(&mut *operator)
        .await
        .map(|_| ())
}
