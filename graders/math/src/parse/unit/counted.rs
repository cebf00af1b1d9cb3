//! Words after a number that are not units: words for what is counted, and words that change the
//! number.

use super::super::number_words;

/// Whether words after a number only name what is counted. Words that negate, compare, calculate or
/// offer an alternative do not: `7 or 8`, `7 squared` and `7 is wrong` are not 7.
pub(crate) fn describes(text: &str) -> bool {
    const OTHERWISE: &str = "nope and or maybe perhaps possibly probably about around \
        approximately roughly nearly incorrect wrong false to more less least most fewer plus \
        minus times squared cubed factorial over divided multiplied mod modulo power pi half \
        third quarter halves thirds quarters double twice negative positive root per either \
        neither nor but instead except versus vs between inclusive exclusive i zero one two three \
        four five six seven eight nine ten infinity respectively otherwise else unknown undefined \
        base eleven twelve many few several up down above below under beyond greater smaller \
        larger without never nothing cannot isnt doesnt dont wont cant arent wasnt wait actually \
        sorry rather correction another also both doubled halved reciprocal inverse conjugate \
        excluded removed rejected impossible extraneous recurring repeating repeated bar prime \
        short pairs couples trios triples decades fold grand ppm bps basis bn bin thou";
    const OTHERWISE_CHINESE: &str = "不或约至到以上下多少倍余错非无和与且但大小于";
    let words = super::super::text::comparable(text);
    words.split(' ').count() <= 3
        && !words.contains(|c: char| {
            c.is_ascii_digit() || "+*/^=<>_%‰\\".contains(c) || OTHERWISE_CHINESE.contains(c)
        })
        && !text.contains('‰')
        && words.split(' ').all(|word| {
            let neutral = matches!(word, "any" | "every" | "each" | "of");
            neutral
                || !OTHERWISE.split(' ').any(|other| other == word)
                    && !super::super::prose::is_function_word(word)
                    && !number_words::counts(word)
        })
}

/// Whether a text is a Chinese classifier, the word between a number and what it counts.
pub(crate) fn is_classifier(text: &str) -> bool {
    matches!(
        text,
        "个" | "颗"
            | "只"
            | "人"
            | "次"
            | "种"
            | "条"
            | "本"
            | "张"
            | "位"
            | "名"
            | "件"
            | "头"
            | "棵"
            | "支"
            | "组"
            | "对"
            | "台"
            | "辆"
            | "枚"
            | "朵"
            | "盒"
            | "瓶"
            | "袋"
            | "箱"
            | "排"
            | "行"
            | "列"
            | "页"
            | "场"
            | "题"
            | "分"
            | "点"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_words_that_change_the_number() {
        assert!(describes("red apples"));
        assert!(describes("个苹果"));
        for text in [
            "or so",
            "thousands",
            "tenths",
            "lakh",
            "万",
            "个以上",
            "gross",
            "millones",
        ] {
            assert!(!describes(text), "{text}");
        }
    }
}
