//! Statements that a question has no answer in its context.

/// Phrases, in lower case and with straight apostrophes.
const PHRASES: &[&str] = &[
    "unanswerable",
    "not answerable",
    "cannot be answered",
    "can't be answered",
    "no answer",
    "not in the context",
    "not in the text",
    "not in the passage",
    "not in the document",
    "not mentioned",
    "not stated",
    "not specified",
    "not provided",
    "not given in",
    "does not mention",
    "doesn't mention",
    "does not say",
    "doesn't say",
    "does not state",
    "doesn't state",
    "does not provide",
    "doesn't provide",
    "does not contain",
    "doesn't contain",
    "does not specify",
    "doesn't specify",
    "no information",
    "not enough information",
    "insufficient information",
    "cannot be determined",
    "can't be determined",
    "cannot determine",
    "can't determine",
    "unknown",
    "i don't know",
    "i do not know",
    "nicht beantwortbar",
    "nicht im text",
    "nicht erwähnt",
    "keine information",
    "keine angabe",
    "ich weiß nicht",
    "pas dans le texte",
    "pas mentionné",
    "aucune information",
    "je ne sais pas",
    "no se menciona",
    "no aparece en",
    "no hay información",
    "no lo sé",
    "sin respuesta",
    "não é mencionado",
    "não há informação",
    "não sei",
    "non è menzionato",
    "nessuna informazione",
    "не упоминается",
    "нет информации",
    "не указано",
    "не знаю",
    "没有提到",
    "未提及",
    "没有提供",
    "无法回答",
    "无法确定",
    "不知道",
    "記載がありません",
    "記載されていません",
    "わかりません",
    "答えられません",
    "언급되지 않",
    "알 수 없",
    "정보가 없",
    "उल्लेख नहीं",
    "जानकारी नहीं",
    "पता नहीं",
    "غير مذكور",
    "لا توجد معلومات",
    "لا أعرف",
];

/// Longest text that is a statement and not an answer with a remark, in bytes.
const MAX_BYTES: usize = 600;

/// Whether a text says that the question has no answer. Longer texts, and those that go on to
/// answer ("… but it is probably Paris"), do not.
pub(crate) fn is_stated(text: &str) -> bool {
    const ANSWERS: &[&str] = &[
        "but the answer",
        "but it is",
        "but i think",
        "however, the answer",
        "my guess",
        "probably",
    ];
    if text.len() > MAX_BYTES {
        return false;
    }
    let lower = text.to_lowercase().replace('’', "'");
    PHRASES.iter().any(|phrase| lower.contains(phrase))
        && !ANSWERS.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_without_an_answer() {
        assert!(is_stated("The passage doesn’t mention the year."));
        assert!(is_stated("unanswerable"));
        assert!(is_stated("文中没有提到这一点。"));
        assert!(!is_stated(
            "The text does not say, but it is probably Paris."
        ));
        assert!(!is_stated("Paris"));
    }
}
