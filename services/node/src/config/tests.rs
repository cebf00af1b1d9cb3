use assay_record::access::Role;
use assay_reward_model::{AttentionKernel, GpuOptions, ProductRows};

use super::*;

fn load(
    text: &str,
    variables: &[(&str, &str)],
    flags: Vec<Override>,
) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assay.toml");
    std::fs::write(&file, text).unwrap();
    let variables = variables
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Config::load(Some(&file), variables, flags)
}

#[test]
fn flags_override_variables_and_variables_override_the_file() {
    let file = "[engine]\nworkers = 1\nitems_in_flight = 10\nprepared_bytes = 5\n";
    let variables = [
        ("ASSAY_ENGINE_WORKERS", "2"),
        ("ASSAY_ENGINE_ITEMS_IN_FLIGHT", "20"),
        ("HOME", "/"),
    ];
    let config = load(
        file,
        &variables,
        vec![("engine", "workers", Value::Integer(3))],
    )
    .unwrap();
    let engine = config.engine;
    assert_eq!(
        (
            engine.workers,
            engine.items_in_flight,
            engine.prepared_bytes
        ),
        (3, 20, 5)
    );
}

#[test]
fn rejects_unknown_keys_with_their_origin() {
    let error = load("[engine]\nworker = 1\n", &[], Vec::new())
        .unwrap_err()
        .to_string();
    assert!(error.contains("unknown field `worker`"), "{error}");
    let error = load("", &[("ASSAY_ENGINE_WORKERS", "many")], Vec::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`ASSAY_ENGINE_WORKERS`: invalid type"),
        "{error}"
    );
}

#[test]
fn unknown_variables_are_warnings_unless_rejected() {
    let variables = [
        ("ASSAY_ENGINE_WORKER", "1"),
        ("ASSAY_PORT", "tcp://10.0.0.1:80"),
    ];
    let loaded = Config::read(None, variables, Vec::new()).unwrap();
    assert_eq!(loaded.unknown.len(), 1);
    let error = Config::reject_unknown(variables).unwrap_err().to_string();
    assert!(
        error.contains(
            "`ASSAY_ENGINE_WORKER` is not a known setting; the most similar is \
             `ASSAY_ENGINE_WORKERS`"
        ),
        "{error}"
    );
    Config::reject_unknown([("ASSAY_PORT", "tcp://10.0.0.1:80")]).unwrap();
}

#[test]
fn prints_paths_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let home = std::ffi::OsStr::from_bytes(b"/home/\xff");
    let config = Config::load(None, [(std::ffi::OsStr::new("HOME"), home)], Vec::new()).unwrap();
    assert!(
        config
            .to_toml()
            .contains("images = \"/home/\u{fffd}/.cache/assay/images\""),
        "{}",
        config.to_toml()
    );
}

#[test]
fn printed_configuration_round_trips() {
    let config = Config::default();
    let home = [("HOME", "/home/me")];
    let mut read = load(&config.to_toml(), &home, Vec::new()).unwrap();
    assert_eq!(
        read.sandbox_workers.images,
        Path::new("/home/me/.cache/assay/images"),
        "an empty folder selects the user's cache folder"
    );
    assert_eq!(
        read.cache.as_deref(),
        Some(Path::new("/home/me/.cache/assay"))
    );
    read.sandbox_workers.images = PathBuf::new();
    read.cache = None;
    assert_eq!(read, config);
}

