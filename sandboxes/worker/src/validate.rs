//! Validates replies about databases. Graders index rows by column, so an inconsistent reply is
//! rejected.

use crate::query::{End, Ran, Reply, Table};

impl Reply {
    /// Checks that the parts of the reply are consistent.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Ran(runs) => runs.iter().flatten().try_for_each(ran),
            Self::Called(called) => ran(&called.ran),
            Self::Described(tables) => tables.iter().try_for_each(table),
            _ => Ok(()),
        }
    }
}

fn ran(ran: &Ran) -> Result<(), &'static str> {
    let fits = if ran.end == End::Rows {
        ran.columns.len() == ran.rows.width()
    } else {
        ran.rows.is_empty()
    };
    if fits {
        Ok(())
    } else {
        Err("the rows of a run do not match its columns or its end")
    }
}

fn table(table: &Table) -> Result<(), &'static str> {
    let width = table.columns.len();
    let referring = table.foreign_keys.iter().map(|key| &key.columns);
    let mut columns = table.keys.iter().chain(referring).flatten();
    if table.sample.width() != width {
        return Err("the sample of a table has a different number of columns");
    }
    if columns.any(|column| *column >= width) {
        Err("a key refers to a column that its table does not have")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Column, ForeignKey, Rows, Value};

    #[test]
    fn rejects_rows_that_do_not_match_their_run() {
        let mut rows = Rows::new(1);
        rows.push([Value::Null]);
        let validate = |end: End, columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            Reply::check(&Reply::Ran(vec![vec![Ran {
                end,
                columns,
                rows: rows.clone(),
                steps: 0,
            }]]))
        };
        assert!(validate(End::Rows, &["a"]).is_ok());
        assert!(validate(End::Rows, &["a", "b"]).is_err());
        assert!(validate(End::OutOfSteps, &["a"]).is_err());
    }

    #[test]
    fn rejects_keys_beyond_the_columns() {
        let column = |name: &str| Column {
            name: name.to_owned(),
            declared: String::new(),
            not_null: false,
            has_null: false,
            is_distinct: false,
        };
        let validate = |width: usize, key: usize, foreign: usize| {
            let columns = vec![foreign];
            Reply::check(&Reply::Described(vec![Table {
                name: "t".to_owned(),
                columns: vec![column("a"), column("b")],
                keys: vec![vec![key]],
                has_primary_key: true,
                foreign_keys: vec![ForeignKey {
                    columns,
                    table: "u".to_owned(),
                    references: Vec::new(),
                }],
                count: 0,
                sample: Rows::new(width),
            }]))
        };
        assert!(validate(2, 1, 0).is_ok());
        assert!(validate(3, 1, 0).is_err());
        assert!(validate(2, 2, 0).is_err());
        assert!(validate(2, 1, 7).is_err());
    }
}
