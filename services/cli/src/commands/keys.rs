//! `assay keys`: lists, creates, changes, rotates and revokes the keys of callers in the database,
//! which a server may be using at the same time.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};
use assay_access::{COMMAND_LINE, Key, KeyChanges, NewKey, change, create, revoke, rotate};
use assay_core::{Clock, SystemClock};
use assay_node::Config;
use assay_record::access::{AccessStore, KeyRecord, Quotas, Role};
use serde::Serialize;

use crate::arguments::{CreateKey, KeyAction, Keys, SetKey};
use crate::commands::record::require_database;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration_of};
use crate::{table, terminal};

const MICROS: i64 = 1_000_000;

/// A key without its secret.
#[derive(Serialize)]
struct KeyBody {
    name: String,
    id: String,
    role: Role,
    /// `valid`, `expired` or `revoked`.
    state: &'static str,
    quotas: Quotas,
    created_us: i64,
    rotated_us: Option<i64>,
    /// Until when the key before the last rotation is still valid.
    old_until_us: Option<i64>,
    expires_us: Option<i64>,
    revoked_us: Option<i64>,
    last_used_us: Option<i64>,
    bytes_stored: u64,
}

impl KeyBody {
    fn new(key: KeyRecord, now_us: i64) -> Self {
        let state = match key.expires_us {
            _ if key.revoked_us.is_some() => "revoked",
            Some(expires_us) if expires_us <= now_us => "expired",
            _ => "valid",
        };
        let old_until_us = key.previous.map(|(_, until_us)| until_us);
        Self {
            name: key.name,
            id: key.id,
            role: key.role,
            state,
            quotas: key.quotas,
            created_us: key.created_us,
            rotated_us: key.rotated_us,
            old_until_us: old_until_us.filter(|until_us| state == "valid" && *until_us > now_us),
            expires_us: key.expires_us,
            revoked_us: key.revoked_us,
            last_used_us: key.last_used_us,
            bytes_stored: key.bytes_stored,
        }
    }
}

/// A new key, with its secret.
#[derive(Serialize)]
struct NewKeyBody<'k> {
    name: &'k str,
    key: &'k str,
}

pub(crate) fn run(file: Option<&Path>, arguments: &Keys) -> anyhow::Result<CommandStatus> {
    let config = configuration_of(file, arguments.database.as_deref())?;
    let clock = SystemClock::new();
    let json = arguments.output.json;
    block_on(async {
        let action = arguments.action.as_ref().unwrap_or(&KeyAction::List);
        let store = open(&config, action).await?;
        let store = store.as_ref();
        match action {
            KeyAction::List => list(&bodies(store, &clock).await?, json),
            KeyAction::Show { name } => {
                let keys = bodies(store, &clock).await?;
                let key = keys.into_iter().find(|key| key.name == *name);
                show(
                    &key.with_context(|| {
                        format!("no key is named `{name}`; run `assay keys list`")
                    })?,
                )
            }
            KeyAction::Create(new) => {
                let key = create(store, &clock, COMMAND_LINE, new_key(new, &clock)?).await?;
                print(&new.name, &key, json)
            }
            KeyAction::Set(set) => {
                let changes = changes(set, &clock)?;
                let key = change(store, &clock, COMMAND_LINE, &set.name, changes).await?;
                let key = KeyBody::new(key, clock.unix_us());
                if json { show(&key) } else { list(&[key], json) }
            }
            KeyAction::Rotate { name, grace } => {
                let until_us = after(&clock, *grace);
                let key = rotate(store, &clock, COMMAND_LINE, name, until_us).await?;
                print(name, &key, json)
            }
            KeyAction::Revoke { name } => {
                revoke(store, &clock, COMMAND_LINE, name).await?;
                let mut out = terminal::stdout();
                if json {
                    let revoked = serde_json::json!({ "revoked": name });
                    writeln!(out, "{}", terminal::pretty(&revoked)?)?;
                } else {
                    writeln!(out, "revoked {name}")?;
                }
                Ok(())
            }
        }
    })?;
    Ok(CommandStatus::Done)
}

/// Opens the keys of the database, which only the creation of a key creates.
async fn open(config: &Config, action: &KeyAction) -> anyhow::Result<Box<dyn AccessStore>> {
    if !matches!(action, KeyAction::Create(_)) {
        require_database(config, "`--database`")?;
    }
    let url = config.store.database.reveal();
    let path = assay_node::database_file(config);
    if path.is_none() && !url.starts_with("postgres") {
        bail!("keys are stored in a database; name one with `--database sqlite://PATH`");
    }
    let missing = path.filter(|path| !path.exists());
    let store = assay_node::open_keys(config).await?;
    if let Some(path) = missing {
        writeln!(
            terminal::stderr(),
            "created the database `{}`",
            std::path::absolute(path)?.display()
        )?;
    }
    Ok(store)
}

