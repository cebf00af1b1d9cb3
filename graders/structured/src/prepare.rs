//! The grader: prepares tasks. The schema is compiled and the expected value is validated against
//! it once for all completions.

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, Grader, PrepareContext, Spec, Task};
use assay_documents::Schema;

use crate::compare::Expected;
use crate::grade::PreparedStructured;
use crate::levels::Levels;
use crate::requirements::Wanted;
use crate::spec::SPEC;
use crate::task::StructuredTask;
use crate::typing::Patterns;

/// The grader of `structured` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct StructuredGrader;

impl Grader for StructuredGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        StructuredTask::read(task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let task = StructuredTask::read(task)?;
        let schema = task.schema.as_ref().map(|schema| {
            Schema::shared(schema, task.dialect).map_err(|reason| {
                PrepareError::task_at_fault(format!("`schema` cannot be compiled: {reason}"))
            })
        });
        let schema = schema.transpose()?;
        if let (Some(schema), Some(expected)) = (&schema, &task.expected)
            && let Some(violation) = schema.violation(expected)
        {
            let message = format!(
                "`expected` violates `schema`: {} at `{}` ({})",
                violation.reason, violation.pointer, violation.keyword
            );
            return Err(PrepareError::task_at_fault(message));
        }
        let levels = task
            .weights
            .map(|weights| Levels::new(weights, schema.as_deref()));
        let patterns = match &schema {
            Some(schema) if task.format.is_untyped() => Patterns::of_schema(schema.source()),
            _ => Patterns::default(),
        };
        let wanted = Wanted::new(
            schema.as_deref().map(Schema::source),
            task.expected.as_ref(),
        );
        let expected = task
            .expected
            .map(|expected| Expected::new(expected, task.options));
        let (format, extract, tool) = (task.format, task.extract, task.tool);
        Ok(Arc::new(PreparedStructured {
            format,
            extract,
            tool,
            wanted,
            schema,
            patterns,
            expected,
            levels,
        }))
    }
}