#[test]
fn redacts_passwords() {
    let printed = |url: &str| {
        let variables = [("ASSAY_SQL_POSTGRES", url)];
        let config = load("", &variables, Vec::new()).unwrap();
        assert_eq!(config.sql.postgres.reveal(), url);
        let line = config
            .to_toml()
            .lines()
            .find(|line| line.starts_with("postgres = "))
            .unwrap()
            .to_owned();
        assert_eq!(
            format!("{:?}", config.sql.postgres),
            line.trim_start_matches("postgres = ")
        );
        line
    };
    assert_eq!(
        printed("postgres://me:a@b:c@host:5/db"),
        "postgres = \"postgres://me:***@host:5/db\""
    );
    assert_eq!(
        printed("postgres://me@host/db?password=x&a=b"),
        "postgres = \"postgres://me@host/db?password=***&a=***\""
    );
    assert_eq!(
        printed("postgres://me@host/db?password=a@b"),
        "postgres = \"postgres://me@host/db?password=***\""
    );
    let error = load(
        "\n[sql]\npostgres = \"postgres://me:secret@host\n",
        &[],
        Vec::new(),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("is not valid TOML, line 3: ") && !error.contains("secret"),
        "{error}"
    );
    let error = load("", &[("ASSAY_SQL_POSTGRES", "me:secret@host")], Vec::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`sql.postgres` must be a URL") && !error.contains("secret"),
        "{error}"
    );
    let config = load(
        "[reward_models]\nhub = \"https://me:secret@host\"\n",
        &[],
        Vec::new(),
    )
    .unwrap();
    assert_eq!(config.reward_models.hub.reveal(), "https://me:secret@host");
    assert!(
        config.to_toml().contains("hub = \"https://me:***@host\"\n"),
        "{}",
        config.to_toml()
    );
    assert!(!format!("{config:?}").contains("secret"), "{config:?}");
    // Rejected when it is read, but set by code.
    let log = Log {
        traces: "http://me:secret@host:1".into(),
        ..Log::default()
    };
    assert!(
        format!("{log:?}").contains("\"http://me:***@host:1\""),
        "{log:?}"
    );
}

