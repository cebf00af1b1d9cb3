//! SQL for upserts that add to existing sums. A sum that SQLite cannot represent would make its
//! entry fail forever: an integer that overflows becomes a real, which strict tables reject in an
//! integer column, and infinity minus infinity becomes null. Sums therefore saturate at the largest
//! numbers, like those of [`assay_rewards::sum`].

use assay_rewards::sum;

/// `column = column + excluded.column` for each count in a list.
macro_rules! add_counts {
    ($first:literal $(, $column:literal)*) => {
        concat!(
            $first, " = min(", $first, " + excluded.", $first, ", 9223372036854775807)"
            $(, ", ", $column, " = min(", $column, " + excluded.", $column,
                ", 9223372036854775807)")*
        )
    };
}

/// The same for floating-point numbers. An earlier release may have stored infinity; the added
/// number is finite.
macro_rules! add_numbers {
    ($first:literal $(, $column:literal)*) => {
        concat!(
            $first, " = max(min(", $first, " + excluded.", $first, ", 1.7976931348623157e308), \
                -1.7976931348623157e308)"
            $(, ", ", $column, " = max(min(", $column, " + excluded.", $column,
                ", 1.7976931348623157e308), -1.7976931348623157e308)")*
        )
    };
}

pub(crate) use {add_counts, add_numbers};

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
            "insert into sums (id, count, number) values (1, ?, ?) on conflict (id) do update set ",
            add_counts!("count"),
            ", ",
            add_numbers!("number")
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
            added((i64::MAX, 1e308), &[(7, 1e308)]).await,
            (i64::MAX, f64::MAX)
        );
        assert_eq!(added((1, -1e308), &[(1, -1e308)]).await, (2, f64::MIN));
        assert_eq!(added((1, f64::MAX), &[(1, f64::MIN)]).await, (2, 0.0));
    }

    #[tokio::test]
    async fn adds_to_infinity_of_an_earlier_release() {
        assert_eq!(added((1, f64::INFINITY), &[(1, f64::MIN)]).await.0, 2);
        assert_eq!(
            added((1, f64::INFINITY), &[(1, f64::MIN), (1, f64::MIN)]).await,
            (3, 0.0)
        );
        assert_eq!(super::number(None).to_bits(), 0);
        assert_eq!(
            super::number(Some(f64::NEG_INFINITY)).to_bits(),
            f64::MIN.to_bits()
        );
    }
}
