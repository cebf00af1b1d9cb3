//! Files of requests and replies.

use assay_base::pointer::member;
use assay_wire::sessions::{FileContent, Files};
use assay_worker::program::File;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::SessionError;
use crate::limits::{MAX_FILE_BYTES, MAX_FILES};

/// Longest path, in bytes.
const MAX_PATH: usize = 1_024;

/// Decodes the files of a request.
///
/// # Errors
/// [`SessionError::Invalid`] for the first invalid file.
pub(crate) fn decode(files: &Files) -> Result<Vec<File>, SessionError> {
    if files.len() > MAX_FILES {
        let message = format!("there are more than {MAX_FILES} files");
        return Err(SessionError::invalid("/files", message));
    }
    let mut left = MAX_FILE_BYTES;
    let mut decoded = Vec::with_capacity(files.len());
    for (path, content) in files {
        let invalid = |message: String| SessionError::invalid(member("/files", path), message);
        check_path(path).map_err(invalid)?;
        let bytes = match content {
            FileContent::Text(text) => text.clone().into_bytes(),
            FileContent::Bytes { base64 } => STANDARD
                .decode(base64)
                .map_err(|error| invalid(format!("`base64` cannot be decoded: {error}")))?,
        };
        left = left.checked_sub(bytes.len()).ok_or_else(|| {
            invalid(format!(
                "the files have more than {MAX_FILE_BYTES} bytes in total"
            ))
        })?;
        let path = path.clone();
        decoded.push(File { path, bytes });
    }
    Ok(decoded)
}

/// The files of a reply: texts if they are UTF-8.
pub(crate) fn encode(files: Vec<File>) -> Files {
    let content = |bytes| match String::from_utf8(bytes) {
        Ok(text) => FileContent::Text(text),
        Err(error) => FileContent::Bytes {
            base64: STANDARD.encode(error.as_bytes()),
        },
    };
    let files = files.into_iter();
    files.map(|file| (file.path, content(file.bytes))).collect()
}

/// Rejects paths of files to return that no file can have, and too many of them.
///
/// # Errors
/// [`SessionError::Invalid`].
pub(crate) fn check_fetched(paths: &[String]) -> Result<(), SessionError> {
    if paths.len() > MAX_FILES {
        let message = format!("there are more than {MAX_FILES} paths");
        return Err(SessionError::invalid("/fetch", message));
    }
    for (at, path) in paths.iter().enumerate() {
        check_path(path)
            .map_err(|message| SessionError::invalid(format!("/fetch/{at}"), message))?;
    }
    Ok(())
}

/// Rejects a path that no file can have.
///
/// # Errors
/// What is wrong.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    if path.len() > MAX_PATH {
        return Err(format!("the path is longer than {MAX_PATH} bytes"));
    }
    let mut names = path.strip_prefix('/').unwrap_or(path).split('/');
    if names.any(|name| matches!(name, "" | "." | "..") || name.contains('\0')) {
        return Err(
            "a path must consist of names of files and folders, without `.` or `..`".to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_round_trip_as_text_or_base64() {
        let json = r#"{"a.txt":"é","b/c":{"base64":"AP8="}}"#;
        let files: Files = serde_json::from_str(json).unwrap();
        let decoded = decode(&files).unwrap();
        assert_eq!(decoded[1].bytes, [0, 255]);
        assert_eq!(serde_json::to_string(&encode(decoded)).unwrap(), json);
    }

    #[test]
    fn rejects_invalid_files_with_their_place() {
        for (json, place) in [
            (r#"{"../a":""}"#, "/files/..~1a"),
            (r#"{"a":{"base64":"?"}}"#, "/files/a"),
            (r#"{"":""}"#, "/files/"),
        ] {
            let files: Files = serde_json::from_str(json).unwrap();
            let Err(SessionError::Invalid { pointer, .. }) = decode(&files) else {
                panic!("{json} is accepted")
            };
            assert_eq!(pointer, place);
        }
        let large = FileContent::Text("x".repeat(MAX_FILE_BYTES / 2 + 1));
        let files = ["a", "b"].map(|path| (path.to_owned(), large.clone()));
        assert!(decode(&files.into_iter().collect()).is_err());
        assert!(check_fetched(&["a".to_owned(), "..".to_owned()]).is_err());
    }
}
