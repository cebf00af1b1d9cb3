//! Explains a grade: the intermediate values of the comparison, as text. Reading, normalising and
//! comparing belong to the modules that grade; this one only writes what they computed.

use std::fmt::Write;

use assay_base::visible::Visible;
use assay_core::{Item, Task, TaskError};

use crate::budget::{Budget, Exhausted};
use crate::compare::{Answer, Comparison, Gold};
use crate::difference::Difference;
use crate::grade::PreparedMath;
use crate::parse::{self, Form, Kind, Token};
use crate::prepare::{final_answer, prepared};
use crate::task::MathTask;
use crate::tree::Expr;

/// Longest text that is shown, in bytes.
const MAX_TEXT: usize = 2_000;

/// Most tokens that are shown of one text.
const MAX_TOKENS: usize = 200;

/// Most nodes that are shown of one tree.
const MAX_NODES: usize = 200;

/// Explains how a completion is graded: for each gold and for the extracted answer, the text, its
/// tokens, its tree and its normal form; then each comparison with the rule that decided it. Tokens
/// and trees are repeated for each meaning that commas and letters may have. Long values are cut.
///
/// # Errors
/// [`TaskError`] if the task is malformed. Golds that cannot be used are explained too.
pub fn explain(task: &Task, item: &Item) -> Result<String, TaskError> {
    let prepared = prepared(task);
    let mut out = String::new();
    for (at, text) in MathTask::read(task)?.golds.iter().enumerate() {
        line(
            &mut out,
            0,
            format_args!("gold {}: {}", at + 1, quoted(text)),
        );
        let answer = final_answer(text);
        if answer != *text {
            line(&mut out, 1, format_args!("its answer: {}", quoted(&answer)));
        }
        reading(&mut out, &answer);
        if let Ok(prepared) = &prepared
            && let Some(gold) = prepared.golds().get(at)
        {
            for normal in gold.normal_forms() {
                normal_form(&mut out, normal);
            }
        }
    }
    match prepared {
        Ok(prepared) => explain_answer(&mut out, &prepared, item),
        Err(error) => line(
            &mut out,
            0,
            format_args!("{}", Visible::line(&error.to_string())),
        ),
    }
    Ok(out)
}

fn explain_answer(out: &mut String, prepared: &PreparedMath, item: &Item) {
    let text = item.completion.text();
    let Some(found) = prepared.extract(&text, &item.meta) else {
        line(out, 0, format_args!("answer: the completion contains none"));
        return;
    };
    line(
        out,
        0,
        format_args!(
            "answer: {}, extracted by `{}` from bytes {} to {}",
            quoted(&found.text),
            found.rule.as_str(),
            found.span.start,
            found.span.end
        ),
    );
    reading(out, &found.text);
    let answer = Answer::of(&found.text, prepared.options());
    let budget = Budget::for_golds(prepared.golds().len());
    let comparisons: Vec<(&Gold, Comparison)> = prepared.comparisons(&answer, &budget).collect();
    match answer.normal_form() {
        Some(Ok(normal)) => normal_form(out, normal),
        Some(Err(Exhausted)) => line(out, 1, format_args!("normal form: exceeds the step budget")),
        None => line(out, 1, format_args!("normal form: not needed")),
    }
    for (at, (gold, comparison)) in comparisons.iter().enumerate() {
        let Comparison { rule, steps, .. } = comparison;
        let result = if comparison.equal {
            "equal"
        } else {
            "not equal"
        };
        line(
            out,
            0,
            format_args!(
                "gold {}: {result} by `{}`, {steps} steps",
                at + 1,
                rule.as_str()
            ),
        );
        line(out, 1, format_args!("{}", rule.meaning()));
        if !comparison.equal
            && let Some(difference) = gold.difference(&answer, prepared.options())
        {
            let Difference { path, gold, answer } = difference;
            let [gold, answer] = [gold, answer].map(|side| quoted(&side));
            line(
                out,
                1,
                format_args!(
                    "first difference, {path}: {gold} in the gold, {answer} in the answer"
                ),
            );
        }
    }
    let rest = prepared.golds().len() - comparisons.len();
    if rest > 0 {
        line(out, 0, format_args!("golds that were not compared: {rest}"));
    }
}

