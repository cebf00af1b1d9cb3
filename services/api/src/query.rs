//! Query parameters. An error names the parameter, what is allowed, and what was sent.

use std::borrow::Cow;
use std::fmt;

use assay_base::{did_you_mean, truncated};
use assay_core::ErrorCode;
use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::value::CowStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::error::ApiError;

/// Characters of a value that an error quotes.
const MAX_QUOTED: usize = 100;

/// The parameters of a query.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = read(parts.uri.query().unwrap_or_default());
        read.map(Self)
            .map_err(|error| ApiError::new(ErrorCode::InvalidParameter, error.to_string()))
    }
}

/// The parameters of a list: those that select its entries, and those of the page.
pub(crate) struct FilterAndPage<T, U>(pub(crate) T, pub(crate) U);

/// The parameters of a page.
pub(crate) trait PageParameters {
    /// Their names. The other parameters belong to the filter.
    const NAMES: &'static [&'static str];
}

impl<S, T, U> FromRequestParts<S> for FilterAndPage<T, U>
where
    S: Send + Sync,
    T: DeserializeOwned,
    U: DeserializeOwned + PageParameters,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = read_filter_and_page(parts.uri.query().unwrap_or_default());
        read.map_err(|error| ApiError::new(ErrorCode::InvalidParameter, error.to_string()))
    }
}

fn read<T: DeserializeOwned>(query: &str) -> Result<T, ParameterError> {
    of_pairs(form_urlencoded::parse(query.as_bytes()))
}

fn read_filter_and_page<T, U>(query: &str) -> Result<FilterAndPage<T, U>, ParameterError>
where
    T: DeserializeOwned,
    U: DeserializeOwned + PageParameters,
{
    let pairs = || form_urlencoded::parse(query.as_bytes());
    let is_of_page = |(name, _): &(Cow<'_, str>, Cow<'_, str>)| U::NAMES.contains(&&**name);
    Ok(FilterAndPage(
        of_pairs(pairs().filter(|pair| !is_of_page(pair)))
            .map_err(|error: ParameterError| error.knowing(U::NAMES))?,
        of_pairs(pairs().filter(is_of_page))?,
    ))
}

fn of_pairs<'q, T: DeserializeOwned>(
    pairs: impl Iterator<Item = (Cow<'q, str>, Cow<'q, str>)>,
) -> Result<T, ParameterError> {
    T::deserialize(Pairs { pairs, next: None })
}

/// A whole number in these limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Within<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Within<MIN, MAX> {
    pub(crate) fn get(self) -> u32 {
        self.0
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.parse().ok();
        number
            .filter(|number| (MIN..=MAX).contains(number))
            .map(Self)
            .ok_or_else(|| de::Error::custom(must_be(whole_number(MIN, MAX), &text)))
    }
}

fn must_be(allowed: impl fmt::Display, text: &str) -> String {
    format!("must be {allowed}, not `{}`", truncated(text, MAX_QUOTED))
}

fn whole_number(min: impl fmt::Display, max: impl fmt::Display) -> String {
    format!("a whole number from {min} to {max}")
}

/// Why a query is invalid.
#[derive(Debug, PartialEq, Eq)]
enum ParameterError {
    /// There is no parameter with this name; the known ones.
    Unknown(String, Vec<&'static str>),
    /// Anything else.
    Other(String),
}

impl ParameterError {
    /// The same, with other names that are known.
    fn knowing(mut self, names: &[&'static str]) -> Self {
        if let Self::Unknown(_, known) = &mut self {
            known.extend(names);
        }
        self
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, known) = match self {
            Self::Unknown(name, known) => (name, known),
            Self::Other(message) => return f.write_str(message),
        };
        let shown = truncated(name, MAX_QUOTED);
        let similar = did_you_mean(name, known.iter().copied());
        if similar.is_empty() {
            let known = known.join("`, `");
            write!(f, "unknown parameter `{shown}`; expected one of `{known}`")
        } else {
            write!(f, "unknown parameter `{shown}`{similar}")
        }
    }
}

impl std::error::Error for ParameterError {}

impl de::Error for ParameterError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::Other(message.to_string())
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::Unknown(name.to_owned(), known.to_vec())
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Other(format!("the parameter `{name}` is missing"))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::Other(format!("the parameter `{name}` occurs twice"))
    }
}

/// The parameters as a map.
struct Pairs<'q, I> {
    pairs: I,
    /// The parameter whose name was read last.
    next: Option<(Cow<'q, str>, Cow<'q, str>)>,
}

