//! Generates rows for a database of a given schema. They resemble those of the base, satisfy its
//! keys and references, and contain the constants that the golds compare with.

use std::collections::HashMap;

use assay_core::Random;
use assay_worker::query::{ForeignKey, Rows, Table, TableRows};

use super::constants::Constants;
use super::keys::{in_order, keys_of, with_likely_references};
use super::occurrences::Occurrences;
use super::values::{Cell, Seen};

/// Most rows of a table, unless a `LIMIT` needs more.
const MOST_ROWS: usize = 48;

/// Number of rows of the base from which properties that all of them have are assumed to hold in
/// general.
const FEW: u64 = 30;

/// Most rows of any table.
const MOST_ROWS_EVER: usize = 240;

/// Bytes of texts and blobs in a database after which tables get no more rows: values of the base
/// may be long and may appear in every row.
const MOST_BYTES: usize = 16 << 20;

/// How one database differs from another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// Percentage of cells with a new value: the more, the fewer ties.
    pub(crate) spread: usize,
    /// Whether most columns have one or two values, so that comparisons with constants succeed.
    pub(crate) flat: bool,
    /// Whether to generate what the schema allows but the base does not contain: NULL in a column
    /// of a small table, a dangling reference that is not declared.
    pub(crate) loose: bool,
}

