//! Generates rows for the schema of the base. They resemble the rows of the base, satisfy its keys
//! and references, and contain the constants of the golds.

use std::collections::HashMap;

use assay_base::Random;
use assay_worker::query::{ForeignKey, Rows, Table, TableRows};

use super::constants::Constants;
use super::keys::{by_dependency, keys_of, with_likely_references};
use super::occurrences::Occurrences;
use super::values::{Cell, ColumnProfile};

/// Number of rows of the base above which a generated table does not become larger.
const MAX_BASE_ROWS: usize = 48;

/// Number of rows of the base from which properties of all its rows are assumed to be general.
const SMALL_TABLE_ROWS: u64 = 30;

/// Maximum number of rows of a generated table. A large `LIMIT` may require this many.
const MAX_ROWS_FOR_LIMIT: usize = 240;

/// Bytes of texts and blobs in a database after which the generation of a table ends early. Values
/// of the base may be long and may appear in every row.
const MAX_BYTES: usize = 16 << 20;

/// How the rows of a database are generated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GenerationOptions {
    /// Percentage of cells with new values. More new values cause fewer ties.
    pub(crate) spread: usize,
    /// Whether most columns have only one or two values, so that comparisons with constants
    /// succeed.
    pub(crate) flat: bool,
    /// Whether to generate values that the schema allows but the base does not contain: NULL in a
    /// column of a small table, or a dangling undeclared reference.
    pub(crate) loose: bool,
    /// Whether all columns whose values are distinct in the base have distinct values.
    pub(crate) distinct: bool,
}

/// Generates rows for every table. The same arguments generate the same rows.
pub(crate) fn generate(
    tables: &[Table],
    constants: &Constants,
    seed: u64,
    options: GenerationOptions,
) -> Vec<TableRows> {
    let with_references = if options.loose {
        tables.to_vec()
    } else {
        with_likely_references(tables)
    };
    let tables = with_references.as_slice();
    let occurrences = Occurrences::of(tables, constants);
    let mut generated: HashMap<String, Vec<Vec<Cell>>> = HashMap::new();
    let mut found = Vec::with_capacity(tables.len());
    let mut bytes_left = MAX_BYTES;
    for (at, table) in by_dependency(tables) {
        // A separate random generator for each table, so that the rows of tables do not depend on
        // each other.
        let mut random = Random::new(seed ^ (at as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03));
        let rows = TableGenerator {
            table,
            at,
            tables,
            constants,
            occurrences: &occurrences,
            generated: &generated,
            options,
            bytes_left,
        }
        .rows(&mut random);
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
        generated.insert(table.name.to_lowercase(), rows);
    }
    found
}

/// Generates the rows of one table.
struct TableGenerator<'a> {
    table: &'a Table,
    /// Index of the table.
    at: usize,
    tables: &'a [Table],
    constants: &'a Constants,
    occurrences: &'a Occurrences,
    /// The rows of the tables generated so far, by name in lower case.
    generated: &'a HashMap<String, Vec<Vec<Cell>>>,
    options: GenerationOptions,
    /// Bytes of texts and blobs left for this table.
    bytes_left: usize,
}

