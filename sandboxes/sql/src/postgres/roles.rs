//! Roles on the server. The reader runs statements on all databases. Each build has a separate
//! author role that exists only during the build, so that settings, passwords and grants of a
//! script do not affect other builds. After the build, its objects belong to an owner that cannot
//! log in.

use super::passwords::Passwords;

/// Owns the objects that scripts created. Authors are members of it, so that `pg_hba.conf` can
/// refer to them.
pub(super) const OWNER: &str = "assay_author";

/// Runs statements; it can only read.
pub(super) const READER: &str = "assay_reader";

const ATTRIBUTES: &str = "nosuperuser nocreatedb nocreaterole noreplication nobypassrls";

type Settings = [(&'static str, &'static str)];

const LOGIN_SETTINGS: &Settings = &[
    ("lc_messages", "'C'"),
    ("timezone", "'UTC'"),
    ("datestyle", "'ISO, MDY'"),
    ("intervalstyle", "'postgres'"),
    ("bytea_output", "'hex'"),
    ("extra_float_digits", "1"),
    ("standard_conforming_strings", "on"),
    ("client_connection_check_interval", "'1s'"),
    ("idle_in_transaction_session_timeout", "'60s'"),
    ("lock_timeout", "'10s'"),
    ("jit", "off"),
];

const READER_SETTINGS: &Settings = &[
    ("search_path", "public"),
    ("default_transaction_read_only", "on"),
    ("work_mem", "'64MB'"),
    ("hash_mem_multiplier", "1"),
    ("temp_file_limit", "'128MB'"),
    ("max_parallel_workers_per_gather", "0"),
    // Cursors are always read to the end.
    ("cursor_tuple_fraction", "1"),
];

const AUTHOR_SETTINGS: &Settings = &[("statement_timeout", "'60s'"), ("temp_file_limit", "'1GB'")];

/// The author of a database.
pub(super) fn author_of(database: &str) -> String {
    format!(
        "{OWNER}_{}",
        database.strip_prefix("assay_").unwrap_or(database)
    )
}

/// The database of an author.
pub(super) fn database_of(author: &str) -> Option<String> {
    author
        .strip_prefix(OWNER)?
        .strip_prefix('_')
        .map(|digits| format!("assay_{digits}"))
}

/// SQL that creates or resets the reader and the owner. It is sent as one message, and so runs as
/// one transaction.
pub(super) fn create_reader_and_owner(passwords: &Passwords) -> String {
    // An owner with correct attributes is not altered, because the script of a running build may
    // have locked it.
    let owner = format!(
        "do $$ begin
             if not exists (select from pg_roles where rolname = '{OWNER}') then
                 create role {OWNER};
             elsif exists (select from pg_roles where rolname = '{OWNER}'
                 and (rolcanlogin or rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls)) then
                 alter role {OWNER} nologin {ATTRIBUTES};
             end if;
         end $$;"
    );
    format!(
        "{owner} {} alter role {READER} noinherit;",
        create_or_reset(READER, passwords, READER_SETTINGS)
    )
}

/// SQL that creates or resets the author of a build, and reverts changes by its scripts.
pub(super) fn create_author(name: &str, passwords: &Passwords) -> String {
    format!(
        "{} grant {OWNER} to {name};",
        create_or_reset(name, passwords, AUTHOR_SETTINGS)
    )
}

/// SQL that creates a role that can log in, or resets its attributes, password and settings,
/// including settings for single databases.
fn create_or_reset(name: &str, passwords: &Passwords, settings: &Settings) -> String {
    let mut sql = format!(
        "do $$ declare database_name name; begin
             if not exists (select from pg_roles where rolname = '{name}') then create role {name}; end if;
             for database_name in select datname from pg_db_role_setting join pg_database on pg_database.oid = setdatabase
                 where setrole = '{name}'::regrole
             loop
                 execute format('alter role {name} in database %I reset all', database_name);
             end loop;
         end $$;
         alter role {name} login {ATTRIBUTES} password '{}'; alter role {name} reset all;",
        passwords.password(name)
    );
    for (setting, value) in LOGIN_SETTINGS.iter().chain(settings) {
        sql += &format!("alter role {name} set {setting} = {value};");
    }
    sql
}

/// SQL that transfers the author's objects in the connected database to the owner, and drops the
/// author's privileges there.
pub(super) fn transfer_to_owner(author: &str) -> String {
    format!("reassign owned by {author} to {OWNER}; drop owned by {author}")
}

/// SQL that prevents an author from logging in.
pub(super) fn disable(author: &str) -> String {
    format!("alter role {author} nologin password null")
}

/// SQL that drops an author. It fails while a grant in another database refers to the author.
pub(super) fn drop(author: &str) -> String {
    format!("set local lock_timeout = '2s'; drop role if exists {author}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_and_databases_map_to_each_other() {
        let database = "assay_0123456789012345678901234567890123456789";
        let author = author_of(database);
        assert_eq!(
            author,
            "assay_author_0123456789012345678901234567890123456789"
        );
        assert_eq!(database_of(&author).as_deref(), Some(database));
        assert_eq!([database_of(OWNER), database_of(READER)], [None, None]);
    }
}
