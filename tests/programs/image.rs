//! Building an image is reproducible.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_wasm::{Folder, IMAGES, ImageKind, build};

/// The interpreter of an image that the build script made. `make images` ran before, so this
/// returns at once.
fn interpreter(image: &ImageKind) -> PathBuf {
    let recipe = format!("../sandboxes/guests/{}/build.py", image.language);
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join(recipe);
    let output = Command::new("python3")
        .arg(recipe)
        .args(["--image", image.name])
        .output()
        .unwrap();
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
    assert_eq!(installed.len(), IMAGES.len(), "run `make images`");
    for (kind, installed) in IMAGES.iter().zip(installed) {
        let interpreter = interpreter(kind);
        let again = build(&Folder::new(folder.path()), kind, &interpreter).unwrap();
        assert!(again.fresh);
        assert_eq!(
            again.hash, installed.hash,
            "the installed image `{}` differs from the one that the build script makes; run `make \
             images`",
            kind.name
        );
        assert!(
            !build(&Folder::new(folder.path()), kind, &interpreter)
                .unwrap()
                .fresh
        );
    }
}
