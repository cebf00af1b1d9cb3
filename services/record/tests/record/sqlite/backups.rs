//! Backups under load, and the detection of damage.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use assay_record::{BackupError, Record, RecordOptions, backup, verify};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::batches::of_run;
use crate::fixture::{Fixture, contains_entry, part, record};

#[tokio::test]
async fn a_backup_under_load_has_every_entry_that_was_recorded_before() {
    let fixture = Fixture::new();
    let store = Arc::new(fixture.open().await);
    let (recorded, stop) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let writing = {
        let (store, recorded, stop) = (store.clone(), recorded.clone(), stop.clone());
        tokio::spawn(async move {
            let mut n = 0;
            while !stop.load(Ordering::SeqCst) {
                store.append(Arc::new(of_run(n, "run", 64))).await.unwrap();
                n += 1;
                recorded.store(n, Ordering::SeqCst);
            }
        })
    };
    let mut copies = Vec::new();
    for copy in 0..4 {
        let before = recorded.load(Ordering::SeqCst) + 5;
        while recorded.load(Ordering::SeqCst) < before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let acknowledged = recorded.load(Ordering::SeqCst);
        let destination = fixture.root().join(format!("copy-{copy}"));
        let done = backup(&fixture.options, &destination).await.unwrap();
        copies.push((acknowledged, done));
    }
    stop.store(true, Ordering::SeqCst);
    writing.await.unwrap();
    store.close().await.unwrap();
    let total = recorded.load(Ordering::SeqCst);
    for (acknowledged, done) in copies {
        let options = RecordOptions::new(format!("sqlite://{}", done.database.display()));
        let verified = verify(&options, |_| {}).await.unwrap();
        assert_eq!(verified.damages, []);
        let restored = Record::open(&options, fixture.clock.clone()).await.unwrap();
        for n in 0..acknowledged {
            assert!(
                contains_entry(&restored, &of_run(n, "run", 64)).await,
                "{n} of {acknowledged}"
            );
        }
        let run = restored.run("run").await.unwrap().unwrap();
        assert_eq!(run.grades % 64, 0);
        assert!((acknowledged * 64..=total * 64).contains(&run.grades));
        // The restored record can be written.
        record(&restored, of_run(1_000_000, "other", 8)).await;
        restored.close().await.unwrap();
    }
}

/// Creates a database at `path` with the schema before retention, and the rows of the fixture's.
async fn write_earlier_database(fixture: &Fixture, path: &Path) {
    const RETENTION: i64 = 20_261_126_160_001;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/sqlite");
    let all = Migrator::new(folder).await.unwrap();
    let earlier = all.iter().filter(|one| one.version < RETENTION).cloned();
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    let mut connection = options.connect().await.unwrap();
    Migrator::with_migrations(earlier.collect())
        .run(&mut connection)
        .await
        .unwrap();
    sqlx::query("attach ? as later")
        .bind(fixture.database().display().to_string())
        .execute(&mut connection)
        .await
        .unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "select name from sqlite_schema where type = 'table' and name not like '%sqli%' \
         and name not like '\\_%' escape '\\'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    for table in tables {
        let columns = format!("select group_concat(name) from pragma_table_info('{table}')");
        let columns: String = sqlx::query_scalar(AssertSqlSafe(columns))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        let later = columns.replace("evidence", "earlier_evidence");
        let copy = format!("insert into {table} ({columns}) select {later} from later.{table}");
        sqlx::query(AssertSqlSafe(copy))
            .execute(&mut connection)
            .await
            .unwrap();
    }
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_database_of_an_earlier_release_is_copied_as_it_is_and_verified_after_migration() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let entries: Vec<_> = (0..5).map(|n| of_run(n, "run", 16)).collect();
    for entry in &entries {
        record(&store, entry.clone()).await;
    }
    fixture.applied(&store).await;
    store.close().await.unwrap();
    let path = fixture.root().join("earlier.db");
    write_earlier_database(&fixture, &path).await;
    let earlier = RecordOptions::new(format!("sqlite://{}", path.display()));
    let bytes = std::fs::read(&path).unwrap();

    let error = verify(&earlier, |_| {}).await.unwrap_err();
    assert!(matches!(error, BackupError::EarlierSchema(_)), "{error}");
    let done = backup(&earlier, &fixture.root().join("copy"))
        .await
        .unwrap();
    assert_eq!((done.batches, done.grades), (5, 80));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);

    // The copy is migrated when a node starts with it.
    let copy = RecordOptions::new(format!("sqlite://{}", done.database.display()));
    assert!(verify(&copy, |_| {}).await.is_err());
    let restored = Record::open(&copy, fixture.clock.clone()).await.unwrap();
    for grade in entries.iter().flat_map(|entry| &entry.grades) {
        // The earlier schema does not have their documents.
        let (read, row) = (restored.grade(grade.row.grade.grade).await, &grade.row);
        let read = read.unwrap().unwrap();
        assert_eq!(
            (read.grade.score, &read.source),
            (row.grade.score, &row.source)
        );
    }
    // The caller of earlier channels is not known.
    let channels = restored.used_names().await.unwrap().channels;
    assert!(!channels.is_empty() && channels.values().all(|caller| caller.is_empty()));
    record(&restored, of_run(5, "run", 16)).await;
    restored.close().await.unwrap();
    let verified = verify(&copy, |_| {}).await.unwrap();
    assert_eq!(verified.damages, []);
    assert_eq!((verified.grades, verified.without_checksum), (96, 80));
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn a_backup_contains_entries_that_are_not_in_the_database() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(0, "run", 8)).await;
    fixture.applied(&store).await;
    let lock = fixture.lock_database().await;
    record(&store, of_run(1, "run", 8)).await;
    // An append that is being written.
    let segment = fixture.segments().pop().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes.extend_from_slice(&bytes.clone()[40..90]);
    std::fs::write(&segment, bytes).unwrap();
    let copy = fixture.root().join("copy");
    let done = backup(&fixture.options, &copy).await.unwrap();
    assert_eq!((done.batches, done.grades, done.segments), (1, 8, 1));
    drop(lock);
    drop(store);
    let options = RecordOptions::new(format!("sqlite://{}", done.database.display()));
    let restored = Record::open(&options, fixture.clock.clone()).await.unwrap();
    for n in 0..2 {
        assert!(contains_entry(&restored, &of_run(n, "run", 8)).await);
    }
    restored.close().await.unwrap();
}

