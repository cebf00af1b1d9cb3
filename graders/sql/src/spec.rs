//! The specification of the grader.

use assay_core::{Lane, MeasureSpec, Spec, Verdict};

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
        Verdict::CORRECT
            .passing("on every database the query returns what one of the golds returns"),
        Verdict::PARTIAL
            .failing("wrong, but the task gives partial credit; the evidence contains the reason"),
        Verdict::WRONG_ANSWER.failing("the query returns something else"),
        verdict::SQL_ERROR.failing(
            "the statement does not parse, names something unknown, or fails while it \
             runs",
        ),
        verdict::DENIED.failing(
            "the statement would write, attach a database, change settings or a \
             transaction, or call a function that is not allowed",
        ),
        verdict::NOT_A_QUERY
            .failing("the statement is not a query of the database, such as EXPLAIN or VACUUM"),
        verdict::SEVERAL_STATEMENTS.failing("it contains more than one statement"),
        verdict::STEP_LIMIT.failing("the query exceeded its step limit"),
        verdict::MEMORY_LIMIT.failing("the query required more memory than allowed"),
        verdict::ROW_LIMIT.failing("the query returned more rows or bytes than allowed"),
        verdict::LENGTH_LIMIT.failing("the statement, or a value it produces, is too long"),
        verdict::NO_SQL.failing("the completion contains no statement"),
    ],
    measures: &[
        MeasureSpec::new("steps", "steps on the base database"),
        MeasureSpec::new("rows", "rows on the base database"),
        MeasureSpec::new(
            "efficiency",
            "steps of the gold divided by those of the prediction",
        ),
        MeasureSpec::new(
            "r_ves",
            "R-VES reward of the efficiency, 0 for a wrong query",
        ),
    ],
    deterministic: true,
    reads_context: false,
    max_batch: 16,
    work_unit: "steps, over all databases",
};
