//! Generates values for a column: like those of the base, near constants of the golds, or of the
//! type of the column.

use assay_base::Random;
use assay_worker::query::Value;

use super::constants::Constants;
use super::dates::Date;
use super::shape::TextShape;

/// Number of rows from which a column with two different texts is a flag.
const MIN_FLAGS: usize = 4;

/// Number of different texts up to which a column is an enumeration, if each occurs this often on
/// average.
const MAX_ENUMERATION: usize = 24;
const MIN_REPEATS: usize = 5;

/// A generated cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<Value<'_>> for Cell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(integer) => Self::Integer(integer),
            Value::Real(real) => Self::Real(real),
            Value::Text(text) => Self::Text(text.to_vec()),
            Value::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl Cell {
    /// Length of a text or blob, in bytes; 0 for other values.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(integer) => Value::Integer(*integer),
            Self::Real(real) => Value::Real(*real),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

/// Properties of a column of the base.
pub(super) struct ColumnProfile {
    /// The type of values by its declared type.
    declared: ValueType,
    /// Its values with repetitions, without NULL.
    pub(super) values: Vec<Cell>,
    /// Its values as dates; empty unless all are dates.
    dates: Vec<Date>,
    pub(super) may_be_null: bool,
    /// Whether it has few distinct values that repeat, so that new values would be implausible.
    pub(super) is_closed: bool,
    /// Whether it contains texts that repeat so often that there are no others.
    pub(super) is_enumeration: bool,
    /// The form of its texts; `None` if there are other values.
    shape: Option<TextShape>,
}

impl ColumnProfile {
    /// The properties of a column of this declared type. `values` are its values with repetitions,
    /// without NULL.
    pub(super) fn new(declared: &str, values: Vec<Cell>, may_be_null: bool) -> Self {
        let mut distinct: Vec<&Cell> = Vec::new();
        for value in &values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let is_closed =
            !values.is_empty() && distinct.len() * 2 < values.len().max(6) && distinct.len() <= 24;
        let read = |value: &Cell| {
            if let Cell::Text(text) = value {
                Date::read(text)
            } else {
                None
            }
        };
        let dates: Option<Vec<Date>> = values.iter().map(read).collect();
        let texts = values.iter().map(|value| match value {
            Cell::Text(text) => Some(text.as_slice()),
            _ => None,
        });
        let texts: Option<Vec<&[u8]>> = texts.collect();
        let repeats = match distinct.len() {
            0 | 1 => false,
            2 => values.len() >= MIN_FLAGS,
            count => count <= MAX_ENUMERATION && values.len() >= MIN_REPEATS * count,
        };
        Self {
            is_enumeration: texts.is_some() && repeats,
            shape: texts.and_then(|texts| TextShape::of(&texts)),
            declared: ValueType::declared(declared),
            dates: dates.unwrap_or_default(),
            values,
            may_be_null,
            is_closed,
        }
    }

    /// A value near a constant of the golds that is plausible in this column.
    pub(super) fn near_constant(
        &self,
        constants: &Constants,
        allows_text: &dyn Fn(&str) -> bool,
        random: &mut Random,
    ) -> Option<Cell> {
        match self.value_type() {
            ValueType::Integer => {
                let (least, most) = range(&self.values);
                let fits = |integer: &&i64| {
                    (**integer >= 0 || least < 0)
                        && (!is_flag(least, most) || (0..=1).contains(*integer))
                };
                let integers: Vec<&i64> = constants.integers.iter().filter(fits).collect();
                random
                    .pick(&integers)
                    .map(|integer| Cell::Integer(**integer))
            }
            ValueType::Real => {
                let (least, most) = real_range(&self.values);
                let fits = |real: &&f64| {
                    (**real >= 0.0 || least < 0.0) && (**real <= 1.0 || most > 1.0 || least < 0.0)
                };
                let reals: Vec<&f64> = constants.reals.iter().filter(fits).collect();
                random.pick(&reals).map(|real| Cell::Real(**real))
            }
            ValueType::Text if !self.dates.is_empty() => self
                .date_near_constant(constants, random)
                .map(|date| Cell::Text(date.into_bytes())),
            ValueType::Text => {
                let is_number = |text: &[u8]| {
                    std::str::from_utf8(text).is_ok_and(|text| text.trim().parse::<f64>().is_ok())
                };
                let all_numbers = !self.values.is_empty()
                    && self
                        .values
                        .iter()
                        .all(|value| matches!(value, Cell::Text(text) if is_number(text)));
                let fits = |text: &[u8]| !all_numbers || is_number(text);
                let adapted = |text: &str| match &self.shape {
                    Some(shape) => shape.adapted(text),
                    None => Some(text.to_owned()),
                };
                let texts = constants.texts.iter();
                let texts: Vec<Cell> = texts
                    .filter(|near| fits(near.text.as_bytes()) && allows_text(&near.constant))
                    .filter_map(|near| {
                        let text = Cell::Text(adapted(&near.text)?.into_bytes());
                        // A constant that no column contains is allowed, because golds would
                        // return nothing without it.
                        let is_plausible = !self.is_enumeration
                            || self.values.contains(&text)
                            || near.text == near.constant;
                        is_plausible.then_some(text)
                    })
                    .collect();
                random.pick(&texts).cloned()
            }
            ValueType::Blob => None,
        }
    }

    /// A date near a date, year or month among the constants of the golds.
    fn date_near_constant(&self, constants: &Constants, random: &mut Random) -> Option<String> {
        let like = random.pick(&self.dates)?;
        let years = constants
            .integers
            .iter()
            .filter(|year| (1_000..3_000).contains(*year))
            .map(i64::to_string);
        let texts: Vec<String> = constants
            .texts
            .iter()
            .map(|near| near.constant.clone())
            .chain(years)
            .collect();
        let near = |text: &String, random: &mut Random| {
            if let Some(date) = Date::read(text.as_bytes()) {
                let by = random
                    .pick(&[0, 0, 1, -1, 3, -3, 30, -31, 365, -366])
                    .copied()
                    .unwrap_or_default();
                return Some(date.later(by, Some(like)));
            }
            if let Some(first) = Date::first_day(text) {
                // Near both ends of the month or year, and within it.
                let length = if text.len() == 4 { 365 } else { 30 };
                let by = random
                    .pick(&[0, -1, 1, 15, length, length - 1, length + 1, 365, -366])
                    .copied()
                    .unwrap_or_default();
                return Some(first.later(by, Some(like)));
            }
            let month = text
                .parse::<i64>()
                .ok()
                .filter(|month| text.len() == 2 && (1..=12).contains(month))?;
            Some(like.in_month(month))
        };
        let texts: Vec<&String> = texts
            .iter()
            .filter(|text| near(text, &mut random.clone()).is_some())
            .collect();
        let text = random.pick(&texts)?;
        near(text, random).map(|date| date.text())
    }

    fn value_type(&self) -> ValueType {
        match self.values.first() {
            Some(Cell::Integer(_))
                if self
                    .values
                    .iter()
                    .any(|value| matches!(value, Cell::Real(_))) =>
            {
                ValueType::Real
            }
            Some(Cell::Integer(_)) => ValueType::Integer,
            Some(Cell::Real(_)) => ValueType::Real,
            Some(Cell::Text(_)) => ValueType::Text,
            Some(Cell::Blob(_)) => ValueType::Blob,
            Some(Cell::Null) | None => self.declared,
        }
    }

    /// A new value, which the base may not contain.
    pub(super) fn new_value(&self, random: &mut Random) -> Cell {
        let near = random.pick(&self.values).cloned();
        match (self.value_type(), near) {
            (ValueType::Integer, Some(Cell::Integer(near))) => {
                let (least, most) = range(&self.values);
                if is_flag(least, most) {
                    return Cell::Integer(random.between(0, 1));
                }
                let step = (most.saturating_sub(least) / 2).clamp(3, 1_000_000);
                let value = near.saturating_add(random.between(-step, step));
                // Columns without negative values, such as counts and ids, remain so.
                Cell::Integer(if least >= 0 {
                    value.saturating_abs()
                } else {
                    value
                })
            }
            (ValueType::Real, Some(Cell::Real(_) | Cell::Integer(_))) => {
                let (least, most) = real_range(&self.values);
                let share = random.between(-50, 1_050) as f64 / 1_000.0;
                let value = least + (most - least).max(if most > 1.0 { 4.0 } else { 0.0 }) * share;
                let value = if least >= 0.0 { value.abs() } else { value };
                let value = if least >= 0.0 && most <= 1.0 {
                    value.min(1.0)
                } else {
                    value
                };
                Cell::Real((value * 100.0).round() / 100.0)
            }
            (ValueType::Text, _) if !self.dates.is_empty() => {
                let by = if random.chance(50) {
                    random.between(-5, 5)
                } else {
                    random.between(-400, 400)
                };
                Cell::Text(
                    random
                        .pick(&self.dates)
                        .map(|date| date.later(by, None).text())
                        .unwrap_or_default()
                        .into_bytes(),
                )
            }
            (ValueType::Text, Some(Cell::Text(near))) => {
                let word = word(random);
                let shape = self.shape.as_ref();
                let followed = shape.and_then(|shape| shape.changed(&near, &word, random));
                Cell::Text(followed.unwrap_or_else(|| changed(&near, random)))
            }
            (ValueType::Blob, Some(Cell::Blob(mut near))) => {
                near.push(random.below(256).try_into().unwrap_or_default());
                Cell::Blob(near)
            }
            (ValueType::Integer, _) => Cell::Integer(random.between(0, 40)),
            (ValueType::Real, _) => Cell::Real(random.between(0, 400) as f64 / 4.0),
            (ValueType::Text, _) => Cell::Text(word(random)),
            (ValueType::Blob, _) => Cell::Blob(word(random)),
        }
    }
}

/// The type of the values of a column.
#[derive(Clone, Copy)]
enum ValueType {
    Integer,
    Real,
    Text,
    Blob,
}

impl ValueType {
    /// The type of a declared type, similar to SQLite's rules of affinity.
    fn declared(declared: &str) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
        if has(&["INT"]) {
            Self::Integer
        } else if has(&["CHAR", "CLOB", "TEXT", "DATE", "TIME"]) {
            Self::Text
        } else if declared.is_empty() || has(&["BLOB"]) {
            Self::Blob
        } else {
            Self::Real
        }
    }
}

