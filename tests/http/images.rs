//! Images whose files are damaged: no program gets a verdict, and an image that is restored is used
//! again.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::Hash;
use assay_tests::processes::{cpu_of, workers_of};
use serde_json::{Value, json};

use crate::http::fixtures::{Service, batch, service_with};

/// A service with a copy of one image.
async fn service_of(image: &'static str) -> (Service, tempfile::TempDir) {
    service_of_changed(image, |_| {}).await
}

/// A service with a copy of one image, whose folder is changed before it starts.
async fn service_of_changed(
    image: &'static str,
    change: impl FnOnce(&Path),
) -> (Service, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().to_owned();
    let service = service_with(move |config| {
        let installed = std::mem::replace(&mut config.sandbox_workers.images, images.clone());
        for entry in std::fs::read_dir(installed).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name.split('.').next() == Some(image) {
                copy(&entry.path(), &images.join(&name));
            }
        }
        change(&images);
    });
    (service.await, folder)
}

/// Copies of the files. A link would change the time of the originals, which other tests use.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

/// The file of an image with this ending.
fn file(folder: &Path, ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.find(|path| path.to_string_lossy().ends_with(ending));
    found.unwrap_or_else(|| panic!("no file *{ending} in {}", folder.display()))
}

/// Replaces a file by another of the same length, with other bytes in its middle.
fn damage(path: &Path) -> Vec<u8> {
    let intact = std::fs::read(path).unwrap();
    let mut damaged = intact.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x40;
    replace(path, &damaged);
    intact
}

fn replace(path: &Path, bytes: &[u8]) {
    let part = path.with_extension("new");
    std::fs::write(&part, bytes).unwrap();
    std::fs::rename(&part, path).unwrap();
}

async fn grade(service: &Service, language: &str, code: &str, stdout: &str) -> Value {
    let item = json!({
        "completion": format!("```{language}\n{code}\n```"),
        "task": {
            "type": "code", "language": language, "limits": {"seconds": 30},
            "tests": [{"stdin": "", "stdout": stdout}],
        },
    });
    let reply = service.grade(&batch([item])).await.json();
    reply["results"][0].clone()
}

#[track_caller]
fn assert_accepted(result: &Value) {
    assert_eq!(result["verdict"], "accepted", "{result}");
}

