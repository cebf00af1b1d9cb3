//! Rows for a database of a given schema. They look like those of the base, keep its keys and references, and hold what the golds
//! compare with.

use std::collections::HashMap;

use assay_cell::query::{ForeignKey, Rows, Table, TableRows, Value};

use super::dates::Date;
use super::mine::Constants;
use super::random::Random;

/// Most rows a table gets, unless a `LIMIT` asks for more.
const MOST_ROWS: usize = 48;

/// Rows of the base from which on what they do not show is taken not to happen.
const FEW: u64 = 30;

/// Most rows of any table.
const MOST_ROWS_EVER: usize = 240;

/// A cell that is made here.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
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
    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(integer) => Value::Integer(*integer),
            Self::Real(real) => Value::Real(*real),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

/// How one database differs from another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// How many of a hundred cells get a value of their own: the more, the fewer ties.
    pub(crate) spread: usize,
    /// Whether most columns have one value or two, so that what is compared with is met exactly.
    pub(crate) flat: bool,
    /// Whether what the schema allows may happen though the base does not show it: NULL in a column of a small table, a reference that
    /// nobody declared and that leads nowhere.
    pub(crate) loose: bool,
}

/// What the base shows about a column.
struct Seen {
    /// Its values, as often as they stand there, NULL left out.
    values: Vec<Cell>,
    /// Those values as dates, when all of them are.
    dates: Vec<Date>,
    may_be_null: bool,
    /// Whether the same few values come again and again, so that others would be out of place.
    is_closed: bool,
}

