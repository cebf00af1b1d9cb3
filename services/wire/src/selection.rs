//! The parts of a reply that a request selects with `fields`.

use std::sync::LazyLock;

use assay_base::did_you_mean;
use assay_record::ItemGrade;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use utoipa::PartialSchema as _;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use crate::Problem;

/// Names of the parts of a reply that are not keys of a result.
const GROUPS: &str = "groups";
const CHANNELS: &str = "channels";

/// Keys that every ungraded result has, so that a failure cannot be overlooked.
static FAILURE_KEYS: LazyLock<u64> = LazyLock::new(|| bit_of("outcome") | bit_of("error"));

/// The key that every line of a stream has.
static POSITION: LazyLock<u64> = LazyLock::new(|| bit_of("position"));

/// Which keys results have, and whether a reply has groups and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection(Option<Chosen>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chosen {
    /// One bit for each of [`NAMES`].
    keys: u64,
    groups: bool,
    channels: bool,
}

impl Selection {
    /// The names that a request can choose.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let names = NAMES.iter().map(String::as_str);
        names.chain([GROUPS, CHANNELS])
    }

    /// Reads the names in a request; without a list, the reply has all parts.
    ///
    /// # Errors
    /// A [`Problem`] at the unknown name.
    pub fn of_reply(fields: Option<&[String]>) -> Result<Self, Problem> {
        Self::read(fields, &[GROUPS, CHANNELS])
    }

    /// As [`Selection::of_reply`], for results outside a reply.
    ///
    /// # Errors
    /// A [`Problem`] at the unknown name.
    pub fn of_results(fields: Option<&[String]>) -> Result<Self, Problem> {
        Self::read(fields, &[])
    }

    fn read(fields: Option<&[String]>, others: &[&str]) -> Result<Self, Problem> {
        let Some(fields) = fields else {
            return Ok(Self(None));
        };
        if fields.is_empty() {
            let message = "`fields` is empty; name at least one key of a result, or omit the field";
            return Err(Problem::invalid("/fields", message));
        }
        let mut chosen = Chosen {
            keys: 0,
            groups: false,
            channels: false,
        };
        for (at, name) in fields.iter().enumerate() {
            match NAMES.iter().position(|known| known == name) {
                Some(key) => chosen.keys |= 1 << key,
                None if others.contains(&name.as_str()) => {
                    chosen.groups |= name == GROUPS;
                    chosen.channels |= name == CHANNELS;
                }
                None => {
                    let names = NAMES.iter().map(String::as_str);
                    let known = || names.clone().chain(others.iter().copied());
                    let mut suggestion = did_you_mean(name, known());
                    if suggestion.is_empty() {
                        let known: Vec<_> = known().map(|known| format!("`{known}`")).collect();
                        suggestion = format!("; the keys are {}", known.join(", "));
                    }
                    let message = format!("results have no key `{name}`{suggestion}");
                    return Err(Problem::invalid(format!("/fields/{at}"), message));
                }
            }
        }
        Ok(Self(Some(chosen)))
    }

    /// Whether the reply has groups.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.0.is_none_or(|chosen| chosen.groups)
    }

    /// Whether the reply has channels.
    #[must_use]
    pub fn has_channels(&self) -> bool {
        self.0.is_none_or(|chosen| chosen.channels)
    }

    /// The keys of a result with this outcome, one bit each.
    fn keys(&self, outcome: &str) -> u64 {
        match self.0 {
            None => u64::MAX,
            Some(chosen) if outcome == "graded" => chosen.keys,
            Some(chosen) => chosen.keys | *FAILURE_KEYS,
        }
    }
}

/// The keys of a grade, in their order.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| match ItemGrade::schema() {
    RefOr::T(Schema::Object(grade)) => grade.properties.into_keys().collect(),
    _ => Vec::new(),
});

/// The bit of a key.
fn bit_of(key: &str) -> u64 {
    let at = NAMES.iter().position(|name| name == key);
    at.map_or(0, |at| 1 << at)
}

/// The keys of a grade that a selection contains.
pub struct Selected<'a> {
    /// The keys to serialise.
    pub selection: Selection,
    /// Whether this is a line of a stream, which also has its type and the position of the item.
    pub streamed: bool,
    /// The grade.
    pub grade: &'a ItemGrade,
}

impl Selected<'_> {
    /// Appends the keys as a JSON object.
    ///
    /// # Errors
    /// If a number is not finite; grades have none.
    pub fn append_to(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(json, self)
    }
}

impl Serialize for Selected<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = self.selection.keys(&self.grade.outcome);
        let mut map = serializer.serialize_map(None)?;
        if self.streamed {
            map.serialize_entry("type", "result")?;
            keys |= *POSITION;
        }
        let fields = Fields {
            map: &mut map,
            keys,
        };
        self.grade.serialize(fields)?;
        map.end()
    }
}

/// Serialises some fields of a struct as entries of a map.
struct Fields<'m, M> {
    map: &'m mut M,
    /// One bit for each field.
    keys: u64,
}

