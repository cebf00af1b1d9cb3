//! Calls every read and write of a record.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_core::{Completion, Evidence, GradeId, Hash, SystemClock};
use assay_rewards::channel::counts::{BUCKET_US, Calibration};
use assay_rewards::clustered::Total;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::ids::{CALLER, batch};
use super::jobs::{use_jobs, use_shadows};
use crate::access::{AccessStore, AuditEntry, KeyRecord, KeyUse, Quotas, Role};
use crate::channel_part::PartKey;
use crate::comment::Comment;
use crate::cost::{CostFilter, CostKey};
use crate::database::{Database, Location};
use crate::dataset_check::{self, DatasetCheck};
use crate::event::{Adjudication, Assignment, Draw};
use crate::pair::{CollectedPair, Pair};
use crate::prompt_changes::SetTotals;
use crate::prompt_list::{PromptFilter, PromptOrder, PromptStatus};
use crate::retention_step::RetentionStep;
use crate::run_list::{RunFilter, RunKey};
use crate::run_notes::RunChanges;
use crate::storage::{ChannelFilter, PruneFilter, PruneState};
use crate::{
    Appeal, Body, BodyKind, Claim, Entry, Event, GradeFilter, Record, RecordOptions, RequestKey,
    SealedReply, StoredGrade, append_audit, backup, copy, open_access, verify,
};

const GRADES: u32 = 6;

fn body(kind: BodyKind, text: &str) -> Body {
    let content = text.as_bytes().to_vec();
    Body {
        hash: kind.hash(&content),
        kind,
        content,
    }
}

