//! Colours and patterns of the parts of charts. Patterns tell parts apart without colour.

use std::collections::BTreeMap;

/// Number of patterns in `patterns.html`, of which the first is plain.
const PATTERNS: usize = 7;

/// Indices of colours in the style sheet: for any part, for verdicts that pass, and for other
/// verdicts.
const COLOURS: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7];
const PASS_COLOURS: &[usize] = &[2, 6, 0];
const OTHER_COLOURS: &[usize] = &[3, 1, 4, 5, 7];

/// How a part of a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Style {
    /// Index of the colour in the style sheet.
    pub(crate) colour: usize,
    /// Index of the pattern; 0 is plain.
    pub(crate) pattern: usize,
}

impl Style {
    /// A colour without a pattern.
    pub(crate) const fn plain(colour: usize) -> Self {
        Self { colour, pattern: 0 }
    }

    /// The style of the `rank`-th part of a kind. The numbers of colours have no common divisor
    /// with that of patterns, so styles repeat only after all pairs were used.
    fn ranked(colours: &[usize], rank: usize) -> Self {
        Self {
            colour: colours[rank % colours.len()],
            pattern: rank % PATTERNS,
        }
    }

    /// The style of a part that is neither a verdict nor an outcome.
    pub(crate) fn of_part(rank: usize) -> Self {
        Self::ranked(COLOURS, rank)
    }

    /// The style of an outcome.
    pub(crate) fn of_outcome(outcome: &str) -> Self {
        match outcome {
            "graded" => Self::plain(2),
            "ungradable" => Self {
                colour: 4,
                pattern: 1,
            },
            _ => Self {
                colour: 3,
                pattern: 2,
            },
        }
    }
}

/// The style of each verdict of a node, the same in every chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerdictStyles(BTreeMap<String, Style>);

impl VerdictStyles {
    /// The styles of these verdicts, each with whether it is a pass.
    pub(crate) fn new<'v>(verdicts: impl IntoIterator<Item = (&'v str, bool)>) -> Self {
        let sorted: BTreeMap<&str, bool> = verdicts.into_iter().collect();
        let (mut passes, mut others) = (0, 0);
        let style = |(verdict, is_pass): (&str, bool)| {
            let (colours, rank) = if is_pass {
                (PASS_COLOURS, &mut passes)
            } else {
                (OTHER_COLOURS, &mut others)
            };
            let style = Style::ranked(colours, *rank);
            *rank += 1;
            (verdict.to_owned(), style)
        };
        Self(sorted.into_iter().map(style).collect())
    }

    /// The style of a verdict. Verdicts that only other versions of a grader have look alike.
    pub(crate) fn of(&self, verdict: &str) -> Style {
        let unknown = Style {
            colour: 7,
            pattern: PATTERNS - 1,
        };
        self.0.get(verdict).copied().unwrap_or(unknown)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_verdict_has_its_own_style_in_any_order() {
        let names: Vec<String> = (0..30).map(|at| format!("verdict_{at}")).collect();
        let verdicts: Vec<(&str, bool)> = (0..)
            .zip(&names)
            .map(|(at, name)| (name.as_str(), at % 6 == 0))
            .collect();
        let styles = VerdictStyles::new(verdicts.iter().copied());
        let backwards = VerdictStyles::new(verdicts.iter().rev().copied());
        let all: BTreeSet<Style> = names.iter().map(|name| styles.of(name)).collect();
        assert_eq!(all.len(), names.len());
        assert!(
            names
                .iter()
                .all(|name| styles.of(name) == backwards.of(name))
        );
    }

    #[test]
    fn the_first_styles_of_a_kind_differ_in_colour_and_in_pattern() {
        let patterns: BTreeSet<usize> = (0..PATTERNS)
            .map(|rank| Style::of_part(rank).pattern)
            .collect();
        assert_eq!(patterns.len(), PATTERNS);
        let patterns = include_str!("../../templates/patterns.html").matches("<pattern ");
        assert_eq!(patterns.count(), PATTERNS - 1);
    }

    /// Contrast by the formula of WCAG 2.
    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let luminance = |colour: [u8; 3]| {
            let linear = colour.map(|part| {
                let part = f64::from(part) / 255.0;
                if part <= 0.04045 {
                    part / 12.92
                } else {
                    ((part + 0.055) / 1.055).powf(2.4)
                }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn colours_of_charts_have_enough_contrast_in_all_schemes() {
        let sheet = include_str!("../../assets/pages.css");
        let colour = |block: &str, name: &str| -> [u8; 3] {
            let (_, rest) = block.split_once(&format!("{name}: #")).unwrap();
            [0, 2, 4].map(|at| u8::from_str_radix(&rest[at..at + 2], 16).unwrap())
        };
        let schemes: Vec<&str> = sheet
            .match_indices(" color-scheme:")
            .map(|(at, _)| sheet[at..].split('}').next().unwrap())
            .collect();
        assert_eq!(schemes.len(), 3);
        for scheme in schemes {
            for index in COLOURS {
                let contrast = contrast(
                    colour(scheme, &format!("--c{index}")),
                    colour(scheme, "--sheet"),
                );
                assert!(contrast >= 3.0, "--c{index}: {contrast:.2} in {scheme}");
            }
        }
    }
}
