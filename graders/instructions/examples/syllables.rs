//! Counts the syllables of words, one per line of the standard input.

use std::io::{BufRead as _, Write as _};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", assay_instructions::syllables::count(&line?))?;
    }
    Ok(())
}
