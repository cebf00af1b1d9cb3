//! The table of units: names, dimensions, and scales in coherent units. Scales are exact (BIPM,
//! "The International System of Units", 9th edition; NIST Handbook 44 for customary units).

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Unit;
use crate::number::Rational;
use crate::parse::decimal;

/// Powers of the base quantities.
pub(crate) type Dimensions = [i8; 21];

/// The dimensions of the base quantity with index `slot`.
const fn base(slot: usize) -> Dimensions {
    let mut dimensions = [0; 21];
    dimensions[slot] = 1;
    dimensions
}

/// Powers of length, mass, time and current.
const fn si(length: i8, mass: i8, time: i8, current: i8) -> Dimensions {
    let mut dimensions = [0; 21];
    dimensions[0] = length;
    dimensions[1] = mass;
    dimensions[2] = time;
    dimensions[3] = current;
    dimensions
}

const LENGTH: Dimensions = si(1, 0, 0, 0);
const AREA: Dimensions = si(2, 0, 0, 0);
const VOLUME: Dimensions = si(3, 0, 0, 0);
const MASS: Dimensions = si(0, 1, 0, 0);
const TIME: Dimensions = si(0, 0, 1, 0);
const CURRENT: Dimensions = si(0, 0, 0, 1);
const SPEED: Dimensions = si(1, 0, -1, 0);
const FREQUENCY: Dimensions = si(0, 0, -1, 0);
const FORCE: Dimensions = si(1, 1, -2, 0);
const ENERGY: Dimensions = si(2, 1, -2, 0);
const POWER: Dimensions = si(2, 1, -3, 0);
const PRESSURE: Dimensions = si(-1, 1, -2, 0);
const CHARGE: Dimensions = si(0, 0, 1, 1);
const VOLTAGE: Dimensions = si(2, 1, -3, -1);
const RESISTANCE: Dimensions = si(2, 1, -3, -2);
const TEMPERATURE: Dimensions = base(4);
const AMOUNT: Dimensions = base(5);
const ANGLE: Dimensions = base(6);
const INFORMATION: Dimensions = base(7);
const LIGHT: Dimensions = base(8);
/// A length in an unspecified unit.
const UNSPECIFIED: Dimensions = base(9);
const DOLLAR: Dimensions = base(10);
const EURO: Dimensions = base(11);
const STERLING: Dimensions = base(12);
const YEN: Dimensions = base(13);
const YUAN: Dimensions = base(14);
const RUPEE: Dimensions = base(15);
const WON: Dimensions = base(16);
const ROUBLE: Dimensions = base(17);
const FRANC: Dimensions = base(18);
const PESO: Dimensions = base(19);
const BAHT: Dimensions = base(20);

const fn per_volume(mut dimensions: Dimensions) -> Dimensions {
    dimensions[0] -= 3;
    dimensions
}

const fn per_area(mut dimensions: Dimensions) -> Dimensions {
    dimensions[0] -= 2;
    dimensions
}

/// The prefixes that a symbol takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Prefixes {
    /// From pico to tera.
    Thousands,
    /// These, and centi, deci, hecto and deca.
    All,
}

