//! Chinese numerals: integers, decimals, fractions and percentages.

use crate::number::Rational;
use crate::tree::Expr;

/// A number in Chinese numerals at the start of a text, and the rest.
pub(super) fn leading(text: &str) -> Option<(Expr, &str)> {
    if text.is_ascii() {
        return None;
    }
    if let Some(rest) = text.strip_prefix('负') {
        let (value, rest) = leading(rest)?;
        return Some((-value, rest));
    }
    for half in ["一半", "半"] {
        if let Some(rest) = text.strip_prefix(half) {
            return Some((Expr::Number(Rational::ratio(1, 2)), rest));
        }
    }
    // `百` and `千` need no digit before them here.
    for (name, parts) in [("百分之", 100), ("千分之", 1_000)] {
        if let Some((share, rest)) = text.strip_prefix(name).and_then(numeral) {
            let percent = || Expr::Percent(Box::new(Expr::Number(share.clone())));
            let value = if parts == 100 {
                percent()
            } else {
                Expr::Number(share.div(&Rational::small(parts))?)
            };
            return Some((value, rest));
        }
    }
    let (first, rest) = numeral(text)?;
    let spelled = !text.starts_with(|c: char| c.is_ascii_digit());
    if let Some((parts, after)) = rest.strip_prefix("分之").and_then(numeral) {
        return Some((Expr::Number(parts.div(&first)?), after));
    }
    if let Some((whole, after)) = rest.strip_prefix('又').and_then(numeral)
        && let Some((parts, after)) = after.strip_prefix("分之").and_then(numeral)
    {
        return Some((Expr::Number(first.add(&parts.div(&whole)?)?), after));
    }
    if spelled && let Some(digits) = rest.strip_prefix('点') {
        let end = digits.find(|c| digit(c).is_none()).unwrap_or(digits.len());
        let mut value = first;
        let mut unit = Rational::small(1);
        for c in digits.get(..end)?.chars() {
            unit = unit.mul(&Rational::ratio(1, 10))?;
            value = value.add(&unit.mul(&Rational::small(digit(c)?))?)?;
        }
        return (end > 0).then_some((Expr::Number(value), digits.get(end..)?));
    }
    spelled.then_some((Expr::Number(first), rest))
}

/// The usual character for one of contracts, or a traditional one: `叁` is `三`.
fn usual(c: char) -> char {
    const FORMAL: &str = "壹贰貳叁參叄参肆伍陆陸柒捌玖拾佰仟萬億兩";
    const USUAL: &str = "一二二三三三三四五六六七八九十百千万亿两";
    let formal = FORMAL.chars().position(|own| own == c);
    formal.and_then(|at| USUAL.chars().nth(at)).unwrap_or(c)
}

fn digit(c: char) -> Option<i64> {
    let c = usual(c);
    if c == '两' {
        return Some(2);
    }
    if c == '〇' {
        return Some(0);
    }
    "零一二三四五六七八九"
        .chars()
        .position(|own| own == c)
        .and_then(|value| i64::try_from(value).ok())
}

/// An integer in Chinese numerals or digits.
fn numeral(text: &str) -> Option<(Rational, &str)> {
    let ascii = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    if ascii > 0 {
        return Some((
            crate::parse::decimal(text.get(..ascii)?)?,
            text.get(ascii..)?,
        ));
    }
    let in_numeral = |c: char| digit(c).is_some() || "十百千万亿".contains(usual(c));
    let end = text.find(|c| !in_numeral(c)).unwrap_or(text.len());
    let (run, rest) = text
        .split_at_checked(end)
        .filter(|(run, _)| !run.is_empty())?;
    // `二〇二四`
    if run.chars().all(|c| digit(c).is_some()) {
        let digits: Option<String> = run
            .chars()
            .map(|c| digit(c).map(|digit| digit.to_string()))
            .collect();
        return Some((crate::parse::decimal(&digits?)?, rest));
    }
    let (mut total, mut section, mut last) = (0i64, 0i64, None::<i64>);
    let mut unit = 0i64;
    for c in run.chars().map(usual) {
        if c == '零' {
            unit = 0;
            last = None;
        } else if let Some(digit) = digit(c) {
            if last.replace(digit).is_some() {
                return None;
            }
        } else if let Some(power) = "十百千".chars().position(|own| own == c) {
            unit = [10, 100, 1_000].get(power).copied()?;
            let count = last.take().or((unit == 10 && section == 0).then_some(1))?;
            section += count * unit;
        } else {
            unit = if c == '万' { 10_000 } else { 100_000_000 };
            section += last.take().unwrap_or(0);
            total = total.checked_add(section).filter(|total| *total > 0)?;
            if c == '亿' {
                total = total.checked_mul(unit)?;
            } else {
                total = total.checked_add(section.checked_mul(unit - 1)?)?;
            }
            section = 0;
        }
    }
    // `三万五` omits the unit of its last digit.
    if last.is_some() && unit > 10 {
        return None;
    }
    total
        .checked_add(section + last.unwrap_or(0))
        .map(|value| (Rational::small(value), rest))
}
