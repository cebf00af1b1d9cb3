//! Measures at the allocator that caches stay within their limits.

#![expect(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use assay_core::{
    BoxFuture, Component, Evidence, Grade, GradeContext, Item, Measure, Prepared, Score, Step,
    Verdict,
};
use serde_json::{Value, json};

use super::*;

/// Counts the bytes that this thread has allocated, as computed by `heap::allocation`.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: usize, sign: isize) {
    // A thread that ends frees memory after its counter was dropped.
    let _ = ALLOCATED.try_with(|bytes_now| {
        bytes_now.set(bytes_now.get() + sign * heap::allocation(bytes).cast_signed());
    });
}

// SAFETY: every call is forwarded unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated_bytes() -> usize {
    ALLOCATED.get().try_into().unwrap_or(0)
}

fn with_evidence(evidence: Evidence) -> Outcome {
    Outcome::Graded(Grade::new(Verdict::WRONG_ANSWER, Score::ZERO).with_evidence(evidence))
}

/// Returns outcomes of one shape that differ in a number.
type Shape = fn(usize) -> Outcome;

/// Typical outcomes of graders, and pathological ones.
fn shapes() -> [(&'static str, Shape); 8] {
    [
        ("no evidence", |_| with_evidence(Evidence::new())),
        ("short texts", |at| {
            with_evidence(
                Evidence::new()
                    .text("extracted", &at.to_string())
                    .text("gold", "2"),
            )
        }),
        ("long texts", |at| {
            with_evidence(Evidence::new().text("stdout", &format!("{at}").repeat(300)))
        }),
        ("calls", |at| {
            let call = |j: usize| {
                let arguments = json!({ "a": at * 1_000 + j, "b": j.to_string() });
                json!({ "name": "f", "arguments": arguments })
            };
            with_evidence(Evidence::new().value("calls", (0..40).map(call).collect::<Vec<Value>>()))
        }),
        ("numbers", |at| {
            with_evidence(
                Evidence::new().value("rows", (0..500).map(|j| json!(at + j)).collect::<Vec<_>>()),
            )
        }),
        ("deep", |at| {
            let deep = (0..60).fold(json!(at), |inner, _| json!({ "inside": [inner] }));
            with_evidence(Evidence::new().value("document", deep))
        }),
        ("wide objects", |at| {
            let fields = (0..200).map(|j| (format!("field {j} of {at}"), json!(j)));
            with_evidence(Evidence::new().value("object", Value::Object(fields.collect())))
        }),
        ("components, measures and steps", |at| {
            let inner = with_evidence(Evidence::new().text("got", &at.to_string()));
            let component = |j: usize| Component {
                name: format!("c{j}"),
                grader: "text@1".parse().unwrap(),
                outcome: inner.clone(),
            };
            let mut grade = Grade::new(Verdict::PARTIAL, Score::ZERO);
            grade.components = (0..8).map(component).collect();
            grade.steps = vec![
                Step {
                    score: Score::ONE,
                    masked: false
                };
                64
            ];
            grade
                .measures
                .extend(["a", "b", "c"].map(|name| (name, Measure::new(1.0).unwrap())));
            Outcome::Graded(grade)
        }),
    ]
}

#[test]
fn outcomes_stay_within_the_memory_limit() {
    const BOUND: usize = 2 << 20;
    for (name, shape) in shapes() {
        let before = allocated_bytes();
        let caches = Caches::new(0, BOUND as u64);
        // Several times the number that fits.
        let count = 6 * BOUND / (heap::outcome(&shape(1)) + 300);
        let mut peak = 0;
        for at in 0..count {
            caches.insert_outcome(Hash::of(&at.to_le_bytes()), &shape(at));
            peak = peak.max(allocated_bytes().saturating_sub(before));
        }
        let share = peak as f64 / BOUND as f64;
        assert!(
            (0.4..=1.5).contains(&share),
            "{name}: {share:.2} of the limit"
        );
        let kept = (0..count)
            .filter(|at| caches.outcome(&Hash::of(&at.to_le_bytes())).is_some())
            .count();
        assert!(kept > 0, "{name}: nothing is cached");
    }
}

/// A prepared task whose size grows.
struct Growing(AtomicUsize);

impl Prepared for Growing {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        _: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(std::future::ready(
            items
                .iter()
                .map(|_| with_evidence(Evidence::new()))
                .collect(),
        ))
    }

    fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }
}

