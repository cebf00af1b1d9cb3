//! `assay completions`: prints a completion script for a shell.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::CommandStatus;
use crate::terminal;

pub(crate) fn run(shell: Shell) -> anyhow::Result<CommandStatus> {
    // Generated into memory, because the library panics if the output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "assay", &mut script);
    terminal::raw_stdout().write_all(&script)?;
    Ok(CommandStatus::Done)
}
