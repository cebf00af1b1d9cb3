//! One judge: asks it about an item, within its limits.

mod protocol;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_base::Random;
use assay_core::{Clock, ErrorCode, FairPermits, Fault, GradeContext, Hash, RawJson, worker_use};
use serde_json::{Value, json};

use crate::answer::{Answer, Usage};
use crate::breaker::Breaker;
use crate::budget::{Budget, Run, Spent};
use crate::cache::ReplyCache;
use crate::chat::ChatReply;
use crate::flights::{Flights, Place};
use crate::http::{CallError, CallErrorKind, Endpoint};
use crate::lean::{self, Source, Statement};
use crate::metrics::{self, CallResult};
use crate::prompt::{self, Entropy, Prompt, Question};
use crate::reply::{Judgement, ReplyReader};
use crate::settings::{JudgeSettings, Kind};

/// First pause before a further call; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause that is not requested by the server.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Number of further calls after a reply that cannot be read.
const READ_RETRIES: u32 = 1;

/// Bytes of a token, to count those of calls for which the server does not.
const BYTES_PER_TOKEN: usize = 4;

/// A question, and for a judge that checks proofs the file to check.
struct Asked<'a> {
    question: &'a Question<'a>,
    source: Option<Source>,
}

/// What is sent, and the time until its reply must have arrived.
struct Call {
    body: Value,
    timeout: Duration,
}

/// A judge that the operator configured.
pub(crate) struct Judge {
    pub(crate) name: String,
    pub(crate) settings: JudgeSettings,
    pub(crate) reader: ReplyReader,
    /// Hash of all settings that a reply depends on.
    pub(crate) prompt_version: String,
    prompt: Prompt,
    endpoint: Endpoint,
    permits: FairPermits,
    breaker: Breaker,
    budget: Budget,
    cache: ReplyCache,
    flights: Flights,
    /// The judge is not called before this time: it asked for a pause.
    not_before: Mutex<Duration>,
    entropy: Entropy,
    clock: Arc<dyn Clock>,
}

impl Judge {
    /// Creates a judge.
    ///
    /// # Errors
    /// What is wrong with its settings.
    pub(crate) fn new(
        name: &str,
        settings: JudgeSettings,
        clock: &Arc<dyn Clock>,
        entropy: &Entropy,
    ) -> Result<Self, String> {
        settings.check()?;
        Ok(Self {
            name: name.to_owned(),
            reader: ReplyReader::new(&settings),
            prompt_version: prompt_version(&settings),
            prompt: Prompt::compile(&settings)?,
            endpoint: Endpoint::new(&settings)?,
            permits: FairPermits::new(settings.in_flight, settings.in_flight),
            breaker: Breaker::new(
                settings.max_failures,
                Duration::from_secs_f64(settings.pause_seconds),
                Arc::clone(clock),
            ),
            budget: Budget::new(settings.tokens_per_run, settings.cost_per_run),
            cache: ReplyCache::new(settings.cache_bytes),
            flights: Flights::default(),
            not_before: Mutex::default(),
            entropy: Arc::clone(entropy),
            clock: Arc::clone(clock),
            settings,
        })
    }

    /// Asks the judge. An item waits for a permit and for the judge without a thread, and its
    /// caller is not charged for the time.
    ///
    /// # Errors
    /// [`Fault`] of the service, without any score.
    pub(crate) async fn ask(
        &self,
        question: &Question<'_>,
        cx: &GradeContext,
    ) -> Result<Answer, Fault> {
        if let Some(reason) = &self.settings.key_error {
            return Err(self.unasked(reason));
        }
        let source = match self.source(question)? {
            Some(Err(rejected)) => {
                let judgement = Judgement::Proof {
                    rejected: Some(rejected),
                };
                return Ok(Answer::unasked(judgement));
            }
            Some(Ok(source)) => Some(source),
            None => None,
        };
        let asked = Asked { question, source };
        if !cx.use_cache || self.settings.cache_bytes == 0 {
            return worker_use::waiting(self.ask_now(&asked, cx)).await;
        }
        let key = self.cache_key(question, &cx.caller);
        worker_use::waiting(self.ask_once(&asked, key, cx)).await
    }