#[test]
fn errors_contain_paths() {
    for path in ["grades.db", "/data/run@3/grades.db"] {
        let error = load("", &[("ASSAY_STORE_DATABASE", path)], Vec::new())
            .unwrap_err()
            .to_string();
        let expected = format!("or empty: `{path}`; write `sqlite://{path}`");
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn errors_contain_no_passwords() {
    let url = "postgres://me:secret@host/db";
    for (file, expected) in [
        (
            format!("sql = \"{url}\"\n"),
            "invalid type: string, expected struct Sql (in `sql`)",
        ),
        (
            format!("[engine]\nworkers = \"{url}\"\n"),
            "invalid type: string, expected usize (in `engine.workers`)",
        ),
        (
            format!("[sql]\n\"{url}\" = 1\n"),
            "unknown field `***`, expected one of `postgres`,",
        ),
        (
            format!("[log]\nformat = \"{url}\"\n"),
            "unknown variant `***`, expected `text` or `json` (in `log.format`)",
        ),
        (
            "[store]\ndatabase = \"mysql://me:secret@host/db\"\n".to_owned(),
            "`store.database` must be `sqlite://PATH`, `postgres://USER@HOST/NAME`, \
             `sqlite::memory:` or empty: `mysql://me:***@host/db`",
        ),
        (
            "[store]\ndatabase = \"me:secret@host/db\"\n".to_owned(),
            "`sqlite::memory:` or empty: `***`",
        ),
        (
            "[store]\ndatabase = \"host=h password=secret\"\n".to_owned(),
            "`sqlite::memory:` or empty: `***`",
        ),
        (
            "[log]\ntraces = \"http://me:secret@host\"\n".to_owned(),
            "`log.traces` must not contain a user name or password",
        ),
        (
            format!("[reward_models]\ndevice = \"{url}\"\n"),
            "`reward_models.device` must be `cpu` or GPUs such as `cuda:0,cuda:1`: `***`",
        ),
        (
            format!("[reward_models]\ndefault = \"{url}\"\n"),
            "`reward_models.default` is not in `reward_models.load`: `***`",
        ),
        (
            format!("[reward_models]\nfetch = [\"{url}\"]\n"),
            "malformed name `***` in `reward_models.fetch`",
        ),
        (
            format!("[reward_models.load.\"{url}\"]\nsource = \"a\"\n"),
            "1 to 64 characters",
        ),
        (
            format!("[channels.rates]\n\"{url}\" = {{ rho0 = 0.6, rho1 = 0.6 }}\n"),
            "`channels.rates.***`: ",
        ),
    ] {
        let error = load(&file, &[], Vec::new()).unwrap_err().to_string();
        assert!(
            error.contains(expected) && !error.contains("secret"),
            "{error}"
        );
    }
}

#[test]
fn reads_reward_models_with_their_options() {
    let file = "[reward_models]\ndefault = \"rm\"\n[reward_models.load.rm]\nsource = \
                \"org/rm\"\npooling = \"hf_nonpad\"\n";
    let variables = [
        ("ASSAY_REWARD_MODELS_QUEUE_TOKENS", "7"),
        ("ASSAY_REWARD_MODELS_FOLDER", "weights"),
    ];
    let models = load(file, &variables, Vec::new()).unwrap().reward_models;
    assert_eq!(
        (models.queue_tokens, models.folder.to_str()),
        (7, Some("weights"))
    );
    let numeric = [("ASSAY_REWARD_MODELS_FOLDER", "007")];
    let models = load(file, &numeric, Vec::new()).unwrap().reward_models;
    assert_eq!(models.folder.to_str(), Some("007"));
    let loads = models.loads().unwrap();
    assert_eq!(
        (loads[0].0.as_str(), loads[0].1.source.as_deref()),
        ("rm", Some("org/rm"))
    );
    let devices = [("ASSAY_REWARD_MODELS_DEVICE", "cuda:1, cuda:0")];
    let models = load("", &devices, Vec::new()).unwrap().reward_models;
    assert_eq!(models.devices().collect::<Vec<_>>(), ["cuda:1", "cuda:0"]);
    assert_eq!(models.gpu().unwrap(), GpuOptions::default());
    let gpu = [
        ("ASSAY_REWARD_MODELS_PRODUCT_ROWS", "0"),
        ("ASSAY_REWARD_MODELS_ATTENTION", "flash"),
    ];
    let models = load("", &gpu, Vec::new()).unwrap().reward_models;
    let expected = GpuOptions {
        product_rows: ProductRows::OFF,
        attention: AttentionKernel::Flash,
    };
    assert_eq!(models.gpu(), Ok(expected));
    let options = serde_json::json!({ "pooling": "hf_nonpad" });
    assert_eq!(loads[0].1.options.as_ref(), options.as_object());
    for (invalid, message) in [
        ("default = \"rm\"", "is not in `reward_models.load`"),
        ("device = \"gpu\"", "`cuda:0,cuda:1`"),
        ("device = \"\"", "`cuda:0,cuda:1`"),
        ("device = \"cuda:0,\"", "`cuda:0,cuda:1`"),
        ("device = \"cpu,cpu\"", "`cpu` alone"),
        ("device = \"cuda:0, cpu\"", "`cpu` alone"),
        ("device = \"cuda:0, cuda:0\"", "names `cuda:0` twice"),
        (
            "product_rows = 100",
            "`reward_models.product_rows` must be 0 or",
        ),
        ("attention = \"fused\"", "`auto`, `tiles`, `flash`"),
        (
            "queue_tokens = 0",
            "`reward_models.queue_tokens` must be at least 1",
        ),
        ("threads = 5000", "0 (one per core)"),
        (
            "[reward_models.load.rm]\npooling = \"last\"",
            "needs a `source`",
        ),
        (
            "[reward_models.load.\"\"]\nsource = \"a\"",
            "1 to 64 characters",
        ),
        (
            "[reward_models.load.rm]\nsource = \"a\"\npoling = \"last\"",
            "unknown field `poling`",
        ),
    ] {
        let error = load(&format!("[reward_models]\n{invalid}\n"), &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn rejects_misspelt_filters_with_their_origin() {
    let error = load("", &[("RUST_LOG", "inof")], Vec::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`RUST_LOG`: unknown level `inof` in `log.filter`"),
        "{error}"
    );
    let error = load("[log]\nfilter = \"debgu\"\n", &[], Vec::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("assay.toml`: unknown level `debgu`"),
        "{error}"
    );
    let variables = [("RUST_LOG", "inof"), ("ASSAY_LOG_FILTER", "debug")];
    assert_eq!(
        load("", &variables, Vec::new()).unwrap().log.filter,
        "debug"
    );
}

#[test]
fn rejects_zero_result_bytes() {
    assert_eq!(
        load("[sql]\nresult_bytes = 1\n", &[], Vec::new())
            .unwrap()
            .sql
            .result_bytes,
        1
    );
    let error = load("[sql]\nresult_bytes = 0\n", &[], Vec::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`sql.result_bytes` must be at least 1"),
        "{error}"
    );
}

#[test]
fn settings_of_sessions_have_ranges() {
    let config = load("[sessions]\nidle_seconds = 60\n", &[], Vec::new()).unwrap();
    let settings = config.sessions.settings(None, 4);
    assert_eq!(settings.idle.as_secs(), 60);
    for (setting, value) in [("idle_seconds", "0"), ("state_bytes", "1000000000")] {
        let error = load(
            &format!("[sessions]\n{setting} = {value}\n"),
            &[],
            Vec::new(),
        );
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains(&format!("`sessions.{setting}` must be")),
            "{error}"
        );
    }
}

#[test]
fn rejects_limits_that_would_reject_all_work() {
    for setting in [
        "engine.items_in_flight",
        "engine.body_bytes_in_flight",
        "engine.completion_bytes",
        "server.batch_items",
        "server.body_bytes",
        "server.parsed_bytes",
    ] {
        load(&format!("{setting} = 1\n"), &[], Vec::new()).unwrap();
        let error = load(&format!("{setting} = 0\n"), &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with(&format!(": `{setting}` must be at least 1")),
            "{error}"
        );
    }
}

#[test]
fn rejects_more_workers_than_can_be_started() {
    for setting in ["engine.workers", "sandbox_workers.count"] {
        load(&format!("{setting} = 1024\n"), &[], Vec::new()).unwrap();
        let error = load(&format!("{setting} = 1025\n"), &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!(
                "`{setting}` must be between 0 (one per core) and 1024: 1025"
            )),
            "{error}"
        );
    }
}

#[test]
fn rejects_time_limits_of_zero() {
    let keys = [
        "head_seconds",
        "idle_seconds",
        "body_pause_seconds",
        "body_seconds",
        "reply_pause_seconds",
    ];
    for key in keys {
        let error = load(&format!("[server]\n{key} = 0\n"), &[], Vec::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("`server.{key}` must be between 1 and 86400: 0")),
            "{error}"
        );
    }
}

#[test]
fn reads_whether_keys_are_required() {
    let keys = |file: &str| load(file, &[], Vec::new()).map(|config| config.access.keys);
    assert_eq!(keys("").unwrap(), KeyRequirement::Auto);
    assert_eq!(
        keys("[access]\nkeys = \"off\"\n").unwrap(),
        KeyRequirement::Off
    );
    let error = keys("[access]\nkeys = \"maybe\"\n")
        .unwrap_err()
        .to_string();
    assert!(error.contains("access.keys"), "{error}");
    assert!(keys("[server]\ninsecure = true\n").is_err());
}

#[test]
fn the_url_of_a_server_with_tls_begins_with_https() {
    let url = |file: &str| load(file, &[], Vec::new()).unwrap().server.url();
    assert_eq!(url(""), "http://127.0.0.1:8080");
    assert_eq!(
        url("[server]\nlisten = \"127.0.0.1:1\"\ntls_certificate = \"a\"\ntls_key = \"b\"\n"),
        "https://127.0.0.1:1"
    );
}

#[test]
fn a_certificate_needs_a_key() {
    let missing = |settings: &str| {
        let file = format!("[server]\n{settings}\n");
        load(&file, &[], Vec::new())
            .unwrap()
            .server
            .missing_tls_file()
    };
    assert_eq!(missing("tls_key = \"a\""), Some("server.tls_certificate"));
    assert_eq!(missing("tls_certificate = \"a\""), Some("server.tls_key"));
    assert_eq!(missing("tls_certificate = \"a\"\ntls_key = \"b\""), None);
    assert_eq!(missing(""), None);
}

#[test]
fn proxies_are_named_with_their_header() {
    let access = |text: &str| {
        let file = format!("[access]\n{text}\n");
        load(&file, &[], Vec::new()).map(|config| config.access)
    };
    let valid = access(
        "proxy_header = \"X-User\"\nproxies = [\"10.0.0.5\", \"fd00::/8\"]\n\
         proxy_users = { \"alice@lab.example\" = \"operator\", \"*\" = \"trainer\" }",
    );
    let proxies = valid.unwrap().proxies().unwrap().unwrap();
    assert_eq!(proxies.header, "x-user");
    assert!(proxies.trust("10.0.0.5".parse().unwrap()));
    assert!(!proxies.trust("10.0.0.6".parse().unwrap()));
    assert_eq!(proxies.users["*"], Role::Trainer);
    assert!(access("").unwrap().proxies().unwrap().is_none());
    let trusted = "proxies = [\"10.0.0.5\"]";
    for (text, expected) in [
        (
            "proxy_header = \"X-User\"".to_owned(),
            "needs `access.proxies`",
        ),
        (trusted.to_owned(), "need `access.proxy_header`"),
        (
            format!("proxy_header = \"X-Forwarded-For\"\n{trusted}"),
            "must be a header that only the proxy sets",
        ),
        (
            format!("proxy_header = \"X User\"\n{trusted}"),
            "must be a header",
        ),
        (
            format!("keys = \"off\"\nproxy_header = \"X-User\"\n{trusted}"),
            "has no effect with `access.keys = \"off\"`",
        ),
        (
            "proxy_header = \"X-User\"\nproxies = [\"0.0.0.0/0\"]".to_owned(),
            "`0.0.0.0/0` is not an address",
        ),
        (
            format!(
                "proxy_header = \"X-User\"\n{trusted}\nproxy_users = {{ \"a:b\" = \"admin\" }}"
            ),
            "`a:b` is not a user",
        ),
        (
            format!("proxy_header = \"X-User\"\n{trusted}\nproxy_users = {{ alice = \"root\" }}"),
            "unknown variant `root`",
        ),
    ] {
        let error = access(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn alerts_are_checked_when_they_are_read() {
    let alerts = |text: &str| {
        let file = format!("[alerts]\n{text}\n");
        load(&file, &[], Vec::new()).map(|config| config.alerts)
    };
    let valid = alerts("off = [\"slow_queue\"]\nsteps = 5\nwebhook = \"https://a:b@c/d\"").unwrap();
    let settings = valid.settings();
    assert_eq!(
        (settings.steps, settings.off.as_slice()),
        (5, ["slow_queue".to_owned()].as_slice())
    );
    assert_eq!(settings.webhook, "https://a:b@c/d");
    assert!(!format!("{valid:?}").contains("a:b"), "{valid:?}");
    for (text, expected) in [
        (
            "off = [\"slow_queu\"]",
            "unknown rule `slow_queu` in `alerts.off`",
        ),
        (
            "webhook = \"ftp://secret@a\"",
            "`alerts.webhook` must be an HTTP URL",
        ),
        ("steps = 1", "`alerts.steps` must be from 2 to 50"),
        ("minutes = 0", "`alerts.minutes` must be from 1 to 43200"),
        ("failed_share = 0", "`alerts.failed_share` must be above 0"),
        (
            "truncated_share = 1.5",
            "`alerts.truncated_share` must be above 0 and at most 1",
        ),
        (
            "reward_errors = inf",
            "`alerts.reward_errors` must be a number above 0",
        ),
    ] {
        let error = alerts(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
