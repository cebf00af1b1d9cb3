//! Documents in every format, and completions that contain one.
//!
//! The first byte selects the format: `0` JSON, `1` YAML, `2` XML, `3` TOML, `4` CSV.
//!
//! Properties: reading is deterministic; depth is bounded; a tree is unchanged when it is written
//! and read as JSON; a malformed document has a position within the text; spans are parts of the
//! completion.

use assay_documents::Json;
use assay_documents::json::{MAX_DEPTH, Reader};
use assay_structured::fuzzing::{COUNT, extract, read};

/// Greatest depth: a repeated element of XML takes two levels.
const DEEPEST: usize = 2 * MAX_DEPTH;

/// Reads a document and a completion.
pub fn run(bytes: &[u8]) {
    let Some((format, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let format = usize::from(format.wrapping_sub(b'0')) % COUNT;
    let document = read(format, text);
    assert_eq!(document, read(format, text), "deterministic");
    match document {
        Ok(tree) => check(&tree),
        Err(broken) => assert!(
            broken.at <= text.len() && !broken.reason.is_empty(),
            "{broken:?}"
        ),
    }
    for think_open in [false, true] {
        let found = extract(format, text, think_open);
        assert_eq!(found, extract(format, text, think_open), "deterministic");
        for found in found {
            assert!(
                text.get(found.span.clone()).is_some(),
                "{:?} is not a part of {text:?}",
                found.span
            );
            assert!(!found.text.trim().is_empty());
            match found.document {
                Ok(tree) => assert_eq!(
                    read(format, &found.text),
                    Ok(tree),
                    "the text that was found is the document"
                ),
                Err(at) => assert!(at <= text.len(), "{at}"),
            }
        }
    }
}

fn check(tree: &Json) {
    assert!(depth(tree) <= DEEPEST, "{} levels", depth(tree));
    let written = tree.to_string();
    let again = Reader::new(&written).to_depth(DEEPEST).all();
    assert_eq!(again.as_ref(), Ok(tree), "round trip of {written}");
}

fn depth(tree: &Json) -> usize {
    let inside = tree
        .elements()
        .iter()
        .chain(tree.members().iter().map(|(_, value)| value))
        .map(depth)
        .max();
    usize::from(matches!(tree, Json::Array(_) | Json::Object(_))) + inside.unwrap_or(0)
}
