//! `assay man`: prints the manual page of a command, or writes all pages to a folder.

use anyhow::{Context, bail};
use assay_base::did_you_mean;
use clap::CommandFactory;
use clap_mangen::Man as Page;

use crate::arguments::{Arguments, Man};
use crate::exit::CommandStatus;
use crate::terminal;

pub(crate) fn run(arguments: &Man) -> anyhow::Result<CommandStatus> {
    let mut command = Arguments::command();
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .with_context(|| format!("cannot write pages to `{}`", folder.display()))?;
        return Ok(CommandStatus::Done);
    }
    // Gives commands their full names, such as `assay-grades`.
    command.build();
    let page = Page::new(find(&command, &arguments.command)?);
    page.render(&mut terminal::raw_stdout())?;
    Ok(CommandStatus::Done)
}

/// The command with these names, such as `channels`, `show`.
fn find(command: &clap::Command, names: &[String]) -> anyhow::Result<clap::Command> {
    let mut found = command;
    for name in names {
        found = match found.find_subcommand(name) {
            Some(command) => command,
            None => {
                let known = found.get_subcommands().map(clap::Command::get_name);
                let similar = did_you_mean(name, known);
                let listed = if similar.is_empty() {
                    "; see `assay --help`"
                } else {
                    ""
                };
                bail!("no command `{name}`{similar}{listed}");
            }
        };
    }
    Ok(found.clone())
}
