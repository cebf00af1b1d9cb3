//! `assay verify-receipt`: checks the signatures of receipts, grades their items again with this
//! binary and compares the results.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use assay_core::RawJson;
use assay_node::Node;
use assay_review::receipt::{Difference, Envelope, PublicKey, RECEIPT, Statement};
use serde::Serialize;

use crate::arguments::VerifyReceiptArguments;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration};
use crate::{table, terminal};

/// Maximum size of one receipt, in bytes: more than an item can have in Base64.
const MAX_RECEIPT: u64 = 256 << 20;

/// What was found about one receipt.
#[derive(Serialize)]
struct Finding {
    /// Its place in the file, from 1.
    receipt: usize,
    /// Id of its grade; null if it is not valid.
    grade: Option<String>,
    grader: Option<String>,
    verdict: Option<String>,
    state: State,
    /// The keys that signed it.
    keys: Vec<String>,
    /// Why it is not valid, or cannot be graded.
    reason: Option<String>,
    differences: Vec<Difference>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The signature is valid, and grading the item again returns the same result.
    Verified,
    /// The result differs.
    Differs,
    /// The signature is not valid, or not one of the required keys.
    Invalid,
    /// This binary cannot grade the item, or does not because a judge would be called.
    NotGraded,
}

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &VerifyReceiptArguments,
) -> anyhow::Result<CommandStatus> {
    let required = public_keys(&arguments.signed_by)?;
    let path = &arguments.file;
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let opened = std::fs::File::open(path);
        Box::new(opened.with_context(|| format!("cannot read `{}`", path.display()))?)
    };
    let unrecorded = configuration(file, vec![("store", "database", String::new().into())])?;
    block_on(async {
        let node = Node::start(unrecorded).await?;
        let verified = verify(&node, input, &required, arguments).await;
        node.stop().await;
        verified
    })
}

/// The keys of `--signed-by`.
pub(crate) fn public_keys(signed_by: &[String]) -> anyhow::Result<Vec<PublicKey>> {
    let keys = signed_by.iter().map(|key| match key.parse() {
        Ok(key) => Ok(key),
        Err(()) => bail!("`--signed-by` must be a key of 64 hexadecimal digits, not `{key}`"),
    });
    keys.collect()
}

/// Writes a line with a part that differs between what was signed and now.
pub(crate) fn write_difference(
    out: &mut impl Write,
    signed: &str,
    Difference { key, stated, now }: &Difference,
) -> io::Result<()> {
    let shown = |json: &Option<RawJson>| {
        let text = json.as_ref().map_or("nothing", RawJson::get);
        table::printable(text)
    };
    writeln!(
        out,
        "  {key}: {} in the {signed}, {} now",
        shown(stated),
        shown(now)
    )
}

async fn verify(
    node: &Node,
    input: Box<dyn Read>,
    required: &[PublicKey],
    arguments: &VerifyReceiptArguments,
) -> anyhow::Result<CommandStatus> {
    node.load_models().await?;
    let receipts = Receipts {
        input: BufReader::new(input),
        lines: 0,
    };
    let mut out = terminal::results();
    let (mut count, mut wrong) = (0, 0);
    for receipt in receipts {
        count += 1;
        let receipt =
            receipt.with_context(|| format!("cannot read `{}`", arguments.file.display()))?;
        let finding = find(node, count, receipt, required).await;
        wrong += usize::from(finding.state != State::Verified);
        if arguments.output.json {
            writeln!(out, "{}", terminal::json(&finding)?)?;
        } else {
            write(&mut out, &finding)?;
        }
    }
    if count == 0 {
        bail!("`{}` has no receipts", arguments.file.display());
    }
    Ok(match wrong {
        0 => CommandStatus::Done,
        _ => CommandStatus::Findings,
    })
}

