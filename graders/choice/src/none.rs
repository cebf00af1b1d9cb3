//! Texts that say that no option is right, in the languages of `assay-extraction`.

/// Phrases, in lower case.
const PHRASES: &[&str] = &[
    "none of the above",
    "none of these",
    "none of them",
    "none of the options",
    "none of the choices",
    "none of the answers",
    "none of the given",
    "no option is correct",
    "no correct option",
    "no option is right",
    "neither option",
    "no answer is correct",
    "all options are wrong",
    "all of the options are incorrect",
    "all options are incorrect",
    "aucune des",
    "aucune de ces",
    "aucune réponse",
    "keine der",
    "keine antwort",
    "ninguna de las",
    "ninguna opción",
    "ninguna respuesta",
    "nenhuma das",
    "nenhuma opção",
    "nessuna delle",
    "nessuna opzione",
    "ни один из",
    "ни один вариант",
    "нет правильного",
    "以上都不",
    "以上皆非",
    "都不正确",
    "没有正确",
    "どれも",
    "該当なし",
    "いずれも",
    "정답이 없",
    "정답 없",
    "모두 틀",
    "보기 중에 없",
    "कोई नहीं",
    "कोई भी नहीं",
    "لا شيء مما",
    "لا يوجد",
    "geen van de",
    "żadna z",
    "inget av",
    "hiçbiri",
    "không có đáp án",
    "tidak ada",
];

/// Bytes at the end of a text that are searched.
const TAIL_BYTES: usize = 240;

/// Whether the end of a text says that no option is right.
pub(crate) fn is_stated(text: &str) -> bool {
    let start = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES));
    let lower = text[start..].to_lowercase();
    let hedged = ["maybe", "perhaps", "might", "may be", "not sure", "or "]
        .iter()
        .any(|hedge| lower.contains(hedge));
    !hedged && PHRASES.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_statements_without_hedges() {
        assert!(is_stated("So the answer is: none of the above."));
        assert!(is_stated("以上都不对"));
        assert!(!is_stated("Perhaps none of the above, or B"));
        assert!(!is_stated("B"));
    }
}
