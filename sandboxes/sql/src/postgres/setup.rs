//! Sets up a server for databases of tasks: roles, and the template of the databases.

use assay_worker::query::ServerError;
use sqlx::{AssertSqlSafe, Connection, Error, PgConnection, query_as, query_scalar, raw_sql};

use super::connect::{Address, unreachable};
use super::passwords::Passwords;
use super::roles;

/// The template of all databases. Its version is increased when its content changes.
pub(super) const TEMPLATE: &str = "assay_template_v1";

/// Comment that marks a complete database.
pub(super) const COMPLETE_MARK: &str = "assay 1";

/// Minimum version of the server. Older servers do not end statements of disconnected clients.
const MIN_VERSION: i32 = 140_000;

/// Key of the advisory lock that is held while a server is set up.
const LOCK: i64 = 0x6173_7361_7920_7631;

/// Creates a role with a random password that is not stored elsewhere. The hash of the password in
/// the server is a secret that only superusers can read.
const SECRET: &str = "do $$ begin
    if not exists (select from pg_roles where rolname = 'assay_key') then
        execute format('create role assay_key nologin password %L', gen_random_uuid()::text || gen_random_uuid()::text);
    end if;
end $$";

/// Settings that keep passwords out of the server's log.
pub(super) const UNLOGGED: &str = "set log_statement = 'none'; set log_min_error_statement = \
                                   'panic'; set log_min_duration_statement = -1";

/// Creates the roles and the template unless they exist.
///
/// # Errors
/// If the server is unreachable, too old, or the role of the URL is not a superuser.
pub(super) async fn set_up(address: &Address) -> Result<Passwords, ServerError> {
    let mut operator = address.connect_as_operator(None).await?;
    let query = "select current_setting('is_superuser') = 'on', \
                 current_setting('server_version_num')::int, current_user::text";
    let (is_superuser, version, user): (bool, i32, String) = query_as(query)
        .fetch_one(&mut operator)
        .await
        .map_err(|error| unreachable(&error))?;
    if version < MIN_VERSION {
        let message = format!(
            "the server runs PostgreSQL {}; use version {} or later",
            version / 10_000,
            MIN_VERSION / 10_000
        );
        return Err(ServerError::Unreachable(message));
    }
    if !is_superuser {
        return Err(ServerError::Unreachable(format!(
            "the role `{user}` of `sql.postgres` is not a superuser, so it cannot revoke privileges; \
             use a server without other data, and set `sql.postgres` to the URL of a superuser"
        )));
    }
    let passwords = create(&mut operator, address)
        .await
        .map_err(|error| unreachable(&error))?;
    let _ = operator.close().await;
    Ok(passwords)
}

async fn create(operator: &mut PgConnection, address: &Address) -> Result<Passwords, Error> {
    raw_sql(UNLOGGED).execute(&mut *operator).await?;
    lock(operator, LOCK).await?;
    raw_sql(SECRET).execute(&mut *operator).await?;
    let secret: String =
        query_scalar("select rolpassword from pg_authid where rolname = 'assay_key'")
            .fetch_optional(&mut *operator)
            .await?
            .flatten()
            .ok_or_else(|| {
                Error::Configuration("the role `assay_key` has no password; drop the role".into())
            })?;
    let passwords = Passwords::new(secret);
    raw_sql(AssertSqlSafe(roles::create_reader_and_owner(&passwords)))
        .execute(&mut *operator)
        .await?;
    if comment(operator, TEMPLATE).await?.as_deref() != Some(COMPLETE_MARK) {
        create_template(operator, address).await?;
    }
    Ok(passwords)
}

/// Acquires an advisory lock, which is released when the connection ends.
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

async fn create_template(operator: &mut PgConnection, address: &Address) -> Result<(), Error> {
    let drop = format!("drop database if exists {TEMPLATE} with (force)");
    raw_sql(AssertSqlSafe(drop)).execute(&mut *operator).await?;
    let create = |ctype: &str| {
        format!(
            "create database {TEMPLATE} template template0 encoding 'UTF8' lc_collate 'C' \
             lc_ctype '{ctype}'"
        )
    };
    // Texts are sorted by their bytes on every system. Not every system has the locale `C.UTF-8`,
    // which classifies letters beyond ASCII.
    let created = raw_sql(AssertSqlSafe(create("C.UTF-8")))
        .execute(&mut *operator)
        .await;
    if created.is_err() {
        raw_sql(AssertSqlSafe(create("C")))
            .execute(&mut *operator)
            .await?;
    }
    let mut connection = address
        .connect(&super::connect::Role::Operator, Some(TEMPLATE))
        .await?;
    raw_sql(include_str!("template.sql"))
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    let finish = format!(
        "revoke all on database {TEMPLATE} from public; alter database {TEMPLATE} allow_connections false;
         comment on database {TEMPLATE} is '{COMPLETE_MARK}'"
    );
    raw_sql(AssertSqlSafe(finish))
        .execute(&mut *operator)
        .await
        .map(|_| ())
}