/// Units with SI prefixes: symbol, names, dimensions, scale, prefixes of the symbol.
const PREFIXED: &[(&str, &str, Dimensions, &str, Prefixes)] = &[
    (
        "m",
        "meter|metre|mètre|metro|米",
        LENGTH,
        "1",
        Prefixes::All,
    ),
    (
        "g",
        "gram|gramme|gramm|gramo|克",
        MASS,
        "0.001",
        Prefixes::All,
    ),
    (
        "s",
        "second|seconde|sekunde|sekunden|segundo|秒|秒钟",
        TIME,
        "1",
        Prefixes::Thousands,
    ),
    ("L", "liter|litre|litro|升", VOLUME, "0.001", Prefixes::All),
    ("l", "", VOLUME, "0.001", Prefixes::All),
    ("A", "ampere|amp", CURRENT, "1", Prefixes::Thousands),
    ("K", "kelvin", TEMPERATURE, "1", Prefixes::Thousands),
    ("mol", "mole|摩尔", AMOUNT, "1", Prefixes::Thousands),
    ("N", "newton|牛|牛顿", FORCE, "1", Prefixes::Thousands),
    ("J", "joule|焦|焦耳", ENERGY, "1", Prefixes::Thousands),
    ("W", "watt|瓦|瓦特", POWER, "1", Prefixes::Thousands),
    ("Pa", "pascal|帕|帕斯卡", PRESSURE, "1", Prefixes::All),
    ("V", "volt|伏|伏特", VOLTAGE, "1", Prefixes::Thousands),
    ("C", "coulomb|库仑", CHARGE, "1", Prefixes::Thousands),
    ("Hz", "hertz|赫兹", FREQUENCY, "1", Prefixes::Thousands),
    ("Bq", "becquerel", FREQUENCY, "1", Prefixes::Thousands),
    ("Ω", "ohm|欧|欧姆", RESISTANCE, "1", Prefixes::Thousands),
    ("S", "siemens", si(-2, -1, 3, 2), "1", Prefixes::Thousands),
    ("F", "farad", si(-2, -1, 4, 2), "1", Prefixes::Thousands),
    (
        "H",
        "henry|henries",
        si(2, 1, -2, -2),
        "1",
        Prefixes::Thousands,
    ),
    (
        "T",
        "tesla|特斯拉",
        si(0, 1, -2, -1),
        "1",
        Prefixes::Thousands,
    ),
    ("Wb", "weber", si(2, 1, -2, -1), "1", Prefixes::Thousands),
    ("lm", "lumen", LIGHT, "1", Prefixes::Thousands),
    ("lx", "lux", per_area(LIGHT), "1", Prefixes::Thousands),
    (
        "M",
        "molar",
        per_volume(AMOUNT),
        "1000",
        Prefixes::Thousands,
    ),
    (
        "eV",
        "electronvolt|electron volt",
        ENERGY,
        "1.602176634e-19",
        Prefixes::Thousands,
    ),
    ("cal", "calorie", ENERGY, "4.184", Prefixes::Thousands),
    ("Wh", "watt hour", ENERGY, "3600", Prefixes::Thousands),
    (
        "Ah",
        "ampere hour|amp hour",
        CHARGE,
        "3600",
        Prefixes::Thousands,
    ),
    ("bar", "bar", PRESSURE, "100000", Prefixes::Thousands),
    ("rad", "radian|弧度", ANGLE, "1", Prefixes::Thousands),
    (
        "pc",
        "parsec",
        LENGTH,
        "3.0856775814913673e16",
        Prefixes::Thousands,
    ),
    ("B", "byte", INFORMATION, "8", Prefixes::Thousands),
    ("bit", "bit", INFORMATION, "1", Prefixes::Thousands),
];

