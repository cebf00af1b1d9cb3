//! Certificates: what a check found, signed for others, or compared with what they signed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use assay_check::{Dataset, Report};
use assay_core::{Clock, RawJson, SystemClock};
use assay_engine::Engine;
use assay_node::Config;
use assay_review::certificate::{self, Certificate, CertifiedFile};
use assay_review::receipt::{CERTIFICATE, Envelope};
use serde_json::{Map, Value, json};

use crate::arguments::Check;
use crate::commands::grade::reject_same_file;
use crate::commands::template;
use crate::commands::verify_receipt::{public_keys, write_difference};
use crate::output::OutputFile;
use crate::terminal;

/// What is written and compared after a check.
pub(super) struct Certificates {
    /// The file to write, and the file of the key that signs it.
    new: Option<(OutputFile, PathBuf)>,
    /// The certificate of an earlier check.
    earlier: Option<Certificate>,
}

impl Certificates {
    /// Opens the files, before the check. `config` has the settings of a node.
    ///
    /// # Errors
    /// A file cannot be read or created, the new certificate would replace a file that is read, or
    /// no required key signed the earlier one.
    pub(super) async fn open(config: &Config, arguments: &Check) -> anyhow::Result<Self> {
        let new = match &arguments.certificate {
            Some(path) => {
                for input in inputs(arguments) {
                    reject_same_file(input, path)?;
                }
                let key = config.receipts.key_file(&config.store);
                let key = key.context("no key to sign with; set `receipts.key` to a file")?;
                certificate::ensure_key(key.clone()).await?;
                Some((OutputFile::open(path)?, key))
            }
            None => None,
        };
        let earlier = match &arguments.verify_certificate {
            Some(path) => {
                let read = read(path, &arguments.signed_by);
                let shown = path.display();
                Some(read.with_context(|| format!("cannot use the certificate `{shown}`"))?)
            }
            None => None,
        };
        Ok(Self { new, earlier })
    }

    /// Whether the files of the datasets are hashed.
    pub(super) fn are_requested(&self) -> bool {
        self.new.is_some() || self.earlier.is_some()
    }

    /// Writes the certificate of a check, and compares it with the earlier one; returns whether
    /// both say the same.
    pub(super) async fn finish(self, certificate: &Certificate) -> anyhow::Result<bool> {
        if let Some((file, key)) = self.new {
            let envelope = certificate.sign(key).await?;
            let mut out = file.writer()?;
            writeln!(out, "{}", terminal::json(&envelope)?)?;
            out.flush()?;
            drop(out);
            file.finish()?;
        }
        let Some(earlier) = self.earlier else {
            return Ok(true);
        };
        let differences = earlier.differences(certificate);
        let mut err = terminal::stderr();
        // If stderr is closed, only the exit code reports the result.
        let _ = if differences.is_empty() {
            writeln!(err, "the check matches the certificate")
        } else {
            writeln!(err, "the check differs from the certificate:").and_then(|()| {
                let mut differences = differences.iter();
                differences.try_for_each(|found| write_difference(&mut err, "certificate", found))
            })
        };
        Ok(differences.is_empty())
    }
}

/// The files that a check reads.
fn inputs(arguments: &Check) -> impl Iterator<Item = &Path> {
    let named = [&arguments.template, &arguments.rollouts].into_iter();
    let datasets = arguments.datasets.iter().chain(named.flatten());
    let files = [
        &arguments.join,
        &arguments.rules,
        &arguments.baseline,
        &arguments.against,
        &arguments.compare,
    ];
    let files = files.into_iter().flatten().map(PathBuf::as_path);
    datasets.map(Path::new).chain(files)
}

/// Reads a certificate that one of the required keys signed.
fn read(path: &Path, signed_by: &[String]) -> anyhow::Result<Certificate> {
    let required = public_keys(signed_by)?;
    let envelope: Envelope = serde_json::from_slice(&fs::read(path)?)?;
    let (payload, keys) = envelope.open(CERTIFICATE)?;
    ensure!(
        required.is_empty() || keys.iter().any(|key| required.contains(key)),
        "none of the keys of `--signed-by` signed it"
    );
    Certificate::read(&payload).map_err(anyhow::Error::msg)
}

/// What a check is of: the files of its datasets and its options.
#[derive(PartialEq)]
pub(super) struct Checked {
    files: Vec<CertifiedFile>,
    options: Value,
}