/// Rows for every table.
pub(crate) fn generate(
    tables: &[Table],
    constants: &Constants,
    seed: u64,
    manner: Manner,
) -> Vec<TableRows> {
    let led = if manner.loose {
        tables.to_vec()
    } else {
        with_likely_references(tables)
    };
    let tables = led.as_slice();
    let occurrences = Occurrences::of(tables, constants);
    let mut made: HashMap<String, Vec<Vec<Cell>>> = HashMap::new();
    let mut found = Vec::with_capacity(tables.len());
    let mut bytes_left = MOST_BYTES;
    for (at, table) in in_order(tables) {
        // A generator for each table, so that tables do not depend on each other.
        let mut random = Random::new(seed ^ (at as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
        let rows = Filler {
            table,
            at,
            tables,
            constants,
            occurrences: &occurrences,
            made: &made,
            manner,
            bytes_left,
        }
        .fill(&mut random);
        bytes_left = bytes_left.saturating_sub(rows.iter().flatten().map(Cell::bytes).sum());
        let mut packed = Rows::new(table.columns.len());
        rows.iter()
            .for_each(|row| packed.push(row.iter().map(Cell::value)));
        let columns = table
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        found.push(TableRows {
            table: table.name.clone(),
            columns,
            rows: packed,
        });
        made.insert(table.name.to_lowercase(), rows);
    }
    found
}

struct Filler<'a> {
    table: &'a Table,
    /// Index of the table.
    at: usize,
    tables: &'a [Table],
    constants: &'a Constants,
    occurrences: &'a Occurrences,
    made: &'a HashMap<String, Vec<Vec<Cell>>>,
    manner: Manner,
    /// Bytes of texts and blobs left for this table.
    bytes_left: usize,
}

impl Filler<'_> {
    fn fill(&self, random: &mut Random) -> Vec<Vec<Cell>> {
        let sample: Vec<Vec<Cell>> = self
            .table
            .sample
            .rows()
            .map(|row| row.into_iter().map(Cell::from).collect())
            .collect();
        let seen: Vec<Seen> = (0..self.table.columns.len())
            .map(|column| self.seen(&sample, column))
            .collect();
        let count = self.count(random);
        let keys = keys_of(self.table);
        let (mut rows, mut bytes): (Vec<Vec<Cell>>, usize) = (Vec::with_capacity(count), 0);
        let make = |column: usize, random: &mut Random| {
            let pattern = random.pick(&sample).and_then(|row| row.get(column));
            self.cell(&seen[column], pattern, column, random)
        };
        let mut levels: Vec<Vec<Cell>> = (0..seen.len())
            .map(|column| {
                (0..1 + random.below(2))
                    .map(|_| make(column, random))
                    .collect()
            })
            .collect();
        // Columns of NULL only distinguish little, and so do equal columns.
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
                    _ => self.cell(
                        &seen[column],
                        pattern.and_then(|row| row.get(column)),
                        column,
                        random,
                    ),
                })
                .collect();
            for key in &self.table.foreign_keys {
                self.refer(key, &mut row, &rows, &seen, random);
            }
            // A few attempts at unique keys; remaining duplicates are omitted.
            let mut tries = 0;
            while let Some(key) = keys.iter().find(|key| is_taken(key, &row, &rows)) {
                tries += 1;
                let free = key
                    .iter()
                    .rev()
                    .find(|column| !self.is_reference(**column))
                    .copied();
                let Some(column) = free.filter(|_| tries < 40) else {
                    break;
                };
                row[column] = seen[column].fresh(random);
            }
            if !keys.iter().any(|key| is_taken(key, &row, &rows)) {
                bytes += row.iter().map(Cell::bytes).sum::<usize>();
                rows.push(row);
            }
            if bytes > self.bytes_left {
                break;
            }
        }
        rows
    }

    fn count(&self, random: &mut Random) -> usize {
        let base = usize::try_from(self.table.count)
            .unwrap_or(usize::MAX)
            .clamp(6, MOST_ROWS);
        let count = base / 2 + random.below(2 * base);
        // Enough for a limit to cut something off.
        count
            .max(self.constants.limit.saturating_add(2).min(MOST_ROWS_EVER))
            .min(MOST_ROWS_EVER)
    }

    fn is_reference(&self, column: usize) -> bool {
        self.table
            .foreign_keys
            .iter()
            .any(|key| key.columns.contains(&column))
    }

    fn seen(&self, sample: &[Vec<Cell>], column: usize) -> Seen {
        let of = &self.table.columns[column];
        let values: Vec<Cell> = sample
            .iter()
            .filter_map(|row| row.get(column))
            .filter(|cell| **cell != Cell::Null)
            .cloned()
            .collect();
        let in_primary_key = self.table.has_primary_key
            && self
                .table
                .keys
                .first()
                .is_some_and(|key| key.contains(&column));
        // A few rows without NULL are weak evidence.
        let is_key = in_primary_key
            || keys_of(self.table)
                .iter()
                .any(|key| key.as_slice() == [column]);
        let unseen =
            self.manner.loose && self.table.count < FEW && !is_key && !self.is_reference(column);
        let may_be_null =
            !of.not_null && !in_primary_key && (of.has_null || values.is_empty() || unseen);
        Seen::new(&of.declared, values, may_be_null)
    }

    fn cell(
        &self,
        seen: &Seen,
        pattern: Option<&Cell>,
        column: usize,
        random: &mut Random,
    ) -> Cell {
        if seen.may_be_null && random.chance(if self.table.count == 0 { 15 } else { 10 }) {
            return Cell::Null;
        }
        let mined = |random: &mut Random| {
            let kept = random.chance(self.manner.spread);
            let is_at_home = |text: &str| self.occurrences.allows(text, self.at, column);
            if kept {
                None
            } else {
                seen.mined(self.constants, &is_at_home, random)
            }
        };
        match pattern {
            // Values that occur together in the base occur together here.
            Some(cell) if random.chance(45 - self.manner.spread / 3) => cell.clone(),
            _ if random.chance(25) => random
                .pick(&seen.values)
                .cloned()
                .unwrap_or_else(|| seen.fresh(random)),
            _ => mined(random).unwrap_or_else(|| {
                if seen.is_closed && !random.chance(self.manner.spread.max(8)) {
                    return random.pick(&seen.values).cloned().unwrap_or(Cell::Null);
                }
                seen.fresh(random)
            }),
        }
    }

    /// Fills the columns of a reference with an existing key.
    fn refer(
        &self,
        key: &ForeignKey,
        row: &mut [Cell],
        rows: &[Vec<Cell>],
        seen: &[Seen],
        random: &mut Random,
    ) {
        let Some(parent) = self
            .tables
            .iter()
            .find(|table| table.name.eq_ignore_ascii_case(&key.table))
        else {
            return;
        };
        let own = parent.name == self.table.name;
        let parents = if own {
            rows
        } else {
            self.made
                .get(&parent.name.to_lowercase())
                .map_or(&[][..], Vec::as_slice)
        };
        let named = |name: &String| {
            parent
                .columns
                .iter()
                .position(|column| column.name.eq_ignore_ascii_case(name))
        };
        let columns: Option<Vec<usize>> = if key.references.len() == key.columns.len() {
            key.references.iter().map(named).collect()
        } else {
            parent
                .keys
                .first()
                .filter(|primary| parent.has_primary_key && primary.len() == key.columns.len())
                .cloned()
        };
        let Some(columns) = columns else { return };
        let holds = |parent: &Vec<Cell>| {
            key.columns
                .iter()
                .zip(&columns)
                .all(|(own, other)| row[*own] == parent[*other])
        };
        // References of the base are kept if their targets exist.
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
            // A cycle, or no target yet.
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
    !has_null
        && rows
            .iter()
            .any(|other| key.iter().all(|column| other[*column] == row[*column]))
}