/// Units without prefixes: names, dimensions, scale.
const PLAIN: &[(&str, Dimensions, &str)] = &[
    ("min|minute|minuto|minuten|分钟", TIME, "60"),
    (
        "h|hr|hour|heure|stunde|stunden|hora|小时|时|个小时",
        TIME,
        "3600",
    ),
    ("d|day|jour|tag|tage|tagen|día|dia|天|日", TIME, "86400"),
    (
        "week|wk|semaine|woche|wochen|semana|周|星期|个星期",
        TIME,
        "604800",
    ),
    ("month|mois|monat|monate|mes|meses|月|个月", TIME, "2629800"),
    (
        "year|yr|année|ans|jahr|jahre|jahren|año|年|岁",
        TIME,
        "31557600",
    ),
    ("decade", TIME, "315576000"),
    ("century|centuries|世纪|个世纪", TIME, "3155760000"),
    ("sec", TIME, "1"),
    ("in|inch|inches|英寸", LENGTH, "0.0254"),
    ("ft|foot|feet|英尺", LENGTH, "0.3048"),
    ("yd|yard", LENGTH, "0.9144"),
    ("mi|mile|英里", LENGTH, "1609.344"),
    ("km|kms|公里", LENGTH, "1000"),
    ("zentimeter|公分", LENGTH, "0.01"),
    ("nmi|nautical mile|海里", LENGTH, "1852"),
    ("furlong", LENGTH, "201.168"),
    ("micron", LENGTH, "1e-6"),
    ("Å|angstrom|ångström", LENGTH, "1e-10"),
    ("au|AU|astronomical unit", LENGTH, "149597870700"),
    ("ly|light year|lightyear|光年", LENGTH, "9460730472580800"),
    ("are", AREA, "100"),
    ("ha|hectare|公顷", AREA, "10000"),
    ("acre", AREA, "4046.8564224"),
    ("亩", AREA, "2000/3"),
    ("cc", VOLUME, "1e-6"),
    ("gal|gallon", VOLUME, "0.003785411784"),
    ("qt|quart", VOLUME, "0.000946352946"),
    ("pint", VOLUME, "0.000473176473"),
    ("cup", VOLUME, "0.0002365882365"),
    ("fl oz|fluid ounce", VOLUME, "0.0000295735295625"),
    ("tbsp|tablespoon", VOLUME, "0.00001478676478125"),
    ("tsp|teaspoon", VOLUME, "0.00000492892159375"),
    ("oz|ounce", MASS, "0.028349523125"),
    ("oz|ounce", VOLUME, "0.0000295735295625"),
    ("lb|lbs|pound", MASS, "0.45359237"),
    ("stone", MASS, "6.35029318"),
    ("t|ton|tonne|吨", MASS, "1000"),
    ("ton", MASS, "907.18474"),
    ("公斤|kilo", MASS, "1"),
    ("斤", MASS, "0.5"),
    ("kph|kmh|kmph", SPEED, "5/18"),
    ("mph", SPEED, "0.44704"),
    ("knot|kn|kt", SPEED, "463/900"),
    ("atm|atmosphere|大气压", PRESSURE, "101325"),
    ("mmHg", PRESSURE, "133.322387415"),
    ("torr|Torr", PRESSURE, "20265/152"),
    ("psi", PRESSURE, "8896443230521/1290320000"),
    ("lbf", FORCE, "4.4482216152605"),
    ("dyn|dyne", FORCE, "1e-5"),
    ("erg", ENERGY, "1e-7"),
    ("Cal", ENERGY, "4184"),
    ("BTU|Btu", ENERGY, "1055.05585262"),
    ("kWh|度电|千瓦时", ENERGY, "3600000"),
    ("hp|horsepower", POWER, "745.69987158227022"),
    ("kilohm|kilo ohm", RESISTANCE, "1000"),
    ("unit|单位|个单位|单位长度|个单位长度", UNSPECIFIED, "1"),
    ("$|US$|USD|dollar|US dollar|U.S. dollar|美元", DOLLAR, "1"),
    ("¢|cent|penny|pennies|美分", DOLLAR, "0.01"),
    ("€|EUR|euro|欧元", EURO, "1"),
    ("cent|centime|céntimo", EURO, "0.01"),
    (
        "£|GBP|pound|pound sterling|pounds sterling|quid|英镑",
        STERLING,
        "1",
    ),
    ("penny|pence", STERLING, "0.01"),
    ("¥|JPY|yen|日元", YEN, "1"),
    ("¥|CNY|RMB|CN¥|yuan|元|块|块钱|人民币|元人民币", YUAN, "1"),
    ("角|毛", YUAN, "0.1"),
    ("₹|INR|Rs|Rs.|rupee", RUPEE, "1"),
    ("paise|paisa", RUPEE, "0.01"),
    ("₩|KRW|won", WON, "1"),
    ("₽|RUB|rouble|ruble", ROUBLE, "1"),
    ("CHF|Swiss franc", FRANC, "1"),
    ("MXN|peso", PESO, "1"),
    ("THB|฿|baht", BAHT, "1"),
];

/// Units of angles that are π times a scale.
const PI_MULTIPLES: &[(&str, &str)] = &[
    ("°|degree|deg|degré|grad|grado|度", "1/180"),
    ("arcmin|arcminute", "1/10800"),
    ("arcsec|arcsecond", "1/648000"),
    ("rev|revolution|turn", "2"),
];

