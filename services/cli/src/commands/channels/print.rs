//! How reports are printed.

use crate::terminal;
use serde::Serialize;
use std::io::Write;

pub(super) fn print(body: &impl Serialize) -> anyhow::Result<()> {
    writeln!(terminal::stdout(), "{}", terminal::pretty(body)?)?;
    Ok(())
}
