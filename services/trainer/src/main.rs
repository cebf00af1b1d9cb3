//! The command line of the trainer: what was typed becomes a run. Learns nothing itself.

mod arguments;
mod commands;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    // Before anything else: a worker of an embedded service is this binary in another role.
    assay_node::sandboxes::answer_role().unwrap_or_else(|| commands::run(Arguments::parse()))
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
