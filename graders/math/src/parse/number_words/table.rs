//! The number words of English, French, German and Spanish.

use assay_extraction::scales;

use crate::number::Rational;

/// The factor of a word that multiplies the number before it.
pub(super) fn factor(word: &str) -> Option<i64> {
    Some(match word {
        "ten" | "tens" => 10,
        "dozen" | "dozens" | "dutzend" | "douzaine" | "douzaines" | "docena" | "docenas" => 12,
        "score" | "scores" => 20,
        "gross" => 144,
        "hundred" | "hundreds" | "hundert" | "cientos" => 100,
        "miles" => 1_000,
        _ => 10_i64.pow(scales::exponent(word)?),
    })
}

/// The fraction of a word that divides by a power of ten.
pub(super) fn share(word: &str) -> Option<Rational> {
    let parts = match word.strip_suffix('s').unwrap_or(word) {
        "tenth" => 10,
        "hundredth" => 100,
        "thousandth" => 1_000,
        "millionth" => 1_000_000,
        _ => return None,
    };
    Some(Rational::ratio(1, parts))
}

/// The denominator that a word names: `thirds`, `Viertel`.
pub(super) fn denominator(word: &str) -> Option<i64> {
    Some(match word {
        "half" | "halves" | "demi" | "demie" | "demis" | "medio" | "media" | "medios" | "halb"
        | "halbe" | "hälfte" => 2,
        "third" | "thirds" | "tiers" | "tercio" | "tercios" | "drittel" => 3,
        "fourth" | "fourths" | "quarter" | "quarters" | "quart" | "quarts" | "cuarto"
        | "cuartos" | "viertel" => 4,
        "fifth" | "fifths" | "cinquième" | "cinquièmes" | "quinto" | "quintos" | "fünftel" => 5,
        "sixth" | "sixths" | "sixième" | "sixièmes" | "sexto" | "sextos" | "sechstel" => 6,
        "seventh" | "sevenths" | "septième" | "septièmes" | "séptimo" | "séptimos" | "siebtel" => {
            7
        }
        "eighth" | "eighths" | "huitième" | "huitièmes" | "octavo" | "octavos" | "achtel" => 8,
        "ninth" | "ninths" | "neuvième" | "neuvièmes" | "noveno" | "novenos" | "neuntel" => 9,
        "tenth" | "tenths" | "dixième" | "dixièmes" | "décimo" | "décimos" | "zehntel" => 10,
        "eleventh" | "elevenths" => 11,
        "twelfth" | "twelfths" => 12,
        "thirteenth" | "thirteenths" => 13,
        "fifteenth" | "fifteenths" => 15,
        "sixteenth" | "sixteenths" => 16,
        "twentieth" | "twentieths" => 20,
        "hundredth" | "hundredths" => 100,
        "thousandth" | "thousandths" => 1_000,
        _ => return None,
    })
}

/// Numbers below a hundred in one word.
pub(super) fn simple(word: &str) -> Option<i64> {
    const WORDS: &[&[&str]] = &[
        &["zero", "zéro", "null", "cero"],
        &["one", "un", "une", "ein", "eins", "eine", "uno", "una"],
        &["two", "deux", "zwei", "dos"],
        &["three", "trois", "drei", "tres"],
        &["four", "quatre", "vier", "cuatro"],
        &["five", "cinq", "fünf", "cinco"],
        &["six", "sechs", "seis"],
        &["seven", "sept", "sieben", "siete"],
        &["eight", "huit", "acht", "ocho"],
        &["nine", "neuf", "neun", "nueve"],
        &["ten", "dix", "zehn", "diez"],
        &["eleven", "onze", "elf", "once"],
        &["twelve", "douze", "zwölf", "doce"],
        &["thirteen", "treize", "dreizehn", "trece"],
        &["fourteen", "quatorze", "vierzehn", "catorce"],
        &["fifteen", "quinze", "fünfzehn", "quince"],
        &["sixteen", "seize", "sechzehn", "dieciséis"],
        &["seventeen", "siebzehn", "diecisiete"],
        &["eighteen", "achtzehn", "dieciocho"],
        &["nineteen", "neunzehn", "diecinueve"],
        &["twenty", "vingt", "zwanzig", "veinte"],
        &["veintiuno"],
    ];
    const TENS: &[(&[&str], i64)] = &[
        (&["thirty", "trente", "dreißig", "dreissig", "treinta"], 30),
        (&["forty", "fourty", "quarante", "vierzig", "cuarenta"], 40),
        (&["fifty", "cinquante", "fünfzig", "cincuenta"], 50),
        (&["sixty", "soixante", "sechzig", "sesenta"], 60),
        (&["seventy", "siebzig", "setenta"], 70),
        (&["eighty", "achtzig", "ochenta"], 80),
        (&["ninety", "neunzig", "noventa"], 90),
    ];
    let below = WORDS
        .iter()
        .position(|names| names.contains(&word))
        .and_then(|value| i64::try_from(value).ok());
    let tens = || {
        TENS.iter()
            .find(|(names, _)| names.contains(&word))
            .map(|(_, value)| *value)
    };
    // `einundzwanzig`
    let joined = || {
        let (ones, tens) = word.split_once("und")?;
        let (ones, tens) = (
            simple(ones).filter(|ones| *ones < 10)?,
            simple(tens).filter(|tens| *tens >= 20)?,
        );
        Some(ones + tens)
    };
    below.or_else(tens).or_else(joined)
}
