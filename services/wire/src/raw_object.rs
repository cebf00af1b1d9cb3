//! A JSON object whose values keep their text, so that numbers keep all digits.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The values of an object by key. An object with a duplicate key is rejected, because either of
/// its values could be meant.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct RawObject(pub BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<RawObject, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((key, value)) = object.next_entry::<String, Box<RawValue>>()? {
                    if fields.contains_key(&key) {
                        return Err(de::Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    fields.insert(key, value);
                }
                Ok(RawObject(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
