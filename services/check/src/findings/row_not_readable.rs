//! `row-not-readable`: a row cannot be read. Reported while reading the file.

use super::code::{Code, Severity};

pub(crate) const CODE: Code = Code {
    name: "row-not-readable",
    severity: Severity::Error,
    title: "the row cannot be read",
    found: "\
A row cannot be read: a line that is not JSON, a value that is not an object of columns, a duplicate
column, a CSV row with a different number of values than the header, a quote that is never closed,
bytes that are not UTF-8, or a truncated file.",
    why: "\
A trainer skips such a row or stops.",
    remedy: "\
Correct or drop the row. The message contains the error and, for JSON, the column within the line.",
    example: None,
};
