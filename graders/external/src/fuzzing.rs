//! Entry points for the fuzz target of replies. Not part of the API.

use crate::lean::{self, Source};
use crate::reply::{Judgement, ReplyReader};
use crate::settings::{Encoding, JudgeSettings, Kind, ReplyForm};
use crate::task::Criterion;
use crate::{chat, nemo_gym, verifiers};

/// Every form of a reply, with its encoding.
const FORMS: [(ReplyForm, Encoding); 8] = [
    (ReplyForm::Score, Encoding::Json),
    (ReplyForm::Label, Encoding::Json),
    (ReplyForm::Pairwise, Encoding::Json),
    (ReplyForm::Criteria, Encoding::Json),
    (ReplyForm::Score, Encoding::Tagged),
    (ReplyForm::Label, Encoding::Tagged),
    (ReplyForm::Pairwise, Encoding::Tagged),
    (ReplyForm::Criteria, Encoding::Tagged),
];

/// What a text means as the reply of a judge of each form and kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The score, or why there is none.
    pub score: Result<f64, String>,
    /// The reply with white space around it and with reasoning before it.
    pub framed: Result<f64, String>,
}

/// Reads a text as a reply of every form of a chat judge.
#[must_use]
pub fn replies(text: &str) -> Vec<Read> {
    let criteria = [("a", 3.0), ("b", 1.0), ("c", -2.0)].map(|(id, points)| Criterion {
        id: id.to_owned(),
        text: id.to_owned(),
        points,
    });
    let read = |(reply, format): (ReplyForm, Encoding)| {
        let reader = ReplyReader::new(&JudgeSettings {
            reply,
            format,
            ..JudgeSettings::default()
        });
        let score = |text: &str| {
            let judgement = reader.read(text, &criteria)?;
            Ok(reader.score(&judgement, &criteria, true))
        };
        Read {
            score: score(text),
            framed: score(&format!("<think>{{\"score\": 1}}</think>\n {text} \n")),
        }
    };
    FORMS.into_iter().map(read).collect()
}

/// Reads bytes as the replies of servers: the scores of those that are valid, and for a proof
/// whether it is accepted.
#[must_use]
pub fn servers(bytes: &[u8]) -> Vec<f64> {
    let reader = ReplyReader::new(&JudgeSettings {
        kind: Kind::NemoGym,
        ..JudgeSettings::default()
    });
    let source = Source {
        text: String::new(),
        check: "assay_check_c0de".to_owned(),
        first_line: 3,
    };
    let text = chat::reply(bytes).map(|reply| reply.text).ok();
    let text = text.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned());
    let proof = lean::reply(&text, &source).map_err(|error| error.reason);
    let judgements: [Result<Judgement, String>; 3] = [
        nemo_gym::reward(&text).and_then(|reward| reader.in_range(reward)),
        verifiers::reward(&text).and_then(|reward| reader.in_range(reward)),
        proof.and_then(|()| lean::verdict(&text, &source)),
    ];
    let judgements = judgements.into_iter().flatten();
    judgements
        .map(|judgement| reader.score(&judgement, &[], true))
        .collect()
}

/// The file that is sent to Lean for a completion.
///
/// # Errors
/// Why the completion is rejected.
pub fn lean_file(statement: &str, completion: &str) -> Result<String, String> {
    let data = serde_json::json!({ "statement": statement }).to_string();
    let data = serde_json::from_str(&data).map_err(|error| error.to_string())?;
    let statement = lean::Statement::from_data(Some(&data))?;
    lean::source(&statement, completion, "c0de").map(|source| source.text)
}