/// The intermediate forms of a text, and its trees.
fn reading(out: &mut String, text: &str) {
    let read = parse::read_observed(text, &mut |form| match form {
        Form::Cleaned(clean) if clean != text => {
            line(out, 1, format_args!("cleaned: {}", quoted(clean)));
        }
        Form::Cleaned(_) => {}
        Form::Tokens(commas, all) => {
            line(
                out,
                1,
                format_args!("tokens, `Commas::{commas:?}`: {}", tokens(all)),
            );
        }
    });
    let Some(read) = read else {
        line(out, 1, format_args!("tree: cannot be parsed"));
        return;
    };
    line(out, 1, format_args!("tree:"));
    tree(out, &read.expr);
    for other in &read.others {
        line(out, 1, format_args!("other tree:"));
        tree(out, other);
    }
}

fn tokens(tokens: &[Token<'_>]) -> String {
    let mut shown: Vec<String> = tokens.iter().take(MAX_TOKENS).map(token).collect();
    if tokens.len() > MAX_TOKENS {
        shown.push(format!("… ({} in all)", tokens.len()));
    }
    shown.join(" ")
}

fn token(token: &Token<'_>) -> String {
    match token.kind {
        Kind::Number { text, .. } => shortened(text),
        kind => shortened(&format!("{kind:?}")),
    }
}

/// The nodes of a tree, one in a line, indented by depth.
fn tree(out: &mut String, root: &Expr) {
    let mut open = vec![(2, root)];
    let mut shown = 0;
    while let Some((depth, expr)) = open.pop() {
        if shown == MAX_NODES {
            line(out, 2, format_args!("…"));
            return;
        }
        shown += 1;
        line(out, depth, format_args!("{}", shortened(&label(expr))));
        let children: Vec<&Expr> = expr.children().collect();
        open.extend(children.into_iter().rev().map(|child| (depth + 1, child)));
    }
}

/// A node without its children.
fn label(expr: &Expr) -> String {
    match expr {
        Expr::Sum(_) => "Sum".to_owned(),
        Expr::Product(_) => "Product".to_owned(),
        Expr::Power(_) => "Power".to_owned(),
        Expr::Call(function, _) => format!("Call({function:?})"),
        Expr::Apply(name, _) => format!("Apply({name:?})"),
        Expr::PlusMinus { upper_minus, .. } => format!("PlusMinus(upper_minus: {upper_minus})"),
        Expr::Percent(_) => "Percent".to_owned(),
        Expr::Quantity(_, unit) => format!("Quantity({unit:?})"),
        Expr::Ratio(_) => "Ratio".to_owned(),
        Expr::Chain(_, relations) => format!("Chain{relations:?}"),
        Expr::Bracket(open, _, close) => format!("Bracket({open:?}, {close:?})"),
        Expr::Set(_) => "Set".to_owned(),
        Expr::List(_) => "List".to_owned(),
        Expr::SetBuilder(..) => "SetBuilder".to_owned(),
        Expr::SetOp(op, _) => format!("SetOp({op:?})"),
        Expr::Matrix(rows) => format!("Matrix({} rows)", rows.len()),
        Expr::Cases(rows) => format!("Cases({} rows)", rows.len()),
        Expr::Bound(binder, name, _) => format!("Bound({binder:?}, {name:?})"),
        Expr::Where(_, condition) => format!("Where({:?})", &***condition),
        Expr::Number(_)
        | Expr::Constant(_)
        | Expr::Symbol(_)
        | Expr::Based(..)
        | Expr::Time(_)
        | Expr::Date(_)
        | Expr::Named(_)
        | Expr::Ellipsis
        | Expr::Word(_)
        | Expr::Text(_)
        | Expr::Choice(..)
        | Expr::Huge(_) => format!("{expr:?}"),
    }
}

fn normal_form(out: &mut String, normal: &Expr) {
    let normal = normal.shown(MAX_TEXT);
    line(out, 1, format_args!("normal form: {}", quoted(&normal)));
}

fn quoted(text: &str) -> String {
    format!("`{}`", shortened(text))
}

/// A text on one line.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", Visible::line(&text[..end])),
        None => Visible::line(text).to_string(),
    }
}

fn line(out: &mut String, depth: usize, text: std::fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{:1$}{text}", "", 2 * depth);
}