/// Temperature scales: names, scale to the kelvin, and the absolute value of absolute zero in this
/// unit.
const OFFSET: &[(&str, &str, &str)] = &[
    (
        "°C|degC|celsius|degree celsius|degree C|deg C|degree centigrade|centigrade|degré \
         celsius|grad celsius|grado celsius|摄氏度",
        "1",
        "273.15",
    ),
    (
        "°F|degF|fahrenheit|degree fahrenheit|degree F|deg F|华氏度",
        "5/9",
        "459.67",
    ),
];

const PREFIXES: &[(&str, &str, &str)] = &[
    ("k", "kilo|kiló|千", "1e3"),
    ("m", "milli|mili|毫", "1e-3"),
    ("M", "mega|兆", "1e6"),
    ("G", "giga", "1e9"),
    ("T", "tera", "1e12"),
    ("μ", "micro|微", "1e-6"),
    ("u", "", "1e-6"),
    ("n", "nano|纳", "1e-9"),
    ("p", "pico", "1e-12"),
    ("c", "centi|centí|厘", "0.01"),
    ("d", "deci|decí|分", "0.1"),
    ("h", "hecto", "100"),
    ("da", "deca", "10"),
];

/// A scale in the notation of the table: a decimal or a quotient of two.
fn scale(text: &str) -> Option<Rational> {
    match text.split_once('/') {
        Some((num, den)) => decimal(num)?.div(&decimal(den)?),
        None => decimal(text),
    }
}

fn names(all: &'static str) -> impl Iterator<Item = &'static str> {
    all.split('|').filter(|name| !name.is_empty())
}

/// Whether a name is a word, which has a plural and no meaning in its case.
fn is_word(name: &str) -> bool {
    name.chars().count() > 2
        && name
            .chars()
            .all(|c| c.is_alphabetic() && c.is_lowercase() || c == ' ')
}

fn is_chinese(name: &str) -> bool {
    name.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// The units with a name, and the prefixes that it takes.
#[derive(Debug, Default)]
struct Entry {
    units: Vec<Unit>,
    symbol: Option<Prefixes>,
    word: bool,
}

type Table = HashMap<String, Entry>;

fn insert<'t>(table: &'t mut Table, name: String, unit: &Unit) -> &'t mut Entry {
    let entry = table.entry(name).or_default();
    if !entry.units.contains(unit) {
        entry.units.push(unit.clone());
    }
    entry
}

/// Symbols that may have the plural ending `s`.
const PLURAL_SYMBOLS: &[&str] = &[
    "hr", "lb", "yd", "yr", "wk", "mi", "kg", "cm", "mm", "ml", "oz",
];

/// Adds a name and its plural; `prefixed` if it takes the prefixes of words.
fn enter(table: &mut Table, name: &str, unit: &Unit, prefixed: bool) {
    let plural = if is_word(name) {
        // The plural of `degree celsius` is in the first word.
        match name.split_once(' ') {
            Some((first @ ("degree" | "degré" | "grado"), rest)) => {
                Some(format!("{first}s {rest}"))
            }
            _ => Some(format!("{name}s")),
        }
    } else if let Some(rest @ ("C" | "F")) = name.strip_prefix("degree ") {
        Some(format!("degrees {rest}"))
    } else {
        name.ends_with("dollar").then(|| format!("{name}s"))
    };
    for name in std::iter::once(name.to_owned()).chain(plural) {
        insert(table, name, unit).word |= prefixed;
    }
}