/// Rows for every table.
pub(crate) fn generate(tables: &[Table], constants: &Constants, seed: u64, manner: Manner) -> Vec<TableRows> {
    let led = if manner.loose { tables.to_vec() } else { with_likely_references(tables) };
    let tables = led.as_slice();
    let mut made: HashMap<String, Vec<Vec<Cell>>> = HashMap::new();
    let mut found = Vec::with_capacity(tables.len());
    for (at, table) in in_order(tables) {
        // A source for each table: what one gets does not depend on the others.
        let mut random = Random::new(seed ^ (at as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
        let rows = Filler { table, tables, constants, made: &made, manner }.fill(&mut random);
        let mut packed = Rows::new(table.columns.len());
        rows.iter().for_each(|row| packed.push(row.iter().map(Cell::value)));
        let columns = table.columns.iter().map(|column| column.name.clone()).collect();
        found.push(TableRows { table: table.name.clone(), columns, rows: packed });
        made.insert(table.name.to_lowercase(), rows);
    }
    found
}

/// Tables with references that nobody declared, but every row of the base keeps: to the key of another table, and named like it or
/// made of texts.
fn with_likely_references(tables: &[Table]) -> Vec<Table> {
    let likely = |table: &Table, column: usize, parent: &Table| {
        let [key] = parent.keys.first().map_or(&[][..], Vec::as_slice) else { return None };
        let known: Vec<Value<'_>> = parent.sample.rows().map(|row| row[*key]).collect();
        let values: Vec<Value<'_>> =
            table.sample.rows().map(|row| row[column]).filter(|value| *value != Value::Null).collect();
        let complete = usize::try_from(parent.count).is_ok_and(|count| count == known.len());
        let name = table.columns[column].name.to_lowercase();
        let key_name = parent.columns[*key].name.to_lowercase();
        let stem = parent.name.to_lowercase().trim_end_matches('s').to_owned();
        let named = name.contains(&stem) || (name == key_name && key_name != "id");
        let fits = complete && values.len() >= 2 && values.iter().all(|value| known.contains(value));
        let is_text = values.iter().all(|value| matches!(value, Value::Text(_)));
        (fits && (named || is_text)).then(|| ForeignKey {
            columns: vec![column],
            table: parent.name.clone(),
            references: vec![parent.columns[*key].name.clone()],
        })
    };
    let keyed: Vec<Table> = tables.iter().map(|table| Table { keys: keys_of(table), ..table.clone() }).collect();
    let mut led = tables.to_vec();
    for table in &mut led {
        for column in 0..table.columns.len() {
            let own = keys_of(table).iter().any(|key| key.as_slice() == [column]);
            let declared = table.foreign_keys.iter().any(|key| key.columns.contains(&column));
            if own || declared {
                continue;
            }
            let parents = keyed.iter().filter(|parent| parent.name != table.name);
            let found = parents.filter_map(|parent| likely(table, column, parent)).next();
            table.foreign_keys.extend(found);
        }
    }
    led
}

/// Sets of columns that are unique. A table without a key is taken to have its first column that could be one.
fn keys_of(table: &Table) -> Vec<Vec<usize>> {
    let mut keys = table.keys.clone();
    if keys.is_empty() && table.count >= 2 {
        let could_be = |column: &usize| {
            let column = &table.columns[*column];
            column.is_distinct && !column.has_null
        };
        keys.extend((0..table.columns.len()).find(could_be).map(|column| vec![column]));
    }
    keys
}

/// Tables with those that others refer to first, as far as references have no circle.
fn in_order(tables: &[Table]) -> Vec<(usize, &Table)> {
    let mut left: Vec<(usize, &Table)> = tables.iter().enumerate().collect();
    let mut ordered = Vec::with_capacity(tables.len());
    while !left.is_empty() {
        let waits = |table: &Table| {
            let refers = |other: &Table| {
                other.name != table.name
                    && table.foreign_keys.iter().any(|key| key.table.eq_ignore_ascii_case(&other.name))
            };
            left.iter().any(|(_, other)| refers(other))
        };
        let next = left.iter().position(|(_, table)| !waits(table)).unwrap_or_default();
        ordered.push(left.remove(next));
    }
    ordered
}

struct Filler<'a> {
    table: &'a Table,
    tables: &'a [Table],
    constants: &'a Constants,
    made: &'a HashMap<String, Vec<Vec<Cell>>>,
    manner: Manner,
}

impl Filler<'_> {
    fn fill(&self, random: &mut Random) -> Vec<Vec<Cell>> {
        let sample: Vec<Vec<Cell>> =
            self.table.sample.rows().map(|row| row.into_iter().map(Cell::from).collect()).collect();
        let seen: Vec<Seen> = (0..self.table.columns.len()).map(|column| self.seen(&sample, column)).collect();
        let count = self.count(random);
        let keys = keys_of(self.table);
        let mut rows: Vec<Vec<Cell>> = Vec::with_capacity(count);
        let make = |column: usize, random: &mut Random| {
            let pattern = random.pick(&sample).and_then(|row| row.get(column));
            self.cell(&seen[column], pattern, column, random)
        };
        let mut levels: Vec<Vec<Cell>> =
            (0..seen.len()).map(|column| (0..1 + random.below(2)).map(|_| make(column, random)).collect()).collect();
        // A column of nothing but NULL tells little, and so do columns that are all alike.
        for levels in &mut levels {
            levels.retain(|level| *level != Cell::Null);
            if random.chance(30) {
                levels.clear();
            }
        }
        for _ in 0..count {
            let pattern = random.pick(&sample);
            let mut row: Vec<Cell> = (0..seen.len())
                .map(|column| match random.pick(&levels[column]) {
                    Some(level) if self.manner.flat => level.clone(),
                    _ => self.cell(&seen[column], pattern.and_then(|row| row.get(column)), column, random),
                })
                .collect();
            for key in &self.table.foreign_keys {
                self.refer(key, &mut row, &rows, &seen, random);
            }
            // A few tries for keys of their own; what is then still twice is left out.
            let mut tries = 0;
            while let Some(key) = keys.iter().find(|key| is_taken(key, &row, &rows)) {
                tries += 1;
                let free = key.iter().rev().find(|column| !self.is_reference(**column)).copied();
                let Some(column) = free.filter(|_| tries < 40) else { break };
                row[column] = self.fresh(&seen[column], column, random);
            }
            if !keys.iter().any(|key| is_taken(key, &row, &rows)) {
                rows.push(row);
            }
        }
        rows
    }

    fn count(&self, random: &mut Random) -> usize {
        let base = usize::try_from(self.table.count).unwrap_or(usize::MAX).clamp(6, MOST_ROWS);
        let count = base / 2 + random.below(2 * base);
        // Enough for a limit to cut something off.
        count.max(self.constants.limit.saturating_add(2).min(MOST_ROWS_EVER)).min(MOST_ROWS_EVER)
    }

    fn is_reference(&self, column: usize) -> bool {
        self.table.foreign_keys.iter().any(|key| key.columns.contains(&column))
    }

    fn seen(&self, sample: &[Vec<Cell>], column: usize) -> Seen {
        let of = &self.table.columns[column];
        let values: Vec<Cell> =
            sample.iter().filter_map(|row| row.get(column)).filter(|cell| **cell != Cell::Null).cloned().collect();
        let in_primary_key =
            self.table.has_primary_key && self.table.keys.first().is_some_and(|key| key.contains(&column));
        // That few rows have no NULL shows little.
        let is_key = in_primary_key || keys_of(self.table).iter().any(|key| key.as_slice() == [column]);
        let unseen = self.manner.loose && self.table.count < FEW && !is_key && !self.is_reference(column);
        let may_be_null = !of.not_null && !in_primary_key && (of.has_null || values.is_empty() || unseen);
        let mut distinct: Vec<&Cell> = Vec::new();
        for value in &values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let is_closed = !values.is_empty() && distinct.len() * 2 < values.len().max(6) && distinct.len() <= 24;
        let read = |value: &Cell| if let Cell::Text(text) = value { Date::read(text) } else { None };
        let dates: Option<Vec<Date>> = values.iter().map(read).collect();
        Seen { values, dates: dates.unwrap_or_default(), may_be_null, is_closed }
    }

    fn cell(&self, seen: &Seen, pattern: Option<&Cell>, column: usize, random: &mut Random) -> Cell {
        if seen.may_be_null && random.chance(if self.table.count == 0 { 15 } else { 10 }) {
            return Cell::Null;
        }
        match pattern {
            // What stands together in the base stands together here.
            Some(cell) if random.chance(45 - self.manner.spread / 3) => cell.clone(),
            _ if random.chance(25) => {
                random.pick(&seen.values).cloned().unwrap_or_else(|| self.fresh(seen, column, random))
            }
            _ => self.mined(seen, column, random).unwrap_or_else(|| {
                if seen.is_closed && !random.chance(self.manner.spread.max(8)) {
                    return random.pick(&seen.values).cloned().unwrap_or(Cell::Null);
                }
                self.fresh(seen, column, random)
            }),
        }
    }

    /// A constant of the golds that could stand in this column.
    fn mined(&self, seen: &Seen, column: usize, random: &mut Random) -> Option<Cell> {
        if random.chance(self.manner.spread) {
            return None;
        }
        match self.kind(seen, column) {
            Kind::Integer => {
                let (least, most) = range(&seen.values);
                let fits = |integer: &&i64| {
                    (**integer >= 0 || least < 0) && (!is_flag(least, most) || (0..=1).contains(*integer))
                };
                let integers: Vec<&i64> = self.constants.integers.iter().filter(fits).collect();
                random.pick(&integers).map(|integer| Cell::Integer(**integer))
            }
            Kind::Real => {
                let (least, most) = real_range(&seen.values);
                let fits = |real: &&f64| (**real >= 0.0 || least < 0.0) && (**real <= 1.0 || most > 1.0 || least < 0.0);
                let reals: Vec<&f64> = self.constants.reals.iter().filter(fits).collect();
                random.pick(&reals).map(|real| Cell::Real(**real))
            }
            Kind::Text if !seen.dates.is_empty() => {
                self.mined_date(seen, random).map(|date| Cell::Text(date.into_bytes()))
            }
            Kind::Text => {
                let is_number =
                    |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| text.trim().parse::<f64>().is_ok());
                let numbers = !seen.values.is_empty()
                    && seen.values.iter().all(|value| matches!(value, Cell::Text(text) if is_number(text)));
                let fits = |text: &[u8]| !numbers || is_number(text);
                let texts = self.constants.texts.iter();
                let texts: Vec<&str> = texts
                    .filter(|mined| fits(mined.text.as_bytes()) && self.is_at_home(&mined.of, column))
                    .map(|mined| mined.text.as_str())
                    .collect();
                random.pick(&texts).map(|text| Cell::Text(text.as_bytes().to_vec()))
            }
            Kind::Blob => None,
        }
    }

    /// A date close to those that the golds compare with, whole or in part.
    fn mined_date(&self, seen: &Seen, random: &mut Random) -> Option<String> {
        let like = random.pick(&seen.dates)?;
        let years = self.constants.integers.iter().filter(|year| (1_000..3_000).contains(*year)).map(i64::to_string);
        let texts: Vec<String> = self.constants.texts.iter().map(|mined| mined.of.clone()).chain(years).collect();
        let near = |text: &String, random: &mut Random| {
            if let Some(date) = Date::read(text.as_bytes()) {
                let by = random.pick(&[0, 0, 1, -1, 3, -3, 30, -31, 365, -366]).copied().unwrap_or_default();
                return Some(date.later(by, Some(like)));
            }
            if let Some(beginning) = Date::beginning(text) {
                // Around both ends of a month or a year, and within.
                let length = if text.len() == 4 { 365 } else { 30 };
                let by = random
                    .pick(&[0, -1, 1, 15, length, length - 1, length + 1, 365, -366])
                    .copied()
                    .unwrap_or_default();
                return Some(beginning.later(by, Some(like)));
            }
            let month = text.parse::<i64>().ok().filter(|month| text.len() == 2 && (1..=12).contains(month))?;
            Some(like.in_month(month))
        };
        let texts: Vec<&String> = texts.iter().filter(|text| near(text, &mut random.clone()).is_some()).collect();
        let text = random.pick(&texts)?;
        near(text, random).map(|date| date.text())
    }

    /// Whether a text belongs to this column: to one that has it, or to any when none has.
    fn is_at_home(&self, text: &str, column: usize) -> bool {
        let has = |table: &Table, column: usize| {
            let same =
                |cell: &Value<'_>| matches!(cell, Value::Text(known) if known.eq_ignore_ascii_case(text.as_bytes()));
            table.sample.rows().any(|row| row.get(column).is_some_and(same))
        };
        let anywhere = || self.tables.iter().any(|table| (0..table.columns.len()).any(|column| has(table, column)));
        has(self.table, column) || !anywhere()
    }

    fn kind(&self, seen: &Seen, column: usize) -> Kind {
        match seen.values.first() {
            Some(Cell::Integer(_)) if seen.values.iter().any(|value| matches!(value, Cell::Real(_))) => Kind::Real,
            Some(Cell::Integer(_)) => Kind::Integer,
            Some(Cell::Real(_)) => Kind::Real,
            Some(Cell::Text(_)) => Kind::Text,
            Some(Cell::Blob(_)) => Kind::Blob,
            Some(Cell::Null) | None => Kind::declared(&self.table.columns[column].declared),
        }
    }

    /// A value that the base need not have.
    fn fresh(&self, seen: &Seen, column: usize, random: &mut Random) -> Cell {
        let near = random.pick(&seen.values).cloned();
        match (self.kind(seen, column), near) {
            (Kind::Integer, Some(Cell::Integer(near))) => {
                let (least, most) = range(&seen.values);
                if is_flag(least, most) {
                    return Cell::Integer(random.between(0, 1));
                }
                let step = (most.saturating_sub(least) / 2).clamp(3, 1_000_000);
                let value = near.saturating_add(random.between(-step, step));
                // Counts and ids do not turn negative.
                Cell::Integer(if least >= 0 { value.saturating_abs() } else { value })
            }
            (Kind::Real, Some(Cell::Real(_) | Cell::Integer(_))) => {
                let (least, most) = real_range(&seen.values);
                #[expect(clippy::cast_precision_loss, reason = "a share of a thousand")]
                let share = random.between(-50, 1_050) as f64 / 1_000.0;
                let value = least + (most - least).max(if most > 1.0 { 4.0 } else { 0.0 }) * share;
                let value = if least >= 0.0 { value.abs() } else { value };
                let value = if least >= 0.0 && most <= 1.0 { value.min(1.0) } else { value };
                Cell::Real((value * 100.0).round() / 100.0)
            }
            (Kind::Text, _) if !seen.dates.is_empty() => {
                let by = if random.chance(50) { random.between(-5, 5) } else { random.between(-400, 400) };
                Cell::Text(
                    random.pick(&seen.dates).map(|date| date.later(by, None).text()).unwrap_or_default().into_bytes(),
                )
            }
            (Kind::Text, Some(Cell::Text(near))) => Cell::Text(changed(&near, random)),
            (Kind::Blob, Some(Cell::Blob(mut near))) => {
                near.push(random.below(256).try_into().unwrap_or_default());
                Cell::Blob(near)
            }
            (Kind::Integer, _) => Cell::Integer(random.between(0, 40)),
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            (Kind::Real, _) => Cell::Real(random.between(0, 400) as f64 / 4.0),
            (Kind::Text, _) => Cell::Text(word(random)),
            (Kind::Blob, _) => Cell::Blob(word(random)),
        }
    }

    /// Fills the columns of a reference with a key that is there.
    fn refer(&self, key: &ForeignKey, row: &mut [Cell], rows: &[Vec<Cell>], seen: &[Seen], random: &mut Random) {
        let Some(parent) = self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(&key.table)) else { return };
        let own = parent.name == self.table.name;
        let parents =
            if own { rows } else { self.made.get(&parent.name.to_lowercase()).map_or(&[][..], Vec::as_slice) };
        let named = |name: &String| parent.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let columns: Option<Vec<usize>> = if key.references.len() == key.columns.len() {
            key.references.iter().map(named).collect()
        } else {
            parent.keys.first().filter(|primary| parent.has_primary_key && primary.len() == key.columns.len()).cloned()
        };
        let Some(columns) = columns else { return };
        let holds =
            |parent: &Vec<Cell>| key.columns.iter().zip(&columns).all(|(own, other)| row[*own] == parent[*other]);
        // What the base refers to is kept where it is there.
        if parents.iter().any(holds) && random.chance(60) {
            return;
        }
        let nullable = key.columns.iter().all(|column| seen[*column].may_be_null);
        match random.pick(parents) {
            Some(parent) if !(nullable && random.chance(12)) => {
                for (own, other) in key.columns.iter().zip(&columns) {
                    row[*own] = parent[*other].clone();
                }
            }
            // A circle, or nothing to refer to yet.
            _ => key
                .columns
                .iter()
                .filter(|column| !self.table.columns[**column].not_null)
                .for_each(|column| row[*column] = Cell::Null),
        }
    }
}

