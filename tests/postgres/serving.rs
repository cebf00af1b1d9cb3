//! How a node uses the server: it builds databases once, drops the least recently used ones, and
//! closes connections.

use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};

use crate::postgres::fixtures::{assert_verdicts, grades, node, node_with, service, task};
use crate::postgres::server::Server;

#[tokio::test]
async fn postgres_statements_are_not_cached() {
    let service = service().await;
    let task = task(
        "create table once(a int)",
        "insert into once values (1)",
        "select a from once",
    );
    for _ in 0..2 {
        let grade = grades(&service.node, &task, &["select 1"]).await.remove(0);
        assert!(grade.outcome == "graded" && !grade.cached);
    }
    service.node.stop().await;
}

#[tokio::test]
async fn nodes_share_a_server() {
    let service = service().await;
    let other = node(&service.server.url()).await;
    let task = task(
        "create table shared(a int)",
        "insert into shared values (1), (2)",
        "select a from shared",
    );
    let cases = [("select * from shared", "correct"); 20];
    tokio::join!(
        assert_verdicts(&service.node, &task, &cases),
        assert_verdicts(&other, &task, &cases)
    );
    let built = "select count(*) from pg_stat_database where datname ~ '^assay_[0-9a-f]{40}$'";
    assert!(
        service
            .server
            .query("postgres", built)
            .parse::<u32>()
            .unwrap()
            > 0
    );
    other.stop().await;
    service.node.stop().await;
}

#[tokio::test]
async fn rebuilds_a_dropped_database() {
    let service = service().await;
    let tasks: Vec<_> = (0..4)
        .map(|number| {
            let rows = format!("insert into numbered{number} values ({number})");
            task(
                &format!("create table numbered{number}(a int)"),
                &rows,
                &format!("select a from numbered{number}"),
            )
        })
        .collect();
    // The limit is lower than the number of databases, so that each build drops the others.
    let limited = node_with(&service.server.url(), |sql| sql.postgres_databases = 1).await;
    for _ in 0..2 {
        for (number, task) in tasks.iter().enumerate() {
            assert_verdicts(&limited, task, &[(&format!("select {number}"), "correct")]).await;
        }
    }
    limited.stop().await;
    service.node.stop().await;
}

#[tokio::test]
async fn concurrent_statements_release_their_connections() {
    let service = service().await;
    let task = task(
        "create table many(a int)",
        "insert into many values (1)",
        "select a from many",
    );
    let cases: Vec<_> = [
        ("select 1", "correct"),
        ("select generate_series(1, 1000000000)", "row_limit"),
    ]
    .into_iter()
    .cycle()
    .take(100)
    .collect();
    assert_verdicts(&service.node, &task, &cases).await;
    service.node.stop().await;
    let database = "select datname from pg_database where datname ~ '^assay_[0-9a-f]{40}$' order \
                    by oid desc limit 1";
    let database = service.server.query("postgres", database);
    // Waits until the server has ended the remaining connections, which takes a second.
    let gone = format!(
        "do $$ begin for attempt in 1..500 loop
             perform pg_stat_clear_snapshot();
             exit when not exists (select from pg_stat_activity where datname = '{database}' and usename = 'assay_reader');
             assert attempt < 500, 'connections remain open';
             perform pg_sleep(0.01);
         end loop; end $$; select 'gone'"
    );
    assert_eq!(service.server.query("postgres", &gone), "gone");
}

/// Waits until a statement runs, and returns the id of the server process that runs it.
const RUNNING: &str = "do $$ begin
        for attempt in 1..3000 loop
            perform pg_stat_clear_snapshot();
            exit when exists (select from pg_stat_activity where usename = 'assay_reader' and query like 'fetch forward%');
            perform pg_sleep(0.01);
        end loop;
    end $$;
    select pid from pg_stat_activity where usename = 'assay_reader' and query like 'fetch forward%' limit 1";

#[tokio::test]
async fn retries_a_statement_once_after_a_lost_connection() {
    // The loss of a process ends all connections, so this server is not shared.
    let server = Arc::new(Server::start());
    let node = node_with(&server.url(), |sql| sql.statement_seconds = 5).await;
    let task = task(
        "create table lost(a int)",
        "insert into lost select * from generate_series(1, 10)",
        "select 1",
    );
    assert_verdicts(&node, &task, &[("select 1", "correct")]).await;
    let endless = "select count(*) from lost a, lost b, lost c, lost d, lost e, lost f, lost g, \
                   lost h, lost i, lost j, lost k";
    for signal in [Signal::TERM, Signal::KILL] {
        let other = Arc::clone(&server);
        let losing = tokio::task::spawn_blocking(move || {
            let process = other.query("postgres", RUNNING).parse().unwrap();
            kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
        });
        // The second attempt reaches the time limit.
        assert_verdicts(&node, &task, &[(endless, "step_limit")]).await;
        losing.await.unwrap();
        assert_verdicts(&node, &task, &[("select 1", "correct")]).await;
    }
    node.stop().await;
}