    /// Asks the judge unless the answer is known, or is asked for by another item of the run.
    async fn ask_once(
        &self,
        asked: &Asked<'_>,
        key: Hash,
        cx: &GradeContext,
    ) -> Result<Answer, Fault> {
        let run = cx.run.as_deref().unwrap_or_default();
        let flight = Hash::of_parts(&[key.as_bytes(), run.as_bytes()]);
        loop {
            if let Some(answer) = self.cache.get(&key) {
                metrics::call(&self.name, CallResult::Cached);
                return Ok(answer.again());
            }
            match self.flights.join(flight) {
                Place::First(leader) => {
                    let result = self.ask_now(asked, cx).await;
                    if let Ok(answer) = &result {
                        self.cache.insert(key, answer);
                    }
                    leader.land(&result);
                    return result;
                }
                Place::Later(follower) => {
                    let landed = follower.wait().await;
                    check_cancelled(cx)?;
                    if let Some(result) = landed {
                        return result.map(|answer| {
                            metrics::call(&self.name, CallResult::Cached);
                            answer.again()
                        });
                    }
                }
            }
        }
    }

    /// Asks the judge when it has a permit.
    async fn ask_now(&self, asked: &Asked<'_>, cx: &GradeContext) -> Result<Answer, Fault> {
        // The permits are never closed.
        let _permit = self.permits.acquire(&cx.caller).await.ok();
        let _in_flight = metrics::in_flight(&self.name);
        self.call_until_read(asked, cx).await
    }

    /// For a judge that checks proofs, the file to check, or why the completion proves nothing.
    fn source(&self, question: &Question<'_>) -> Result<Option<Result<Source, String>>, Fault> {
        if self.settings.kind != Kind::Kimina {
            return Ok(None);
        }
        let statement =
            Statement::from_data(question.data).map_err(|reason| self.unasked(&reason))?;
        let completion = question.material.completion;
        let code = prompt::code(&self.entropy, &[completion].into_iter())
            .map_err(|reason| self.unasked(&reason))?;
        Ok(Some(lean::source(&statement, completion, &code)))
    }

    /// Everything that the reply depends on, except for the code of the delimiters.
    fn cache_key(&self, question: &Question<'_>, caller: &str) -> Hash {
        let material = &question.material;
        let optional =
            |text: Option<&str>| text.map_or(vec![0], |text| [b"1", text.as_bytes()].concat());
        let criteria: Vec<Vec<u8>> = material
            .criteria
            .iter()
            .map(|criterion| {
                let points = criterion.points.to_le_bytes();
                let parts = [criterion.id.as_bytes(), criterion.text.as_bytes(), &points];
                Hash::of_parts(&parts).as_bytes().to_vec()
            })
            .collect();
        let order = match material.other {
            None => 0,
            Some((_, true)) => 1,
            Some((_, false)) => 2,
        };
        Hash::of_parts(&[
            caller.as_bytes(),
            self.prompt_version.as_bytes(),
            &optional(material.question.as_deref()),
            &optional(material.reference),
            &optional(material.rubric),
            &criteria.concat(),
            material.completion.as_bytes(),
            &optional(material.other.map(|(other, _)| other)),
            &[order],
            &optional(question.data.map(RawJson::get)),
        ])
    }