fn range(values: &[Cell]) -> (i64, i64) {
    let integers = values.iter().filter_map(|value| {
        if let Cell::Integer(integer) = value {
            Some(*integer)
        } else {
            None
        }
    });
    integers.fold((i64::MAX, i64::MIN), |(least, most), integer| {
        (least.min(integer), most.max(integer))
    })
}

/// Whether a column of integers is a flag: all values are 0 or 1.
fn is_flag(least: i64, most: i64) -> bool {
    least >= 0 && most <= 1 && least <= most
}

fn real_range(values: &[Cell]) -> (f64, f64) {
    let reals = values.iter().filter_map(|value| match value {
        Cell::Real(real) => Some(*real),
        Cell::Integer(integer) => Some(*integer as f64),
        Cell::Null | Cell::Text(_) | Cell::Blob(_) => None,
    });
    reals.fold((f64::MAX, f64::MIN), |(least, most), real| {
        (least.min(real), most.max(real))
    })
}

fn word(random: &mut Random) -> Vec<u8> {
    let length = 2 + random.below(5);
    (0..length)
        .map(|_| {
            random
                .pick(b"abcdefghijklmnopqrstuvwxyz")
                .copied()
                .unwrap_or(b'a')
        })
        .collect()
}

/// A text similar to another. Digits are replaced by digits only.
fn changed(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = text.to_vec();
    if text.iter().any(u8::is_ascii_digit) {
        for byte in changed.iter_mut().filter(|byte| byte.is_ascii_digit()) {
            if random.chance(30) {
                *byte = b'1' + u8::try_from(random.below(9)).unwrap_or_default();
            }
        }
        return changed;
    }
    match random.below(4) {
        0 => changed.make_ascii_lowercase(),
        1 => changed.make_ascii_uppercase(),
        2 => changed.extend(word(random)),
        _ => changed = word(random),
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_texts_in_four_ways_equally_often() {
        let mut random = Random::new(1);
        let mut counts = [0; 4];
        for _ in 0..4_000 {
            let way = match changed(b"Paris", &mut random).as_slice() {
                b"paris" => 0,
                b"PARIS" => 1,
                text if text.starts_with(b"Paris") => 2,
                _ => 3,
            };
            counts[way] += 1;
        }
        assert!(
            counts.iter().all(|count| (900..1_100).contains(count)),
            "{counts:?}"
        );
    }
}
