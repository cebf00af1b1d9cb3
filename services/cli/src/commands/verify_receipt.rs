//! `assay verify-receipt`: checks the signatures of receipts, grades their items again with this
//! binary and compares the results.

use std::cell::Cell;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, bail};
use assay_node::Node;
use assay_review::receipt::{Difference, Envelope, PublicKey, Statement};
use serde::Serialize;
use serde_json::value::RawValue;

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
    differences: Vec<Differs>,
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
    /// This binary cannot grade the item.
    NotGraded,
}

#[derive(Serialize)]
struct Differs {
    key: String,
    stated: Option<Box<RawValue>>,
    now: Option<Box<RawValue>>,
}

impl From<Difference> for Differs {
    fn from(difference: Difference) -> Self {
        Self {
            key: difference.key,
            stated: difference.stated,
            now: difference.now,
        }
    }
}

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &VerifyReceiptArguments,
) -> anyhow::Result<CommandStatus> {
    let required = arguments
        .signed_by
        .iter()
        .map(|key| match key.parse() {
            Ok(key) => Ok(key),
            Err(()) => bail!("`--signed-by` must be a key of 64 hexadecimal digits, not `{key}`"),
        })
        .collect::<anyhow::Result<Vec<PublicKey>>>()?;
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

async fn verify(
    node: &Node,
    input: Box<dyn Read>,
    required: &[PublicKey],
    arguments: &VerifyReceiptArguments,
) -> anyhow::Result<CommandStatus> {
    node.load_models().await?;
    let left = Rc::new(Cell::new(MAX_RECEIPT));
    let limited = Limited {
        reader: BufReader::new(input),
        left: Rc::clone(&left),
    };
    let receipts = serde_json::Deserializer::from_reader(limited).into_iter::<Envelope>();
    let mut out = terminal::results();
    let (mut count, mut wrong) = (0, 0);
    for receipt in receipts {
        count += 1;
        let receipt = receipt.with_context(|| {
            format!(
                "receipt {count} of `{}` cannot be read",
                arguments.file.display()
            )
        })?;
        left.set(MAX_RECEIPT);
        let finding = find(node, count, &receipt, required).await;
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

async fn find(node: &Node, receipt: usize, envelope: &Envelope, required: &[PublicKey]) -> Finding {
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
    let (payload, keys) = match envelope.open() {
        Ok(opened) => opened,
        Err(error) => {
            finding.reason = Some(error.to_string());
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
        Err(error) => {
            finding.reason = Some(format!("its payload is not a receipt: {error}"));
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
            finding.differences = differences.into_iter().map(Differs::from).collect();
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
            finding
                .differences
                .iter()
                .try_for_each(|Differs { key, stated, now }| {
                    let shown = |json: &Option<Box<RawValue>>| {
                        let text = json.as_ref().map_or("nothing", |json| json.get());
                        table::printable(text)
                    };
                    writeln!(
                        out,
                        "  {key}: {} in the receipt, {} now",
                        shown(stated),
                        shown(now)
                    )
                })
        }
        State::Invalid => writeln!(out, "{name}: not valid: {reason}"),
        State::NotGraded => writeln!(out, "{name}: not compared: {reason}"),
    }
}

/// A reader that fails after `left` bytes.
struct Limited<R> {
    reader: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.get().checked_sub(read as u64) {
            Some(left) => {
                self.left.set(left);
                Ok(read)
            }
            None => Err(io::Error::other(format!(
                "a receipt has at most {MAX_RECEIPT} bytes"
            ))),
        }
    }
}
