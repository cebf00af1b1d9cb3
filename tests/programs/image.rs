//! Building an image is reproducible.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_wasm::{Folder, IMAGES, build};

/// The interpreter that the build script made. `make images` ran before, so this returns at once.
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
fn rebuilding_an_image_gives_the_same_hash() {
    let folder = tempfile::tempdir().unwrap();
    let installed = Folder::new(&crate::programs::images()).installed();
    let again = build(&Folder::new(folder.path()), &IMAGES[0], &interpreter()).unwrap();
    assert!(again.fresh);
    assert_eq!(
        again.hash, installed[0].hash,
        "the installed image differs from the one that the build script makes; run `make images`"
    );
    assert!(
        !build(&Folder::new(folder.path()), &IMAGES[0], &interpreter())
            .unwrap()
            .fresh
    );
}
