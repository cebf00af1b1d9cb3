//! The file of the index of texts.

use assay_record::{Record, RecordOptions, backup};

use crate::fixture::{entry, record};
use crate::searching::{execute_on_index, found, indexed, searching, text, texts};

#[tokio::test]
async fn rejects_a_prefix_of_too_many_words() {
    let fixture = searching();
    let store = fixture.open().await;
    let words: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
    record(&store, texts(0, 0, &[(&words.join(" "), None)])).await;
    assert_eq!(found(&store, &text("word1*")).await, [(0, 0)]);
    assert_eq!(
        store
            .search_problem(&"word1*".parse().unwrap())
            .await
            .unwrap(),
        None
    );
    let problem = store
        .search_problem(&"word*".parse().unwrap())
        .await
        .unwrap();
    let expected = "`word*` matches more than 128 words; make it longer";
    assert_eq!(problem.as_deref(), Some(expected));
    let error = store.grades(&text("word*"), None, 9).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the record is unavailable: {expected}")
    );
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_database_in_memory_has_an_index_in_memory() {
    let mut fixture = searching();
    fixture.options.database = "sqlite::memory:".to_owned();
    let store = fixture.open().await;
    record(&store, entry(0, 2)).await;
    assert_eq!(found(&store, &text("completion")).await, [(0, 1), (0, 0)]);
    store.close().await.unwrap();
    assert!(!fixture.root().join("assay.db.texts").exists());
}

#[tokio::test]
async fn builds_the_index_again_if_the_database_or_the_file_is_another() {
    let fixture = searching();
    let texts_file = fixture.root().join("assay.db.texts");
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("first", None), ("first", None)])).await;
    fixture.applied(&store).await;
    store.close().await.unwrap();
    let earlier = std::fs::read(fixture.database()).unwrap();

    let store = fixture.open().await;
    record(&store, texts(1, 0, &[("second", None)])).await;
    assert_eq!(found(&store, &text("second")).await, [(1, 0)]);
    store.close().await.unwrap();

    // The database lost the last batches, and another one got the number of one of them.
    std::fs::write(fixture.database(), earlier).unwrap();
    std::fs::remove_dir_all(fixture.spool()).unwrap();
    let store = fixture.open().await;
    record(&store, texts(2, 0, &[("third", None)])).await;
    assert_eq!(found(&store, &text("second")).await, []);
    assert_eq!(found(&store, &text("third")).await, [(2, 0)]);
    assert_eq!(found(&store, &text("first")).await.len(), 2);
    store.close().await.unwrap();
    assert_eq!(indexed(&fixture).await, 3);

    // A missing, a damaged and another index are built again.
    for contents in [None, Some(vec![7; 8_192])] {
        match contents {
            None => std::fs::remove_file(&texts_file).unwrap(),
            Some(contents) => std::fs::write(&texts_file, contents).unwrap(),
        }
        let store = fixture.open().await;
        assert_eq!(found(&store, &text("first")).await.len(), 2);
        store.close().await.unwrap();
    }
    execute_on_index(&fixture, "pragma user_version = 1000; drop table texts").await;
    let store = fixture.open().await;
    assert_eq!(found(&store, &text("third")).await, [(2, 0)]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_index_of_a_restored_backup_is_built_again() {
    let fixture = searching();
    let store = fixture.open().await;
    record(&store, texts(0, 0, &[("first", Some("asked"))])).await;
    record(&store, texts(1, 0, &[("second", None)])).await;
    let copy = fixture.root().join("copy");
    let done = backup(&fixture.options, &copy).await.unwrap();
    // The index is not in the copy.
    let names = std::fs::read_dir(&copy).unwrap();
    let is_index = |name: &str| name.ends_with(".texts");
    let mut names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| is_index(&name)));
    store.close().await.unwrap();

    let mut options = RecordOptions::new(format!("sqlite://{}", done.database.display()));
    options.text_search = true;
    let restored = Record::open(&options, fixture.clock.clone()).await.unwrap();
    while restored.grades(&text("first"), None, 1).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(found(&restored, &text("asked")).await, [(0, 0)]);
    assert_eq!(found(&restored, &text("second")).await, [(1, 0)]);
    restored.close().await.unwrap();
}
