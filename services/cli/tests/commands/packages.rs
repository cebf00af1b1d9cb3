//! Packaged images: compiled once, at their first use, and never used if they are damaged.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::fixtures::{Running, assay, lines, text};

/// A folder with the package of the JavaScript image, and an empty home.
struct Packaged {
    folder: tempfile::TempDir,
}

impl Packaged {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join("packages");
        // The package consists of the built image, so the path of the interpreter is not used.
        let arguments = ["images", "--pack", "javascript", "--interpreter", "unused"];
        let packages = ["--packages", packages.to_str().unwrap()];
        let output = assay(folder.path(), &[&arguments[..], &packages].concat());
        assert!(
            output.status.success(),
            "run `make images`: {}",
            text(&output.stderr)
        );
        let program = "```javascript\nconsole.log(require('fs').readFileSync(0, 'utf8'))\n```";
        let item = json!({
            "completion": program,
            "task": {
                "type": "code", "language": "javascript",
                "tests": [{ "stdin": "7", "stdout": "7" }],
            },
        });
        std::fs::write(folder.path().join("items.jsonl"), item.to_string()).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, images: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("ASSAY_SANDBOX_WORKERS_PACKAGES", self.path("packages"))
            .env("ASSAY_SANDBOX_WORKERS_IMAGES", images)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn grade(&self, images: &Path) -> Child {
        self.command(images, &["grade", "items.jsonl"])
            .spawn()
            .unwrap()
    }
}

fn only_result(output: &Output) -> Value {
    let mut results = lines(&output.stdout);
    assert_eq!(results.len(), 1, "{}", text(&output.stderr));
    results.remove(0)
}

#[test]
fn processes_that_need_an_image_compile_it_once() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    let children = [0, 1, 2].map(|_| packaged.grade(&images));
    let mut compiled = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let result = only_result(&output);
        assert_eq!(
            (&result["verdict"], &result["reward"]),
            (&json!("accepted"), &json!(1.0)),
            "{result}"
        );
        compiled += text(&output.stderr).matches("compiling an image").count();
    }
    assert_eq!(compiled, 1);
    let again = packaged.grade(&images).wait_with_output().unwrap();
    assert_eq!(only_result(&again)["reward"], 1.0);
    assert_eq!(text(&again.stderr), "");
}

#[test]
fn a_killed_compilation_is_repeated() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    let mut first = Running(packaged.grade(&images));
    let home = loop {
        let mut entries = std::fs::read_dir(&images).into_iter().flatten().flatten();
        if let Some(home) = entries.next() {
            break home.path();
        }
    };
    first.kill();
    std::fs::write(home.join("javascript.part1"), "partial").unwrap();
    let output = packaged.grade(&images).wait_with_output().unwrap();
    assert_eq!(only_result(&output)["reward"], 1.0);
    assert!(!home.join("javascript.part1").exists());
}

#[test]
fn images_that_cannot_be_compiled_fail_items_without_a_reward() {
    let packaged = Packaged::new();
    // The folder cannot be created below a file.
    let images = packaged.path("items.jsonl").join("images");
    let output = packaged.grade(&images).wait_with_output().unwrap();
    let unwritable = only_result(&output);

    let archive = packaged.path("packages/javascript/javascript.wasm.zst");
    let mut bytes = std::fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&archive, bytes).unwrap();
    let output = packaged
        .grade(&packaged.path("images"))
        .wait_with_output()
        .unwrap();
    let damaged = only_result(&output);

    for (result, message) in [
        (unwritable, "ASSAY_SANDBOX_WORKERS_IMAGES"),
        (damaged, "javascript.wasm.zst"),
    ] {
        assert_eq!(
            [&result["outcome"], &result["score"], &result["reward"]],
            [&json!("failed"), &Value::Null, &Value::Null]
        );
        let error = &result["error"];
        assert_eq!(error["code"], "grader_unavailable");
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{error}"
        );
    }
}

#[test]
fn damaged_machine_code_is_compiled_again() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    packaged.grade(&images).wait_with_output().unwrap();
    let home = std::fs::read_dir(&images).unwrap().next().unwrap().unwrap();
    let files = std::fs::read_dir(home.path()).unwrap().flatten();
    let code = files
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|name| name == "cwasm"))
        .unwrap();
    let intact = std::fs::read(&code).unwrap();
    let mut overwritten = intact.clone();
    overwritten[intact.len() / 2..][..4_096].fill(0xcc);
    for damaged in [&intact[..intact.len() / 2], &overwritten[..], &[]] {
        std::fs::write(&code, damaged).unwrap();
        let output = packaged.grade(&images).wait_with_output().unwrap();
        assert_eq!(only_result(&output)["reward"], 1.0);
        assert!(std::fs::read(&code).unwrap() == intact);
    }
}

#[test]
fn rejects_folders_that_other_users_can_write() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    std::fs::create_dir(&images).unwrap();
    std::fs::set_permissions(&images, std::fs::Permissions::from_mode(0o777)).unwrap();
    let output = packaged.grade(&images).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let subfolder = images.join("assay");
    let message = format!(
        "machine code that another user can replace: the folder is writable by all users, as \
         volumes of Kubernetes (`emptyDir`) are; set `sandbox_workers.images` \
         (`ASSAY_SANDBOX_WORKERS_IMAGES`) to a new folder in it, such as `{}`",
        subfolder.display()
    );
    assert!(
        text(&output.stderr).contains(&message),
        "{}",
        text(&output.stderr)
    );
    // The subfolder is created, and only its owner writes to it.
    let output = packaged.grade(&subfolder).wait_with_output().unwrap();
    assert_eq!(only_result(&output)["reward"], 1.0);
    let mode = std::fs::metadata(&subfolder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);

    let mut homeless = packaged.command(Path::new(""), &["grade", "items.jsonl"]);
    homeless.env_remove("HOME").env_remove("XDG_CACHE_HOME");
    let result = only_result(&homeless.output().unwrap());
    let error = result["error"]["message"].as_str().unwrap();
    assert!(error.contains("neither `HOME` nor"), "{error}");
    assert_eq!(result["outcome"], "failed");
}

