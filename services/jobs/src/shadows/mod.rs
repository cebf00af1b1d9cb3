//! Shadows of runs: a share of the grades of a run is graded again as they are recorded, with
//! fields set in their tasks, and compared. Rewards do not change until the fields of a shadow are
//! promoted to those of the run.

mod follow;
mod stored;

use assay_core::ErrorCode;
use assay_engine::BatchItem;
use assay_record::shadow::{NewShadow, Shadow, ShadowChange};
use assay_wire::Problem;
use assay_wire::shadows::{ShadowBody, StartShadow};

use crate::{JobError, Jobs};

/// Most bytes of the fields of a shadow.
const MAX_FIELDS: usize = 16 << 10;

impl Jobs {
    /// Starts a shadow of a run, which has its name as recorded.
    ///
    /// # Errors
    /// [`JobError`]: a field is invalid, or one of the run is open.
    pub async fn start_shadow(
        &self,
        run: &str,
        caller: &str,
        request: StartShadow,
    ) -> Result<ShadowBody, JobError> {
        check(&request)?;
        let options = serde_json::to_string(&request.options);
        let options = options.map_err(|error| Problem::invalid("/options", error.to_string()))?;
        let shadow = NewShadow {
            id: self.engine().new_id(),
            run: run.to_owned(),
            caller: caller.to_owned(),
            part: request.share,
            options,
            from_start: request.from_start,
        };
        if !self.record()?.start_shadow(&shadow).await? {
            let message = "the run has a shadow; end it, or promote it";
            return Err(Problem::new(ErrorCode::InvalidField, message).into());
        }
        self.describe_shadow(run).await
    }

    /// The newest shadow of a run, which has its name as recorded.
    ///
    /// # Errors
    /// [`JobError`]: the run has none.
    pub async fn describe_shadow(&self, run: &str) -> Result<ShadowBody, JobError> {
        body(self.newest(run).await?)
    }

    /// The same as [`Jobs::describe_shadow`]; `None` if the run has no shadow.
    ///
    /// # Errors
    /// [`JobError`].
    pub async fn find_shadow(&self, run: &str) -> Result<Option<ShadowBody>, JobError> {
        let newest = self.record()?.shadow(run).await?;
        newest.map(body).transpose()
    }

    /// Ends, promotes or withdraws the newest shadow of a run.
    ///
    /// # Errors
    /// [`JobError`]: the run has none, or another one is promoted.
    pub async fn change_shadow(
        &self,
        run: &str,
        change: ShadowChange,
    ) -> Result<ShadowBody, JobError> {
        let shadow = self.newest(run).await?;
        if change == ShadowChange::Withdraw && shadow.promoted_us.is_none() {
            return Err(rejected("the shadow of the run was not promoted"));
        }
        let record = self.record()?;
        if change == ShadowChange::Promote {
            for other in record.promoted_shadows().await? {
                if other.run == run && other.id != shadow.id {
                    record
                        .change_shadow(other.id, ShadowChange::Withdraw)
                        .await?;
                }
            }
        }
        record.change_shadow(shadow.id, change).await?;
        self.shared().promoted.refresh(record).await?;
        self.describe_shadow(run).await
    }

    /// Sets the fields of a promoted shadow in the tasks of items of its run, which has its name as
    /// recorded. A task that its grader would reject with them stays as it is.
    pub fn set_promoted_fields(&self, run: Option<&str>, items: &mut [BatchItem]) {
        let promoted = &self.shared().promoted;
        promoted.set_in(self.engine(), run, items.iter_mut());
    }

    async fn newest(&self, run: &str) -> Result<Shadow, JobError> {
        let newest = self.record()?.shadow(run).await?;
        newest.ok_or_else(|| Problem::new(ErrorCode::NotFound, "the run has no shadow").into())
    }
}

fn rejected(message: &'static str) -> JobError {
    Problem::new(ErrorCode::InvalidField, message).into()
}

/// Rejects a shadow that could not differ, and fields that no task can have.
fn check(request: &StartShadow) -> Result<(), Problem> {
    if !(request.share > 0.0 && request.share <= 1.0) {
        let message = format!("must be above 0 and at most 1, not {}", request.share);
        return Err(Problem::invalid("/share", message));
    }
    if request.options.is_empty() {
        let message = "there is no field to set in the tasks";
        return Err(Problem::invalid("/options", message));
    }
    if request.options.contains_key("type") {
        let message = "`type` selects the grader of a task and cannot be changed";
        return Err(Problem::invalid("/options/type", message));
    }
    let bytes: usize = request
        .options
        .values()
        .map(|value| value.get().len())
        .sum();
    if bytes > MAX_FIELDS {
        let message = format!("the fields have more than {MAX_FIELDS} bytes");
        return Err(Problem::invalid("/options", message));
    }
    Ok(())
}

fn body(shadow: Shadow) -> Result<ShadowBody, JobError> {
    let (options, findings) = (stored::options(&shadow)?, stored::findings(&shadow)?);
    Ok(ShadowBody {
        shadow: shadow.id.to_string(),
        run: shadow.run,
        caller: shadow.caller,
        options,
        share: shadow.part,
        started_us: shadow.started_us,
        ended_us: shadow.ended_us,
        promoted_us: shadow.promoted_us,
        withdrawn_us: shadow.withdrawn_us,
        findings,
    })
}
