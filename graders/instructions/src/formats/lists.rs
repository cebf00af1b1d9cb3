//! Texts that are one of a list, or a list of their own.

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use crate::finding::Finding;
use crate::text::Text;
use crate::units::{Unit, is_punctuation};

/// Options as a list, or as one text that separates them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(crate) enum Options {
    One(String),
    Many(Vec<String>),
}

/// Whether a text is one of the options and nothing else.
pub(super) fn one_of(text: &str, options: &Options) -> Finding {
    let bare = |text: &str| {
        text.trim_matches(|c: char| is_punctuation(c) || c.is_whitespace())
            .to_lowercase()
    };
    let options: Vec<String> = match options {
        Options::Many(options) => options.iter().map(|option| bare(option)).collect(),
        Options::One(text) => {
            // "yes/no/maybe", "I don't know, maybe or yes"
            let separators: &[&str] = if text.contains('/') {
                &["/"]
            } else {
                &[",", " or "]
            };
            let mut parts = vec![text.clone()];
            for separator in separators {
                parts = parts
                    .iter()
                    .flat_map(|part| part.split(separator))
                    .map(str::to_owned)
                    .collect();
            }
            parts.iter().map(|part| bare(part)).collect()
        }
    };
    let given = bare(text);
    Finding::new(!given.is_empty() && options.contains(&given)).with("options", options.len())
}

/// Countries of Africa, in lower case and without marks; other names of a country after a slash.
const AFRICAN_COUNTRIES: &str = "algeria,angola,benin,botswana,burkina faso,burundi,cabo verde,\
    cape verde,cameroon,central african republic,chad,comoros,congo,democratic republic of the congo,\
    republic of the congo,cote divoire,ivory coast,djibouti,egypt,equatorial guinea,eritrea,eswatini,\
    swaziland,ethiopia,gabon,gambia,the gambia,ghana,guinea,guineabissau,kenya,lesotho,liberia,libya,\
    madagascar,malawi,mali,mauritania,mauritius,morocco,mozambique,namibia,niger,nigeria,rwanda,\
    sao tome and principe,senegal,seychelles,sierra leone,somalia,south africa,south sudan,sudan,\
    tanzania,togo,tunisia,uganda,zambia,zimbabwe,western sahara,sahrawi republic,\
    congo democratic republic of the,congo republic of the,congo republic,dr congo,\
    congo brazzaville,congo kinshasa,gambia the";

/// Whether at least `min` lines are countries of Africa, in descending order from Zimbabwe.
pub(super) fn african_countries(text: &Text<'_>, min: usize) -> Finding {
    let names: Vec<String> = text
        .pieces(Unit::Lines)
        .iter()
        .map(|line| {
            let marked = line.text.trim_start_matches(|c: char| !c.is_alphabetic());
            let plain: String = marked
                .nfkd()
                .filter(|c| c.is_alphabetic() || c.is_whitespace())
                .collect();
            plain.trim().to_lowercase()
        })
        .skip_while(|name| !name.contains("zimbabwe"))
        .collect();
    let known = names
        .iter()
        .filter(|name| AFRICAN_COUNTRIES.split(',').any(|own| own == *name))
        .count();
    let is_sorted = names.windows(2).all(|pair| pair[0] > pair[1]);
    Finding::new(known >= min && is_sorted)
        .with("countries", known)
        .with("min", min)
        .with("descending", is_sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_option_alone_is_one() {
        let options = Options::One("yes/no/maybe".to_owned());
        assert!(one_of("Yes.", &options).met);
        assert!(!one_of("Yes, because", &options).met);
        assert!(!one_of("", &options).met);
        assert!(!one_of("...", &options).met);
    }
}