#[tokio::test]
async fn a_backup_does_not_overwrite_and_leaves_nothing_when_it_fails() {
    let (fixture, copy, partial) = to_copy().await;
    let error = backup(&fixture.options, fixture.root()).await.unwrap_err();
    assert!(matches!(error, BackupError::Exists(_)));
    let memory = RecordOptions::new("sqlite::memory:");
    let error = backup(&memory, &fixture.root().join("x"))
        .await
        .unwrap_err();
    assert!(matches!(error, BackupError::NoFile(_)));
    // Flips bytes in the middle of the file.
    let mut bytes = std::fs::read(fixture.database()).unwrap();
    for at in (8_192..bytes.len()).step_by(1_024) {
        bytes[at] ^= 0x55;
    }
    std::fs::write(fixture.database(), bytes).unwrap();
    backup(&fixture.options, &copy).await.unwrap_err();
    assert!(!copy.exists() && !partial.exists());
}

/// A closed record of one batch, the destination of its copy, and the folder of the unfinished
/// copy.
async fn to_copy() -> (Fixture, PathBuf, PathBuf) {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(0, "run", 8)).await;
    store.close().await.unwrap();
    let (copy, partial) = (
        fixture.root().join("copy"),
        fixture.root().join("copy.partial"),
    );
    (fixture, copy, partial)
}

/// Creates a folder as a backup does.
fn create_partial(path: &Path) {
    let mut folder = std::fs::DirBuilder::new();
    folder.mode(0o700).create(path).unwrap();
}

#[tokio::test]
async fn backups_to_one_folder_exclude_each_other() {
    let (fixture, copy, partial) = to_copy().await;
    let name = fixture.database().file_name().unwrap().to_owned();
    let left = partial.join(&name).with_extension("db-journal");
    create_partial(&partial);
    std::fs::create_dir(partial.join(&name).with_extension("db.spool")).unwrap();
    std::fs::write(&left, b"left").unwrap();
    let other = std::fs::File::open(&partial).unwrap();
    other.lock().unwrap();
    let error = backup(&fixture.options, &copy).await.unwrap_err();
    assert!(matches!(error, BackupError::InProgress(_)), "{error}");
    assert!(left.exists());
    drop(other);
    backup(&fixture.options, &copy).await.unwrap();
    assert!(copy.exists() && !partial.exists());
    assert!(!copy.join(left.file_name().unwrap()).exists());
    let found = backup(&fixture.options, &copy).await.unwrap_err();
    assert!(matches!(found, BackupError::Exists(_)), "{found}");
}

