//! Lists of a state whose order does not matter.

use assay_documents::Json;
use assay_documents::json::Pointer;

/// The path of lists; a step `*` is any member or element.
pub(super) struct Bag(Vec<String>);

impl Bag {
    /// Reads a JSON pointer.
    ///
    /// # Errors
    /// Why it is not one.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let pointer = Pointer::read(text).map_err(|error| error.to_string())?;
        Ok(Self(pointer.steps().to_vec()))
    }

    /// Sorts the lists at the path by the text of their elements.
    pub(super) fn sort(&self, state: &mut Json) {
        sort_at(state, &self.0);
    }
}

fn sort_at(value: &mut Json, steps: &[String]) {
    let Some((step, rest)) = steps.split_first() else {
        if let Json::Array(elements) = value {
            elements.sort_by_cached_key(Json::canonical);
        }
        return;
    };
    let matches = |name: &str| step == "*" || step == name;
    match value {
        Json::Object(members) => members
            .iter_mut()
            .filter(|(name, _)| matches(name))
            .for_each(|(_, value)| sort_at(value, rest)),
        Json::Array(elements) => elements
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| matches(&at.to_string()))
            .for_each(|(_, value)| sort_at(value, rest)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_lists_at_a_path() {
        let sorted = |bag: &str| {
            let mut state = Json::read(r#"{"a":{"x":[2,1],"y":[3,1]},"b":[[2,1]]}"#).unwrap();
            Bag::read(bag).unwrap().sort(&mut state);
            state.to_string()
        };
        assert_eq!(sorted("/a/x"), r#"{"a":{"x":[1,2],"y":[3,1]},"b":[[2,1]]}"#);
        assert_eq!(sorted("/a/*"), r#"{"a":{"x":[1,2],"y":[1,3]},"b":[[2,1]]}"#);
        assert_eq!(sorted("/b/0"), r#"{"a":{"x":[2,1],"y":[3,1]},"b":[[1,2]]}"#);
        assert_eq!(
            sorted("/none"),
            r#"{"a":{"x":[2,1],"y":[3,1]},"b":[[2,1]]}"#
        );
    }
}