impl<M: SerializeMap> SerializeStruct for Fields<'_, M> {
    type Ok = ();
    type Error = M::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        let is_selected = self.keys & 1 == 1;
        self.keys >>= 1;
        if is_selected {
            self.map.serialize_entry(name, value)?;
        }
        Ok(())
    }

    fn end(self) -> Result<(), M::Error> {
        Ok(())
    }
}

/// Methods of [`Serializer`] for values that are not structs.
macro_rules! not_a_struct {
    ($($method:ident($($argument:ty),*) -> $result:ty;)*) => {$(
        fn $method(self $(, _: $argument)*) -> Result<$result, M::Error> {
            Err(M::Error::custom("a grade is a struct"))
        }
    )*};
}

impl<M: SerializeMap> Serializer for Fields<'_, M> {
    type Ok = ();
    type Error = M::Error;
    type SerializeSeq = Impossible<(), M::Error>;
    type SerializeTuple = Impossible<(), M::Error>;
    type SerializeTupleStruct = Impossible<(), M::Error>;
    type SerializeTupleVariant = Impossible<(), M::Error>;
    type SerializeMap = Impossible<(), M::Error>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), M::Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, M::Error> {
        Ok(self)
    }

    not_a_struct! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize)
            -> Self::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), M::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        value.serialize(self)
    }
}

#[cfg(test)]
mod tests {
    use assay_core::{ErrorCode, Fault};

    use super::*;
    use crate::reply::StreamLine;

    fn selection(names: &[&str]) -> Result<Selection, Problem> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Selection::of_reply(Some(&names))
    }

    fn json(selection: Selection, grade: &ItemGrade) -> String {
        serde_json::to_string(&Selected {
            selection,
            streamed: false,
            grade,
        })
        .unwrap()
    }

    fn graded() -> ItemGrade {
        ItemGrade {
            outcome: "graded".into(),
            verdict: Some("correct".into()),
            reward: Some(1.0),
            grader: "math@1".parse().unwrap(),
            ..ItemGrade::default()
        }
    }

    #[test]
    fn selecting_all_keys_yields_the_whole_result() {
        let names: Vec<&str> = NAMES.iter().map(String::as_str).collect();
        for grade in [graded(), ItemGrade::default()] {
            let whole = serde_json::to_string(&grade).unwrap();
            assert_eq!(json(Selection::default(), &grade), whole);
            assert_eq!(json(selection(&names).unwrap(), &grade), whole);
            let line = Selected {
                selection: Selection::default(),
                streamed: true,
                grade: &grade,
            };
            assert_eq!(
                serde_json::to_string(&line).unwrap(),
                serde_json::to_string(&StreamLine::Result(Box::new(grade))).unwrap()
            );
        }
    }

    #[test]
    fn every_key_selects_its_own_value() {
        assert!(NAMES.len() <= 64, "a selection has 64 bits");
        for name in NAMES.iter() {
            let selected = json(selection(&[name.as_str()]).unwrap(), &graded());
            assert!(
                selected.starts_with(&format!(r#"{{"{name}":"#)),
                "{selected}"
            );
        }
    }

    #[test]
    fn lines_of_a_stream_always_have_type_and_position() {
        let line = Selected {
            selection: selection(&["reward"]).unwrap(),
            streamed: true,
            grade: &ItemGrade {
                position: 7,
                ..graded()
            },
        };
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"type":"result","position":7,"reward":1.0}"#
        );
    }

    #[test]
    fn graded_results_have_only_the_selected_keys() {
        let chosen = selection(&["verdict", "reward", "verdict"]).unwrap();
        assert_eq!(
            json(chosen, &graded()),
            r#"{"verdict":"correct","reward":1.0}"#
        );
        assert!(!chosen.has_groups() && !chosen.has_channels());
        assert!(selection(&["groups"]).unwrap().has_groups());
        assert!(selection(&["channels", "id"]).unwrap().has_channels());
    }

    #[test]
    fn other_results_always_have_outcome_and_error() {
        for outcome in ["failed", "ungradable"] {
            let failed = ItemGrade {
                outcome: outcome.into(),
                error: Some(Fault::transient(ErrorCode::Internal, "m")),
                ..ItemGrade::default()
            };
            assert_eq!(
                json(selection(&["reward"]).unwrap(), &failed),
                format!(
                    r#"{{"outcome":"{outcome}","reward":null,"error":{{"code":"internal","message":"m","retryable":true}}}}"#
                )
            );
        }
    }

    #[test]
    fn rejects_unknown_names_with_a_suggestion() {
        let problem = selection(&["reward", "verdic"]).unwrap_err();
        assert_eq!(problem.pointer.as_deref(), Some("/fields/1"));
        assert!(
            problem.message.ends_with("did you mean `verdict`?"),
            "{problem}"
        );
        let problem = selection(&["mth"]).unwrap_err();
        assert!(
            problem
                .message
                .contains("`mth`; the keys are `position`, `id`"),
            "{problem}"
        );
        let problem = selection(&["group_s"]).unwrap_err();
        assert!(problem.message.contains("`group"), "{problem}");
        assert_eq!(
            selection(&[]).unwrap_err().pointer.as_deref(),
            Some("/fields")
        );
        let names = ["groups".to_owned()];
        assert!(Selection::of_results(Some(&names)).is_err());
    }
}