fn spec() -> &'static Spec {
    &Spec {
        name: "growing",
        version: 1,
        summary: "for tests",
        lane: Lane::Sandbox,
        task_schema: "{}",
        example_task: "{}",
        example_completion: "",
        verdicts: &[],
        measures: &[],
        deterministic: true,
        reads_context: false,
        max_batch: 1,
        work_unit: "nothing",
    }
}

fn growing(caches: &Caches, task: Hash, bytes: usize) -> (Arc<Growing>, Arc<PreparedTask>) {
    let growing_task = Arc::new(Growing(AtomicUsize::new(bytes)));
    let prepared = Arc::new(PreparedTask {
        spec: spec(),
        ready: Ok(Arc::clone(&growing_task) as Arc<dyn Prepared>),
    });
    caches.insert_prepared(task, &prepared);
    (growing_task, prepared)
}

#[test]
fn prepared_tasks_that_grow_stay_within_the_limit() {
    const BOUND: usize = 1 << 20;
    let caches = Caches::new(BOUND as u64, 0);
    let tasks: Vec<Hash> = (0..8_u8).map(|at| Hash::of(&[at])).collect();
    let prepared_tasks: Vec<_> = tasks
        .iter()
        .map(|task| growing(&caches, *task, 1_000))
        .collect();
    let kept = || {
        tasks
            .iter()
            .filter(|task| caches.prepared(spec(), **task).is_some())
            .count()
    };
    assert_eq!(kept(), 8);
    for (task, (growing_task, prepared)) in tasks.iter().zip(&prepared_tasks) {
        growing_task.0.store(BOUND / 4, Relaxed);
        caches.reweigh(*task, prepared);
        assert!(
            caches.prepared.weight() <= BOUND as u64,
            "{} bytes",
            caches.prepared.weight()
        );
    }
    assert!(
        (1..4).contains(&kept()),
        "{} tasks of a quarter of the limit",
        kept()
    );
    // Updating tasks that have not grown changes nothing.
    let before = caches.prepared.weight();
    tasks
        .iter()
        .zip(&prepared_tasks)
        .for_each(|(task, (_, prepared))| caches.reweigh(*task, prepared));
    assert_eq!(caches.prepared.weight(), before);
}

#[test]
fn evicts_a_prepared_task_that_exceeds_the_limit() {
    const BOUND: usize = 1 << 20;
    let caches = Caches::new(BOUND as u64, 0);
    let task = Hash::of(b"task");
    let (growing_task, prepared) = growing(&caches, task, BOUND / 2);
    assert!(
        caches.prepared(spec(), task).is_some(),
        "half of the limit fits"
    );
    growing_task.0.store(2 * BOUND, Relaxed);
    caches.reweigh(task, &prepared);
    assert!(caches.prepared(spec(), task).is_none());
    assert_eq!(caches.prepared.weight(), 0);
}

#[test]
fn an_earlier_preparation_does_not_change_the_weight_of_a_later_one() {
    let caches = Caches::new(1 << 20, 0);
    let task = Hash::of(b"task");
    let (growing_task, earlier) = growing(&caches, task, 1_000);
    let (_, later) = growing(&caches, task, 1_000);
    let before = caches.prepared.weight();
    growing_task.0.store(500_000, Relaxed);
    caches.reweigh(task, &earlier);
    assert_eq!(caches.prepared.weight(), before);
    assert!(Arc::ptr_eq(&caches.prepared(spec(), task).unwrap(), &later));
}

#[test]
fn estimates_the_heap_size_of_outcomes() {
    for (name, shape) in shapes() {
        let original = shape(7);
        let before = allocated_bytes();
        let copy = original.clone();
        let (real, estimated) = (allocated_bytes() - before, heap::outcome(&copy));
        assert!(
            real <= estimated + estimated / 4 && estimated <= real * 3 / 2 + 64,
            "{name}: {estimated} bytes for {real}"
        );
    }
}
