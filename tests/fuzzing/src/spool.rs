(resolution of tests/fuzzing/src/spool.rs: main's text, with these parts of 1342ecb)

use std::path::PathBuf;

use assay_store::fuzzing::{decode, find, identity, recover, seal, segment};

thread_local! {
    /// A folder of this thread for its segment.
    static FOLDER: tempfile::TempDir = {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("identity"), identity()).expect("a file can be written");
        folder
    };
}

    ... recover(&folder()) instead of recover(&folder()) ...

fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

fn path() -> PathBuf {
    folder().join("00000001.seg")
}
