//! How reports are printed.

use std::io::Write;

use serde::Serialize;

use crate::terminal;

pub(super) fn print(body: &impl Serialize) -> anyhow::Result<()> {
    writeln!(terminal::stdout(), "{}", terminal::pretty(body)?)?;
    Ok(())
}
