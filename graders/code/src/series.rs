//! Runs of one program on several tests, one after another, with one worker.

use std::time::Duration;

use assay_core::{Fault, GradeContext, Hash};
use assay_worker::program::{ImageInfo, Limits, Request, Run, WORK_PER_SECOND};
use assay_worker::{Pipeline, UntrustedReply};

use crate::program_run::{Blocked, ProgramEnd};
use crate::programs::{Attempt, ImageVersion, Programs, changed, run_key, timeout};

/// Work of a short run, a few hundredths of a second. After a longer one, others may use the worker
/// before the next test.
const SHORT_WORK: u64 = WORK_PER_SECOND / 100;

/// Runs of one program. While the runs are short and succeed, the worker gets the next test before
/// the result of the last one is compared.
///
/// It keeps a worker after a short run. Whoever needs another run before the next test must call
/// [`Series::release`] first.
pub(crate) struct Series<'a> {
    programs: &'a Programs,
    cx: &'a GradeContext,
    /// The image that compiled the program.
    image: &'a ImageInfo,
    pipeline: Option<Pipeline<'a, Request>>,
    /// The files of the image of the worker in `pipeline`.
    version: ImageVersion,
    /// Whether the last run was short and succeeded.
    was_short: bool,
    /// The key of the run that was sent ahead.
    sent: Option<Hash>,
}

impl<'a> Series<'a> {
    pub(crate) fn new(programs: &'a Programs, cx: &'a GradeContext, image: &'a ImageInfo) -> Self {
        Self {
            programs,
            cx,
            image,
            pipeline: None,
            version: ImageVersion::default(),
            was_short: false,
            sent: None,
        }
    }

    /// Runs a compiled program on one test. `next` is the run that follows unless this one fails.
    ///
    /// # Errors
    /// A fault of the service or of the task. Neither is ever an [`Attempt`].
    pub(crate) async fn run(&mut self, run: Run, next: Option<&Run>) -> Result<Attempt, Blocked> {
        let key = run_key(&self.cx.caller, self.image, &run);
        if let Some(cached) = self.cached(&key) {
            return cached;
        }
        let image = run.image.clone();
        let result = self.run_uncached(run, key, next).await;
        let result = match &self.pipeline {
            Some(_) => {
                let confirmed = self.programs.confirm(&image, self.version).await;
                confirmed.map_err(Blocked::from).and(result)
            }
            None => result,
        };
        if self.cx.use_cache {
            self.programs.cache_run(key, &result);
        }
        self.was_short = result.as_ref().is_ok_and(|Attempt { run, deterministic }| {
            *deterministic && is_success(&run.end) && run.work <= SHORT_WORK
        });
        if !self.was_short {
            self.release().await;
        }
        result
    }

    fn cached(&self, key: &Hash) -> Option<Result<Attempt, Blocked>> {
        self.cx
            .use_cache
            .then(|| self.programs.cached_run(key))
            .flatten()
    }

    async fn run_uncached(
        &mut self,
        run: Run,
        key: Hash,
        next: Option<&Run>,
    ) -> Result<Attempt, Blocked> {
        let mut next = next
            .filter(|_| self.was_short)
            .map(|next| (run_key(&self.cx.caller, self.image, next), next))
            .filter(|(key, _)| self.cached(key).is_none())
            .map(|(key, next)| (key, Request::Run(shortened(next))));
        let pipeline = match &mut self.pipeline {
            Some(pipeline) => pipeline,
            None => {
                let prepared = self.programs.prepare(&run.image).await?;
                if prepared.info.hash != self.image.hash {
                    return Err(changed(&run.image).into());
                }
                self.version = prepared.version;
                let permit = self.programs.workers().acquire(Duration::MAX).await;
                let permit = permit.map_err(Fault::from)?;
                self.pipeline.insert(Pipeline::new(permit))
            }
        };
        let timeout = timeout(run.limits.work);
        let was_sent = self.sent.take() == Some(key);
        self.sent = next.as_ref().map(|(key, _)| *key);
        if was_sent {
            let request = Request::Run(shortened(&run));
            let ahead = next.as_ref().map(|(_, next)| next);
            let reply = pipeline.ask(&request, ahead, timeout).await;
            let attempt = reply.map(|reply| Attempt::read(UntrustedReply::Answered(reply)));
            // With less work than the task allows, only success has the same result.
            if let Ok(Ok(attempt)) = attempt
                && is_success(&attempt.run.end)
            {
                return Ok(attempt);
            }
            (next, self.sent) = (None, None);
        }
        let ahead = next.as_ref().map(|(_, next)| next);
        let reply = pipeline
            .ask_untrusted(&Request::Run(run), ahead, timeout)
            .await;
        Attempt::read(reply.map_err(Fault::from)?)
    }

    /// Lets others use the worker. A run that was sent ahead ends first; it is short.
    pub(crate) async fn release(&mut self) {
        self.sent = None;
        if let Some(pipeline) = self.pipeline.take() {
            pipeline.finish().await;
        }
    }
}

/// Runs a compiled program on one test.
///
/// # Errors
/// A fault of the service or of the task. Neither is ever an [`Attempt`].
pub(crate) async fn run_once(
    programs: &Programs,
    cx: &GradeContext,
    image: &ImageInfo,
    run: Run,
) -> Result<Attempt, Blocked> {
    let mut series = Series::new(programs, cx, image);
    let result = series.run(run, None).await;
    series.release().await;
    result
}

/// The same run with the work of a short one.
fn shortened(run: &Run) -> Run {
    Run {
        limits: Limits {
            work: run.limits.work.min(SHORT_WORK),
            ..run.limits
        },
        ..run.clone()
    }
}

fn is_success(end: &ProgramEnd) -> bool {
    matches!(
        end,
        ProgramEnd::Finished | ProgramEnd::Returned(_) | ProgramEnd::Exited(0)
    )
}
