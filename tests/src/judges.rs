//! Judges that decide by simple rules, one of each form of reply.

use std::collections::BTreeMap;

use assay_external::JudgeSettings;
use assay_external::scripted::{Scripted, ScriptedJudge, enclosed};
use assay_external::settings::{Encoding, Kind, ReplyForm};
use assay_node::config::JudgeSection;
use serde_json::{Value, json};

/// The judges that built-in templates name.
const OF_TEMPLATES: [(&str, ReplyForm); 12] = [
    ("anchor", ReplyForm::Score),
    ("calibrated", ReplyForm::Pairwise),
    ("consistent", ReplyForm::Score),
    ("constraint", ReplyForm::Score),
    ("correct", ReplyForm::Score),
    ("healthbench", ReplyForm::Criteria),
    ("mpo-v1", ReplyForm::Score),
    ("mpo-v2", ReplyForm::Score),
    ("novel", ReplyForm::Score),
    ("pairwise", ReplyForm::Pairwise),
    ("rubric", ReplyForm::Criteria),
    ("unsafe", ReplyForm::Score),
];

/// Starts the server of the judges, and returns it with the settings with which a node uses them:
/// `helpful` (score), `tagged` (score in a tag), `safe` (label), `better` (pair), `listed`
/// (criteria), `plain`, which is not a chat model, and those that built-in templates name.
///
/// # Errors
/// If no port is free.
pub async fn start() -> std::io::Result<(ScriptedJudge, JudgeSection)> {
    let judge = ScriptedJudge::start(reply).await?;
    let settings = |form: ReplyForm, change: fn(&mut JudgeSettings)| {
        let mut settings = JudgeSettings {
            url: judge.url.clone(),
            model: form.as_str().to_owned(),
            reply: form,
            retries: 0,
            swap_share: 0.0,
            cache_bytes: 0,
            ..JudgeSettings::default()
        };
        change(&mut settings);
        settings
    };
    let of_templates = OF_TEMPLATES
        .into_iter()
        .map(|(name, form)| (name.to_owned(), settings(form, |_| {})));
    let mut judges = BTreeMap::from([
        ("helpful".to_owned(), settings(ReplyForm::Score, |_| {})),
        (
            "tagged".to_owned(),
            settings(ReplyForm::Score, |judge| {
                judge.model = "tagged".to_owned();
                judge.format = Encoding::Tagged;
                judge.threshold = Some(0.5);
            }),
        ),
        ("safe".to_owned(), settings(ReplyForm::Label, |_| {})),
        ("better".to_owned(), settings(ReplyForm::Pairwise, |_| {})),
        ("listed".to_owned(), settings(ReplyForm::Criteria, |_| {})),
        (
            "plain".to_owned(),
            settings(ReplyForm::Score, |judge| judge.kind = Kind::Http),
        ),
    ]);
    judges.extend(of_templates);
    Ok((judge, judges))
}

/// Ten points minus one for each word beyond ten, none for an empty or rude text; what is `odd` has
/// no verdict, and what is `down` no reply.
fn reply(request: &Value) -> Scripted {
    let completion = request["completion"]
        .as_str()
        .or_else(|| enclosed(request, "completion"))
        .unwrap_or_default();
    if completion.contains("odd") {
        return Scripted::Text("I cannot say.".to_owned());
    }
    if completion.contains("down") {
        return Scripted::Status(500, String::new(), String::new());
    }
    let words = completion.split_whitespace().count();
    let is_rude = completion.contains("rude");
    let score = if is_rude {
        0
    } else {
        10_usize.saturating_sub(words.saturating_sub(10))
    };
    match request["model"].as_str() {
        None => Scripted::Status(200, String::new(), json!({ "score": score }).to_string()),
        Some("tagged") => Scripted::Text(format!("It is clear. <score>{score}</score>")),
        Some("label") => Scripted::json(&json!({ "label": if is_rude { "no" } else { "yes" } })),
        Some("pairwise") => {
            let place = |name: &str| enclosed(request, name).unwrap_or_default().len();
            let preferred = match place("first").cmp(&place("second")) {
                std::cmp::Ordering::Less => "first",
                std::cmp::Ordering::Equal => "tie",
                std::cmp::Ordering::Greater => "second",
            };
            Scripted::json(&json!({ "reason": "shorter", "preferred": preferred }))
        }
        Some("criteria") => {
            let ids = enclosed(request, "criteria").unwrap_or_default().lines();
            let decided = ids.filter_map(|line| {
                let (id, text) = line.split_once(": ")?;
                Some(json!({ "id": id, "met": completion.contains(text) }))
            });
            Scripted::json(&json!({ "criteria": decided.collect::<Vec<_>>() }))
        }
        Some(_) => Scripted::json(&json!({ "reason": "length", "score": score })),
    }
}