/// No verdict and no reward, and a message that says `reason`.
#[track_caller]
fn assert_failed(result: &Value, reason: &str) {
    let shown = [&result["outcome"], &result["score"], &result["reward"]];
    assert_eq!(
        shown,
        [&json!("failed"), &Value::Null, &Value::Null],
        "{result}"
    );
    let message = result["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(reason), "{result}");
}

#[tokio::test]
async fn a_damaged_image_gives_no_verdict_until_it_is_restored() {
    let (service, folder) = service_of("javascript").await;
    assert_accepted(&grade(&service, "javascript", "console.log(1)", "1").await);
    for ending in [".cwasm", ".json", ".checksums"] {
        let path = file(folder.path(), ending);
        let intact = damage(&path);
        for _ in 0..2 {
            let result = grade(&service, "javascript", "console.log(2)", "2").await;
            assert_failed(&result, "the image `javascript` is damaged");
        }
        replace(&path, &intact);
        let code = format!("console.log('{ending}')");
        assert_accepted(&grade(&service, "javascript", &code, ending).await);
    }
}

#[tokio::test]
async fn an_image_that_is_damaged_or_incomplete_at_start_is_used_once_it_is_mended() {
    for ending in [".cwasm", ".json", ".checksums"] {
        for is_removed in [true, false] {
            let mut intact = None;
            let (service, _folder) = service_of_changed("javascript", |folder| {
                let path = file(folder, ending);
                let bytes = damage(&path);
                if is_removed {
                    std::fs::remove_file(&path).unwrap();
                }
                intact = Some((path, bytes));
            })
            .await;
            let result = grade(&service, "javascript", "console.log(1)", "1").await;
            assert_failed(&result, "build it again with `make images`");
            assert_eq!(result["error"]["retryable"], true, "{result}");
            let (path, bytes) = intact.unwrap();
            replace(&path, &bytes);
            assert_accepted(&grade(&service, "javascript", "console.log(1)", "1").await);
        }
    }
}

#[tokio::test]
async fn an_image_that_is_installed_later_is_used() {
    let elsewhere = tempfile::tempdir().unwrap();
    let move_all = |from: &Path, to: &Path| {
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            std::fs::rename(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    let (service, folder) = service_of_changed("javascript", |folder| {
        move_all(folder, elsewhere.path());
    })
    .await;
    let result = grade(&service, "javascript", "console.log(1)", "1").await;
    assert_failed(
        &result,
        "the image `javascript` is not installed on this node",
    );
    move_all(elsewhere.path(), folder.path());
    assert_accepted(&grade(&service, "javascript", "console.log(1)", "1").await);
}

#[tokio::test]
async fn a_folder_in_place_of_a_file_gives_no_verdict_until_it_is_removed() {
    let (service, folder) = service_of("javascript").await;
    assert_accepted(&grade(&service, "javascript", "console.log(1)", "1").await);
    for ending in [".cwasm", ".json", ".checksums"] {
        let path = file(folder.path(), ending);
        let intact = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let code = format!("console.log('{ending}')");
        for _ in 0..2 {
            let result = grade(&service, "javascript", &code, ending).await;
            assert_failed(&result, "Is a directory");
            assert_eq!(result["error"]["retryable"], true, "{result}");
        }
        std::fs::remove_dir(&path).unwrap();
        replace(&path, &intact);
        assert_accepted(&grade(&service, "javascript", &code, ending).await);
    }
}

#[tokio::test]
async fn a_file_that_workers_cannot_read_gives_no_verdict_until_they_can() {
    let (service, folder) = service_of("javascript").await;
    let path = file(folder.path(), ".cwasm");
    // Not a link to the file of the other images, whose permissions would change too.
    replace(&path, &std::fs::read(&path).unwrap());
    assert_accepted(&grade(&service, "javascript", "console.log(1)", "1").await);
    let set_mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0);
    for _ in 0..2 {
        let result = grade(&service, "javascript", "console.log(2)", "2").await;
        assert_failed(&result, "ermission denied");
        assert_eq!(result["error"]["retryable"], true, "{result}");
    }
    set_mode(0o644);
    assert_accepted(&grade(&service, "javascript", "console.log(2)", "2").await);
}

#[tokio::test]
async fn grades_name_the_image_that_ran() {
    let (service, folder) = service_of("javascript").await;
    let hash_of = |result: &Value| result["evidence"]["image"].as_str().unwrap().to_owned();
    let first = grade(&service, "javascript", "console.log(1)", "1").await;
    assert_accepted(&first);
    // Another valid image: its metadata has another hash.
    let metadata = file(folder.path(), ".json");
    let text = String::from_utf8(std::fs::read(&metadata).unwrap()).unwrap();
    let other = hash_of(&first).chars().rev().collect::<String>();
    let text = text.replace(&hash_of(&first), &other);
    let path = file(folder.path(), ".checksums");
    let mut checksums: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let blake3 = Hash::of(text.as_bytes()).to_string();
    checksums["javascript.json"] = json!({ "bytes": text.len(), "blake3": blake3 });
    replace(&metadata, text.as_bytes());
    replace(&path, checksums.to_string().as_bytes());
    // One program that ran in the first image, and one that did not.
    for number in [1, 2] {
        let (code, stdout) = (format!("console.log({number})"), number.to_string());
        let item = json!({
            // Not the completion that was graded before.
            "completion": format!("Again:\n```javascript\n{code}\n```"),
            "task": { "type": "code", "language": "javascript", "limits": { "seconds": 30 },
                "tests": [{ "stdin": "", "stdout": stdout }] },
        });
        let reply = service.grade(&batch([item])).await.json();
        let result = &reply["results"][0];
        assert_accepted(result);
        assert_eq!(hash_of(result), other, "{result}");
    }
}

#[tokio::test]
async fn damaged_headers_of_a_compiler_give_no_verdict() {
    let (service, folder) = service_of("cpp").await;
    let code =
        |number: u32| format!("#include <bits/stdc++.h>\nint main() {{ std::cout << {number}; }}");
    assert_accepted(&grade(&service, "cpp", &code(1), "1").await);
    let path = file(&folder.path().join("cpp"), "gnu++17.pch");
    let intact = damage(&path);
    assert_failed(&grade(&service, "cpp", &code(2), "2").await, "gnu++17.pch");
    replace(&path, &intact);
    assert_accepted(&grade(&service, "cpp", &code(2), "2").await);
}

/// A program that runs for a while and prints another text than `1`.
const LONG: &str = "let n = 0; for (let i = 0; i < 4e7; i++) n += i % 3; console.log(n)";

/// The result of [`LONG`]. `change` is called every half second of processor time of workers.
async fn changed_while_running(
    service: &Service,
    folder: &Path,
    mut change: impl FnMut(),
) -> Value {
    // Starts the workers, and compiles nothing that the next program needs.
    assert_accepted(&grade(service, "javascript", "console.log(1)", "1").await);
    let used = || -> Duration { workers_of(folder).into_iter().map(cpu_of).sum() };
    let mut last = used();
    let changing = async {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            // Less than before if workers were replaced.
            last = last.min(used());
            if used() >= last + Duration::from_millis(500) {
                last = used();
                change();
            }
        }
    };
    tokio::select! {
        result = grade(service, "javascript", LONG, "1") => result,
        () = changing => unreachable!("it does not end"),
    }
}

#[tokio::test]
async fn a_program_gets_no_verdict_if_its_image_changes_while_it_runs() {
    let (service, folder) = service_of("javascript").await;
    let path = file(folder.path(), ".cwasm");
    let mut intact = None;
    let damaging = || {
        intact.get_or_insert_with(|| damage(&path));
    };
    let result = changed_while_running(&service, folder.path(), damaging).await;
    // It is graded again, which finds the damage.
    assert_failed(&result, "the image `javascript` is damaged");
    replace(&path, &intact.unwrap());
    let result = grade(&service, "javascript", LONG, "1").await;
    assert_eq!(result["verdict"], "wrong_answer", "{result}");
}

#[tokio::test]
async fn a_program_gets_its_verdict_if_files_of_its_image_are_linked_while_it_runs() {
    let (service, folder) = service_of("javascript").await;
    let path = file(folder.path(), ".cwasm");
    let mut links = 0;
    let linking = || {
        links += 1;
        std::fs::hard_link(&path, path.with_extension(links.to_string())).unwrap();
    };
    let result = changed_while_running(&service, folder.path(), linking).await;
    assert_eq!(result["verdict"], "wrong_answer", "{result}");
    assert!(links > 0);
    assert_accepted(&grade(&service, "javascript", "console.log(2)", "2").await);
}
