//! Verdicts of queries, in addition to those of every grader.

use assay_core::Verdict;

pub(crate) const SQL_ERROR: Verdict = Verdict::new("sql_error");
pub(crate) const DENIED: Verdict = Verdict::new("denied");
pub(crate) const NOT_A_QUERY: Verdict = Verdict::new("not_a_query");
pub(crate) const SEVERAL_STATEMENTS: Verdict = Verdict::new("several_statements");
pub(crate) const STEP_LIMIT: Verdict = Verdict::new("step_limit");
pub(crate) const MEMORY_LIMIT: Verdict = Verdict::new("memory_limit");
pub(crate) const ROW_LIMIT: Verdict = Verdict::new("row_limit");
pub(crate) const LENGTH_LIMIT: Verdict = Verdict::new("length_limit");
pub(crate) const NO_SQL: Verdict = Verdict::new("no_sql");
