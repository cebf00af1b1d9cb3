//! Stores the results of dataset checks that ran elsewhere, so that operators can see them next to
//! the grades.

use std::sync::Arc;

use assay_record::dataset_check::{self, DatasetCheck};
use assay_record::{Entry, Event};

use crate::{Review, ReviewError};

/// The result of a dataset check, as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDatasetCheck {
    /// Names of the datasets, without revisions.
    pub datasets: Vec<String>,
    /// Number of rows that were checked, over all datasets.
    pub checked: u64,
    /// Number of findings that are errors.
    pub errors: u64,
    /// Number of findings that are warnings.
    pub warnings: u64,
    /// The report as JSON.
    pub report_json: Vec<u8>,
}

impl Review {
    /// Stores a dataset check. Returns once it is durable.
    ///
    /// # Errors
    /// [`ReviewError::NoRecord`], [`ReviewError::Store`].
    pub async fn record_dataset_check(
        &self,
        new: NewDatasetCheck,
        caller: &str,
    ) -> Result<DatasetCheck, ReviewError> {
        let record = self.record()?;
        let (id, time_us) = (self.engine.new_id(), self.engine.clock().unix_us());
        let NewDatasetCheck {
            datasets,
            checked,
            errors,
            warnings,
            report_json,
        } = new;
        let report = dataset_check::to_body(report_json);
        let report = self.engine.redactor().stored_body(report);
        let check = DatasetCheck {
            id,
            datasets,
            checked,
            errors,
            warnings,
            report: report.hash,
            caller: caller.to_owned(),
            time_us,
        };
        let mut entry = Entry::of_events(
            id,
            caller.into(),
            vec![Event::Checked(check.clone())],
            time_us,
        );
        entry.bodies.push(report);
        record.append(Arc::new(entry)).await?;
        Ok(check)
    }
}
