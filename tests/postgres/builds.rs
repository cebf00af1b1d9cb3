//! Scripts of a task run as the author role of their build. Changes to that role do not affect
//! other builds, the reader or the server.

use std::sync::Arc;

use serde_json::Value;

use crate::postgres::fixtures::{Service, assert_verdicts, fault, grades, node, service, task};
use crate::postgres::server::Server;

/// Scripts that change the role of their build. If the change outlasted the build, later builds
/// would fail or could not connect.
const HOSTILE: [&str; 6] = [
    "alter role current_user set default_transaction_read_only = on",
    "alter role current_user set search_path = pg_catalog",
    "alter role current_user set local_preload_libraries = 'nothing_of_this_name'",
    "alter role current_user set role = 'assay_author'",
    "alter role current_user password 'known'",
    "do $$ begin
         execute format('alter role current_user in database %I set default_transaction_read_only = on', current_database());
     end $$",
];

/// Counts the authors of running and interrupted builds.
const AUTHORS: &str = "select count(*) from pg_roles where rolname ~ '^assay_author_'";

/// A service with a server that is not shared.
async fn service_with_own_server() -> Service {
    let server = Arc::new(Server::start());
    Service {
        node: node(&server.url()).await,
        server,
    }
}

/// A task whose gold returns rows in the order of the table.
fn numbered(table: &str, script: &str) -> Value {
    let schema = format!("create table {table}(a int); {script}");
    task(
        &schema,
        &format!("insert into {table} values (1), (2), (3)"),
        &format!("select a from {table}"),
    )
}

async fn fault_of(service: &Service, task: &Value) -> String {
    let grade = grades(&service.node, task, &["select 1"]).await.remove(0);
    let fault = fault("ungradable", grade);
    fault.message
}

#[tokio::test]
async fn changes_to_a_build_role_do_not_outlast_the_build() {
    let service = service_with_own_server().await;
    for (number, script) in HOSTILE.iter().enumerate() {
        let hostile = numbered(&format!("hostile{number}"), script);
        assert_verdicts(
            &service.node,
            &hostile,
            &[(&format!("select a from hostile{number}"), "correct")],
        )
        .await;
        let later = format!("later{number}");
        assert_verdicts(
            &service.node,
            &numbered(&later, ""),
            &[(&format!("select a from {later}"), "correct")],
        )
        .await;
    }
    let settings =
        "select string_agg(distinct setrole::regrole::text, ' ') from pg_db_role_setting";
    assert_eq!(service.server.query("postgres", settings), "assay_reader");
    assert_eq!(service.server.query("postgres", AUTHORS), "0");
    service.node.stop().await;
}

#[tokio::test]
async fn reverses_rows_despite_changes_to_the_role() {
    let service = service().await;
    for (number, script) in HOSTILE.iter().enumerate() {
        let mut task = numbered(&format!("twin{number}"), script);
        task["gold"] = format!("select a from twin{number} limit 1").into();
        let message = fault_of(&service, &task).await;
        assert!(
            message.contains("when tables are read in reverse"),
            "{script}: {message}"
        );
    }
    service.node.stop().await;
}

#[tokio::test]
async fn a_failed_build_leaves_no_objects() {
    let service = service_with_own_server().await;
    let script = format!("{}; commit; select 1 / 0", HOSTILE[0]);
    let message = fault_of(&service, &numbered("failing", &script)).await;
    assert!(message.contains("division by zero"), "{message}");
    assert_eq!(service.server.query("postgres", AUTHORS), "0");
    let databases = "select count(*) from pg_database where datname ~ '^assay_[0-9a-f]{40}'";
    assert_eq!(service.server.query("postgres", databases), "0");
    assert_verdicts(
        &service.node,
        &numbered("next", ""),
        &[("select a from next", "correct")],
    )
    .await;
    service.node.stop().await;
}

/// A statement that makes a script wait until a query returns a row.
fn wait_for(query: &str) -> String {
    format!(
        "do $$ begin
             loop
                 exit when exists ({query});
                 perform count(*) from generate_series(1, 100000);
             end loop;
         end $$"
    )
}

#[tokio::test]
async fn concurrent_builds_do_not_affect_each_other() {
    let service = service_with_own_server().await;
    // The first build changes its role, and ends after the second build.
    let waiting = wait_for("select from pg_database where datname = 'second_is_done'");
    let mut first = numbered("first", &HOSTILE[..5].join("; "));
    first["database"]["rows"] = format!("insert into first values (1); {waiting}").into();
    let second = async {
        let waiting = "do $$ begin
                 for attempt in 1..3000 loop
                     exit when exists (select from pg_db_role_setting where 'search_path=pg_catalog' = any (setconfig));
                     assert attempt < 3000, 'the first build did not start';
                     perform pg_sleep(0.01);
                 end loop;
             end $$; select 'begun'";
        let server = Arc::clone(&service.server);
        let begun = tokio::task::spawn_blocking(move || server.query("postgres", waiting))
            .await
            .unwrap();
        assert_eq!(begun, "begun");
        let grade = grades(
            &service.node,
            &numbered("second", ""),
            &["select a from second"],
        )
        .await
        .remove(0);
        assert_eq!(
            service.server.query("postgres", AUTHORS),
            "1",
            "the first build ended before the second"
        );
        service
            .server
            .query("postgres", "create database second_is_done");
        grade
    };
    let (_, second) = tokio::join!(
        assert_verdicts(&service.node, &first, &[("select a from first", "correct")]),
        second
    );
    assert_eq!(second.verdict.as_deref(), Some("correct"));
    service.node.stop().await;
}

