//! A small run and the binary that makes it.

use std::path::Path;
use std::process::Command;

/// Sums of two digits: seconds.
pub(crate) const RUN: &str = r#"
run = "small"
policy = { path = "start" }
data = { problems = [{ family = "arithmetic", operands = 2, digits = 1, operators = ["+"] }] }
rollout = { prompts = 4, samples = 4, sampling = { max_tokens = 4 } }
objective = { preset = "dapo" }
schedule = { learning_rate = 1e-3 }
training = { steps = 8, save_every = 2 }
evaluation = { prompts = 8, every = 8 }
warmup = { steps = 20, batch = 16 }
"#;

/// What a command says, or its error.
pub(crate) fn trainer(folder: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay-trainer"));
    let done = command.args(words).current_dir(folder).env("RAYON_NUM_THREADS", "1").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
}
