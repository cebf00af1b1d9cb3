//! Owns the command line: what was typed, becomes calls of a node or a client. Wires nothing
//! itself.

mod arguments;
mod commands;
mod exit;
mod output;
mod progress;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    // Before anything else: a worker is this binary in another role.
    assay_node::sandboxes::answer_role()
        .unwrap_or_else(|| exit::code(commands::run(Arguments::parse())))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::arguments::Arguments;

    #[test]
    fn the_arguments_hold_together() {
        Arguments::command().debug_assert();
    }
}
