//! Measures whether the time to refuse a key depends on why it is refused: right keys, wrong
//! secrets of known ids, and unknown ids, interleaved so that load of the machine affects all
//! alike.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::ensure;
use assay_access::{Gate, Key, KeyPolicy, NewKey, create};
use assay_core::{Clock, SystemClock};
use assay_record::access::{AccessStore, Quotas, Role};

/// Compare the times to accept and to refuse a key.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Tries of each kind
    #[arg(long, default_value_t = 10_000)]
    tries: usize,
    /// Keys of the node
    #[arg(long, default_value_t = 100)]
    keys: usize,
    /// Fail if the medians differ by more than this percentage
    #[arg(long, default_value_t = 10)]
    most: u128,
}

#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { tries, keys, most } = *arguments;
    ensure!(
        tries > 0 && keys > 0,
        "`--tries` and `--keys` must be positive"
    );
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let store: Arc<dyn AccessStore> = Arc::new(assay_record::open_access("sqlite::memory:").await?);
    let mut known = Vec::new();
    for number in 0..keys {
        let new = NewKey {
            name: format!("caller-{number}"),
            role: Role::Trainer,
            quotas: Quotas::default(),
            expires_us: None,
        };
        known.push(create(store.as_ref(), clock.as_ref(), "measure", new).await?);
    }
    let gate = Gate::start(KeyPolicy::Required, Some(store), Arc::clone(&clock)).await?;
    let right = known[keys / 2].reveal().to_owned();
    let wrong = Key::with_id(known[keys / 2].id())?.reveal().to_owned();
    let unknown = Key::random()?.reveal().to_owned();
    let kinds = [
        ("right", right),
        ("wrong secret", wrong),
        ("unknown id", unknown),
    ];
    // The first tries warm up caches.
    let warm_up = tries / 100 + 1;
    let mut times = vec![Vec::with_capacity(tries); kinds.len()];
    for at in 0..warm_up + tries {
        // The order rotates, so that no kind is always first.
        for kind in (0..kinds.len()).map(|kind| (kind + at) % kinds.len()) {
            let key = kinds[kind].1.as_str();
            let started = clock.monotonic();
            let caller = black_box(gate.authenticate(Some(black_box(key))));
            let time = clock.monotonic().saturating_sub(started);
            ensure!(caller.is_ok() == (kind == 0), "the key is treated wrongly");
            if at >= warm_up {
                times[kind].push(time.as_nanos());
            }
        }
    }
    println!("{tries} tries of each kind, {keys} keys, nanoseconds");
    println!("{:14} {:>8} {:>8} {:>8}", "key", "p10", "median", "p90");
    let mut medians = Vec::new();
    for ((name, _), times) in kinds.iter().zip(&mut times) {
        times.sort_unstable();
        let at = |percent: usize| times[tries * percent / 100];
        println!("{name:14} {:>8} {:>8} {:>8}", at(10), at(50), at(90));
        medians.push(at(50));
    }
    let least = medians.iter().min().copied().unwrap_or_default().max(1);
    let largest = medians.iter().max().copied().unwrap_or_default();
    let permille = (largest - least) * 1_000 / least;
    println!(
        "largest difference of medians: {}.{} %",
        permille / 10,
        permille % 10
    );
    ensure!(
        permille <= 10 * most,
        "the medians differ by more than {most} %"
    );
    Ok(())
}
