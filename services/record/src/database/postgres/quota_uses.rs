//! What the processes of nodes have admitted of the quotas of keys.

use crate::access::{OtherUse, QuotaUse};
use crate::database::DatabaseError;
use crate::database::insert::Insert;
use crate::database::postgres::time::now_us;
use crate::database::sql::{self, Connection};

/// Items of a process that has not written for this long are not in progress any more.
const PRESENT_US: i64 = 10_000_000;

/// A process that has not written for this long has ended.
const ENDED_US: i64 = 3_600_000_000;

const WRITE: Insert = Insert {
    prefix: "insert into quota_uses (process, key, items, cpu_us, in_flight)",
    columns: 5,
    suffix: concat!(
        "on conflict (process, key) do update set items = excluded.items, \
         cpu_us = excluded.cpu_us, in_flight = excluded.in_flight, written_us = ",
        now_us!()
    ),
};

/// Writes what this process has admitted, and reads the rows of all others.
pub(crate) async fn exchange(
    connection: &mut Connection,
    process: &str,
    uses: &[QuotaUse],
) -> Result<Vec<OtherUse>, DatabaseError> {
    WRITE
        .run(connection, uses, |values, used| {
            values
                .add(process)
                .add(used.key.as_str())
                .add(used.items)
                .add(used.cpu_us)
                .add(used.in_flight);
        })
        .await?;
    const ENDED: &str = concat!(
        "delete from quota_uses where written_us < ",
        now_us!(),
        " - $1"
    );
    sql::query(ENDED).bind(ENDED_US).execute(connection).await?;
    const OTHERS: &str = concat!(
        "select process, key, items, cpu_us, case when written_us > ",
        now_us!(),
        " - $2 then in_flight else 0 end as in_flight from quota_uses where process <> $1"
    );
    let rows = sql::query(OTHERS).bind(process).bind(PRESENT_US);
    let rows = rows.fetch_all(connection).await?;
    let others = rows.iter().map(|row| {
        Ok(OtherUse {
            process: row.try_get("process")?,
            used: QuotaUse {
                key: row.try_get("key")?,
                items: row.try_get("items")?,
                cpu_us: row.try_get("cpu_us")?,
                in_flight: row.try_get("in_flight")?,
            },
        })
    });
    others.collect()
}
