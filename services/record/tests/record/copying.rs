//! Copies of a record while others write to the source or the target.

use std::time::Duration;

use assay_record::{CopyError, CopyProgress, TableCopy, copy};

use crate::fixture::{Fixture, TestConnection, entry, record};

/// Adds a row, as the first entry of another node does.
const OTHER_PROGRESS: &str = "insert into spool_progress values ('other', 1, 0)";

/// A record of one batch that no node uses.
async fn recorded(fixture: Fixture, grades: u32) -> Fixture {
    let store = fixture.open().await;
    record(&store, entry(0, grades)).await;
    store.close().await.unwrap();
    if fixture.options.database.starts_with("postgres") {
        unused(&fixture).await;
    }
    fixture
}

/// A new database with tables on a server.
async fn target() -> Fixture {
    let target = Fixture::on_postgres();
    target.execute("delete from access").await.unwrap();
    target
}

/// Waits until the server has ended the connections of nodes.
async fn unused(fixture: &Fixture) {
    let connections = "select count(*) from pg_stat_activity \
         where datname = current_database() and application_name = 'assay'";
    while fixture.number(connections).await > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Keeps others from writing to a database on a server.
async fn locked(fixture: &Fixture) -> TestConnection {
    let mut writer = fixture.connect().await.unwrap();
    let lock = "begin; select pg_advisory_xact_lock(4711046251)";
    writer.execute(lock).await.unwrap();
    writer
}

/// Waits until a copy waits for the lock of writers of its target.
async fn waits(target: &Fixture) {
    let waited = tokio::time::timeout(Duration::from_secs(20), waiter(target)).await;
    assert!(waited.is_ok(), "no copy waits for the lock");
}

async fn waiter(target: &Fixture) {
    let waiting = "select count(*) from pg_locks l join pg_database d on d.oid = l.database \
         where d.datname = current_database() and l.locktype = 'advisory' and not l.granted";
    while target.number(waiting).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn grades(copied: &[TableCopy]) -> u64 {
    let grades = copied.iter().find(|copied| copied.table == "grades");
    grades.unwrap().rows
}

#[tokio::test]
async fn one_of_two_copies_into_a_target_succeeds() {
    let one = recorded(Fixture::new(), 2).await;
    let other = recorded(Fixture::new(), 3).await;
    let target = target().await;
    let url = &target.options.database;
    let copies = tokio::join!(
        copy(&one.options, url, |_| {}),
        copy(&other.options, url, |_| {})
    );
    let (copied, refused) = match copies {
        (Ok(copied), Err(refused)) | (Err(refused), Ok(copied)) => (copied, refused),
        copies => panic!("{copies:?}"),
    };
    assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");
    let found = target.number("select count(*) from grades").await;
    assert_eq!(found as u64, grades(&copied));
}

#[tokio::test]
async fn keeps_rows_that_the_target_gets_after_the_first_check() {
    let source = recorded(Fixture::new(), 2).await;
    let target = target().await;
    let url = target.options.database.clone();
    let mut writer = locked(&target).await;
    let write = async {
        waits(&target).await;
        writer.execute(OTHER_PROGRESS).await.unwrap();
        writer.execute("commit").await.unwrap();
    };
    let (copied, ()) = tokio::join!(copy(&source.options, &url, |_| {}), write);
    let refused = copied.unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");
    assert_eq!(
        target.number("select count(*) from spool_progress").await,
        1
    );
    assert_eq!(target.number("select count(*) from grades").await, 0);
}

#[tokio::test]
async fn refuses_a_source_on_a_server_whose_spool_has_entries() {
    let mut fixture = Fixture::on_postgres();
    fixture.options.close_timeout = Duration::ZERO;
    let store = fixture.open().await;
    let _writer = locked(&fixture).await;
    record(&store, entry(0, 2)).await;
    // Its entry stays in the spool.
    let _ = store.close().await;
    unused(&fixture).await;
    let target = format!("sqlite://{}", fixture.root().join("copy.db").display());
    let refused = copy(&fixture.options, &target, |_| {}).await.unwrap_err();
    assert!(matches!(refused, CopyError::Pending(_)), "{refused}");
    assert!(!fixture.root().join("copy.db").exists());
}

#[tokio::test]
async fn fails_if_a_node_starts_on_the_source_during_the_copy() {
    let source = recorded(Fixture::on_postgres(), 2).await;
    let target = target().await;
    let mut writer = locked(&target).await;
    let start = async {
        waits(&target).await;
        let node = source.open_replica("other").await;
        writer.execute("rollback").await.unwrap();
        node
    };
    let url = &target.options.database;
    let (copied, node) = tokio::join!(copy(&source.options, url, |_| {}), start);
    let refused = copied.unwrap_err();
    assert!(matches!(refused, CopyError::InUse { .. }), "{refused}");
    assert_eq!(target.number("select count(*) from grades").await, 0);
    node.close().await.unwrap();
}

#[tokio::test]
async fn fails_if_the_source_changes_during_the_copy() {
    let source = recorded(Fixture::new(), 2).await;
    let target = target().await;
    let insert = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime
            .unwrap()
            .block_on(source.execute(OTHER_PROGRESS))
            .unwrap();
    };
    // The rows have been counted, and are read next.
    let progress = |step| {
        if matches!(step, CopyProgress::Total(_)) {
            std::thread::scope(|scope| scope.spawn(insert).join().unwrap());
        }
    };
    let url = &target.options.database;
    let refused = copy(&source.options, url, progress).await.unwrap_err();
    assert!(
        matches!(&refused, CopyError::Changed { table, .. } if table == "spool_progress"),
        "{refused}"
    );
    assert_eq!(target.number("select count(*) from grades").await, 0);
}