fn built() -> Option<Table> {
    let mut table = Table::with_capacity(1_000);
    for (symbol, words, dimensions, own, takes) in PREFIXED {
        let unit = Unit::new(*dimensions, scale(own)?);
        insert(&mut table, (*symbol).to_owned(), &unit).symbol = Some(*takes);
        for name in names(words) {
            enter(&mut table, name, &unit, true);
        }
    }
    for (spellings, dimensions, own) in PLAIN {
        let unit = Unit::new(*dimensions, scale(own)?);
        for name in names(spellings) {
            enter(&mut table, name, &unit, false);
        }
    }
    for (spellings, own) in PI_MULTIPLES {
        let unit = Unit {
            half_turns: 1,
            ..Unit::new(ANGLE, scale(own)?)
        };
        for name in names(spellings) {
            enter(&mut table, name, &unit, false);
        }
    }
    let rpm = Unit {
        half_turns: 1,
        ..Unit::new(si(0, 0, -1, 0), scale("1/30")?)
    };
    let mut dimensions = rpm.dimensions;
    for (power, own) in dimensions.iter_mut().zip(ANGLE) {
        *power += own;
    }
    enter(&mut table, "rpm", &Unit { dimensions, ..rpm }, false);
    for (spellings, own, zero) in OFFSET {
        let unit = Unit {
            zero: scale(zero)?,
            ..Unit::new(TEMPERATURE, scale(own)?)
        };
        for name in names(spellings) {
            enter(&mut table, name, &unit, false);
        }
    }
    let prefixed = prefixed(&table)?;
    for (name, unit) in prefixed {
        table.entry(name).or_insert_with(|| Entry {
            units: vec![unit],
            ..Entry::default()
        });
    }
    Some(table)
}

/// The units of a table with their prefixes.
fn prefixed(table: &Table) -> Option<Vec<(String, Unit)>> {
    let mut all = Vec::new();
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_unstable_by_key(|(stem, _)| *stem);
    for (short, long, power) in PREFIXES {
        let scale = scale(power)?;
        let small = matches!(*short, "c" | "d" | "h" | "da");
        for (stem, entry) in &entries {
            let symbol = entry
                .symbol
                .is_some_and(|takes| takes == Prefixes::All || !small);
            // Chinese prefixes belong to Chinese names.
            let words =
                names(long).filter(|prefix| entry.word && is_chinese(stem) == is_chinese(prefix));
            for prefix in symbol.then_some(*short).into_iter().chain(words) {
                let unit = entry.units.first()?;
                let scale = unit.scale.mul(&scale)?;
                all.push((
                    format!("{prefix}{stem}"),
                    Unit {
                        scale,
                        ..unit.clone()
                    },
                ));
            }
        }
    }
    Some(all)
}

static TABLE: LazyLock<Table> = LazyLock::new(|| built().unwrap_or_default());

/// Symbols that may be written in another case; the case of all others matters.
const ANY_CAPITALS: &[&str] = &[
    "kg", "km", "cm", "ml", "hr", "hrs", "min", "mins", "sec", "secs", "lb", "lbs", "ft", "usd",
    "mph", "rpm", "gal",
];

/// The units with this name, the usual one first.
pub(super) fn lookup(name: &str) -> Option<Vec<Unit>> {
    if let Some(units) = lookup_exact(name) {
        return Some(units);
    }
    if !name.contains(char::is_uppercase) {
        return None;
    }
    let lower = name.to_lowercase();
    let word = lower.chars().count() > 3 && lower.chars().all(|c| c.is_alphabetic() || c == ' ');
    if word || ANY_CAPITALS.contains(&lower.as_str()) {
        lookup_exact(&lower)
    } else {
        None
    }
}

/// The units with this name in the same case.
fn lookup_exact(name: &str) -> Option<Vec<Unit>> {
    if let Some(entry) = TABLE.get(name) {
        return Some(entry.units.clone());
    }
    let symbol = name
        .strip_suffix('s')
        .filter(|symbol| PLURAL_SYMBOLS.contains(symbol))?;
    lookup_exact(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_row() {
        assert!(built().is_some());
        assert!(TABLE.len() > 300);
    }

    #[test]
    fn case_of_symbols_matters() {
        for (a, b) in [
            ("T", "t"),
            ("H", "h"),
            ("MeV", "meV"),
            ("Mg", "mg"),
            ("F", "f"),
        ] {
            assert_ne!(lookup(a), lookup(b));
        }
        assert_eq!(lookup("Kg"), lookup("kg"));
        assert_eq!(lookup("Kilometers"), lookup("km"));
    }
}