fn is_taken(key: &[usize], row: &[Cell], rows: &[Vec<Cell>]) -> bool {
    let has_null = key.iter().any(|column| row[*column] == Cell::Null);
    !has_null && rows.iter().any(|other| key.iter().all(|column| other[*column] == row[*column]))
}

/// What a column holds.
#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Real,
    Text,
    Blob,
}

impl Kind {
    /// By SQLite's rules of affinity.
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
    let integers =
        values.iter().filter_map(|value| if let Cell::Integer(integer) = value { Some(*integer) } else { None });
    integers.fold((i64::MAX, i64::MIN), |(least, most), integer| (least.min(integer), most.max(integer)))
}

/// Whether integers are yes and no.
fn is_flag(least: i64, most: i64) -> bool {
    least >= 0 && most <= 1 && least <= most
}

fn real_range(values: &[Cell]) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "a bound to stay about")]
    let reals = values.iter().filter_map(|value| match value {
        Cell::Real(real) => Some(*real),
        Cell::Integer(integer) => Some(*integer as f64),
        Cell::Null | Cell::Text(_) | Cell::Blob(_) => None,
    });
    reals.fold((f64::MAX, f64::MIN), |(least, most), real| (least.min(real), most.max(real)))
}

fn word(random: &mut Random) -> Vec<u8> {
    let length = 2 + random.below(5);
    (0..length).map(|_| random.pick(b"abcdefghijklmnopqrstuvwxyz").copied().unwrap_or(b'a')).collect()
}