async fn find(
    node: &Node,
    receipt: usize,
    envelope: Result<Envelope, String>,
    required: &[PublicKey],
) -> Finding {
    let mut finding = Finding {
        receipt,
        grade: None,
        grader: None,
        verdict: None,
        state: State::Invalid,
        keys: Vec::new(),
        reason: None,
        differences: Vec::new(),
    };
    let opened =
        envelope.and_then(|envelope| envelope.open(RECEIPT).map_err(|error| error.to_string()));
    let (payload, keys) = match opened {
        Ok(opened) => opened,
        Err(reason) => {
            finding.reason = Some(reason);
            return finding;
        }
    };
    finding.keys = keys.iter().map(PublicKey::to_string).collect();
    if !required.is_empty() && !keys.iter().any(|key| required.contains(key)) {
        finding.reason = Some("none of the keys of `--signed-by` signed it".to_owned());
        return finding;
    }
    let statement = match Statement::read(&payload) {
        Ok(statement) => statement,
        Err(reason) => {
            finding.state = State::NotGraded;
            finding.reason = Some(format!(
                "this version cannot read what was signed: {reason}"
            ));
            return finding;
        }
    };
    finding.grade = Some(statement.grade.to_string());
    finding.grader = statement.text("grader");
    finding.verdict = statement.text("verdict");
    match node.review().verify(&statement).await {
        Ok(differences) if differences.is_empty() => finding.state = State::Verified,
        Ok(differences) => {
            finding.state = State::Differs;
            finding.differences = differences;
        }
        Err(error) => {
            finding.state = State::NotGraded;
            finding.reason = Some(error.to_string());
        }
    }
    finding
}

fn write(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let name = match &finding.grade {
        Some(grade) => {
            let grader = finding.grader.as_deref().unwrap_or_default();
            let verdict = finding.verdict.as_deref().unwrap_or("no verdict");
            table::printable(&format!("{grade} {grader} {verdict}"))
        }
        None => format!("receipt {}", finding.receipt),
    };
    let reason = table::printable(finding.reason.as_deref().unwrap_or_default());
    match finding.state {
        State::Verified => {
            writeln!(
                out,
                "{name}: verified, signed by {}",
                finding.keys.join(" and ")
            )
        }
        State::Differs => {
            writeln!(out, "{name}: differs")?;
            let mut differences = finding.differences.iter();
            differences.try_for_each(|found| write_difference(out, "receipt", found))
        }
        State::Invalid => writeln!(out, "{name}: not valid: {reason}"),
        State::NotGraded => writeln!(out, "{name}: not compared: {reason}"),
    }
}

/// The receipts of a file: one on each line, or one over all lines. A line that is not a receipt is
/// returned with the reason.
struct Receipts<R> {
    input: R,
    /// Number of lines that were read.
    lines: usize,
}

impl<R: BufRead> Receipts<R> {
    /// Appends a line to `text`, or all lines.
    fn read(&mut self, text: &mut Vec<u8>, all: bool) -> io::Result<()> {
        let mut input = (&mut self.input).take(MAX_RECEIPT + 1 - text.len() as u64);
        if all {
            input.read_to_end(text)?;
        } else {
            input.read_until(b'\n', text)?;
            self.lines += 1;
        }
        if text.len() as u64 > MAX_RECEIPT {
            let message = format!("a receipt has at most {MAX_RECEIPT} bytes");
            return Err(io::Error::other(message));
        }
        Ok(())
    }

    fn read_next(&mut self) -> io::Result<Option<Result<Envelope, String>>> {
        loop {
            let mut text = Vec::new();
            self.read(&mut text, false)?;
            if text.is_empty() {
                return Ok(None);
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let mut parsed = serde_json::from_slice(&text);
            if self.lines == 1 && parsed.as_ref().is_err_and(serde_json::Error::is_eof) {
                self.read(&mut text, true)?;
                parsed = serde_json::from_slice(&text);
            }
            let line = self.lines;
            return Ok(Some(parsed.map_err(|error| {
                format!("line {line} is not a receipt: {error}")
            })));
        }
    }
}

impl<R: BufRead> Iterator for Receipts<R> {
    type Item = io::Result<Result<Envelope, String>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}