fn new_key(new: &CreateKey, clock: &dyn Clock) -> anyhow::Result<NewKey> {
    Ok(NewKey {
        name: new.name.clone(),
        role: new.role,
        quotas: new.quotas.limits(),
        expires_us: expiry(new.expires, clock)?,
    })
}

fn changes(set: &SetKey, clock: &dyn Clock) -> anyhow::Result<KeyChanges> {
    let quotas = set.quotas.limits();
    for quota in &set.no_quota {
        ensure!(
            quota.limit(quotas).is_none(),
            "the quota `{quota}` is both set and removed; omit one of the options"
        );
    }
    let expires_us = expiry(set.expires, clock)?;
    let changes = KeyChanges {
        role: set.role,
        expires_us: (set.no_expiry || expires_us.is_some()).then_some(expires_us),
        quotas,
        no_quotas: set.no_quota.clone(),
    };
    ensure!(
        changes != KeyChanges::default(),
        "nothing to change; name a role, an expiry or quotas (see `assay keys set --help`)"
    );
    Ok(changes)
}

/// When a key expires that is valid for `seconds` from now.
fn expiry(seconds: Option<u64>, clock: &dyn Clock) -> anyhow::Result<Option<i64>> {
    ensure!(
        seconds != Some(0),
        "`--expires` must be longer than 0, such as `90d`"
    );
    Ok(seconds.map(|seconds| after(clock, seconds)))
}

/// The time in `seconds` from now, in microseconds since the Unix epoch.
fn after(clock: &dyn Clock, seconds: u64) -> i64 {
    let micros = i64::try_from(seconds)
        .unwrap_or(i64::MAX)
        .saturating_mul(MICROS);
    clock.unix_us().saturating_add(micros)
}

async fn bodies(store: &dyn AccessStore, clock: &dyn Clock) -> anyhow::Result<Vec<KeyBody>> {
    let now_us = clock.unix_us();
    let keys = store.keys().await?.into_iter();
    Ok(keys.map(|key| KeyBody::new(key, now_us)).collect())
}

fn list(keys: &[KeyBody], json: bool) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    if json {
        terminal::json_lines(&mut out, keys)?;
        return Ok(());
    }
    let rows: Vec<_> = keys.iter().map(row).collect();
    table::write(
        &mut out,
        [
            "NAME",
            "ID",
            "ROLE",
            "STATE",
            "EXPIRES",
            "LAST USED",
            "BYTES",
            "QUOTAS",
        ],
        &rows,
    )?;
    Ok(())
}

fn row(key: &KeyBody) -> [String; 8] {
    let time = |time_us: Option<i64>| table::cell(time_us.map(table::time));
    let state = match key.old_until_us {
        Some(_) => format!("{}, old key until {}", key.state, time(key.old_until_us)),
        None => key.state.to_owned(),
    };
    [
        key.name.clone(),
        key.id.clone(),
        key.role.to_string(),
        state,
        time(key.expires_us),
        time(key.last_used_us),
        key.bytes_stored.to_string(),
        quotas(&key.quotas),
    ]
}

/// The quotas that are set.
fn quotas(quotas: &Quotas) -> String {
    let parts = [
        (quotas.items_per_minute, "items/min"),
        (quotas.cpu_seconds_per_minute, "CPU s/min"),
        (quotas.items_in_flight, "in flight"),
        (quotas.bytes_stored, "bytes"),
    ];
    let set = parts
        .into_iter()
        .filter_map(|(limit, unit)| Some(format!("{} {unit}", limit?)));
    set.collect::<Vec<_>>().join(", ")
}

fn show(key: &KeyBody) -> anyhow::Result<()> {
    writeln!(terminal::stdout(), "{}", terminal::pretty(key)?)?;
    Ok(())
}

/// Prints a new key to standard output, alone, so that a script can read it.
fn print(name: &str, key: &Key, json: bool) -> anyhow::Result<()> {
    // A closed output is an error here, because the key is lost.
    let unprinted = |error: std::io::Error| {
        anyhow!("the key cannot be printed ({error}); run `assay keys rotate {name}` for another")
    };
    let mut out = terminal::stdout();
    if json {
        let body = NewKeyBody {
            name,
            key: key.reveal(),
        };
        writeln!(out, "{}", terminal::pretty(&body)?).map_err(unprinted)?;
    } else {
        writeln!(out, "{}", key.reveal()).map_err(unprinted)?;
        writeln!(
            terminal::stderr(),
            "this is the only time that the key `{name}` is shown"
        )?;
    }
    Ok(())
}
