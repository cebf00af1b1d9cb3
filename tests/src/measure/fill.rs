//! `fill`: writes a record of many grades through the store, to measure and inspect queries
//! and pages.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use assay_core::{Clock, SystemClock};
use assay_record::{Record, RecordOptions};
use assay_tests::filling::{self, Amount};
use clap::Args;

/// Fill a database with as many grades as months of training.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of grades, rounded up to whole batches of every run
    #[arg(long, default_value_t = 10_000_000)]
    grades: u64,
    /// Database to add them to
    #[arg(long, value_name = "URL")]
    database: String,
    /// Seed; equal seeds give the same record except for times and ids of batches
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let amount = Amount {
        grades: arguments.grades,
        seed: arguments.seed,
        until_us: clock.unix_us(),
    };
    let mut options = RecordOptions::new(&arguments.database);
    options.close_timeout = std::time::Duration::from_secs(600);
    let store = Arc::new(Record::open(&options, Arc::clone(&clock)).await?);
    let every = (arguments.grades / 50).max(1);
    let mut next = every;
    let written = filling::fill(
        assay_tests::config(Path::new(""))?,
        &store,
        amount,
        |written| {
            if written >= next {
                next += every;
                let rate = written as f64 / clock.monotonic().as_secs_f64();
                // Continue if a line cannot be printed.
                let _ = writeln!(std::io::stderr(), "{written} grades, {rate:.0} a second");
            }
        },
    )
    .await?;
    store.close().await?;
    writeln!(
        std::io::stdout(),
        "{written} grades in {:.0} s",
        clock.monotonic().as_secs_f64()
    )?;
    Ok(())
}
