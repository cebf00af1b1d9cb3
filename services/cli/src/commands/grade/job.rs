//! Grades a file as a job of a server.

use assay_client::Client;
use assay_templates::Templates;

use crate::arguments::Grade;
use crate::commands::jobs::submit::{Submission, submit};
use crate::commands::jobs::watch::write_results;
use crate::exit::CommandStatus;

/// Submits the file, and writes the results until the job has ended.
pub(super) async fn grade(
    arguments: &Grade,
    client: &Client,
    templates: &Templates,
) -> anyhow::Result<CommandStatus> {
    let submission = Submission {
        file: &arguments.file,
        template: arguments.template.as_deref(),
        shared: arguments.shared.as_deref(),
        policy: arguments.policy.as_deref(),
        run: arguments.run.as_deref(),
        step: arguments.step,
    };
    let job = submit(client, &submission, templates).await?;
    tracing::info!(
        job = job.job,
        "submitted the job; `assay jobs results` continues if this command ends"
    );
    write_results(client, &job.job, &arguments.output, true).await
}