    /// Calls the judge until its reply can be read, its calls or the time of the item end, or its
    /// budget is spent.
    async fn call_until_read(&self, asked: &Asked<'_>, cx: &GradeContext) -> Result<Answer, Fault> {
        let run = Run {
            caller: Arc::clone(&cx.caller),
            run: cx.run.clone(),
        };
        let give_up = self.clock.monotonic() + Duration::from_secs_f64(self.settings.item_seconds);
        let mut usage = Usage::default();
        let (mut failures, mut unread, mut note) = (0, 0, None);
        loop {
            self.pause(give_up, cx).await?;
            if let Some(spent) = self.budget.exceeded(&run) {
                metrics::call(&self.name, CallResult::OverBudget);
                let message = format!(
                    "the run has used up its budget of the judge `{}`: {spent}; ask \
                     the operator to raise `tokens_per_run` or `cost_per_run`",
                    self.name
                );
                return Err(Fault::permanent(ErrorCode::JudgeBudget, message));
            }
            let left = give_up.saturating_sub(self.clock.monotonic());
            if left.is_zero() {
                return Err(self.fault(&format!("had no time left after {} calls", usage.calls)));
            }
            let timeout = left.min(Duration::from_secs_f64(self.settings.call_seconds));
            let call = Call {
                body: self.body(asked, note.as_deref(), timeout)?,
                timeout,
            };
            let reply = self.call(call, asked, &run, &mut usage).await?;
            let (reason, after) = match reply {
                Ok(reply) => match self.read(&reply, asked) {
                    Ok(judgement) => {
                        metrics::call(&self.name, CallResult::Read);
                        return Ok(Answer::new(judgement, &reply.text, reply.model, usage));
                    }
                    Err(reason) => {
                        let reason = self.endpoint.quoted(&reason);
                        metrics::call(&self.name, CallResult::Unreadable);
                        if unread == READ_RETRIES {
                            return Err(self.fault(&format!("sent an invalid reply: {reason}")));
                        }
                        unread += 1;
                        note = Some(reason);
                        continue;
                    }
                },
                Err(CallError {
                    kind: CallErrorKind::Permanent | CallErrorKind::OfItem,
                    reason,
                    ..
                }) => {
                    let message = format!(
                        "a call of the judge `{}` failed and is not repeated: {reason}",
                        self.name
                    );
                    return Err(Fault::permanent(ErrorCode::JudgeFailed, message));
                }
                Err(CallError {
                    kind: CallErrorKind::Limited(after) | CallErrorKind::Transient(after),
                    reason,
                    ..
                }) => (reason, after),
            };
            let pause = pause(failures, after, &self.entropy);
            let is_late = self.clock.monotonic() + pause >= give_up;
            if failures == self.settings.retries || is_late {
                let calls = usage.calls;
                return Err(self.fault(&format!("failed after {calls} calls: {reason}")));
            }
            failures += 1;
            tokio::time::sleep(pause).await;
        }
    }

    /// Waits until the judge accepts calls, if it asked for a pause.
    async fn pause(&self, give_up: Duration, cx: &GradeContext) -> Result<(), Fault> {
        loop {
            check_cancelled(cx)?;
            let not_before = *self
                .not_before
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.monotonic();
            if now >= not_before {
                return Ok(());
            }
            if not_before >= give_up {
                let seconds = not_before.saturating_sub(now).as_secs_f64();
                return Err(self.fault(&format!("asks to wait {seconds:.0} s")));
            }
            tokio::time::sleep(not_before.saturating_sub(now)).await;
        }
    }

    /// Makes one call. The outer error ends the item.
    async fn call(
        &self,
        call: Call,
        asked: &Asked<'_>,
        run: &Run,
        usage: &mut Usage,
    ) -> Result<Result<ChatReply, CallError>, Fault> {
        let pass = self.breaker.enter(&run.caller).map_err(|stopped| {
            metrics::call(&self.name, CallResult::Stopped);
            let (left, reason) = (stopped.left.as_secs_f64(), stopped.reason);
            self.fault(&format!(
                "is not called for {left:.0} s, because its last calls failed: {reason}"
            ))
        })?;
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        let body = call.body.to_string().into_bytes();
        let input_tokens = tokens(body.len());
        let mut unanswered = Unanswered {
            judge: self,
            run,
            input_tokens: Some(input_tokens),
        };
        let posted = self.endpoint.post(body, call.timeout).await;
        unanswered.input_tokens = None;
        let written = posted.as_ref().map_or(0, Vec::len);
        let reply = posted.and_then(|bytes| self.reply(&bytes, asked));
        let estimated = || (input_tokens, tokens(written));
        let tokens = match &reply {
            Ok(reply) => Some(reply.usage.unwrap_or_else(estimated)),
            Err(error) => error.may_cost.then(estimated),
        };
        usage.add(self.spend(tokens, run));
        match &reply {
            Ok(_) => pass.succeeded(),
            Err(CallError {
                kind: CallErrorKind::Limited(after),
                ..
            }) => {
                metrics::call(&self.name, CallResult::Limited);
                if let Some(after) = after {
                    self.wait_at_least(*after);
                }
                // The server works: it only has too much to do.
                pass.succeeded();
            }
            Err(CallError {
                kind: CallErrorKind::OfItem,
                ..
            }) => {
                metrics::call(&self.name, CallResult::Failed);
                // An item must not stop the judge for others.
                pass.succeeded();
            }
            Err(error) => {
                metrics::call(&self.name, CallResult::Failed);
                pass.failed(&error.reason);
            }
        }
        metrics::stopped(&self.name, self.breaker.is_open());
        Ok(reply)
    }