#[test]
fn images_that_other_users_can_write_are_not_used() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    // Without a umask, files and folders are safe nevertheless.
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" grade items.jsonl"]);
    command
        .arg(env!("CARGO_BIN_EXE_assay"))
        .current_dir(packaged.folder.path())
        .env("ASSAY_SANDBOX_WORKERS_PACKAGES", packaged.path("packages"))
        .env("ASSAY_SANDBOX_WORKERS_IMAGES", &images);
    assert_eq!(only_result(&command.output().unwrap())["reward"], 1.0);
    let home = std::fs::read_dir(&images).unwrap().next().unwrap().unwrap();
    let files = std::fs::read_dir(home.path()).unwrap().flatten();
    for path in files.map(|file| file.path()).chain([home.path()]) {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert!(
            mode & 0o002 == 0 || path.ends_with("lock"),
            "{}",
            path.display()
        );
    }
    // As if another user had placed it while the folder was writable.
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let output = packaged.grade(&images).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = format!("`{}` belongs to an image", home.path().display());
    assert!(
        text(&output.stderr).contains(&message),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn compiles_named_images_and_lists_their_state() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    let run = |arguments: &[&str]| {
        let output = packaged.command(&images, arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        lines(&output.stdout).remove(0)
    };
    let image = run(&["images", "--json"]);
    assert_eq!(
        (&image["image"], &image["compiled"]),
        (&json!("javascript"), &json!(false))
    );
    let output = packaged.command(&images, &["images"]).output().unwrap();
    for (image, wheel) in [
        ("python", "assay_rewards-*-manylinux*.whl"),
        ("python-scientific", "assay_rewards_scientific-*.whl"),
        ("cpp", "assay_rewards_cpp-*.whl"),
    ] {
        let expected = format!(
            "\n{image} is not installed; install its wheel with `pip install {wheel}`, or \
             build it with `make images`\n"
        );
        assert!(
            text(&output.stdout).contains(&expected),
            "{}",
            text(&output.stdout)
        );
    }
    let image = run(&["images", "--json", "--compile", "javascript"]);
    assert_eq!(
        (&image["compiled"], &image["damaged"]),
        (&json!(true), &Value::Null)
    );
    let home = std::fs::read_dir(&images).unwrap().next().unwrap().unwrap();
    let metadata = home.path().join("javascript.json");
    let mut bytes = std::fs::read(&metadata).unwrap();
    bytes[10] ^= 1;
    std::fs::write(&metadata, bytes).unwrap();
    let image = run(&["images", "--json"]);
    let reason = image["damaged"].as_str().unwrap();
    assert!(reason.contains("does not match its checksum"), "{reason}");
    assert_eq!(image["compiled"], false);
    let listed = packaged.command(&images, &["images"]).output().unwrap();
    let listed = text(&listed.stdout);
    assert!(
        listed.contains(" damaged ") && listed.contains(reason),
        "{listed}"
    );
    assert_eq!(
        run(&["images", "--json", "--compile", "javascript"])["compiled"],
        true
    );
    let output = packaged
        .command(&images, &["images", "--compile", "cobol"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no image `cobol` is installed"));
}

#[test]
fn packing_an_image_lists_only_that_image() {
    let packaged = Packaged::new();
    let output = assay(
        packaged.folder.path(),
        &[
            "images",
            "--pack",
            "javascript",
            "--interpreter",
            "unused",
            "--packages",
            "packages",
        ],
    );
    let listed = text(&output.stdout);
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, ["IMAGE", "javascript"], "{listed}");
}

#[test]
fn doctor_lists_missing_images() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    let output = packaged.command(&images, &["doctor"]).output().unwrap();
    let report = text(&output.stdout);
    assert!(report.contains("\nimage javascript: "), "{report}");
    assert!(
        report.contains("\nimage cpp: not installed; install its wheel with `pip install"),
        "{report}"
    );
    let output = packaged
        .command(&images, &["doctor", "--json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let missing = report["missing_images"].as_array().unwrap();
    let names: Vec<_> = missing.iter().map(|image| &image["name"]).collect();
    assert_eq!(names, ["python", "python-scientific", "cpp"]);
}

#[test]
fn server_compiles_images_before_it_is_ready() {
    let packaged = Packaged::new();
    let images = packaged.path("images");
    let mut server = packaged
        .command(
            &images,
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--database",
                "",
                "--print-url",
            ],
        )
        .arg("--log-format=json")
        .spawn()
        .map(Running)
        .unwrap();
    let errors = std::io::BufReader::new(server.0.stderr.take().unwrap());
    let messages = std::io::BufRead::lines(errors).map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        line["fields"]["message"].as_str().unwrap().to_owned()
    });
    let messages: Vec<String> = messages
        .take_while(|message| message != "ready to grade")
        .collect();
    assert!(
        messages
            .iter()
            .any(|message| message == "compiled an image"),
        "{messages:?}"
    );
}