#[tokio::test]
async fn grants_to_the_role_of_another_build_do_not_block_it() {
    let service = service_with_own_server().await;
    let other = "select from pg_roles where rolname ~ '^assay_author_' and rolname <> session_user";
    let grant = "do $$ declare other name; begin
            for other in select rolname from pg_roles where rolname ~ '^assay_author_' and rolname <> session_user loop
                execute format('grant select on granting to %I', other);
            end loop;
        end $$";
    let granting = numbered("granting", &format!("{}; {grant}", wait_for(other)));
    let named = "select from pg_shdepend where refobjid = session_user::regrole and deptype = 'a' \
                 and classid = 'pg_class'::regclass";
    let granted = numbered("granted", &wait_for(named));
    tokio::join!(
        assert_verdicts(
            &service.node,
            &granting,
            &[("select a from granting", "correct")]
        ),
        assert_verdicts(
            &service.node,
            &granted,
            &[("select a from granted", "correct")]
        ),
    );
    // The role remains while the grant exists, but cannot log in.
    assert_eq!(
        service
            .server
            .query("postgres", &format!("{AUTHORS} and rolcanlogin")),
        "0"
    );
    assert_eq!(service.server.query("postgres", AUTHORS), "1");
    service.node.stop().await;
}

#[tokio::test]
async fn a_script_cannot_alter_the_reader_role_or_the_database() {
    let service = service().await;
    let on_database = |change: &str| {
        format!(
            "do $$ begin execute format('alter database %I {change}', current_database()); end $$"
        )
    };
    let rejected = [
        "alter role assay_reader set default_transaction_read_only = off".to_owned(),
        "alter role assay_reader password 'known'".to_owned(),
        "alter role assay_reader superuser".to_owned(),
        "alter role all set search_path = pg_catalog".to_owned(),
        "alter role current_user set session_preload_libraries = 'x'".to_owned(),
        "alter role current_user superuser".to_owned(),
        "alter system set work_mem = '1MB'".to_owned(),
        "set role assay_reader".to_owned(),
        "grant assay_author to assay_reader".to_owned(),
        "drop owned by assay_reader".to_owned(),
        on_database("set search_path = pg_catalog"),
        on_database("set statement_timeout = 1"),
        on_database("owner to current_user"),
    ];
    for script in rejected {
        let message = fault_of(&service, &numbered("altering", &script)).await;
        // Scripts run in a transaction, in which `alter system` is not allowed.
        let reasons = [
            "permission denied",
            "must ",
            "cannot run inside a transaction block",
        ];
        assert!(
            reasons.iter().any(|reason| message.contains(reason)),
            "{script}: {message}"
        );
    }
    service.node.stop().await;
}

#[tokio::test]
async fn objects_belong_to_a_role_that_cannot_log_in() {
    let service = service_with_own_server().await;
    let schema = "create schema apart; create table apart.kept(a int); create type mood as enum ('calm');
        create sequence s; create function one() returns int language sql as 'select 1';
        alter default privileges grant select on tables to public; create table kept(a int, b mood)";
    let task = task(
        schema,
        "insert into kept values (1, 'calm')",
        "select a from kept",
    );
    assert_verdicts(&service.node, &task, &[("select 1", "correct")]).await;
    let databases =
        "select datname from pg_database where datname ~ '^assay_[0-9a-f]{40}' order by datname";
    let databases = service.server.query("postgres", databases);
    assert_eq!(databases.lines().count(), 2);
    let owners = "select string_agg(distinct owner::regrole::text, ' ') from (
            select relowner from pg_class union all select proowner from pg_proc union all select nspowner from pg_namespace
            union all select typowner from pg_type union all select extowner from pg_extension) owned(owner)
        where owner <> 10 and owner <> 'pg_database_owner'::regrole";
    for database in databases.lines() {
        assert_eq!(
            service.server.query(database, owners),
            "assay_author",
            "{database}"
        );
        assert_eq!(
            service
                .server
                .query(database, "select count(*) from pg_default_acl"),
            "0"
        );
    }
    let can_log_in = "select rolcanlogin from pg_roles where rolname = 'assay_author'";
    assert_eq!(service.server.query("postgres", can_log_in), "f");
    service.node.stop().await;
}

#[tokio::test]
async fn drops_leftovers_of_a_crash_at_setup() {
    let service = service_with_own_server().await;
    let gone = numbered("gone", "");
    assert_verdicts(&service.node, &gone, &[("select a from gone", "correct")]).await;
    service.node.stop().await;
    // The objects that remain if a node ends while scripts run.
    let digits = "0123456789".repeat(4);
    let query = |database: &str, sql: &str| service.server.query(database, sql);
    query(
        "postgres",
        &format!("create role assay_author_{digits} login in role assay_author"),
    );
    for name in [format!("assay_{digits}"), format!("assay_{digits}_r")] {
        query(
            "postgres",
            &format!("create database {name} template assay_template_v1"),
        );
        query(
            "postgres",
            &format!("grant all on database {name} to assay_author_{digits}"),
        );
        query(
            &name,
            &format!("create table half(a int); alter table half owner to assay_author_{digits}"),
        );
    }
    let after = node(&service.server.url()).await;
    assert_verdicts(&after, &gone, &[("select a from gone", "correct")]).await;
    assert_eq!(query("postgres", AUTHORS), "0");
    assert_eq!(
        query(
            "postgres",
            &format!("select count(*) from pg_database where datname ~ '{digits}'")
        ),
        "0"
    );
    after.stop().await;
}
