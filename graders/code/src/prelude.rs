//! Code that runs before a program, in its module: a text of the task, or a preset with the names
//! that programs from a known source expect.

use serde::Deserialize;

use crate::definitions::defines;
use crate::language::Language;

/// The classes that presets of C++ define, each unless a macro is defined.
const PRESET_CLASSES: [&str; 2] = ["ListNode", "TreeNode"];

/// The name of these macros, before the name of the class.
const GUARD: &str = "ASSAY_DEFINES_";

/// A prelude as given in a task.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`prelude` must be a string or {\"preset\", \"text\"}"
)]
pub(crate) enum RawPrelude {
    Text(String),
    Preset(NamedPreset),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedPreset {
    preset: String,
    #[serde(default)]
    text: String,
}

impl Default for RawPrelude {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// A preset and the text that follows it. Each may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prelude {
    preset: &'static str,
    text: String,
}

impl Prelude {
    /// Reads a prelude.
    ///
    /// # Errors
    /// The message about an unknown preset.
    pub(crate) fn read(raw: RawPrelude, language: &Language) -> Result<Self, String> {
        let (name, text) = match raw {
            RawPrelude::Text(text) => return Ok(Self { preset: "", text }),
            RawPrelude::Preset(NamedPreset { preset, text }) => (preset, text),
        };
        let presets = language.presets;
        match presets.iter().find(|(known, _)| *known == name) {
            Some((_, preset)) => Ok(Self { preset, text }),
            None if presets.is_empty() => Err(format!("`{}` has no presets", language.name)),
            None => {
                let known: Vec<String> = presets
                    .iter()
                    .map(|(name, _)| format!("`{name}`"))
                    .collect();
                Err(format!(
                    "unknown preset `{name}`; use one of: {}",
                    known.join(", ")
                ))
            }
        }
    }

    /// The texts for a program, in order. A preset of C++ does not define what the program defines.
    pub(crate) fn texts_for(&self, program: &str) -> Vec<String> {
        let defined = PRESET_CLASSES.iter().filter(|class| {
            let guard = format!("#ifndef {GUARD}{class}");
            self.preset.contains(&guard) && defines(program, class)
        });
        let guards: String = defined
            .map(|class| format!("#define {GUARD}{class}\n"))
            .collect();
        let mut texts: Vec<String> = self.texts().map(str::to_owned).collect();
        if !guards.is_empty()
            && let Some(preset) = texts.first_mut()
        {
            preset.insert_str(0, &guards);
        }
        texts
    }

    /// The texts that are not empty, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        [self.preset, self.text.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.preset.is_empty() && self.text.is_empty()
    }

    /// Bytes of the task's own text.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language;

    #[test]
    fn presets_do_not_define_classes_of_the_program() {
        let cpp = language::named("cpp").unwrap();
        let preset = NamedPreset {
            preset: "leetcode".to_owned(),
            text: "int limit;".to_owned(),
        };
        let prelude = Prelude::read(RawPrelude::Preset(preset), &cpp).unwrap();
        let texts = prelude.texts_for("struct TreeNode { int val; };");
        assert!(texts[0].starts_with("#define ASSAY_DEFINES_TreeNode\n#include <bits/stdc++.h>"));
        assert_eq!(texts[1], "int limit;");
        assert!(prelude.texts_for("// struct TreeNode {")[0].starts_with("#include"));
    }
}
