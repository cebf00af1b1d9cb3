//! Measuring tools, and the program from which tests start workers: the binary of a test runs the
//! test harness and not the hidden role.

mod calls;
mod escape;
mod fill;
mod keys;
mod load;
mod noisy;
mod overhead;
mod programs;
mod queries;
mod schemas;
mod search;

use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Builder;

/// Measure the service, or compare it with other programs.
#[derive(Parser)]
enum Command {
    Calls(calls::Arguments),
    Fill(fill::Arguments),
    Keys(keys::Arguments),
    Load(load::Arguments),
    Noisy(noisy::Arguments),
    Overhead(overhead::Arguments),
    Programs(programs::Arguments),
    Queries(queries::Arguments),
    Schemas(schemas::Arguments),
    Search(search::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    if let Some(code) = assay_node::sandboxes::run_as_worker().or_else(escape::run) {
        return Ok(code);
    }
    let command = Command::parse();
    let mut runtime = match command {
        // Other threads would add to the processor time.
        Command::Keys(_) | Command::Programs(_) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(run(command))?;
    Ok(ExitCode::SUCCESS)
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Calls(arguments) => calls::run(&arguments),
        Command::Fill(arguments) => fill::run(&arguments).await,
        Command::Keys(arguments) => keys::run(&arguments).await,
        Command::Load(arguments) => load::run(arguments).await,
        Command::Noisy(arguments) => noisy::run(arguments).await,
        Command::Overhead(arguments) => overhead::run(&arguments).await,
        Command::Programs(arguments) => programs::run(&arguments).await,
        Command::Queries(arguments) => queries::run(&arguments).await,
        Command::Schemas(arguments) => schemas::run(&arguments),
        Command::Search(arguments) => search::run(&arguments).await,
    }
}
