//! The shadow of a run: what other fields in its tasks would change, and the forms that start, end,
//! promote and withdraw it.

use std::collections::BTreeMap;

use askama::Template;
use assay_record::access::{Access, Role};
use assay_record::shadow::ShadowChange;
use assay_wire::shadows::{Difference, ShadowBody, ShadowFindings, StartShadow};
use axum::response::Redirect;
use serde_json::json;
use serde_json::value::RawValue;

use crate::display::{count, number, percent, span, text, time};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::pages::replayed::{self, Replayed};
use crate::pages::runs;
use crate::query::{Pairs, link};
use crate::record::record_of;
use crate::site::Viewer;

/// Who may promote and withdraw.
pub(crate) const PROMOTES: Access = Access::Role(PROMOTER);

const PROMOTER: Role = Role::Operator;

/// A number as recorded and with the fields of a shadow.
struct Compared {
    name: &'static str,
    /// The items that have it.
    items: String,
    changed: String,
    recorded: String,
    shadow: String,
    difference: String,
}

impl Compared {
    fn means(name: &'static str, numbers: &Difference) -> Self {
        let mean = |sum: f64| match numbers.items {
            0 => "–".to_owned(),
            items => number(sum / items as f64),
        };
        let difference = numbers.of_means();
        Self {
            name,
            items: count(numbers.items),
            changed: format!(
                "{} ({})",
                count(numbers.changed),
                percent(numbers.changed, numbers.items)
            ),
            recorded: mean(numbers.recorded_sum),
            shadow: mean(numbers.shadow_sum),
            difference: difference.map_or_else(|| "–".to_owned(), signed),
        }
    }

    fn costs(name: &'static str, items: u64, costs: [u64; 2], shown: fn(u64) -> String) -> Self {
        let [recorded, shadow] = costs;
        let ratio = shadow as f64 / recorded as f64;
        Self {
            name,
            items: count(items),
            changed: String::new(),
            recorded: shown(recorded),
            shadow: shown(shadow),
            difference: if recorded == 0 {
                "–".to_owned()
            } else {
                format!("× {}", number(ratio))
            },
        }
    }
}

fn signed(difference: f64) -> String {
    let sign = if difference > 0.0 { "+" } else { "" };
    sign.to_owned() + &number(difference)
}

struct Shown {
    id: String,
    caller: String,
    fields: String,
    share: String,
    /// What happened to it, and when.
    events: Vec<(&'static str, String)>,
    is_open: bool,
    is_promoted: bool,
    items: String,
    flipped: String,
    compared: [Compared; 4],
    replayed: Replayed,
}

impl From<&ShadowBody> for Shown {
    fn from(shadow: &ShadowBody) -> Self {
        let ShadowFindings {
            replay,
            scores,
            rewards,
            recorded_us,
            shadow_us,
            recorded_work,
            shadow_work,
        } = &shadow.findings;
        let (us, work) = ([*recorded_us, *shadow_us], [*recorded_work, *shadow_work]);
        let events = [
            ("started", Some(shadow.started_us)),
            ("ended", shadow.ended_us),
            ("promoted", shadow.promoted_us),
            ("withdrawn", shadow.withdrawn_us),
        ];
        let events = events
            .into_iter()
            .filter_map(|(name, at)| Some((name, time(at?))));
        Self {
            id: shadow.shadow.clone(),
            caller: text(&shadow.caller),
            fields: replayed::fields(&shadow.options),
            share: format!("{} %", (1e4 * shadow.share).round() / 100.0),
            events: events.collect(),
            is_open: shadow.ended_us.is_none(),
            is_promoted: shadow.promoted_us.is_some() && shadow.withdrawn_us.is_none(),
            items: count(replay.items),
            flipped: count(replay.flipped),
            compared: [
                Compared::means("mean score", scores),
                Compared::means("mean reward", rewards),
                Compared::costs("grading time", replay.items, us, |us| span(us as f64)),
                Compared::costs("work", replay.items, work, count),
            ],
            replayed: Replayed::from(replay),
        }
    }
}

#[derive(Template)]
#[template(path = "shadow.html")]
pub(crate) struct ShadowPage {
    menu: Menu,
    /// The name in forms.
    run: String,
    name: String,
    run_address: String,
    shadow: Option<Shown>,
    can_promote: bool,
}

/// The address of the page of the shadow of a run.
pub(crate) fn address(run: &str) -> String {
    link("/ui/shadow", &[("name", Some(run))])
}

pub(crate) async fn page(viewer: Viewer, pairs: Pairs) -> Result<Page<ShadowPage>> {
    pairs.reject_unknown(&["name"])?;
    let run = run_of(&pairs)?;
    if record_of(&viewer.review)?.run(run).await?.is_none() {
        return Err(Failure::not_found(viewer.review.unknown_run(run).await?));
    }
    let recorded = viewer.caller.recorded_run(run);
    let shadow = viewer.jobs.find_shadow(&recorded).await?;
    let menu = viewer.menu.at(Section::Runs).about(Some(run));
    Ok(Page(ShadowPage {
        can_promote: menu.has_role(PROMOTER),
        menu,
        run: run.to_owned(),
        name: crate::display::name(run),
        run_address: runs::address(run),
        shadow: shadow.as_ref().map(Shown::from),
    }))
}

fn run_of(pairs: &Pairs) -> Result<&str> {
    let message = "missing parameter `name`, the name of a run";
    let name = pairs.get("name");
    name.ok_or_else(|| Failure::parameter("name", message))
}

/// Starts a shadow.
pub(crate) async fn start(viewer: Viewer, form: String) -> Result<Redirect> {
    let form = Pairs::read(&form);
    let run = run_of(&form)?;
    let fields = form.get("fields").unwrap_or_default();
    let options: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(fields).map_err(|error| {
            let message = format!(
                "`fields` must be a JSON object, such as {{\"extract\": \"boxed\"}}: {error}"
            );
            Failure::parameter("fields", message)
        })?;
    let percent: f64 = form.parse("percent", "a number")?.unwrap_or(10.0);
    let request = StartShadow {
        options,
        share: percent / 100.0,
        from_start: form.get("from_start").is_some(),
    };
    let details = json!({ "options": request.options, "share": request.share });
    let recorded = viewer.caller.recorded_run(run);
    let caller = viewer.caller.name();
    viewer.jobs.start_shadow(&recorded, caller, request).await?;
    viewer.audit("shadow.start", run, details).await;
    Ok(Redirect::to(&address(run)))
}

/// Ends the shadow.
pub(crate) async fn end(viewer: Viewer, form: String) -> Result<Redirect> {
    change(&viewer, &form, ShadowChange::End, "shadow.end").await
}

/// Sets its fields in the tasks of the run.
pub(crate) async fn promote(viewer: Viewer, form: String) -> Result<Redirect> {
    change(&viewer, &form, ShadowChange::Promote, "shadow.promote").await
}

/// Sets its fields no longer.
pub(crate) async fn withdraw(viewer: Viewer, form: String) -> Result<Redirect> {
    change(&viewer, &form, ShadowChange::Withdraw, "shadow.withdraw").await
}

async fn change(
    viewer: &Viewer,
    form: &str,
    change: ShadowChange,
    action: &str,
) -> Result<Redirect> {
    let form = Pairs::read(form);
    let run = run_of(&form)?;
    let recorded = viewer.caller.recorded_run(run);
    let changed = viewer.jobs.change_shadow(&recorded, change).await?;
    let details = json!({ "shadow": changed.shadow, "options": changed.options });
    viewer.audit(action, run, details).await;
    Ok(Redirect::to(&address(run)))
}