/// A text like another: a number stays one.
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
    use assay_cell::query::Column;

    use super::*;

    fn table(name: &str, columns: &[(&str, bool)], rows: &[Vec<Value<'_>>]) -> Table {
        let mut sample = Rows::new(columns.len());
        rows.iter().for_each(|row| sample.push(row.iter().copied()));
        let column = |(name, is_distinct): &(&str, bool)| Column {
            name: (*name).to_owned(),
            declared: String::new(),
            not_null: false,
            has_null: false,
            is_distinct: *is_distinct,
        };
        Table {
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            keys: Vec::new(),
            has_primary_key: false,
            foreign_keys: Vec::new(),
            count: rows.len() as u64,
            sample,
        }
    }

    fn parents_and_children() -> Vec<Table> {
        let mut parent = table(
            "p",
            &[("id", true), ("name", true)],
            &(0..9).map(|at| vec![Value::Integer(at), Value::Text(b"x")]).collect::<Vec<_>>(),
        );
        parent.keys = vec![vec![0]];
        parent.has_primary_key = true;
        let mut child = table(
            "c",
            &[("p", false), ("n", false)],
            &(0..9).map(|at| vec![Value::Integer(at / 2), Value::Real(0.5)]).collect::<Vec<_>>(),
        );
        child.foreign_keys = vec![ForeignKey { columns: vec![0], table: "P".to_owned(), references: Vec::new() }];
        vec![child, parent]
    }

    #[test]
    fn references_hold_and_keys_are_unique() {
        for seed in 0..200 {
            let made = generate(
                &parents_and_children(),
                &Constants::default(),
                seed,
                Manner { spread: 20, ..Manner::default() },
            );
            let of = |name: &str| made.iter().find(|table| table.table == name).unwrap();
            let ids: Vec<i64> = of("p")
                .rows
                .rows()
                .filter_map(|row| if let Value::Integer(id) = row[0] { Some(id) } else { None })
                .collect();
            let mut unique = ids.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), ids.len());
            for row in of("c").rows.rows() {
                assert!(matches!(row[0], Value::Integer(id) if ids.contains(&id)), "{row:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_rows() {
        let tables = parents_and_children();
        assert_eq!(
            generate(&tables, &Constants::default(), 7, Manner::default()),
            generate(&tables, &Constants::default(), 7, Manner::default())
        );
        assert_ne!(
            generate(&tables, &Constants::default(), 7, Manner::default()),
            generate(&tables, &Constants::default(), 8, Manner::default())
        );
    }

    #[test]
    fn limits_are_passed() {
        let constants = Constants { limit: 100, ..Constants::default() };
        let made = generate(&parents_and_children(), &constants, 1, Manner { spread: 50, ..Manner::default() });
        assert!(made.iter().any(|table| table.table == "c" && table.rows.len() > 100));
    }
}