impl TableGenerator<'_> {
    fn rows(&self, random: &mut Random) -> Vec<Vec<Cell>> {
        let sample: Vec<Vec<Cell>> = self
            .table
            .sample
            .rows()
            .map(|row| row.into_iter().map(Cell::from).collect())
            .collect();
        let profiles: Vec<ColumnProfile> = (0..self.table.columns.len())
            .map(|column| self.profile(&sample, column))
            .collect();
        let count = self.count(random);
        let keys = self.keys(&profiles);
        let (mut rows, mut bytes): (Vec<Vec<Cell>>, usize) = (Vec::with_capacity(count), 0);
        let new_cell = |column: usize, random: &mut Random| {
            let pattern = random.pick(&sample).and_then(|row| row.get(column));
            self.cell(&profiles[column], pattern, column, random)
        };
        let mut levels: Vec<Vec<Cell>> = (0..profiles.len())
            .map(|column| {
                (0..1 + random.below(2))
                    .map(|_| new_cell(column, random))
                    .collect()
            })
            .collect();
        // Columns that contain only NULL distinguish few queries, and so do equal columns.
        for levels in &mut levels {
            levels.retain(|level| *level != Cell::Null);
            if random.chance(30) {
                levels.clear();
            }
        }
        for _ in 0..count {
            let pattern = random.pick(&sample);
            let mut row: Vec<Cell> = (0..profiles.len())
                .map(|column| match random.pick(&levels[column]) {
                    Some(level) if self.options.flat => level.clone(),
                    _ => self.cell(
                        &profiles[column],
                        pattern.and_then(|row| row.get(column)),
                        column,
                        random,
                    ),
                })
                .collect();
            for key in &self.table.foreign_keys {
                self.set_reference(key, &mut row, &rows, &profiles, random);
            }
            // Several attempts to make the keys unique. Rows with duplicate keys are omitted.
            let mut attempts = 0;
            while let Some(key) = keys.iter().find(|key| is_taken(key, &row, &rows)) {
                attempts += 1;
                let free = key
                    .iter()
                    .rev()
                    .find(|column| !self.is_reference(**column))
                    .copied();
                let Some(column) = free.filter(|_| attempts < 40) else {
                    break;
                };
                row[column] = profiles[column].new_value(random);
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

    /// Sets of columns that are unique: the keys, and columns that are unique in the base. Texts
    /// are unique if the table is large enough, as names and addresses are; numbers may be so by
    /// chance.
    fn keys(&self, profiles: &[ColumnProfile]) -> Vec<Vec<usize>> {
        let mut keys = keys_of(self.table);
        let is_large = self.table.count >= SMALL_TABLE_ROWS && !self.options.loose;
        for (index, column) in self.table.columns.iter().enumerate() {
            let is_text = matches!(profiles[index].values.first(), Some(Cell::Text(_)));
            let is_unique = self.options.distinct || (is_large && is_text);
            if is_unique
                && column.is_distinct
                && self.table.count >= 2
                && !self.is_reference(index)
                && !keys.iter().any(|key| key.as_slice() == [index])
            {
                keys.push(vec![index]);
            }
        }
        keys
    }

    fn count(&self, random: &mut Random) -> usize {
        let base = usize::try_from(self.table.count)
            .unwrap_or(usize::MAX)
            .clamp(6, MAX_BASE_ROWS);
        let count = base / 2 + random.below(2 * base);
        // Enough rows for a limit to omit some.
        count
            .max(
                self.constants
                    .limit
                    .saturating_add(2)
                    .min(MAX_ROWS_FOR_LIMIT),
            )
            .min(MAX_ROWS_FOR_LIMIT)
    }

    fn is_reference(&self, column: usize) -> bool {
        self.table
            .foreign_keys
            .iter()
            .any(|key| key.columns.contains(&column))
    }

    fn profile(&self, sample: &[Vec<Cell>], column: usize) -> ColumnProfile {
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
        let is_key = in_primary_key
            || keys_of(self.table)
                .iter()
                .any(|key| key.as_slice() == [column]);
        // A few rows without NULL are weak evidence that the column is never NULL.
        let allows_unseen_null = self.options.loose
            && self.table.count < SMALL_TABLE_ROWS
            && !is_key
            && !self.is_reference(column);
        let may_be_null = !of.not_null
            && !in_primary_key
            && (of.has_null || values.is_empty() || allows_unseen_null);
        ColumnProfile::new(&of.declared, values, may_be_null)
    }

    fn cell(
        &self,
        profile: &ColumnProfile,
        pattern: Option<&Cell>,
        column: usize,
        random: &mut Random,
    ) -> Cell {
        if profile.may_be_null && random.chance(if self.table.count == 0 { 15 } else { 10 }) {
            return Cell::Null;
        }
        let near_constant = |random: &mut Random| {
            let skip = random.chance(self.options.spread);
            let allows_text = |text: &str| self.occurrences.allows(text, self.at, column);
            if skip {
                None
            } else {
                profile.near_constant(self.constants, &allows_text, random)
            }
        };
        match pattern {
            // Preserves combinations of values that occur together in the base.
            Some(cell) if random.chance(45 - self.options.spread / 3) => cell.clone(),
            _ if random.chance(25) => random
                .pick(&profile.values)
                .cloned()
                .unwrap_or_else(|| profile.new_value(random)),
            _ => near_constant(random).unwrap_or_else(|| {
                let keeps_values = profile.is_enumeration
                    || (profile.is_closed && !random.chance(self.options.spread.max(8)));
                if keeps_values {
                    return random.pick(&profile.values).cloned().unwrap_or(Cell::Null);
                }
                profile.new_value(random)
            }),
        }
    }

    /// Sets the columns of a reference to an existing key.
    fn set_reference(
        &self,
        key: &ForeignKey,
        row: &mut [Cell],
        rows: &[Vec<Cell>],
        profiles: &[ColumnProfile],
        random: &mut Random,
    ) {
        let Some(parent) = self
            .tables
            .iter()
            .find(|table| table.name.eq_ignore_ascii_case(&key.table))
        else {
            return;
        };
        let is_self_reference = parent.name == self.table.name;
        let parents = if is_self_reference {
            rows
        } else {
            self.generated
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
        let is_target = |parent: &Vec<Cell>| {
            key.columns
                .iter()
                .zip(&columns)
                .all(|(from, to)| row[*from] == parent[*to])
        };
        // References of the base are preserved if their targets exist.
        if parents.iter().any(is_target) && random.chance(60) {
            return;
        }
        let nullable = key
            .columns
            .iter()
            .all(|column| profiles[*column].may_be_null);
        match random.pick(parents) {
            Some(parent) if !(nullable && random.chance(12)) => {
                for (from, to) in key.columns.iter().zip(&columns) {
                    row[*from] = parent[*to].clone();
                }
            }
            // The reference is NULL, part of a cycle, or has no target yet.
            _ => key
                .columns
                .iter()
                .filter(|column| !self.table.columns[**column].not_null)
                .for_each(|column| row[*column] = Cell::Null),
        }
    }
}

/// Whether another row has the same key. Keys with NULL are always unique.
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
            let generated = generate(
                &parents_and_children(),
                &Constants::default(),
                seed,
                GenerationOptions {
                    spread: 20,
                    ..GenerationOptions::default()
                },
            );
            let of = |name: &str| generated.iter().find(|table| table.table == name).unwrap();
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
            generate(
                &tables,
                &Constants::default(),
                7,
                GenerationOptions::default()
            ),
            generate(
                &tables,
                &Constants::default(),
                7,
                GenerationOptions::default()
            )
        );
        assert_ne!(
            generate(
                &tables,
                &Constants::default(),
                7,
                GenerationOptions::default()
            ),
            generate(
                &tables,
                &Constants::default(),
                8,
                GenerationOptions::default()
            )
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
        let generated = generate(
            &tables,
            &Constants::default(),
            1,
            GenerationOptions::default(),
        );
        let bytes: usize = generated.iter().map(|table| table.rows.bytes()).sum();
        assert!(
            (MAX_BYTES / 2..MAX_BYTES + (3 << 20)).contains(&bytes),
            "{bytes} bytes"
        );
        assert!(generated.iter().all(|table| !table.rows.is_empty()));
    }

    #[test]
    fn generates_more_rows_than_the_largest_limit() {
        let constants = Constants {
            limit: 100,
            ..Constants::default()
        };
        let generated = generate(
            &parents_and_children(),
            &constants,
            1,
            GenerationOptions {
                spread: 50,
                ..GenerationOptions::default()
            },
        );
        assert!(
            generated
                .iter()
                .any(|table| table.table == "c" && table.rows.len() > 100)
        );
    }
}
