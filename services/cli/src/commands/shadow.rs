//! `assay shadow`: starts, shows, ends, promotes and withdraws the shadow of a run.

use std::io::{self, Write};
use std::path::Path;

use assay_wire::shadows::{Difference, ShadowBody, StartShadow};

use super::replay::{fields, matrix};
use crate::arguments::{ShadowAction, ShadowArguments};
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table;
use crate::{target, terminal};

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &ShadowArguments,
) -> anyhow::Result<CommandStatus> {
    let client = target::client(file, &arguments.server)?;
    let shadow = block_on(async {
        Ok(match &arguments.action {
            ShadowAction::Show(of) => client.shadow(&of.run).await?,
            ShadowAction::Start(start) => {
                let request = StartShadow {
                    options: fields(&start.options)?,
                    share: start.share,
                    from_start: start.from_start,
                };
                client.start_shadow(&start.run.run, &request).await?
            }
            ShadowAction::End(of) => client.end_shadow(&of.run).await?,
            ShadowAction::Promote(of) => client.promote_shadow(&of.run, true).await?,
            ShadowAction::Withdraw(of) => client.promote_shadow(&of.run, false).await?,
        })
    })?;
    let mut out = terminal::stdout();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&shadow)?)?;
    } else {
        write(&mut out, &shadow)?;
    }
    Ok(CommandStatus::Done)
}

fn write(out: &mut impl Write, shadow: &ShadowBody) -> io::Result<()> {
    let options = shadow.options.iter();
    let options = options.map(|(name, value)| format!("{name}={value}"));
    let time = |at: Option<i64>| table::cell(at.map(table::time));
    let rows = [
        ("shadow", shadow.shadow.clone()),
        ("run", shadow.run.clone()),
        ("caller", shadow.caller.clone()),
        ("options", options.collect::<Vec<_>>().join(" ")),
        ("share", shadow.share.to_string()),
        ("started", table::time(shadow.started_us)),
        ("ended", time(shadow.ended_us)),
        ("promoted", time(shadow.promoted_us)),
        ("withdrawn", time(shadow.withdrawn_us)),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "{name:<10} {}", table::printable(value))?;
    }
    let findings = &shadow.findings;
    for (name, numbers) in [("scores", &findings.scores), ("rewards", &findings.rewards)] {
        writeln!(out, "{name:<10} {}", means(numbers))?;
    }
    writeln!(
        out,
        "{:<10} {} us as recorded, {} us with the options",
        "grading", findings.recorded_us, findings.shadow_us
    )?;
    writeln!(
        out,
        "{:<10} {} as recorded, {} with the options",
        "work", findings.recorded_work, findings.shadow_work
    )?;
    matrix::write(out, &findings.replay)
}

fn means(numbers: &Difference) -> String {
    let Some(difference) = numbers.of_means() else {
        return "none to compare".to_owned();
    };
    let items = numbers.items as f64;
    format!(
        "{} of {} changed, mean {:.4} as recorded, {:.4} with the options ({difference:+.4})",
        numbers.changed,
        numbers.items,
        numbers.recorded_sum / items,
        numbers.shadow_sum / items
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_sign() {
        assert_eq!(means(&Difference::default()), "none to compare");
        let numbers = Difference {
            items: 4,
            changed: 1,
            recorded_sum: 2.0,
            shadow_sum: 3.0,
        };
        assert_eq!(
            means(&numbers),
            "1 of 4 changed, mean 0.5000 as recorded, 0.7500 with the options (+0.2500)"
        );
    }
}
