//! Detects the language of a text, by its script and by the trigrams of `whatlang`. Swahili, which
//! the library does not know, is detected by its function words.

use whatlang::{Detector, Lang};

/// Bytes at the start of a text that are read. More do not change the result noticeably.
const MAX_BYTES: usize = 4 << 10;

/// Codes of ISO 639-1 and the languages of the library.
const LANGUAGES: &[(&str, Lang)] = &[
    ("af", Lang::Afr),
    ("am", Lang::Amh),
    ("ar", Lang::Ara),
    ("az", Lang::Aze),
    ("be", Lang::Bel),
    ("bg", Lang::Bul),
    ("bn", Lang::Ben),
    ("ca", Lang::Cat),
    ("cs", Lang::Ces),
    ("da", Lang::Dan),
    ("de", Lang::Deu),
    ("el", Lang::Ell),
    ("en", Lang::Eng),
    ("eo", Lang::Epo),
    ("es", Lang::Spa),
    ("et", Lang::Est),
    ("fa", Lang::Pes),
    ("fi", Lang::Fin),
    ("fr", Lang::Fra),
    ("gu", Lang::Guj),
    ("he", Lang::Heb),
    ("hi", Lang::Hin),
    ("hr", Lang::Hrv),
    ("hu", Lang::Hun),
    ("hy", Lang::Hye),
    ("id", Lang::Ind),
    ("it", Lang::Ita),
    ("ja", Lang::Jpn),
    ("ka", Lang::Kat),
    ("km", Lang::Khm),
    ("kn", Lang::Kan),
    ("ko", Lang::Kor),
    ("la", Lang::Lat),
    ("lt", Lang::Lit),
    ("lv", Lang::Lav),
    ("mk", Lang::Mkd),
    ("ml", Lang::Mal),
    ("mr", Lang::Mar),
    ("my", Lang::Mya),
    ("ne", Lang::Nep),
    ("nl", Lang::Nld),
    ("no", Lang::Nob),
    ("or", Lang::Ori),
    ("pa", Lang::Pan),
    ("pl", Lang::Pol),
    ("pt", Lang::Por),
    ("ro", Lang::Ron),
    ("ru", Lang::Rus),
    ("si", Lang::Sin),
    ("sk", Lang::Slk),
    ("sl", Lang::Slv),
    ("sr", Lang::Srp),
    ("sv", Lang::Swe),
    ("ta", Lang::Tam),
    ("te", Lang::Tel),
    ("th", Lang::Tha),
    ("tl", Lang::Tgl),
    ("tr", Lang::Tur),
    ("uk", Lang::Ukr),
    ("ur", Lang::Urd),
    ("uz", Lang::Uzb),
    ("vi", Lang::Vie),
    ("yi", Lang::Yid),
    ("zh", Lang::Cmn),
    ("zu", Lang::Zul),
];

/// Languages that are so close that short texts do not tell them apart: a text in one of them that
/// the library takes for another of the group is accepted.
const CLOSE: &[&[&str]] = &[&["hi", "mr", "ne"], &["da", "no"], &["hr", "sr", "sl"]];

/// The code of Swahili.
const SWAHILI: &str = "sw";

/// Function words of Swahili.
const SWAHILI_WORDS: &[&str] = &[
    "ya", "wa", "na", "kwa", "ni", "katika", "za", "la", "kama", "hii", "yake", "lakini", "au",
    "kuwa", "cha", "huo", "hiyo", "watu", "mwa", "pia", "sana", "yetu", "wetu", "hilo", "vya",
    "kila", "ili", "si", "huu", "wake", "nchini", "mtu", "moja", "kwenye", "yangu", "wangu",
];

/// Smallest share of function words in a Swahili text.
const MIN_SWAHILI_SHARE: f64 = 0.12;

/// The code that `code` stands for, without its region: `pt` for `pt-BR`; `None` if the language is
/// not supported.
pub(crate) fn known(code: &str) -> Option<&'static str> {
    let base = code.split(['-', '_']).next()?.to_lowercase();
    if base == SWAHILI {
        return Some(SWAHILI);
    }
    let entry = LANGUAGES.iter().find(|(known, _)| *known == base)?;
    Some(entry.0)
}

/// The code of the language of a text; `None` if it has too few letters.
pub(crate) fn detect(text: &str) -> Option<&'static str> {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let lower = text.to_lowercase();
    let words = || {
        lower
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
    };
    let total = words().count();
    if total == 0 {
        return None;
    }
    let swahili = words().filter(|word| SWAHILI_WORDS.contains(word)).count();
    if total >= 4 && swahili as f64 >= MIN_SWAHILI_SHARE * total as f64 && text.is_ascii() {
        return Some(SWAHILI);
    }
    let found = Detector::new().detect_lang(&lower)?;
    LANGUAGES
        .iter()
        .find(|(_, lang)| *lang == found)
        .map(|(code, _)| *code)
}

/// Whether a detected language counts as the required one.
pub(crate) fn agrees(found: &str, required: &str) -> bool {
    found == required
        || CLOSE
            .iter()
            .any(|group| group.contains(&found) && group.contains(&required))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_common_languages() {
        for (code, text) in [
            (
                "en",
                "The weather was so nice that we decided to walk along the river.",
            ),
            (
                "de",
                "Das Wetter war so schön, dass wir am Fluss entlang spazieren gingen.",
            ),
            (
                "fr",
                "Il faisait si beau que nous avons décidé de marcher le long de la rivière.",
            ),
            (
                "es",
                "Hacía tan buen tiempo que decidimos caminar a lo largo del río.",
            ),
            (
                "sw",
                "Hali ya hewa ilikuwa nzuri sana na watu wengi walikwenda kwa mto.",
            ),
            ("kn", "ಇದು ಕನ್ನಡ ಭಾಷೆಯಲ್ಲಿ ಬರೆದ ವಾಕ್ಯ."),
            (
                "ja",
                "今日はとても天気がよかったので、川沿いを散歩しました。",
            ),
            (
                "ar",
                "كان الطقس جميلا جدا لدرجة أننا قررنا المشي على طول النهر",
            ),
        ] {
            assert_eq!(detect(text), Some(code), "{text}");
        }
        assert_eq!(detect("123 !"), None);
        assert_eq!(known("pt-BR"), Some("pt"));
        assert_eq!(known("xx"), None);
    }
}
