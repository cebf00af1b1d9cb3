//! TOML, parsed by the `toml` crate. Numbers keep their digits, and numbers that JSON lacks are
//! rejected. Dates and times are strings.

use assay_documents::json::MAX_DEPTH;
use assay_documents::{Json, SyntaxError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{decimal, numbers};

/// Reads one document.
pub(super) fn read(text: &str) -> Result<Json, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        SyntaxError::new(at, error.message().replace('\n', ", "))
    })?;
    members(table.get_ref(), 1)
}

fn members(table: &DeTable<'_>, depth: usize) -> Result<Json, SyntaxError> {
    let member = |(key, inside): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        Ok((key.clone().into_owned(), value(inside, depth)?))
    };
    table
        .iter()
        .map(member)
        .collect::<Result<_, _>>()
        .map(Json::Object)
}

fn value(inside: &Spanned<DeValue<'_>>, depth: usize) -> Result<Json, SyntaxError> {
    let error = |reason: String| SyntaxError::new(inside.span().start, reason);
    let is_collection = matches!(inside.get_ref(), DeValue::Array(_) | DeValue::Table(_));
    if is_collection && depth == MAX_DEPTH {
        return Err(error(format!(
            "the document nests deeper than {MAX_DEPTH} levels"
        )));
    }
    match inside.get_ref() {
        DeValue::String(text) => Ok(Json::Text(text.clone().into_owned())),
        DeValue::Integer(number) if number.radix() == 10 => decimal(number.as_str())
            .map(Json::Number)
            .ok_or_else(|| error("invalid number".to_owned())),
        DeValue::Integer(number) => numbers::in_base_ten(number.as_str(), number.radix())
            .map(Json::Number)
            .map_err(error),
        DeValue::Float(number) => decimal(number.as_str())
            .map(Json::Number)
            .ok_or_else(|| error("JSON cannot represent this number".to_owned())),
        DeValue::Boolean(value) => Ok(Json::Bool(*value)),
        DeValue::Datetime(time) => Ok(Json::Text(time.to_string())),
        DeValue::Array(elements) => elements
            .iter()
            .map(|element| value(element, depth + 1))
            .collect::<Result<_, _>>()
            .map(Json::Array),
        DeValue::Table(table) => members(table, depth + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        read(text)
            .unwrap_or_else(|error| panic!("{error}: {text}"))
            .to_string()
    }

    #[test]
    fn converts_values_to_json() {
        let text = "a = 1_000\nb = 0xfF\nc = 0b101\nd = +1.50e3\ne = 'x'\nf = true\ng = \
                    1979-05-27 07:32:00Z\nh = 123456789012345678901234567890\n[t]\nu.v = [1, \
                    \"2\"]\n[[w]]\nx = {}\n[[w]]\n";
        assert_eq!(
            parsed(text),
            r#"{"a":1000,"b":255,"c":5,"d":1.50e3,"e":"x","f":true,"g":"1979-05-27T07:32:00Z","h":123456789012345678901234567890,"t":{"u":{"v":[1,"2"]}},"w":[{"x":{}},{}]}"#
        );
    }

    #[test]
    fn reports_the_byte_of_errors() {
        let at = |text: &str| read(text).unwrap_err().at;
        assert_eq!(at("a = 1\nb = nan"), "a = 1\nb = ".len());
        assert_eq!(at("a = -inf"), "a = ".len());
        assert_eq!(at("a = 1\na = 2"), "a = 1\n".len());
        assert_eq!(at("'é' = 1\nb = "), "'é' = 1\nb = ".len());
        assert!(read("a = 1\n[a]\nb = 2").is_err());
    }

    #[test]
    fn limits_depth() {
        for text in [
            format!("a = {}", "[".repeat(100_000)),
            format!("a = {}", "{a=".repeat(100_000)),
            format!("[{}]", vec!["a"; 100_000].join(".")),
            format!("a = {}1{}", "{ a = [".repeat(60), "] }".repeat(60)),
        ] {
            assert!(read(&text).is_err(), "{text:.20}");
        }
    }

    #[test]
    fn limits_nested_table_paths() {
        let path = vec!["a"; 70].join(".");
        let text = format!(
            "{path} = {}1{}",
            format!("{{ {path} = ").repeat(70),
            " }".repeat(70)
        );
        let reading = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || read(&text).is_err());
        assert!(reading.unwrap().join().unwrap());
    }
}
