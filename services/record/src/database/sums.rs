//! SQL for upserts that add to existing sums, or keep the larger or smaller of two values. A sum
//! that the database cannot represent would make its entry fail forever: SQLite would make an
//! integer that overflows a real, which strict tables reject, and infinity minus infinity null;
//! PostgreSQL rejects both overflows. Counts therefore saturate at the largest integer and are
//! compared before they are added. Numbers saturate far below the largest one, so that sums over
//! rows do not overflow either.
//!
//! A column of the stored row is named with its table, because PostgreSQL considers its plain name
//! ambiguous.

use assay_rewards::sum;

/// `column = table.column + excluded.column` for each count in a list. Stored counts are not
/// negative.
macro_rules! add_counts {
    ($table:literal: $first:literal $(, $column:literal)*) => {
        concat!(
            $first, " = case when excluded.", $first, " <= 0 \
             then ", $table, ".", $first, " + excluded.", $first, " \
             when ", $table, ".", $first, " > 9223372036854775807 - excluded.", $first, " \
             then 9223372036854775807 else ", $table, ".", $first, " + excluded.", $first, " end"
            $(, ", ", $crate::database::sums::add_counts!($table: $column))*
        )
    };
}

/// The same for floating-point numbers, up to [`LARGEST_SUM`]. An earlier release may have stored
/// infinity.
macro_rules! add_numbers {
    ($table:literal: $first:literal $(, $column:literal)*) => {
        concat!(
            $first, " = case when ", $table, ".", $first, " + excluded.", $first, " > 1e300 \
             then 1e300 when ", $table, ".", $first, " + excluded.", $first, " < -1e300 \
             then -1e300 else ", $table, ".", $first, " + excluded.", $first, " end"
            $(, ", ", $crate::database::sums::add_numbers!($table: $column))*
        )
    };
}

/// Sets a column to the new value if it is `>` or `<` the stored one; neither is null.
macro_rules! replace_if {
    ($is:literal, $table:literal: $column:literal) => {
        concat!(
            $column,
            " = case when excluded.",
            $column,
            " ",
            $is,
            " ",
            $table,
            ".",
            $column,
            " then excluded.",
            $column,
            " else ",
            $table,
            ".",
            $column,
            " end"
        )
    };
}

/// Sets a column to the larger of the stored and the new value.
macro_rules! greatest {
    ($($column:tt)*) => { $crate::database::sums::replace_if!(">", $($column)*) };
}

/// Sets a column to the smaller of the stored and the new value.
macro_rules! least {
    ($($column:tt)*) => { $crate::database::sums::replace_if!("<", $($column)*) };
}

pub(crate) use {add_counts, add_numbers, greatest, least, replace_if};

/// The largest sum of numbers that is stored, and the largest number that is added to one.
const LARGEST_SUM: f64 = 1e300;

/// A number as it is added to a sum.
pub(crate) fn addend(number: f64) -> f64 {
    sum::finite(number).clamp(-LARGEST_SUM, LARGEST_SUM)
}

/// Makes a stored sum finite: one that an earlier release stored or that the database computed from
/// several may not be.
pub(crate) fn number(stored: Option<f64>) -> f64 {
    sum::finite(stored.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnection;
    use sqlx::{Connection, Row};

    /// The stored values after `parts` were added to a row with `first`.
    async fn added(first: (i64, f64), parts: &[(i64, f64)]) -> (i64, f64) {
        const INSERT: &str = concat!(
            "insert into sums (id, count, number) values (1, $1, $2) \
             on conflict (id) do update set ",
            add_counts!("sums": "count"),
            ", ",
            add_numbers!("sums": "number")
        );
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let table = "create table sums (id integer primary key, count integer not null, number \
                     real not null) strict";
        sqlx::raw_sql(table).execute(&mut connection).await.unwrap();
        for (count, number) in [first].iter().chain(parts) {
            sqlx::query(INSERT)
                .bind(count)
                .bind(number)
                .execute(&mut connection)
                .await
                .unwrap();
        }
        let row = sqlx::query("select count, number from sums")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        (row.get(0), row.get(1))
    }

    #[tokio::test]
    async fn sums_saturate_at_the_largest_numbers() {
        assert_eq!(added((1, 0.5), &[(2, 0.25)]).await, (3, 0.75));
        assert_eq!(
            added((i64::MAX, 1e300), &[(7, 1e300)]).await,
            (i64::MAX, 1e300)
        );
        assert_eq!(added((1, -1e300), &[(1, -1e300)]).await, (2, -1e300));
        assert_eq!(added((1, 1e300), &[(1, -1e300)]).await, (2, 0.0));
    }

    #[tokio::test]
    async fn adds_to_infinity_of_an_earlier_release() {
        assert_eq!(added((1, f64::INFINITY), &[(1, -1e300)]).await.0, 2);
        assert_eq!(
            added((1, f64::INFINITY), &[(1, -1e300), (1, -1e300)]).await,
            (3, 0.0)
        );
        assert_eq!(super::number(None).to_bits(), 0);
        assert_eq!(
            super::number(Some(f64::NEG_INFINITY)).to_bits(),
            f64::MIN.to_bits()
        );
    }
}
