//! `assay receipt`: prints signed receipts of recorded grades, one per line.

use std::io::Write;
use std::path::Path;

use super::record::{Source, open};
use crate::arguments::ReceiptArguments;
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::terminal;

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &ReceiptArguments,
) -> anyhow::Result<CommandStatus> {
    block_on(async {
        let source = open(file, &arguments.record).await?;
        let printed = print(&source, arguments).await;
        source.close().await;
        printed
    })?;
    Ok(CommandStatus::Done)
}

async fn print(source: &Source, arguments: &ReceiptArguments) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    if arguments.public_key {
        let key = match source {
            Source::Server(client) => client.receipt_key().await?.key,
            Source::Node(node) => node.review().receipt_key().await?.to_string(),
        };
        writeln!(out, "{key}")?;
    }
    for id in &arguments.ids {
        let receipt = match source {
            Source::Server(client) => client.receipt(id).await?.get().to_owned(),
            Source::Node(node) => terminal::json(&node.review().receipt(id.parse()?).await?)?,
        };
        writeln!(out, "{receipt}")?;
    }
    Ok(())
}
