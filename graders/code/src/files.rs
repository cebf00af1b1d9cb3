//! Files in the folder of a program: their paths and limits.

use std::collections::{BTreeMap, BTreeSet};

use assay_base::pointer;
use assay_worker::program::File;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Maximum number of bytes of the files of a task. They are sent to a worker with every run.
const MAX_BYTES: usize = 4 << 20;

/// Maximum number of files of a run.
const MAX_FILES: usize = 256;

/// Maximum number of file and folder names in all paths of a run.
const MAX_NAMES: usize = 2_048;

/// Longest path, in bytes.
const MAX_PATH: usize = 1_024;

/// Longest name of a file or a folder, in bytes.
const MAX_NAME: usize = 255;

/// A file of a task: its text, or its bytes.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a file must be a string or {\"base64\": \"...\"}"
)]
pub(crate) enum RawFile {
    Text(String),
    Bytes { base64: String },
}

/// Reads the files of a task.
///
/// # Errors
/// The path of the invalid file, empty if there are too many, and a message.
pub(crate) fn read(raw: BTreeMap<String, RawFile>) -> Result<Vec<File>, (String, String)> {
    let mut files = Vec::with_capacity(raw.len());
    let mut left = MAX_BYTES;
    for (path, raw) in raw {
        let bytes = match raw {
            RawFile::Text(text) => text.into_bytes(),
            RawFile::Bytes { base64 } => STANDARD
                .decode(base64)
                .map_err(|error| (path.clone(), format!("`base64` cannot be decoded: {error}")))?,
        };
        left = left.checked_sub(bytes.len()).ok_or_else(|| {
            let message = format!("the files have more than {MAX_BYTES} bytes in total");
            (path.clone(), message)
        })?;
        files.push(File { path, bytes });
    }
    validate(files.iter().map(|file| file.path.as_str()))?;
    Ok(files)
}

/// Checks that a run can have files with these paths.
///
/// # Errors
/// The invalid path, empty if there are too many, and a message.
pub(crate) fn validate<'a>(
    paths: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), (String, String)> {
    if paths.clone().count() > MAX_FILES {
        return Err((
            String::new(),
            format!("there are more than {MAX_FILES} files"),
        ));
    }
    let invalid = |path: &str, message: String| Err((path.to_owned(), message));
    let (mut files, mut folders) = (BTreeSet::new(), BTreeMap::new());
    let mut names = 0;
    for path in paths.clone() {
        validate_path(path).map_err(|message| (path.to_owned(), message))?;
        let path_inside = relative(path);
        names += path_inside.split('/').count();
        if names > MAX_NAMES {
            let message = format!("the paths consist of more than {MAX_NAMES} names");
            return invalid(path, message);
        }
        if !files.insert(path_inside) {
            return invalid(path, "there are two files with this path".to_owned());
        }
        let parents = path_inside.match_indices('/');
        folders.extend(parents.map(|(at, _)| (&path_inside[..at], path)));
    }
    for path in paths {
        if let Some(inside) = folders.get(relative(path)) {
            return invalid(path, format!("it is also the folder of `{inside}`"));
        }
    }
    Ok(())
}

/// A path without the leading slash.
fn relative(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

/// The text of a file that a program can import; `None` if it is not Python source.
pub(crate) fn code(file: &File) -> Option<&str> {
    std::str::from_utf8(&file.bytes)
        .ok()
        .filter(|_| file.path.ends_with(".py"))
}

/// The JSON pointer to a file of a task; to all of them for an empty path.
pub(crate) fn pointer(path: &str) -> String {
    if path.is_empty() {
        return "/files".to_owned();
    }
    pointer::member("/files", path)
}

fn validate_path(path: &str) -> Result<(), String> {
    if path.len() > MAX_PATH {
        return Err(format!("the path is longer than {MAX_PATH} bytes"));
    }
    let relative = relative(path);
    for name in relative.split('/') {
        if matches!(name, "" | "." | "..") || name.contains('\0') || name.len() > MAX_NAME {
            return Err(
                "a path must consist of names of files and folders, without `.` or `..`".to_owned(),
            );
        }
    }
    if relative.split('/').next() == Some("dev") || relative == "tmp" {
        return Err("`dev` contains devices only, and `tmp` is a folder".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(json: &str) -> Result<Vec<File>, (String, String)> {
        read(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn files_are_texts_or_base64() {
        let found = files(r#"{"a.txt":"é","data/b.bin":{"base64":"AP8="},"/c":""}"#).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|file| (file.path.as_str(), file.bytes.as_slice()))
            .collect();
        let expected: [(&str, &[u8]); 3] = [
            ("/c", b""),
            ("a.txt", "é".as_bytes()),
            ("data/b.bin", &[0, 255]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn invalid_files_are_refused_with_their_path() {
        let long = format!(r#"{{"{}":""}}"#, "a/".repeat(600) + "a");
        let deep: BTreeMap<_, _> = (0..100)
            .map(|number| format!("{number}/{}a", "b/".repeat(30)))
            .map(|path| (path, RawFile::Text(String::new())))
            .collect();
        assert!(read(deep).unwrap_err().1.contains("more than 2048 names"));
        let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_BYTES + 1));
        for (json, path) in [
            (r#"{"":"x"}"#, ""),
            (r#"{"../a":"x"}"#, "../a"),
            (r#"{"a//b":"x"}"#, "a//b"),
            (r#"{"a/":"x"}"#, "a/"),
            (r#"{"a\u0000":"x"}"#, "a\0"),
            (r#"{"dev/null":"x"}"#, "dev/null"),
            (r#"{"a":"x","a/b":"y"}"#, "a"),
            (r#"{"/a":"x","a":"y"}"#, "a"),
            (r#"{"tmp":"x"}"#, "tmp"),
            (r#"{"a":{"base64":"?"}}"#, "a"),
            (large.as_str(), "a"),
        ] {
            assert_eq!(files(json).unwrap_err().0, path, "{json:.40}");
        }
        assert!(files(&long).unwrap_err().1.contains("longer than"));
        let many: BTreeMap<_, _> = (0..=MAX_FILES)
            .map(|number| (number.to_string(), RawFile::Text(String::new())))
            .collect();
        assert!(read(many).unwrap_err().1.contains("more than 256 files"));
    }
}