/// Another user may have placed the folder of the unfinished copy.
#[tokio::test]
async fn a_backup_removes_nothing_but_what_a_backup_left() {
    let (fixture, copy, partial) = to_copy().await;
    let files = fixture.root().join("files");
    let is_refused = async || {
        let error = backup(&fixture.options, &copy).await.unwrap_err();
        matches!(error, BackupError::Foreign(path) if path == partial) && !copy.exists()
    };
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("own"), b"own").unwrap();
    std::os::unix::fs::symlink(&files, &partial).unwrap();
    assert!(is_refused().await, "a link");
    std::fs::remove_file(&partial).unwrap();
    std::fs::write(&partial, b"own").unwrap();
    assert!(is_refused().await, "a file");
    std::fs::remove_file(&partial).unwrap();
    create_partial(&partial);
    std::fs::write(partial.join("own"), b"own").unwrap();
    assert!(is_refused().await, "a folder with another file");
    assert!(partial.join("own").exists() && files.join("own").exists());
    std::fs::remove_file(partial.join("own")).unwrap();
    std::fs::set_permissions(&partial, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(is_refused().await, "a folder that is open to others");
}

/// A record of three batches that was closed, and the places and problems that are found after
/// `sql` was executed.
async fn found_after(sql: &'static str) -> Vec<(String, String)> {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 0..3 {
        record(&store, of_run(n, "run", 8)).await;
    }
    store.close().await.unwrap();
    let sound = verify(&fixture.options, |_| {}).await.unwrap();
    assert_eq!((sound.batches, sound.grades), (3, 24));
    assert!(sound.bodies > 24);
    assert_eq!(sound.damages, []);
    fixture
        .execute(
            "drop trigger grades_are_not_changed; drop trigger documents_are_not_changed; \
             insert into retention values (1)",
        )
        .await
        .unwrap();
    fixture.execute(sql).await.unwrap();
    let found = verify(&fixture.options, |_| {}).await.unwrap();
    found
        .damages
        .into_iter()
        .map(|damage| (damage.place, damage.problem))
        .collect()
}

fn grade(n: u64, position: u32) -> String {
    format!("grade {}", crate::fixture::batch(n).grade(position))
}

fn batch(n: u64) -> String {
    format!("batch {}", crate::fixture::batch(n))
}

#[tokio::test]
async fn finds_a_changed_row() {
    let changes = [
        "update grades set score = 1 - score where key = (2 << 24) + 3",
        "update grades set earlier_evidence = '{}' where key = (2 << 24) + 3",
    ];
    assert_eq!(found_after(changes[0]).await[0].0, grade(1, 3));
    assert_eq!(found_after(changes[1]).await[0].0, grade(1, 3));
    let found = found_after("update batches set step = 7 where no = 2").await;
    assert_eq!(found.len(), 8);
    assert_eq!(found[0].0, grade(1, 0));
}

#[tokio::test]
async fn names_the_grades_whose_documents_are_damaged() {
    let outside = found_after(
        "update grades set document_start = document_start + 1000000 where key = (2 << 24) + 3",
    )
    .await;
    assert_eq!(outside.len(), 1, "{outside:?}");
    assert_eq!(outside[0].0, grade(1, 3));
    assert!(outside[0].1.contains("outside its pack"), "{outside:?}");
    let null = "update grades set document_start = null where key = 2 << 24";
    assert_eq!(found_after(null).await[0].0, grade(1, 0));
    let swapped = "update grades set document_start = (select document_start from grades \
                   where key = (2 << 24) + 4) where key = (2 << 24) + 3";
    assert_eq!(found_after(swapped).await[0].0, grade(1, 3));
    let other_batch = found_after("update documents set batch = 1 where batch = 2").await;
    assert_eq!(other_batch[0].0, batch(1), "{other_batch:?}");
    let orphan = "insert into documents (no, batch, codec, size, content) \
                  values (99, 77, 0, 0, x'')";
    assert_eq!(found_after(orphan).await[0].0, "pack 99 of documents");
    let changed = "update documents set content = zeroblob(8) \
                   where no = (select document from grades where key = (2 << 24) + 3)";
    let removed = "delete from documents \
                   where no = (select document from grades where key = (2 << 24) + 3)";
    for sql in [changed, removed] {
        let found = found_after(sql).await;
        let places: Vec<_> = found.into_iter().map(|(place, _)| place).collect();
        assert_eq!(
            places,
            [0, 1, 2, 3, 4, 5, 6, 7].map(|n| grade(1, n)),
            "{sql}"
        );
    }
}

