//! Steps are deterministic: the same statement on the same image returns the same rows after the
//! same number of steps, alone and under load.

use assay_worker::query::{End, Ran};

use crate::queries::{image, pool, run};

/// Number of runs without load, and again under load, over all statements.
const REPEATS: usize = 1_000;

/// Statements that read state which could differ between runs, that sort, group and join, and that
/// end in different ways.
const STATEMENTS: &[&str] = &[
    "select random(), hex(randomblob(3)), datetime('now'), current_timestamp, julianday('now', \
     'localtime'), changes(), last_insert_rowid(), total_changes() from mixed order by 1",
    "select word, count(*), group_concat(id), avg(part) over (order by count(*)) from mixed left \
     join n on n = id group by word",
    "select a.n % 7, sum(b.n) from n a join n b on b.n = a.n + 3 group by 1 order by 2 desc",
    "select count(*) from n where instr(hex(zeroblob(200)), '1' || n) or printf('%05d', n) like \
     '%_0%1' or abs(-9223372036854775807 - (n > 3))",
    "with recursive odd(k) as (select 3 union select k + 2 from odd) select max(k) from odd",
    "select json_group_array(value) from json_each('[3,1,2]')",
];

#[tokio::test]
async fn repeated_statements_return_identical_results() {
    let workers = pool(2);
    let image = image(&workers).await;
    let mut first = Vec::new();
    for sql in STATEMENTS {
        first.push(run(&workers, &image, sql).await);
    }
    let ends: Vec<&End> = first.iter().map(|ran| &ran.end).collect();
    let End::Error(error) = ends[3] else {
        panic!("{ends:?}");
    };
    assert!(error.contains("integer overflow"), "{error}");
    assert!(first[3].steps > 50, "the error occurs during the run");
    assert!(
        matches!(
            ends[..],
            [
                End::Rows,
                End::Rows,
                End::Rows,
                End::Error(_),
                End::OutOfSteps,
                End::Rows
            ]
        ),
        "{ends:?}"
    );
    // One after the other.
    for round in 0..REPEATS {
        let at = round % STATEMENTS.len();
        assert_eq!(run(&workers, &image, STATEMENTS[at]).await, first[at]);
        if at == 0 {
            assert_eq!(run(&workers, &image, STATEMENTS[1]).await, first[1]);
        }
    }
    // Under load that occupies both workers.
    let concurrent = (0..REPEATS).map(|round| {
        let (workers, image, first) = (&workers, &image, &first);
        async move {
            let at = round % STATEMENTS.len();
            assert_eq!(run(workers, image, STATEMENTS[at]).await, first[at]);
        }
    });
    futures::future::join_all(concurrent).await;
    workers.stop().await;
    // Another process counts the same steps.
    let workers = pool(1);
    let again: Ran = run(&workers, &image, STATEMENTS[2]).await;
    assert_eq!(again, first[2]);
    workers.stop().await;
}