    /// Counts a call; `None` if it did not reach the judge.
    fn spend(&self, tokens: Option<(u64, u64)>, run: &Run) -> Usage {
        let (input_tokens, output_tokens) = match (self.settings.kind, tokens) {
            (_, None) => {
                return Usage {
                    calls: 1,
                    ..Usage::default()
                };
            }
            (Kind::Chat, Some(tokens)) => tokens,
            (_, Some(_)) => (0, 0),
        };
        let million = |tokens: u64| tokens as f64 / 1e6;
        let cost = million(input_tokens) * self.settings.input_price
            + million(output_tokens) * self.settings.output_price
            + self.settings.call_price;
        let call = Usage {
            calls: 1,
            input_tokens,
            output_tokens,
            cost,
        };
        let tokens = call.tokens();
        self.budget.spend(run, Spent { tokens, cost });
        metrics::spent(&self.name, call);
        call
    }

    /// All items wait this long before they call the judge, but not much longer than an item may
    /// take: a judge that asks for an hour may work again before.
    fn wait_at_least(&self, after: Duration) {
        let longest = self.settings.item_seconds.max(self.settings.pause_seconds);
        let until = self.clock.monotonic() + after.min(Duration::from_secs_f64(longest));
        let mut not_before = self
            .not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *not_before = until.max(*not_before);
    }

    fn fault(&self, what: &str) -> Fault {
        let message = format!("the judge `{}` {what}; send the item again", self.name);
        Fault::transient(ErrorCode::JudgeFailed, message)
    }
}

fn check_cancelled(cx: &GradeContext) -> Result<(), Fault> {
    if cx.cancel.is_cancelled() {
        let message = "the client disconnected; send the item again";
        return Err(Fault::transient(ErrorCode::Cancelled, message));
    }
    Ok(())
}

/// A call that waits for its reply. If its item is cancelled meanwhile, the judge may still do the
/// work and charge for it.
struct Unanswered<'a> {
    judge: &'a Judge,
    run: &'a Run,
    input_tokens: Option<u64>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(tokens) = self.input_tokens {
            self.judge.spend(Some((tokens, 0)), self.run);
        }
    }
}

/// The pause before the next call: between half and all of its nominal length, and at least what
/// the server asks for.
fn pause(failures: u32, after: Option<Duration>, entropy: &Entropy) -> Duration {
    let nominal = FIRST_PAUSE
        .saturating_mul(1 << failures.min(16))
        .min(MAX_PAUSE);
    let mut seed = [0u8; 8];
    // Without random numbers every pause has the same share of its nominal length.
    let _ = entropy(&mut seed);
    let jitter = Random::new(u64::from_le_bytes(seed)).uniform();
    nominal
        .mul_f64(0.5 + jitter / 2.0)
        .max(after.unwrap_or_default())
}

/// Hash of all settings that a reply depends on. The first digits suffice to tell versions apart.
fn prompt_version(settings: &JudgeSettings) -> String {
    let parts = json!([
        settings.kind,
        settings.model,
        prompt::sources(settings),
        settings.reply,
        settings.format,
        settings.range(),
        settings.labels,
        settings.temperature,
        settings.max_tokens,
        settings.json_schema,
        settings.options,
    ]);
    let mut hash = Hash::of(parts.to_string().as_bytes()).to_string();
    hash.truncate(16);
    hash
}