impl<'de, I> Deserializer<'de> for Pairs<'de, I>
where
    I: Iterator<Item = (Cow<'de, str>, Cow<'de, str>)>,
{
    type Error = ParameterError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de, I> MapAccess<'de> for Pairs<'de, I>
where
    I: Iterator<Item = (Cow<'de, str>, Cow<'de, str>)>,
{
    type Error = ParameterError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ParameterError> {
        self.next = self.pairs.next();
        let name = self.next.as_ref().map(|(name, _)| name.clone());
        name.map(|name| seed.deserialize(CowStrDeserializer::new(name)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ParameterError> {
        let (name, value) = self.next.take().unwrap_or_default();
        seed.deserialize(Text(value))
            .map_err(|error| ParameterError::Other(format!("`{name}` {error}")))
    }
}

/// The value of a parameter.
struct Text<'q>(Cow<'q, str>);

macro_rules! whole_numbers {
    ($($deserialize:ident $visit:ident $number:ty,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(self.must_be(whole_number(<$number>::MIN, <$number>::MAX))),
            }
        })*
    };
}

impl Text<'_> {
    fn must_be(&self, allowed: impl fmt::Display) -> ParameterError {
        ParameterError::Other(must_be(allowed, &self.0))
    }
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = ParameterError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        match self.0.parse() {
            Ok(value) => visitor.visit_bool(value),
            Err(_) => Err(self.must_be("`true` or `false`")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParameterError> {
        match self.0.parse() {
            Ok(number) if !f64::is_nan(number) => visitor.visit_f64(number),
            _ => Err(self.must_be("a number")),
        }
    }

    whole_numbers! {
        deserialize_i64 visit_i64 i64,
        deserialize_u64 visit_u64 u64,
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u128 f32 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parameters {
        name: String,
        limit: Option<Within<1, 1_000>>,
        step: Option<i64>,
        after: Option<u64>,
        score: Option<f64>,
        passes: Option<bool>,
    }

    #[test]
    fn reads_every_type() {
        let query = "name=%C3%BC+b&limit=1000&step=-1&after=5&score=1e-2&passes=true";
        let expected = Parameters {
            name: "ü b".to_owned(),
            limit: Some(Within(1_000)),
            step: Some(-1),
            after: Some(5),
            score: Some(0.01),
            passes: Some(true),
        };
        assert_eq!(read(query), Ok(expected));
        assert_eq!(read::<Parameters>("name=").unwrap().limit, None);
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        before: Option<String>,
    }

    impl PageParameters for Page {
        const NAMES: &'static [&'static str] = &["before"];
    }

    #[test]
    fn reads_a_query_in_two_parts() {
        let FilterAndPage(parameters, page) =
            read_filter_and_page::<Parameters, Page>("before=b&name=a&limit=5").unwrap();
        assert_eq!(
            (&*parameters.name, parameters.limit),
            ("a", Some(Within(5)))
        );
        assert_eq!(page.before.as_deref(), Some("b"));
        for (query, message) in [
            ("name=a&name=b", "the parameter `name` occurs twice"),
            (
                "name=a&before=b&before=c",
                "the parameter `before` occurs twice",
            ),
            (
                "name=a&bfore=c",
                "unknown parameter `bfore`; did you mean `before`?",
            ),
        ] {
            let error = read_filter_and_page::<Parameters, Page>(query)
                .err()
                .unwrap();
            assert_eq!(error.to_string(), message, "{query}");
        }
    }

    #[test]
    fn errors_name_the_parameter_and_what_is_allowed() {
        for (query, message) in [
            (
                "name=&limit=Abc",
                "`limit` must be a whole number from 1 to 1000, not `Abc`",
            ),
            (
                "name=&limit=0",
                "`limit` must be a whole number from 1 to 1000, not `0`",
            ),
            (
                "name=&limit=",
                "`limit` must be a whole number from 1 to 1000, not ``",
            ),
            (
                "name=&step=1.5",
                "`step` must be a whole number from -9223372036854775808 to 9223372036854775807, \
                 not `1.5`",
            ),
            (
                "name=&after=-1",
                "`after` must be a whole number from 0 to 18446744073709551615, not `-1`",
            ),
            ("name=&score=NaN", "`score` must be a number, not `NaN`"),
            (
                "name=&passes=yes",
                "`passes` must be `true` or `false`, not `yes`",
            ),
            ("limit=5", "the parameter `name` is missing"),
            ("name=a&name=b", "the parameter `name` occurs twice"),
            (
                "name=&lmit=5",
                "unknown parameter `lmit`; did you mean `limit`?",
            ),
            (
                "x=5",
                "unknown parameter `x`; expected one of `name`, `limit`, `step`, `after`, \
                 `score`, `passes`",
            ),
        ] {
            let error = read::<Parameters>(query).unwrap_err();
            assert_eq!(error.to_string(), message, "{query}");
        }
    }
}
