//! Checks of datasets that somebody made elsewhere and sent here, so that operators see them beside
//! the grades.

use std::sync::Arc;

use assay_core::channel::Event;
use assay_core::check::{self, DatasetCheck};
use assay_core::record::Entry;

use crate::{ChannelError, Engine};

/// A check as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheck {
    /// The datasets, as they were named, without revisions.
    pub datasets: Vec<String>,
    /// Rows that were looked at, of all datasets.
    pub checked: u64,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
    /// The report, in JSON.
    pub report_json: Vec<u8>,
}

impl Engine {
    /// Keeps a check. The answer comes when it is durable.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn keep_check(
        &self,
        new: NewCheck,
        caller: &str,
    ) -> Result<DatasetCheck, ChannelError> {
        let store = self.kept()?;
        let shared = self.shared();
        let id = shared.ids.batch(shared.clock.as_ref());
        let time_us = shared.clock.unix_us();
        let NewCheck {
            datasets,
            checked,
            errors,
            warnings,
            report_json,
        } = new;
        let report = check::to_body(report_json);
        let caller_name = caller.to_owned();
        let check = DatasetCheck {
            id,
            datasets,
            checked,
            errors,
            warnings,
            report: report.hash,
            caller: caller_name,
            time_us,
        };
        let mut entry = Entry::of_events(
            id,
            caller.into(),
            vec![Event::Checked(check.clone())],
            time_us,
        );
        entry.bodies.push(report);
        store.record(Arc::new(entry)).await?;
        Ok(check)
    }
}
