//! Statements that do more than read are denied and have no effect.

use serde_json::json;

use crate::postgres::fixtures::{assert_verdicts, service, service_with, task};

const SCHEMA: &str = "create table t(a int primary key, b text); create sequence s";
const ROWS: &str = "insert into t select i, 'row ' || i from generate_series(1, 1000) i";

#[tokio::test]
async fn rejects_statements_that_do_more_than_read() {
    let service = service().await;
    let secret = service
        .server
        .file("secret", "not for you")
        .display()
        .to_string();
    let read = format!("select pg_read_file('{secret}')");
    let cases: &[(&str, &str)] = &[
        // Writing.
        ("insert into t values (0, 'x')", "denied"),
        ("update t set b = ''", "denied"),
        ("delete from t", "denied"),
        ("truncate t", "denied"),
        (
            "with gone as (delete from t returning *) select * from gone",
            "denied",
        ),
        (
            "with new as (insert into t values (0, 'x') returning a) select a from new",
            "denied",
        ),
        ("create table mine(a int)", "denied"),
        ("create temp table mine as select 1", "denied"),
        ("create view mine as select 1", "denied"),
        (
            "create function mine() returns int language sql as 'select 1'",
            "denied",
        ),
        ("create database mine", "denied"),
        ("create extension dblink", "denied"),
        ("drop table t", "denied"),
        ("alter table t disable trigger all", "denied"),
        ("select * into mine from t", "denied"),
        ("select * into temp mine from t", "denied"),
        ("select * from t for update", "denied"),
        ("select nextval('s')", "denied"),
        ("select setval('s', 5)", "denied"),
        ("do $$ begin delete from t; end $$", "denied"),
        ("call mine()", "sql_error"),
        ("lock table t", "denied"),
        ("comment on table t is 'x'", "denied"),
        ("grant all on t to public", "denied"),
        ("vacuum full t", "not_a_query"),
        ("prepare p as select 1", "not_a_query"),
        ("declare c cursor with hold for select 1", "not_a_query"),
        ("fetch all from assay", "not_a_query"),
        // Files and programs of the machine.
        ("copy t to program 'touch /tmp/assay-was-here'", "denied"),
        ("copy (select 1) to '/tmp/assay-was-here'", "denied"),
        ("copy t to stdout", "denied"),
        (&read, "denied"),
        ("select pg_read_file('/etc/passwd')", "denied"),
        ("select pg_read_binary_file('/etc/passwd', 0, 10)", "denied"),
        ("select * from pg_ls_dir('/')", "denied"),
        ("select * from pg_ls_logdir()", "denied"),
        ("select pg_stat_file('/etc/passwd')", "denied"),
        ("select lo_import('/etc/passwd')", "denied"),
        ("select lo_export(1, '/tmp/assay-was-here')", "denied"),
        ("select lo_from_bytea(0, 'x')", "denied"),
        ("select lo_create(1)", "denied"),
        ("select pg_current_logfile()", "denied"),
        ("load 'plpgsql'", "denied"),
        // Other sessions.
        ("select pg_sleep(100)", "denied"),
        ("select pg_sleep_for('1 day')", "denied"),
        ("select pg_advisory_lock(1)", "denied"),
        ("select pg_try_advisory_lock(1)", "denied"),
        (
            "select pg_terminate_backend(pid) from (select pg_backend_pid() as pid) me",
            "denied",
        ),
        (
            "select pg_terminate_backend(pid) from pg_stat_activity",
            "denied",
        ),
        ("select pg_cancel_backend(1)", "denied"),
        ("select query from pg_stat_activity", "denied"),
        ("select * from pg_locks", "denied"),
        ("select pg_notify('a', 'b')", "denied"),
        ("listen a", "denied"),
        ("select pg_reload_conf()", "denied"),
        ("select pg_export_snapshot()", "denied"),
        ("select txid_current()", "denied"),
        // Privileges and settings.
        ("select set_config('role', 'assay', false)", "denied"),
        (
            "select set_config('transaction_read_only', 'off', true)",
            "denied",
        ),
        (
            "select set_config('statement_timeout', '0', false)",
            "denied",
        ),
        ("set role assay", "denied"),
        ("set session authorization assay", "denied"),
        ("reset role", "denied"),
        ("reset all", "denied"),
        ("set transaction read write", "denied"),
        ("begin", "denied"),
        ("commit", "denied"),
        ("rollback", "denied"),
        ("alter system set port = 1", "denied"),
        (
            "update pg_settings set setting = '0' where name = 'statement_timeout'",
            "denied",
        ),
        ("select * from pg_settings", "denied"),
        ("select rolpassword from pg_authid", "denied"),
        ("select * from pg_shadow", "denied"),
        ("alter role assay_reader superuser", "denied"),
        // Functions that run queries from a text.
        (
            "select query_to_xml('select pg_read_file(''/etc/passwd'')', true, true, '')",
            "denied",
        ),
        ("select table_to_xml('t', true, true, '')", "denied"),
        ("select database_to_xml(true, true, '')", "denied"),
        ("select * from ts_stat('select 1')", "denied"),
        // Other databases.
        ("select * from other.public.t", "sql_error"),
        (
            "select * from dblink('dbname=postgres', 'select 1') as d(a int)",
            "sql_error",
        ),
        // Several statements.
        ("select a from t; drop table t", "several_statements"),
        (
            "select a from t; commit; drop table t",
            "several_statements",
        ),
        ("commit; drop table t", "several_statements"),
        // Results that exceed limits.
        ("select generate_series(1, 100000000000)", "row_limit"),
        ("select a.* from t a, t b", "row_limit"),
        ("select repeat('x', 1000) from t", "row_limit"),
        ("select repeat('x', 10000000) from t", "memory_limit"),
        (
            "select string_agg(repeat('x', 10000000), '') from t",
            "memory_limit",
        ),
        ("select repeat('x', 1000000000)", "memory_limit"),
        ("select repeat('x', 2000000000)", "length_limit"),
    ];
    let mut gold = task(SCHEMA, ROWS, "select count(*) from t");
    gold["limits"] = json!({"rows": 2000, "bytes": 1_000_000});
    assert_verdicts(&service.node, &gold, cases).await;
    let long = format!("select '{}'", "x".repeat(100_000));
    assert_verdicts(&service.node, &gold, &[(&long, "length_limit")]).await;

    // None of the statements had an effect.
    let databases = service.server.query(
        "postgres",
        "select datname from pg_database where datname ~ '^assay_[0-9a-f]{40}$'",
    );
    for database in databases.lines() {
        let others = "select count(*) from pg_class where relnamespace = 'public'::regnamespace \
                      and relname = 'mine'";
        assert_eq!(service.server.query(database, others), "0");
        let is_ours = service
            .server
            .query(database, "select to_regclass('s') is not null");
        if is_ours == "t" {
            let state = "select count(*), sum(a), (select last_value from s), (select is_called \
                         from s) from t";
            assert_eq!(service.server.query(database, state), "1000|500500|1|f");
        }
        assert_eq!(
            service
                .server
                .query(database, "select count(*) from pg_largeobject_metadata"),
            "0"
        );
    }
    assert!(!std::path::Path::new("/tmp/assay-was-here").exists());
    assert_verdicts(
        &service.node,
        &gold,
        &[("select count(a) from t", "correct")],
    )
    .await;
    service.node.stop().await;
}

#[tokio::test]
async fn cancels_statements_that_take_too_long() {
    let service = service_with(|sql| sql.statement_seconds = 1).await;
    let cases = [
        ("select count(*) from t a, t b, t c, t d", "step_limit"),
        (
            "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from \
             n",
            "step_limit",
        ),
        (
            "select a.a from t a, t b, t c order by md5(a.b || b.b || c.b)",
            "step_limit",
        ),
        (
            "select a.a from t a, t b, t c where sqrt(a.a * b.a * c.a) < 0",
            "step_limit",
        ),
        ("select factorial(32000)", "step_limit"),
    ];
    assert_verdicts(&service.node, &task(SCHEMA, ROWS, "select 1"), &cases).await;
    service.node.stop().await;
}
