//! Hostile statements. Each ends as expected whenever it is repeated, and the memory of workers
//! does not grow.

use std::path::Path;

use assay_tests::processes::{private_kib, workers_of};
use assay_worker::query::End;

use crate::queries::{image, marked_pool, run};

/// A statement, and whether an end is expected.
type HostileStatement = (&'static str, fn(&End) -> bool);

const HOSTILE: &[HostileStatement] = &[
    (
        "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c",
        |end| matches!(end, End::OutOfSteps),
    ),
    (
        "with recursive c(x, s) as (select 1, 'a' union all select x + 1, s || s from c) select \
         count(*) from c",
        |end| matches!(end, End::TooLong),
    ),
    (
        "select json_group_array(hex(zeroblob(9000))) from n a, n b",
        |end| matches!(end, End::OutOfMemory | End::TooLong),
    ),
    ("select * from n a, n b", |end| {
        matches!(end, End::TooManyRows)
    }),
    ("select hex(zeroblob(40000)) from n", |end| {
        matches!(end, End::TooManyRows)
    }),
    (
        "select count(*) from n a, n b, n c, n d, n e, n f, n g, n h where a.n + b.n + c.n = d.n \
         * e.n",
        |end| matches!(end, End::OutOfSteps),
    ),
    (
        "select max(instr(hex(zeroblob(44000)), hex(zeroblob(23000)) || n)) from n",
        |end| matches!(end, End::OutOfSteps),
    ),
    ("select printf('%.*c', 1000000000, 'x')", |end| {
        matches!(end, End::TooLong)
    }),
    ("select randomblob(999999937)", |end| {
        matches!(end, End::TooLong)
    }),
    ("attach 'hostile.db' as x", |end| {
        matches!(end, End::Denied(_))
    }),
    ("vacuum into 'hostile.db'", |end| {
        matches!(end, End::NotAQuery)
    }),
    ("pragma temp_store_directory = '.'", |end| {
        matches!(end, End::Denied(_))
    }),
    ("create table hostile(x)", |end| {
        matches!(end, End::Denied(_))
    }),
    ("select load_extension('hostile.so')", |end| {
        matches!(end, End::Denied(_))
    }),
    ("select 1; drop table n", |end| matches!(end, End::Several)),
    ("select word from mixed where id = 1", |end| {
        matches!(end, End::Rows)
    }),
];

/// Number of times that all statements run.
const ROUNDS: usize = 10;

/// Maximum growth of a worker between the second and the last round, in KiB.
const MAX_GROWTH_KIB: u64 = 2 << 10;

#[tokio::test]
async fn rejects_harmful_statements_repeatedly() {
    let name = format!("hostile-{}", std::process::id());
    let workers = marked_pool(1, Path::new(&name));
    let private_kib_of_worker = || -> u64 {
        let ids = workers_of(Path::new(&name));
        assert_eq!(ids.len(), 1);
        ids.into_iter().map(private_kib).sum()
    };
    let image = image(&workers).await;
    let mut first = Vec::new();
    let mut size = 0;
    for round in 0..ROUNDS {
        for (at, (sql, expected)) in HOSTILE.iter().enumerate() {
            let ran = run(&workers, &image, sql).await;
            assert!(expected(&ran.end), "`{sql}` ended with {:?}", ran.end);
            if round == 0 {
                first.push(ran);
            } else {
                assert_eq!(ran, first[at], "`{sql}` in round {round}");
            }
        }
        // The allocator retains the memory of the largest statement. Later rounds need no more.
        if round == 1 {
            size = private_kib_of_worker();
        }
    }
    let grown = private_kib_of_worker().saturating_sub(size);
    assert!(
        size > 0 && grown < MAX_GROWTH_KIB,
        "a worker of {size} KiB grew by {grown} KiB"
    );
    assert!(
        !std::path::Path::new("hostile.db").exists(),
        "a statement created a file"
    );
    workers.stop().await;
}
