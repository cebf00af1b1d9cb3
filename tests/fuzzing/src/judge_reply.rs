//! Replies of judges: of chat models in every form, and of servers. The input is also a completion
//! with a proof in Lean.
//!
//! Properties: reading is deterministic; a score is from 0 to 1; reasoning and white space around a
//! reply do not change it; the file for Lean begins with the statement, and ends with the check of
//! the proof.

use assay_external::fuzzing::{lean_file, replies, servers};

const STATEMENT: &str = "theorem easy (n : Nat) : n + 0 = n := by sorry";

/// What precedes the code of a proof.
const BEFORE: &str = "import Mathlib\n\n\n\naxiom assay_target_c0de (n : Nat) : n + 0 = n\n\n";

/// Reads a reply, and makes the file of a proof.
pub fn run(bytes: &[u8]) {
    let scores = servers(bytes);
    assert_eq!(scores, servers(bytes), "deterministic");
    assert!(scores.iter().all(is_score), "{scores:?}");
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let read = replies(text);
    assert_eq!(read, replies(text), "deterministic");
    for read in &read {
        if let Ok(score) = &read.score {
            assert!(is_score(score), "{score} of {text:?}");
            assert_eq!(read.score, read.framed, "{text:?}");
        }
    }
    let fenced = format!("```lean\n{text}\n```");
    if let Ok(file) = lean_file(STATEMENT, &fenced) {
        assert!(file.starts_with(BEFORE), "{file}");
        assert!(file.ends_with("#print axioms assay_check_c0de\n"), "{file}");
        assert!(declares_theorem(&file), "{file}");
    }
}

fn is_score(score: &f64) -> bool {
    (0.0..=1.0).contains(score)
}

fn declares_theorem(file: &str) -> bool {
    let words: Vec<&str> = file.split_whitespace().collect();
    words
        .windows(2)
        .any(|pair| matches!(pair[0], "theorem" | "lemma") && pair[1].starts_with("easy"))
}
