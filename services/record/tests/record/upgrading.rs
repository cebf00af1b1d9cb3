//! Nodes of two releases and one database.

use assay_record::{CopyError, OpenError};

use crate::fixture::{Fixture, contains_entry, entry, on, record};

/// What a later release adds, with which this one works.
fn migrate_later() -> &'static str {
    on(
        "alter table grades add column later text; create table later (number integer) strict; \
         insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values (99991231000000, 'later', true, x'00', 1)",
        "alter table grades add column later text; create table later (number bigint); \
         insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values (99991231000000, 'later', true, '\\x00', 1)",
    )
}

/// What a later release changes, with which this one does not work.
const CHANGE: &str = "update readers set oldest_migration = 99991231000000";

#[tokio::test]
async fn a_running_node_continues_after_a_compatible_migration() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(0, 2)).await;
    fixture.applied(&store).await;
    fixture.execute(migrate_later()).await.unwrap();
    record(&store, entry(1, 2)).await;
    assert!(contains_entry(&store, &entry(0, 2)).await);
    assert!(contains_entry(&store, &entry(1, 2)).await);
    store.close().await.unwrap();

    // The earlier release can be started again.
    let store = fixture.open().await;
    record(&store, entry(2, 2)).await;
    assert!(contains_entry(&store, &entry(2, 2)).await);
    store.close().await.unwrap();
    let target = format!("sqlite://{}", fixture.root().join("copy.db").display());
    let copied = assay_record::copy(&fixture.options, &target, |_| {}).await;
    let error = copied.unwrap_err();
    assert!(matches!(error, CopyError::LaterSchema(_)), "{error}");
}

#[tokio::test]
async fn an_earlier_release_does_not_open_tables_that_it_cannot_use() {
    let fixture = Fixture::new();
    fixture.open().await.close().await.unwrap();
    fixture.execute(CHANGE).await.unwrap();
    let error = fixture.try_open().await.err().unwrap();
    assert!(matches!(error, OpenError::LaterSchema { .. }), "{error}");
    let message = error.to_string();
    for part in [
        "a later release has changed the tables, which need the migration",
        "the migration 99991231000000",
        "use that release or a later one, or restore a backup",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn a_running_node_keeps_grades_in_its_spool_after_an_incompatible_migration() {
    let fixture = Fixture::on_postgres();
    let store = fixture.open().await;
    record(&store, entry(0, 2)).await;
    fixture.applied(&store).await;
    fixture.execute(CHANGE).await.unwrap();
    record(&store, entry(1, 2)).await;
    fixture.apply_fails(&store).await;
    let reason = store.state().apply_error.unwrap();
    assert!(reason.contains("a later release has changed"), "{reason}");
    assert_eq!((store.state().pending, store.state().set_aside), (1, 0));
    assert_eq!(fixture.number("select count(*) from grades").await, 2);
    drop(store);

    // As if the node were replaced by one of the later release.
    fixture
        .execute("update readers set oldest_migration = 1")
        .await
        .unwrap();
    let store = fixture.open().await;
    assert!(contains_entry(&store, &entry(1, 2)).await);
    store.close().await.unwrap();
}

#[tokio::test]
async fn tables_of_an_earlier_release_are_not_copied() {
    let fixture = Fixture::new();
    fixture.open().await.close().await.unwrap();
    fixture
        .execute(
            "delete from _sqlx_migrations where version = \
             (select max(version) from _sqlx_migrations)",
        )
        .await
        .unwrap();
    let target = format!("sqlite://{}", fixture.root().join("copy.db").display());
    let copied = assay_record::copy(&fixture.options, &target, |_| {}).await;
    let error = copied.unwrap_err();
    assert!(matches!(error, CopyError::EarlierSchema(_)), "{error}");
    assert!(!fixture.root().join("copy.db").exists());
}
