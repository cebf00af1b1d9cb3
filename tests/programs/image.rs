//! Images have one hash, wherever and however often they are made.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_wasm::{Folder, LANGUAGES, build};

/// The interpreter as the recipe made it; `make images` ran before, so that this answers at once.
fn interpreter() -> PathBuf {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sandboxes/guests/python/build.py");
    let output = Command::new("python3").arg(recipe).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[test]
fn rebuilding_an_image_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let installed = Folder::new(&crate::images()).installed();
    let again = build(&Folder::new(folder.path()), &LANGUAGES[0], &interpreter()).unwrap();
    assert!(again.fresh);
    assert_eq!(
        again.hash, installed[0].hash,
        "the image in use is the one this recipe makes; run `make images`"
    );
    assert!(
        !build(&Folder::new(folder.path()), &LANGUAGES[0], &interpreter())
            .unwrap()
            .fresh
    );
}
