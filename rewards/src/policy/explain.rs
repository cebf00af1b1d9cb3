//! Explanation of a policy: the formula of each enabled function with the numbers of the policy.

use serde::Serialize;

use super::FUNCTIONS;
use super::line::Line;
use super::rules::PolicyRules;

/// A function that a policy enables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// Path in the policy, such as `length.soft_overlong` or `format.0`.
    pub field: String,
    /// Name in [`FUNCTIONS`].
    pub function: &'static str,
    /// Formula with the numbers of the policy, in the notation of
    /// [`Function::formula`](super::Function::formula).
    pub formula: String,
    /// Source of the formula.
    pub source: &'static str,
    /// Effect of the function.
    pub meaning: String,
}

impl PolicyRules {
    /// All enabled functions, in the order in which they apply. Empty for the empty policy.
    #[must_use]
    pub fn explain(&self) -> Vec<Explained> {
        let of = |(section, lines): (&'static str, Vec<Line>)| {
            lines.into_iter().map(
                move |Line {
                          field,
                          function,
                          formula,
                          meaning,
                      }| {
                    let known = FUNCTIONS
                        .iter()
                        .find(|known| known.section == section && known.name == function);
                    let field = if field.is_empty() {
                        section.to_owned()
                    } else {
                        format!("{section}.{field}")
                    };
                    Explained {
                        field,
                        function,
                        formula,
                        source: known.map_or("", |known| known.source),
                        meaning,
                    }
                },
            )
        };
        self.sections()
            .map(|(name, section)| (name, section.explain()))
            .flat_map(of)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::line::rounded;
    use super::*;

    #[test]
    fn rounds_computed_numbers() {
        assert_eq!(rounded(1.0 - 0.9), "0.1");
        assert_eq!(rounded(0.1 + 0.2), "0.3");
        assert_eq!(
            (rounded(0.0), rounded(1e-12), rounded(f64::MAX)),
            ("0".to_owned(), 1e-12.to_string(), f64::MAX.to_string())
        );
    }

    #[test]
    fn formulas_contain_the_numbers_of_the_policy() {
        let policy = json!({
            "length": { "soft_overlong": { "max": 16384, "buffer": 4096 } },
            "combine": { "weighted": { "weights": { "outcome": 3, "style": 1 } } },
            "format": [{ "part": "tags", "penalty": 1 }],
        });
        let explained = PolicyRules::from_json(&policy).unwrap().explain();
        let lines: Vec<_> = explained
            .iter()
            .map(|line| (line.field.as_str(), line.formula.as_str()))
            .collect();
        assert_eq!(
            lines,
            [
                ("combine.weighted", "(3 outcome + 1 style) / 4"),
                (
                    "format.0",
                    "tags passed, or R = 0 max(R, 0) + min(R, 0) - 1"
                ),
                (
                    "length.soft_overlong",
                    "R - 1 min(max((L - 12288) / 4096, 0), 1)"
                ),
            ]
        );
        assert!(PolicyRules::default().explain().is_empty());
    }
}
