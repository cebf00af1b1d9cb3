//! The commands, one file each.

mod annotate;
mod audit;
mod backup;
mod channels;
mod check;
mod compare;
mod completions;
mod copy;
mod dataset_files;
mod doctor;
mod export;
mod grade;
mod graders;
mod grades;
mod images;
mod items;
mod jobs;
mod keys;
mod man;
mod models;
mod policies;
mod prune;
mod receipt;
mod record;
mod replay;
mod rows;
mod runs;
mod serve;
mod sessions;
mod set_aside;
mod shadow;
mod show;
mod tail;
mod template;
mod templates;
mod verify;
mod verify_receipt;

use crate::arguments::{Arguments, Command, RecordAction};
use crate::exit::CommandStatus;
use crate::process::reject_unknown_variables;

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<CommandStatus> {
    let file = arguments.config.as_deref();
    if arguments.strict {
        reject_unknown_variables()?;
    }
    match arguments.command {
        Command::Serve(serve) => serve::run(file, &serve),
        Command::Grade(grade) => grade::run(file, &grade),
        Command::Check(check) => check::run(file, &check),
        Command::Templates(arguments) => templates::run(file, &arguments),
        Command::Graders(output) => graders::run(file, output),
        Command::Grades(grades) => grades::run(file, &grades),
        Command::Show(show) => show::run(file, &show),
        Command::Runs(runs) => runs::run(file, &runs),
        Command::Annotate(arguments) => annotate::run(file, &arguments),
        Command::Compare(arguments) => compare::run(file, &arguments),
        Command::Tail(tail) => tail::run(file, &tail),
        Command::Export(export) => export::run(file, &export),
        Command::Channels(channels) => channels::run(file, &channels),
        Command::Policies(policies) => policies::run(file, &policies),
        Command::Models(models) => models::run(file, models),
        Command::Jobs(arguments) => jobs::run(file, &arguments),
        Command::Sessions(arguments) => sessions::run(file, &arguments),
        Command::Shadow(arguments) => shadow::run(file, &arguments),
        Command::Replay(replay) => replay::run(file, &replay),
        Command::Receipt(arguments) => receipt::run(file, &arguments),
        Command::VerifyReceipt(arguments) => verify_receipt::run(file, &arguments),
        Command::Keys(keys) => keys::run(file, &keys),
        Command::Audit(arguments) => audit::run(file, &arguments),
        Command::Prune(prune) => prune::run(file, &prune),
        Command::Backup(backup) => backup::run(file, &backup),
        Command::Verify(verify) => verify::run(file, &verify),
        Command::Record {
            action: RecordAction::SetAside(arguments),
        } => set_aside::run(file, &arguments),
        Command::Record {
            action: RecordAction::Copy(arguments),
        } => copy::run(file, &arguments),
        Command::Images(images) => images::run(file, &images),
        Command::Doctor(output) => doctor::run(file, output),
        Command::Completions { shell } => completions::run(shell),
        Command::Man(man) => man::run(&man),
    }
}