#[cfg(test)]
mod tests {
    use assay_worker::query::{Column, Value};

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
            &(0..9)
                .map(|at| vec![Value::Integer(at), Value::Text(b"x")])
                .collect::<Vec<_>>(),
        );
        parent.keys = vec![vec![0]];
        parent.has_primary_key = true;
        let mut child = table(
            "c",
            &[("p", false), ("n", false)],
            &(0..9)
                .map(|at| vec![Value::Integer(at / 2), Value::Real(0.5)])
                .collect::<Vec<_>>(),
        );
        child.foreign_keys = vec![ForeignKey {
            columns: vec![0],
            table: "P".to_owned(),
            references: Vec::new(),
        }];
        vec![child, parent]
    }

    #[test]
    fn generated_rows_satisfy_foreign_and_unique_keys() {
        for seed in 0..200 {
            let made = generate(
                &parents_and_children(),
                &Constants::default(),
                seed,
                Manner {
                    spread: 20,
                    ..Manner::default()
                },
            );
            let of = |name: &str| made.iter().find(|table| table.table == name).unwrap();
            let ids: Vec<i64> = of("p")
                .rows
                .rows()
                .filter_map(|row| {
                    if let Value::Integer(id) = row[0] {
                        Some(id)
                    } else {
                        None
                    }
                })
                .collect();
            let mut unique = ids.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), ids.len());
            for row in of("c").rows.rows() {
                assert!(
                    matches!(row[0], Value::Integer(id) if ids.contains(&id)),
                    "{row:?}"
                );
            }
        }
    }

    #[test]
    fn generates_the_same_rows_from_the_same_seed() {
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
    fn long_values_limit_the_number_of_rows() {
        let long = vec![b'x'; 1 << 20];
        let rows: Vec<Vec<Value<'_>>> = (0..60)
            .map(|at| vec![Value::Integer(at), Value::Text(&long)])
            .collect();
        let tables = [
            table("a", &[("id", true), ("text", false)], &rows),
            table("b", &[("n", true)], &[]),
        ];
        let made = generate(&tables, &Constants::default(), 1, Manner::default());
        let bytes: usize = made.iter().map(|table| table.rows.bytes()).sum();
        assert!(
            (MOST_BYTES / 2..MOST_BYTES + (3 << 20)).contains(&bytes),
            "{bytes} bytes"
        );
        assert!(made.iter().all(|table| !table.rows.is_empty()));
    }

    #[test]
    fn passes_limits_to_the_worker() {
        let constants = Constants {
            limit: 100,
            ..Constants::default()
        };
        let made = generate(
            &parents_and_children(),
            &constants,
            1,
            Manner {
                spread: 50,
                ..Manner::default()
            },
        );
        assert!(
            made.iter()
                .any(|table| table.table == "c" && table.rows.len() > 100)
        );
    }
}