#[tokio::test]
async fn finds_a_removed_row() {
    let found = found_after("delete from grades where key = (2 << 24) + 3").await;
    let (place, problem) = found.iter().find(|(place, _)| *place == batch(1)).unwrap();
    assert_eq!(*place, batch(1));
    let id = crate::fixture::batch(1).grade(3).to_string();
    assert!(
        problem.contains("7 grades instead of 8") && problem.contains(&id),
        "{problem}"
    );
}

#[tokio::test]
async fn finds_reordered_rows() {
    let swap = "update grades set key = 1 where key = (2 << 24) + 3; \
                update grades set key = (2 << 24) + 3 where key = (2 << 24) + 4; \
                update grades set key = (2 << 24) + 4 where key = 1";
    let places: Vec<String> = found_after(swap)
        .await
        .into_iter()
        .map(|found| found.0)
        .collect();
    assert_eq!(places, [grade(1, 3), grade(1, 4)]);
}

#[tokio::test]
async fn finds_removed_batches() {
    let found =
        found_after("delete from grades where key >> 24 = 2; delete from batches where no = 2")
            .await;
    assert_eq!(found[0].0, "batch number 2");
    assert!(
        found
            .iter()
            .any(|(place, _)| place == "run run of caller local")
    );
    let last =
        found_after("delete from grades where key >> 24 = 3; delete from batches where no = 3")
            .await;
    assert!(last.iter().any(|(place, problem)| {
        place == "run run of caller local"
            && problem == "should have 24 grades, but its batches have 16"
    }));
    let without_batch = found_after("delete from batches where no = 3").await;
    assert!(without_batch[0].1.contains("8 grades have no batch"));
}

#[tokio::test]
async fn parts_of_stored_batches_leave_no_gap_in_the_numbers() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for (n, first, grades) in [(0, 0, 2), (1, 0, 2), (0, 2, 2), (2, 0, 2), (1, 0, 2)] {
        // Applied in transactions of their own, and with a new batch after a stored one.
        record(&store, part(n, first, grades)).await;
        record(&store, part(10 + n, 0, 1)).await;
        fixture.applied(&store).await;
    }
    let lock = fixture.lock_database().await;
    for entry in [part(0, 4, 1), part(20, 0, 1), part(1, 2, 1), part(21, 0, 1)] {
        record(&store, entry).await;
    }
    drop(lock);
    store.close().await.unwrap();
    let batches = fixture.number("select count(*) from batches").await;
    assert_eq!(batches, 8);
    assert_eq!(fixture.number("select max(no) from batches").await, batches);
    // The parts have completions only.
    let found = verify(&fixture.options, |_| {}).await.unwrap();
    assert!(
        found
            .damages
            .iter()
            .all(|damage| damage.problem.contains("the body")),
        "{:?}",
        found.damages
    );
}

#[tokio::test]
async fn gaps_of_an_earlier_release_are_not_damage() {
    // That release used the numbers up to 2, except 1.
    let found = found_after(
        "update batch_numbers set first = 3; update holdings set grades = grades - 8; \
         delete from grades where key >> 24 = 1; delete from documents where batch = 1; \
         delete from batches where no = 1",
    )
    .await;
    assert_eq!(found, []);
}

#[tokio::test]
async fn finds_changed_and_missing_bodies() {
    let moved = found_after(
        "update bodies set start = start + 1 where kind = 0 \
         and hash = (select completion_hash from grades where key = (2 << 24) + 3)",
    )
    .await;
    assert_eq!(moved.len(), 1);
    assert!(moved[0].0.starts_with("completion of grade"));
    assert!(moved[0].1.contains("does not have the hash"));
    let missing = found_after(
        "delete from bodies where hash = (select task_hash from grades where key = 2 << 24)",
    )
    .await;
    assert_eq!(missing[0].0, format!("task of {}", grade(1, 0)));
    let pack = found_after("update packs set content = x'00' where no = 2").await;
    assert!(pack.iter().any(|(place, _)| place == "pack 2"));
    let policy = found_after("delete from bodies where kind = 3").await;
    assert_eq!(policy[0].0, "policy named");
}

#[tokio::test]
async fn finds_damage_in_the_spool() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let lock = fixture.lock_database().await;
    for n in 0..3 {
        record(&store, of_run(n, "run", 8)).await;
    }
    drop(store);
    drop(lock);
    let segment = fixture.segments().pop().unwrap();
    assert_eq!(verify(&fixture.options, |_| {}).await.unwrap().frames, 3);
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let found = verify(&fixture.options, |_| {}).await.unwrap();
    assert_eq!(found.frames, 2);
    assert_eq!(found.damages.len(), 1);
    assert_eq!(found.damages[0].place, segment.display().to_string());
    assert!(!found.is_sound());
}
