//! `module-missing`: the task's own code or its reference imports a module that its image does not
//! have.

use assay_core::Fault;

use super::Sink;
use super::code::{Code, Severity};
use crate::graded_row::GradedRow;

pub(super) const CODE: Code = Code {
    name: "module-missing",
    severity: Severity::Error,
    title: "the task needs a module that its image does not have",
    found: "\
The prelude, a test, `test_setup` or the reference of a `code` task imports a module that the image
lacks, such as `pandas`, `scipy` or `torch`, outside a `try` block that catches the error.",
    why: "\
Every rollout of the row is `ungradable`.",
    remedy: "\
Remove the import if nothing uses it, replace what it provides, or leave the row out.
`assay doctor --json` lists the modules of each image.",
    example: Some(
        "\
```python
import pandas as pd

assert total(pd.DataFrame({\"price\": [1, 2]})) == 3
```",
    ),
};

/// Part of the fault message of the `code` grader about such a module.
const MISSING: &str = "; the image has no module `";

pub(super) fn applies(kind: &str, fault: &Fault) -> bool {
    kind == "code" && fault.message.contains(MISSING)
}

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some(kind), Some(fault)) = (row.kind(), row.fault()) else {
        return;
    };
    if applies(kind, fault) {
        sink.add(&CODE, &row.location, &row.key, fault.message.clone());
    }
}
