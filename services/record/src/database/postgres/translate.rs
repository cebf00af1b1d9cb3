//! Statements in the form of PostgreSQL.

use std::borrow::Cow;

/// The statement for PostgreSQL: parameters have numbers, and there are no hints for indexes.
pub(crate) fn translate(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len() + 16);
    let mut rest = Cow::Borrowed(sql);
    while let Some((before, hint)) = rest.split_once(" indexed by ") {
        let after = hint.find(' ').map_or("", |end| &hint[end..]);
        rest = Cow::Owned(format!("{before}{after}"));
    }
    let mut parameters = rest.split('?');
    translated.extend(parameters.next());
    for (number, part) in parameters.enumerate() {
        translated.push('$');
        translated.push_str(&(number + 1).to_string());
        translated.push_str(part);
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parameters_and_omits_hints() {
        let sql = "select no from batches indexed by batches_by_step where run = ? and step = ?";
        assert_eq!(
            translate(sql),
            "select no from batches where run = $1 and step = $2"
        );
        assert_eq!(translate("select $1"), "select $1");
        let sql = "select 1 from a indexed by x";
        assert_eq!(translate(sql), "select 1 from a");
    }
}
