//! Building an image is reproducible.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_wasm::{Folder, IMAGES, ImageKind, Inspection, build, rebuilt_hash};

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

/// Copies machine code of a compiler, which depends only on the compiler and takes minutes to make,
/// with its checksum.
fn reuse_compiler(image: &ImageKind, folder: &Path) {
    let images = crate::programs::images();
    let installed = images.join(image.name);
    let Ok(files) = std::fs::read_dir(installed) else {
        return;
    };
    for file in std::fs::read_dir(images).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        if name.starts_with(&format!("{}.", image.name)) && name.ends_with(".checksums") {
            std::fs::copy(file.path(), folder.join(name)).unwrap();
        }
    }
    let target = folder.join(image.name);
    std::fs::create_dir_all(&target).unwrap();
    for file in files {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with("compiler.") {
            std::fs::copy(file.path(), target.join(file.file_name())).unwrap();
        }
    }
}

/// Images of Python take minutes to compile, and their hash does not depend on that.
const COMPILED: [&str; 2] = ["javascript", "cpp"];

#[test]
fn rebuilding_an_image_gives_the_same_hash() {
    let folder = tempfile::tempdir().unwrap();
    let images = Folder::new(&crate::programs::images());
    for kind in IMAGES {
        let installed = Inspection::of(&images, kind).unwrap().image.unwrap();
        let interpreter = interpreter(kind);
        let hash = if COMPILED.contains(&kind.name) {
            build_twice(kind, &interpreter, folder.path())
        } else {
            rebuilt_hash(kind, &interpreter).unwrap()
        };
        assert_eq!(
            hash, installed.hash,
            "the installed image `{}` differs from the one that the build script makes; run `make \
             images`",
            kind.name
        );
    }
}

/// Builds an image in a folder without it, and returns its hash. A second build finds the first.
fn build_twice(kind: &'static ImageKind, interpreter: &Path, folder: &Path) -> String {
    reuse_compiler(kind, folder);
    let [built, again] = [(); 2].map(|()| build(&Folder::new(folder), kind, interpreter).unwrap());
    assert!(built.fresh);
    assert!(!again.fresh);
    built.hash
}
