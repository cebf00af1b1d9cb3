//! The command line of the trainer.

mod arguments;
mod commands;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    // Must come first: a sandbox worker of an embedded service is this binary in a hidden role.
    assay_node::sandboxes::run_as_worker().unwrap_or_else(|| commands::run(Arguments::parse()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::arguments::Arguments;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