/// The `n`th batch. Batches have tasks in common.
fn entry(n: u64, run: Option<&str>, grades: u32) -> Entry {
    let run: Option<Arc<str>> = run.map(Arc::from);
    let policy = body(BodyKind::Policy, r#"{"reward":"score"}"#);
    let task = body(BodyKind::Task, r#"{"type":"text","text":"4"}"#);
    let mut entry = Entry {
        batch: batch(n),
        caller: CALLER.into(),
        run: run.clone(),
        step: run.as_ref().map(|_| n.cast_signed()),
        items: grades,
        received_us: 0,
        grades: Vec::new(),
        bodies: Vec::new(),
        events: Vec::new(),
        claim: None,
    };
    for position in 0..grades {
        let completion = body(BodyKind::Text, &format!("completion {position} of {n}"));
        let mut stored = StoredGrade::passed(entry.batch, position, completion.hash);
        stored.source.caller = CALLER.into();
        stored.source.run.clone_from(&run);
        stored.source.step = entry.step;
        stored.source.task_hash = task.hash;
        stored.source.policy_hash = Some(policy.hash);
        stored.grade.id = Some(format!("item {position}"));
        stored.grade.group = Some("group".to_owned());
        stored.grade.prompt_key = Some("prompt".to_owned());
        stored.grade.score = Some([0.0, 0.5, 1.0][position as usize % 3]);
        stored.grade.time_us = i64::from(position) * BUCKET_US;
        // A sign in answers that pass; the last one is wrong.
        let evidence = Evidence::new().text("extracted", "os._exit(4)");
        stored.grade.evidence = Some(evidence.text("gold", &format!("gold {n}")));
        stored.grade.pass = Some(position < 5);
        stored.grade.grade_us = u64::from(position);
        stored.grade.appeal = (position == 0).then(|| Appeal {
            judge: "judge@1".to_owned(),
            sensitivity: 0.9,
            specificity: 0.98,
            probability: 0.25,
            verdict: Some("wrong_answer".to_owned()),
            pass: Some(false),
            agreed: false,
            score: Some(0.0),
            binding: false,
            overturned: false,
            reason: None,
        });
        entry.grades.push(stored.into());
        entry.bodies.push(completion);
    }
    entry.bodies.extend([policy, task]);
    entry
}

fn pair() -> Pair {
    let text = |text: &str| Completion::Text(text.into());
    Pair {
        prompt: text("2+2?"),
        accepted: text("4"),
        rejected: text("5"),
        reference: None,
    }
}

fn comment(n: u64) -> Comment {
    Comment {
        id: batch(n),
        grade: batch(0).grade(0),
        text: "odd".to_owned(),
        labels: vec!["gold".to_owned()],
        caller: CALLER.to_owned(),
        time_us: 7,
    }
}

/// An entry with an event of each kind.
fn events() -> Entry {
    let grade = batch(0).grade(0);
    let channel = || "text/default".to_owned();
    let (pair, report) = (pair().to_body(), dataset_check::to_body(b"{}".to_vec()));
    let events = vec![
        Event::Adjudicated(Adjudication {
            id: 1,
            grade,
            channel: channel(),
            version: 1,
            graded_pass: false,
            pass: true,
            weight: Some(2.0),
            corrects: None,
            judged: Some(("judge@1".to_owned(), true)),
            caller: CALLER.to_owned(),
            note: None,
            time_us: 7,
        }),
        Event::Drawn(Draw {
            grade,
            channel: channel(),
            probability: 0.5,
            weight: 1.0,
            time_us: 7,
        }),
        Event::Calibrated(Calibration {
            channel: channel(),
            version: 1,
            method: "labels".to_owned(),
            right: 10.0,
            right_rejected: 1.0,
            wrong: 10.0,
            wrong_passed: 1.0,
            time_us: 7,
        }),
        Event::Collected(CollectedPair {
            model: "model".to_owned(),
            pair: pair.hash,
            source_json: None,
            caller: CALLER.to_owned(),
            time_us: 7,
        }),
        Event::Checked(DatasetCheck {
            id: batch(7),
            datasets: vec!["a.jsonl".to_owned()],
            checked: 1,
            errors: 0,
            warnings: 0,
            report: report.hash,
            caller: CALLER.to_owned(),
            time_us: 7,
        }),
        Event::Commented(comment(8)),
        Event::Commented(comment(9)),
        Event::CommentDeleted(grade, batch(9)),
        Event::Assigned(Assignment {
            grade,
            caller: CALLER.to_owned(),
            time_us: 8,
        }),
    ];
    let mut entry = Entry::of_events(batch(100), CALLER.into(), events, 7);
    entry.bodies = vec![pair, report];
    entry
}

fn request_key() -> RequestKey {
    RequestKey {
        caller: CALLER.into(),
        key: "key".to_owned(),
    }
}

async fn append(record: &Record, entry: &Entry) {
    record.append(Arc::new(entry.clone())).await.unwrap();
    while record.state().pending > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn write(record: &Record) {
    for n in 0..4 {
        append(record, &entry(n, Some("run"), GRADES)).await;
    }
    // More rows than a statement inserts.
    append(record, &entry(4, Some("another"), 70)).await;
    append(record, &entry(5, None, GRADES)).await;
    // Grades that are stored already, and bodies that an earlier batch stored.
    append(record, &entry(0, Some("run"), GRADES)).await;
    let mut without_bodies = entry(6, Some("run"), GRADES);
    without_bodies
        .bodies
        .retain(|body| body.kind != BodyKind::Task);
    append(record, &without_bodies).await;
    append(record, &events()).await;
    let mut claim = entry(8, None, 1);
    claim.claim = Some(Claim {
        key: request_key(),
        request: Hash::of(b"request"),
        batch: claim.batch,
        time_us: i64::MAX,
        reply: Some(SealedReply {
            media: "application/json".to_owned(),
            body: b"{}".to_vec(),
        }),
    });
    append(record, &claim).await;
}

/// A filter for each condition, and their combinations that choose another index.
fn filters() -> Vec<GradeFilter> {
    let text = |text: &str| Some(text.to_owned());
    let grader = GradeFilter {
        grader: text("text"),
        ..GradeFilter::default()
    };
    let run = GradeFilter {
        run: text("run"),
        ..GradeFilter::default()
    };
    vec![
        GradeFilter::default(),
        GradeFilter {
            channel: text("text/default"),
            verdicts: vec!["correct".to_owned()],
            outcomes: vec!["graded".to_owned()],
            appeals: vec!["disagreed".to_owned()],
            ..grader.clone()
        },
        GradeFilter {
            truncated: Some(false),
            ..GradeFilter::default()
        },
        GradeFilter {
            group: text("group"),
            ..run.clone()
        },
        GradeFilter {
            step: Some(1),
            ..run.clone()
        },
        GradeFilter {
            step_min: Some(0),
            step_max: Some(9),
            verdicts: vec!["correct".to_owned(), "wrong_answer".to_owned()],
            outcomes: vec!["failed".to_owned(), "graded".to_owned()],
            ..run.clone()
        },
        GradeFilter {
            step_min: Some(0),
            ..grader.clone()
        },
        GradeFilter {
            prompt_key: text("prompt"),
            ..run.clone()
        },
        GradeFilter {
            since_us: Some(0),
            until_us: Some(9),
            ..run.clone()
        },
        GradeFilter {
            step: Some(1),
            ..GradeFilter::default()
        },
        GradeFilter {
            label: text("gold"),
            ..run.clone()
        },
        GradeFilter {
            item: text("item 1"),
            ..GradeFilter::default()
        },
        GradeFilter {
            batch: Some(batch(1)),
            ..GradeFilter::default()
        },
        GradeFilter {
            caller: text(CALLER),
            ..grader.clone()
        },
        GradeFilter {
            score_min: Some(0.3),
            score_max: Some(0.7),
            ..run
        },
        GradeFilter {
            score_min: Some(0.3),
            ..grader.clone()
        },
        GradeFilter {
            score_min: Some(0.7),
            score_max: Some(0.3),
            ..GradeFilter::default()
        },
        GradeFilter {
            text: "completion".parse().ok(),
            ..GradeFilter::default()
        },
        GradeFilter {
            text: r"/completion \d/".parse().ok(),
            ..GradeFilter::default()
        },
        GradeFilter {
            label: text("gold"),
            text: "completion".parse().ok(),
            ..GradeFilter::default()
        },
        GradeFilter {
            step_min: Some(0),
            text: "\"completion 1\" comp* -missing".parse().ok(),
            ..grader.clone()
        },
        grader,
    ]
}

async fn read(record: &Record) {
    let grade: GradeId = batch(0).grade(0);
    assert!(record.grade(grade).await.unwrap().is_some());
    for filter in filters() {
        let page = record.grades(&filter, None, 2).await.unwrap();
        let (ids, _) = record.grade_ids(&filter, None, 2).await.unwrap();
        assert_eq!(ids.len(), page.grades.len());
        let found = record.grades_by_id(&ids).await.unwrap();
        assert_eq!(found.len(), ids.len());
        record.grades(&filter, Some(grade), 2).await.unwrap();
        record.neighbours(&filter, grade).await.unwrap();
        let counts = record.kind_counts(&filter, 1_000).await.unwrap();
        assert_eq!(counts.counted.is_empty(), page.grades.is_empty());
        let is_empty = filter.score_min > filter.score_max && filter.score_max.is_some();
        assert_eq!(page.grades.is_empty(), is_empty, "{filter:?}");
    }
    let search = GradeFilter {
        text: "completion".parse().ok(),
        ..GradeFilter::default()
    };
    let deleted = Some(batch(1 << 30).grade(0));
    let page = record.grades(&search, deleted, 2).await.unwrap();
    assert_eq!(page.grades.len(), 2);
    let task = body(BodyKind::Task, r#"{"type":"text","text":"4"}"#);
    let sizes = record.body_sizes(&[task.hash]).await.unwrap();
    assert_eq!(sizes[&task.hash], task.content.len() as u64);
    assert_eq!(record.bodies(&[task.hash]).await.unwrap().len(), 1);
    assert_eq!(record.body(task.hash).await.unwrap(), Some(task));
    assert!(record.claim(&request_key()).await.unwrap().is_some());
    assert!(!record.channels().await.unwrap().graded.is_empty());
    assert_eq!(record.dataset_checks(None, 9).await.unwrap().len(), 1);
    assert_eq!(record.adjudications(grade).await.unwrap().len(), 1);
    assert_eq!(record.adjudicated(&[grade]).await.unwrap().len(), 1);
    assert_eq!(record.last_adjudications(9).await.unwrap().len(), 1);
    assert_eq!(record.draws(&[grade]).await.unwrap().len(), 1);
    assert_eq!(record.assignments(None, 9).await.unwrap().len(), 1);
    let own = record.assignments(Some(CALLER), 9).await.unwrap();
    assert_eq!(
        record.assignment(grade).await.unwrap(),
        own.first().cloned()
    );
    let times = record.channel_times("text/default", 1, 60).await.unwrap();
    assert_eq!((times.width, times.spans.len()), (6, 12));
    for (key, parts) in [(PartKey::Run, 3), (PartKey::Policy, 1)] {
        let found = record.channel_parts("text/default", 1, key, 9).await;
        assert_eq!(found.unwrap().len(), parts);
    }
    assert_eq!(record.comments(grade).await.unwrap(), [comment(8)]);
    assert_eq!(record.commented(&[grade]).await.unwrap()[&grade], 1);
    assert_eq!(record.used_names().await.unwrap().runs.len(), 2);
    let pair = pair().to_body().hash;
    let known = record.known_pairs("model", &[pair]).await.unwrap();
    assert_eq!((known.total, known.known.len()), (1, 1));
    assert_eq!(record.pairs("model", 0, 9).await.unwrap().pairs.len(), 1);
    assert_eq!(record.prompts("run").await.unwrap(), 1);
    let prompts = ["prompt".to_owned()];
    assert_eq!(record.visits("run", None).await.unwrap().len(), 1);
    assert_eq!(record.visits("run", Some(&prompts)).await.unwrap().len(), 1);
    let steps = ("run", 0..=i64::MAX);
    let total = Total {
        count: 1.0,
        sum: 0.5,
    };
    let totals = SetTotals { a: total, b: total };
    let prompts = record.prompt_comparison(&steps, &steps, [totals, totals], 9);
    let prompts = prompts.await.unwrap();
    assert_eq!(prompts.changes.common, 1);
    assert!(prompts.sums[0].rewards.count > 0);
    for status in [None]
        .into_iter()
        .chain(PromptStatus::ALL.iter().copied().map(Some))
    {
        for order in PromptOrder::ALL {
            let filter = PromptFilter {
                step_min: (status != Some(PromptStatus::GoldSuspect)).then_some(0),
                status,
                ..PromptFilter::default()
            };
            let prompts = record.prompt_list("run", &filter, *order, 0, 9);
            let counts = record.prompt_counts("run", &filter).await.unwrap();
            assert_eq!(prompts.await.unwrap().len() as u64, counts.of(status));
        }
    }
    for key in CostKey::ALL {
        let filter = CostFilter {
            run: Some("run".to_owned()),
            caller: Some(CALLER.to_owned()),
            grader: Some("text".to_owned()),
        };
        assert_eq!(record.costs(*key, &filter, 9).await.unwrap().len(), 1);
        assert!(!record.slowest(&filter, 9).await.unwrap().is_empty());
    }
    let all = CostFilter::default();
    assert_eq!(record.slowest(&all, 9).await.unwrap().len(), 9);
    assert!(!record.run_signals("run", 1).await.unwrap().is_empty());
    assert_eq!(record.clusters("run", 9).await.unwrap().len(), 1);
    let counts = record.run_counts("run", &(0..=i64::MAX)).await.unwrap();
    assert!(counts.grades() > 0);
    assert_eq!(record.runs(9).await.unwrap().len(), 2);
    let changes = RunChanges {
        tags: Some(vec!["kept".to_owned()]),
        note: Some("a note".to_owned()),
        archived: Some(false),
    };
    let noted = record.annotate_run("run", &changes).await.unwrap();
    assert_eq!(noted.unwrap().tags, ["kept"]);
    let filter = RunFilter {
        search: Some("NOTE".to_owned()),
        tag: changes.tags.and_then(|tags| tags.into_iter().next()),
        archived: Some(false),
    };
    for key in RunKey::ALL {
        let runs = record.run_list(&filter, (*key).into(), 0, 9).await.unwrap();
        assert_eq!(runs.len(), 1, "{}", key.name());
    }
    assert!(!record.run_trend("run", 1, 9).await.unwrap().is_empty());
    assert!(record.run_grades_since("run", 0).await.unwrap() > 0);
    record.seen_by(CALLER).runs(9).await.unwrap();
    assert!(record.run("run").await.unwrap().is_some());
    assert!(!record.run_steps("run", 2).await.unwrap().is_empty());
    assert!(!record.run_rewards("run", 2).await.unwrap().is_empty());
    assert!(!record.run_series("run").await.unwrap().is_empty());
    let recent = record.recent_runs(i64::MIN, 9, 9).await.unwrap();
    assert!(recent.iter().any(|run| !run.steps.is_empty()));
    assert!(!record.recent_channels(0, 0, 9).await.unwrap().is_empty());
    assert_eq!(record.storage(9).await.unwrap().holdings.len(), 3);
    record.ready().await.unwrap();
}

async fn use_keys(record: &Record, url: &str) {
    let audit = AuditEntry {
        time_us: 7,
        caller: "test".to_owned(),
        role: Some(Role::Admin),
        action: "create".to_owned(),
        target: "bob".to_owned(),
        details: json!({}),
    };
    let key = KeyRecord {
        id: "id".to_owned(),
        name: "bob".to_owned(),
        role: Role::Checker,
        hash: [1; 32],
        previous: None,
        quotas: Quotas::default(),
        created_us: 1,
        rotated_us: None,
        expires_us: None,
        revoked_us: None,
        last_used_us: None,
        bytes_stored: 0,
    };
    let access = record.access();
    access.state().await.unwrap();
    access.create_key(&key, &audit).await.unwrap();
    let rotated = KeyRecord {
        hash: [2; 32],
        ..key.clone()
    };
    access.replace_key(&key, &rotated, &audit).await.unwrap();
    let used = KeyUse {
        id: "id".to_owned(),
        last_used_us: 3,
    };
    access.record_use(&[used]).await.unwrap();
    assert_eq!(access.keys().await.unwrap()[0].last_used_us, Some(3));
    assert!(access.held().await.unwrap().contains_key(CALLER));
    append_audit(url, &audit).await.unwrap();
    assert_eq!(access.audit_log(None, 9).await.unwrap().len(), 3);
    let opened = open_access(url).await.unwrap();
    assert_eq!(opened.keys().await.unwrap().len(), 1);
    opened.close().await;
}

async fn prune(record: &Record, filter: PruneFilter) {
    record.prune_estimate(&filter).await.unwrap();
    let started = record.prune(filter).await.unwrap();
    loop {
        let prune = record.storage(9).await.unwrap().prune.unwrap();
        if prune.number >= started.number && prune.state != PruneState::Running {
            assert_eq!((prune.state, prune.error), (PruneState::Done, None));
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn retain(record: &Record, url: &str) {
    // As an earlier release left them. This connection is not one of the test.
    let mut connection = SqliteConnection::connect(url).await.unwrap();
    sqlx::raw_sql(
        "update batches set grades = null, grade_bytes = null, pack_bytes = null where no = 1; \
         update packs set batch = null where batch = 1; update holdings set grades = grades - 6, \
         batches = batches - 1 where run = 1; pragma wal_checkpoint",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let runs = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let all = PruneFilter {
        keep_runs: runs(&["another"]),
        caller: Some(CALLER.to_owned()),
        before_us: Some(2_000_000_000_000_000),
        ..PruneFilter::default()
    };
    let bodies = PruneFilter {
        runs: runs(&["another"]),
        keep_runs: Vec::new(),
        bodies_only: true,
        ..all.clone()
    };
    prune(record, all).await;
    prune(record, bodies).await;
    let run = PruneFilter {
        runs: runs(&["another"]),
        ..PruneFilter::default()
    };
    prune(record, run).await;
    let channels = ChannelFilter {
        names: runs(&["text/default"]),
        prefix: Some("text".to_owned()),
        caller: Some(CALLER.to_owned()),
        unused_since_us: Some(i64::MAX),
    };
    for filter in [ChannelFilter::default(), channels] {
        let filter = PruneFilter {
            channels: Some(filter),
            ..PruneFilter::default()
        };
        prune(record, filter).await;
    }
}

/// What steps of retention do that end in the middle of a batch and of a table; and what the writer
/// does after an entry was rejected.
async fn small_steps(url: &str) {
    let location = Location::parse(url).unwrap();
    let database = Database::open(&location, "spool".to_owned(), 1, true);
    let database = database.await.unwrap();
    let grades = RetentionStep::Grades([2].into());
    assert!(!database.retain(&grades, 1).await.unwrap().done);
    for step in [grades, RetentionStep::Sweep] {
        while !database.retain(&step, 2).await.unwrap().done {}
    }
    database.probe(7).await.unwrap();
    database.close().await;
}

/// Uses a record in `folder`. All its connections are closed at the end.
pub(super) async fn run(folder: &Path) {
    let url = format!("sqlite://{}", folder.join("assay.db").display());
    let options = RecordOptions {
        text_search: true,
        ..RecordOptions::new(&url)
    };
    let clock = Arc::new(SystemClock::new());
    let record = Record::open(&options, clock.clone()).await.unwrap();
    write(&record).await;
    read(&record).await;
    use_jobs(&record).await;
    use_shadows(&record).await;
    use_keys(&record, &url).await;
    backup(&options, &folder.join("copy")).await.unwrap();
    assert_eq!(verify(&options, |_| {}).await.unwrap().damages, []);
    close(&record).await;
    drop(record);
    let target = format!("sqlite://{}", folder.join("other.db").display());
    let copied = copy(&options, &target, |_| {});
    assert!(copied.await.unwrap().iter().any(|table| table.rows > 0));
    small_steps(&url).await;
    assert_eq!(verify(&options, |_| {}).await.unwrap().damages, []);
    verify_empty(folder).await;
    let record = Record::open(&options, clock).await.unwrap();
    retain(&record, &url).await;
    close(&record).await;
}

/// Checks a file without tables.
async fn verify_empty(folder: &Path) {
    let file = folder.join("empty.db");
    std::fs::write(&file, "").unwrap();
    let options = RecordOptions::new(format!("sqlite://{}", file.display()));
    assert!(!verify(&options, |_| {}).await.unwrap().is_sound());
}

async fn close(record: &Record) {
    record.access().close().await;
    record.close().await.unwrap();
}
