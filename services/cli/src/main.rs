//! Owns the command line: parses arguments and calls a node or a client. Contains no grading or
//! server logic.

mod arguments;
mod commands;
mod exit;
mod image_progress;
mod output;
mod process;
mod progress;
mod table;
mod target;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    // First, because a sandbox worker is this binary in another role.
    assay_node::sandboxes::run_as_worker()
        .unwrap_or_else(|| exit::code(commands::run(Arguments::parse())))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::arguments::Arguments;

    #[test]
    fn argument_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }
}
