//! The configuration: a TOML file and environment variables.
//!
//! The file ends at a line `---`; each line after it is a variable, `NAME=value`.
//!
//! Properties: errors and the printed configuration contain no password; an accepted configuration
//! is unchanged after it is printed and read again.

use std::path::PathBuf;

use assay_node::Config;

thread_local! {
    /// A folder of this thread for the file.
    static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// Shorter passwords may occur in a configuration by chance.
const SHORTEST_PASSWORD: usize = 6;

/// The password in the seeds.
const MARK: &str = "s3cr3tw0rd";

/// Reads a configuration.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (file, variables) = text.split_once("\n---\n").unwrap_or((text, ""));
    let variables = variables.lines().filter_map(|line| line.split_once('='));
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = match load(file, variables) {
        Ok(config) => config,
        Err(message) => {
            assert!(!message.is_empty());
            assert!(
                !has_marked_password(file) || !message.contains(MARK),
                "the password is in the error: {message}"
            );
            return;
        }
    };
    let _ = config.channels.settings();
    assert!(config.reward_models.loads().is_ok() && config.policies().is_ok());
    let printed = config.to_toml();
    let mut again =
        load(&printed, [].into_iter()).unwrap_or_else(|error| panic!("{error} in {printed}"));
    // URLs are printed without their passwords and keys.
    again.sql.postgres = config.sql.postgres.clone();
    again.log.traces = config.log.traces.clone();
    again.alerts.webhook = config.alerts.webhook.clone();
    again.reward_models.hub = config.reward_models.hub.clone();
    // A folder of the user, from variables.
    again.cache.clone_from(&config.cache);
    for (judge, original) in again.judges.values_mut().zip(config.judges.values()) {
        judge.url.clone_from(&original.url);
        // Keys are in variables, which are not passed again.
        judge.key = original.key.clone();
        judge.key_error.clone_from(&original.key_error);
    }
    assert_eq!(again, config, "round trip");
    for url in [
        &config.sql.postgres,
        &config.log.traces,
        &config.alerts.webhook,
        &config.reward_models.hub,
    ] {
        check_password(url.reveal(), text, &format!("{printed}{config:?}"));
    }
}

/// Whether the mark occurs only once in the file, as the password in the server's URL.
fn has_marked_password(file: &str) -> bool {
    let Some((before, _)) = file
        .split_once(MARK)
        .filter(|(_, after)| !after.contains(MARK))
    else {
        return false;
    };
    let section = before.lines().rev().find(|line| line.starts_with('['));
    section == Some("[sql]")
        && before
            .lines()
            .next_back()
            .is_some_and(|line| line.starts_with("postgres = \"postgres://"))
}

/// Loads a file and variables.
fn load(file: &str, variables: impl Iterator<Item = (String, String)>) -> Result<Config, String> {
    std::fs::write(path(), file).expect("a file can be written");
    Config::load(Some(&path()), variables, Vec::new()).map_err(|error| error.to_string())
}

fn path() -> PathBuf {
    FOLDER.with(|folder| folder.path().join("assay.toml"))
}

/// Asserts that a password that occurs once in the input is not in the output.
fn check_password(url: &str, input: &str, printed: &str) {
    let user = url
        .split_once("://")
        .and_then(|(_, rest)| rest.rsplit_once('@'));
    let password = user
        .and_then(|(user, _)| user.split_once(':'))
        .map(|(_, password)| password);
    if let Some(password) = password.filter(|password| password.len() >= SHORTEST_PASSWORD) {
        let is_alone = input.matches(password).count() == 1;
        assert!(
            !is_alone || !printed.contains(password),
            "the password is printed: {printed}"
        );
    }
}
