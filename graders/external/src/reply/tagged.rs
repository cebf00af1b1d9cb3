//! Replies that are a text with tags. A tag must occur once: a judge that quotes the completion may
//! quote a tag that the completion contains, and which of the two is its verdict is then unknown.

use super::fields::Fields;

pub(super) fn read(answer: &str) -> Result<Fields, String> {
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| "`score` is not a number".to_owned())
    };
    let score = only(answer, "score")?.map(number).transpose()?;
    Ok(Fields {
        score,
        label: only(answer, "label")?.map(str::to_owned),
        preferred: only(answer, "preferred")?.map(str::to_owned),
        criteria: criteria(answer)?,
    })
}

/// The content of the only tag of this name; `None` if there is none.
fn only<'t>(answer: &'t str, name: &str) -> Result<Option<&'t str>, String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let Some((_, rest)) = answer.split_once(&begin) else {
        return Ok(None);
    };
    if rest.contains(&begin) {
        return Err(format!("the tag `<{name}>` occurs more than once"));
    }
    let Some((content, rest)) = rest.split_once(&end) else {
        return Err(format!("the tag `<{name}>` is not closed"));
    };
    if rest.contains(&end) {
        return Err(format!("the tag `</{name}>` occurs more than once"));
    }
    Ok(Some(content.trim()))
}

/// All `<criterion id="ID">yes</criterion>`.
fn criteria(answer: &str) -> Result<Option<Vec<(String, bool)>>, String> {
    const BEGIN: &str = "<criterion id=\"";
    let mut found = Vec::new();
    for tag in answer.split(BEGIN).skip(1) {
        let parts = tag.split_once("\">").and_then(|(id, rest)| {
            let (content, _) = rest.split_once("</criterion>")?;
            Some((id, content.trim()))
        });
        let (id, content) = parts.ok_or("a tag `<criterion>` is not closed")?;
        let met = match content {
            "yes" => true,
            "no" => false,
            _ => return Err(format!("the criterion `{id}` must be `yes` or `no`")),
        };
        found.push((id.to_owned(), met));
    }
    Ok((!found.is_empty()).then_some(found))
}
