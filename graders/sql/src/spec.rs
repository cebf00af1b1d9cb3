//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict, VerdictSpec};

use crate::verdict;

/// Name, task schema, verdicts and measures of the grader.
pub static SPEC: Spec = Spec {
    name: "sql",
    version: 1,
    summary: "does the query return what the gold returns?",
    lane: Lane::Sandbox,
    task_schema: include_str!("task.schema.json"),
    example_task: r#"{"type":"sql","dialect":"sqlite","database":{"schema":"create table staff(id integer primary key, name text, team text, pay real)","rows":"insert into staff values (1,'Ada','core',90.5),(2,'Bo','data',70.0),(3,'Cy','core',88.0)","variants":{"generate":4}},"gold":"select team, avg(pay) from staff group by team order by team"}"#,
    example_completion: "Average the pay of each team.\n\n```sql\nSELECT team, SUM(pay) / \
                         COUNT(pay) AS mean\nFROM staff\nGROUP BY team\nORDER BY 1\n```\n",
    verdicts: &[
        VerdictSpec {
            verdict: Verdict::CORRECT,
            pass: Some(true),
            meaning: "on every database the query returns what one of the golds returns",
        },
        VerdictSpec {
            verdict: Verdict::PARTIAL,
            pass: Some(false),
            meaning: "wrong, but the task gives partial credit; the evidence contains the reason",
        },
        VerdictSpec {
            verdict: Verdict::WRONG_ANSWER,
            pass: Some(false),
            meaning: "the query returns something else",
        },
        VerdictSpec {
            verdict: verdict::SQL_ERROR,
            pass: Some(false),
            meaning: "the statement does not parse, names something unknown, or fails while it \
                      runs",
        },
        VerdictSpec {
            verdict: verdict::DENIED,
            pass: Some(false),
            meaning: "the statement would write, attach a database, change settings or a \
                      transaction, or call a function that is not allowed",
        },
        VerdictSpec {
            verdict: verdict::NOT_A_QUERY,
            pass: Some(false),
            meaning: "the statement is not a query of the database, such as EXPLAIN or VACUUM",
        },
        VerdictSpec {
            verdict: verdict::SEVERAL_STATEMENTS,
            pass: Some(false),
            meaning: "it contains more than one statement",
        },
        VerdictSpec {
            verdict: verdict::STEP_LIMIT,
            pass: Some(false),
            meaning: "the query exceeded its step limit",
        },
        VerdictSpec {
            verdict: verdict::MEMORY_LIMIT,
            pass: Some(false),
            meaning: "the query required more memory than allowed",
        },
        VerdictSpec {
            verdict: verdict::ROW_LIMIT,
            pass: Some(false),
            meaning: "the query returned more rows or bytes than allowed",
        },
        VerdictSpec {
            verdict: verdict::LENGTH_LIMIT,
            pass: Some(false),
            meaning: "the statement, or a value it produces, is too long",
        },
        VerdictSpec {
            verdict: verdict::NO_SQL,
            pass: Some(false),
            meaning: "the completion contains no statement",
        },
    ],
    measures: &[
        MeasureSpec {
            name: "steps",
            unit: "steps on the base database",
        },
        MeasureSpec {
            name: "rows",
            unit: "rows on the base database",
        },
        MeasureSpec {
            name: "efficiency",
            unit: "steps of the gold divided by those of the prediction",
        },
        MeasureSpec {
            name: "r_ves",
            unit: "R-VES reward of the efficiency, 0 for a wrong query",
        },
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 16,
    work_unit: "steps, over all databases",
};