impl Checked {
    /// Hashes the files.
    pub(super) fn read(
        datasets: &[Dataset],
        config: &Config,
        arguments: &Check,
    ) -> anyhow::Result<Self> {
        let hashed = datasets.iter().map(|dataset| {
            ensure!(
                dataset.path != Path::new("-"),
                "cannot certify standard input; pass a file"
            );
            let name = if dataset.revision.is_some() {
                dataset.name.clone()
            } else {
                file_name(&dataset.path)
            };
            let file = CertifiedFile::read(name, &dataset.path);
            file.with_context(|| format!("cannot read `{}`", dataset.path.display()))
        });
        Ok(Self {
            files: hashed.collect::<anyhow::Result<_>>()?,
            options: options(config, arguments)?,
        })
    }

    /// What a check of these found.
    pub(super) fn certificate(
        self,
        report: &Report,
        engine: &Engine,
    ) -> serde_json::Result<Certificate> {
        let parts = [
            ("options", self.options),
            ("graders", graders(report, engine)),
            ("datasets", datasets(report)?),
            ("findings", json!(report.counts)),
            ("known", json!(report.known)),
            ("ignored", json!(report.ignored)),
        ];
        let check = parts.into_iter().filter_map(|(key, value)| {
            let json = RawJson::stored(&value.to_string())?;
            Some((key.to_owned(), json))
        });
        Ok(Certificate {
            assay: env!("CARGO_PKG_VERSION").to_owned(),
            time_us: SystemClock::new().unix_us(),
            files: self.files,
            check: check.collect(),
        })
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The datasets of a report, in the order of the files.
fn datasets(report: &Report) -> serde_json::Result<Value> {
    let datasets = report.datasets.iter().map(|summary| {
        let mut value = serde_json::to_value(summary)?;
        // The folder may be another one.
        if let Some(dataset) = value.as_object_mut() {
            dataset.remove("dataset");
        }
        Ok(value)
    });
    datasets.collect()
}

/// The graders of the tasks, with their versions.
fn graders(report: &Report, engine: &Engine) -> Value {
    let used: BTreeSet<&str> = report
        .datasets
        .iter()
        .flat_map(|dataset| dataset.tasks.keys())
        .map(String::as_str)
        .collect();
    let graders = used
        .iter()
        .filter_map(|name| engine.graders().by_name(name));
    graders
        .map(|grader| grader.spec().id().to_string())
        .collect()
}

/// The options that affect what a check finds, those that are set: templates as JSON, and files by
/// their hashes.
fn options(config: &Config, arguments: &Check) -> anyhow::Result<Value> {
    let mut options = Map::new();
    let templates = config.templates()?;
    for (name, given) in [
        ("template", &arguments.template),
        ("against_template", &arguments.against_template),
    ] {
        if let Some(given) = given {
            let json = template::json(&templates, given)?;
            options.insert(name.to_owned(), serde_json::from_str(&json)?);
        }
    }
    for (name, text) in [
        ("solution", &arguments.solution),
        ("prompt", &arguments.prompt),
    ] {
        options.extend(text.iter().map(|text| (name.to_owned(), json!(text))));
    }
    if let Some(rollouts) = &arguments.rollouts {
        let path = Path::new(rollouts);
        let value = if path.is_file() {
            content(path)?
        } else {
            json!(rollouts)
        };
        options.insert("rollouts".to_owned(), value);
    }
    let files = [
        ("join", &arguments.join),
        ("rules", &arguments.rules),
        ("baseline", &arguments.baseline),
        ("against", &arguments.against),
    ];
    for (name, path) in files {
        if let Some(path) = path {
            options.insert(name.to_owned(), content(path)?);
        }
    }
    let map = arguments.map.iter().map(ToString::to_string);
    let lists = [
        ("map", map.collect()),
        ("ignore", arguments.ignore.clone()),
        ("select", arguments.select.clone()),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            options.insert(name.to_owned(), json!(list));
        }
    }
    if let Some(on) = &arguments.on {
        options.insert("on".to_owned(), json!([on.dataset, on.joined]));
    }
    if let Some(folder) = &arguments.databases {
        options.insert("databases".to_owned(), json!(file_name(folder)));
    }
    if let Some(rows) = arguments.sample {
        options.insert("sample".to_owned(), json!(rows));
        options.insert("seed".to_owned(), json!(arguments.seed));
    }
    options.insert("repeats".to_owned(), json!(arguments.repeats));
    if !config.check.is_empty() {
        options.insert("check".to_owned(), serde_json::to_value(&config.check)?);
    }
    Ok(Value::Object(options))
}

/// The hash of a file.
fn content(path: &Path) -> anyhow::Result<Value> {
    let file = CertifiedFile::read(String::new(), path);
    let file = file.with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(json!({ "sha256": file.sha256 }))
}
