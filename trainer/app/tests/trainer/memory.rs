//! Memory of training steps, counted by an allocator.
#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use assay_base::Random;
use assay_objective::Objective;
use assay_policy_model::optimiser::{AdamW, AdamWSettings};
use assay_policy_model::{
    Computation, Gradients, LoraSettings, MemoryPlan, PolicyModel, PolicyModelOptions, Reference,
    Text, Workload,
};
use assay_trainer::learn::{Learner, Row, StepLayout};
use assay_trainer::warmup::likelihood;
use candle_core::{DType, Device};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Value, json};

/// Counts the bytes that counted threads allocate and free.
struct Counting;

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

fn count(bytes: usize, sign: i64) {
    if IS_COUNTED.try_with(Cell::get).unwrap_or(false) {
        let bytes = sign * i64::try_from(bytes).unwrap_or(i64::MAX);
        let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
        PEAK.fetch_max(live, Relaxed);
    }
}

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 1);
        count(layout.size(), -1);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The counted thread. There is one, because a thread frees buffers at some time after its end.
static THREAD: LazyLock<ThreadPool> = LazyLock::new(|| {
    ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(64 << 20)
        .start_handler(|_| IS_COUNTED.set(true))
        .build()
        .unwrap()
});

/// Runs `work` on the counted thread, and its parallel loops on that thread too.
fn counted<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    // Calls from another thread wait for each other: the thread runs one at a time.
    THREAD.install(work)
}

fn small() -> Value {
    json!({
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 50,
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "max_position_embeddings": 256, "tie_word_embeddings": true,
    })
}

/// Rows of two groups with random tokens and lengths.
fn rows(stream: u64, vocabulary: usize) -> Vec<Row> {
    let mut random = Random::stream(&[stream]);
    let row = |index: usize| {
        let mut tokens = |count: usize| -> Vec<u32> {
            (0..count)
                .map(|_| u32::try_from(random.below(vocabulary)).unwrap())
                .collect()
        };
        let (prompt, completion) = (tokens(3), tokens(4 + stream as usize * (index + 3) % 40));
        Row {
            prompt,
            behaviour: vec![-2.0; completion.len()],
            completion,
            mask: None,
            advantages: vec![if index.is_multiple_of(2) { 1.0 } else { -1.0 }],
            group: index / 2,
            score: 0.0,
        }
    };
    (0..4).map(row).collect()
}

/// Live bytes after each step.
fn live_bytes(options: &PolicyModelOptions, steps: u64, is_grpo: bool) -> Vec<i64> {
    let policy = PolicyModel::draw(small(), &Device::Cpu, options).unwrap();
    let reference = is_grpo.then(|| policy.snapshot().unwrap());
    let mut optimiser = AdamW::new(AdamWSettings::default(), policy.parameters()).unwrap();
    if options.computation.composed {
        optimiser = optimiser.composed();
    }
    let mut gradients = Gradients::new(policy.parameters()).unwrap();
    let objective: Objective = serde_json::from_value(json!({"preset": "grpo"})).unwrap();
    let layout = StepLayout {
        epochs: 1,
        minibatches: 2,
        micro_tokens: 40,
        effective_share: None,
    };
    let mut live = Vec::with_capacity(50);
    for step in 0..steps {
        let rows = rows(step, policy.vocabulary());
        let norm = if is_grpo {
            let learner = Learner {
                policy: &policy,
                reference: reference.as_ref(),
                objective: &objective,
                temperature: 1.0,
            };
            let updates = (&mut optimiser, &mut gradients);
            let result = learner.step(updates, &rows, 1e-3, layout, true).unwrap();
            assert_eq!(result.updates.len(), 2);
            result.updates[1].grad_norm
        } else {
            let texts: Vec<Text<'_>> = rows
                .iter()
                .map(|row| Text {
                    prompt: &row.prompt,
                    completion: &row.completion,
                })
                .collect();
            likelihood(&policy, &texts, layout.micro_tokens, &mut gradients).unwrap();
            optimiser.step(gradients.tensors(), 1e-3).unwrap().grad_norm
        };
        assert!(norm > 0.0, "the step learned nothing");
        drop(rows);
        live.push(LIVE.load(Relaxed));
    }
    live
}

#[test]
fn memory_is_flat() {
    for lora in [None, Some(LoraSettings::default())] {
        for is_grpo in [false, true] {
            for (composed, recompute) in [(false, false), (false, true), (true, false)] {
                let options = PolicyModelOptions {
                    lora: lora.clone(),
                    computation: Computation {
                        composed,
                        recompute,
                        ..Computation::default()
                    },
                    ..PolicyModelOptions::default()
                };
                let live = counted(|| live_bytes(&options, 50, is_grpo));
                let (least, most) = (live[1..].iter().min(), live[1..].iter().max());
                let (least, most) = (*least.unwrap(), *most.unwrap());
                assert!(least > 100_000, "nothing was counted");
                assert!(
                    most - least <= 4096,
                    "{lora:?} {is_grpo} {composed} {recompute}: {live:?}"
                );
            }
        }
    }
}

/// Qwen3-0.6B with each dimension divided by 16: matrices, activations and logits of 1/16 of the
/// tokens are 1/256 of those of the model.
fn scaled() -> Value {
    json!({
        "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 9_496,
        "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 8,
        "max_position_embeddings": 2_560, "tie_word_embeddings": true,
    })
}

/// Texts and tokens of a step of `bench step`, over 16.
const TEXTS: usize = 2;
const LENGTH: usize = 32;

/// Counted bytes at the peak of a second step, and those of the plan.
fn peak(options: &PolicyModelOptions, reference: Reference) -> (i64, i64) {
    // The library of matrix products keeps buffers for each thread from its first use on.
    live_bytes(&PolicyModelOptions::default(), 1, false);
    let start = LIVE.load(Relaxed);
    let policy = PolicyModel::draw(scaled(), &Device::Cpu, options).unwrap();
    let _reference = (reference == Reference::Copy).then(|| policy.snapshot().unwrap());
    let mut optimiser = AdamW::new(AdamWSettings::default(), policy.parameters()).unwrap();
    if options.computation.composed {
        optimiser = optimiser.composed();
    }
    let mut gradients = Gradients::new(policy.parameters()).unwrap();
    let tokens: Vec<Vec<u32>> = (0..TEXTS)
        .map(|text| {
            let mut random = Random::stream(&[text as u64]);
            let token = |_| u32::try_from(random.below(policy.vocabulary())).unwrap();
            (0..LENGTH).map(token).collect()
        })
        .collect();
    let texts: Vec<Text<'_>> = tokens
        .iter()
        .map(|tokens| Text {
            prompt: &tokens[..1],
            completion: &tokens[1..],
        })
        .collect();
    for _ in 0..2 {
        PEAK.store(LIVE.load(Relaxed), Relaxed);
        likelihood(&policy, &texts, usize::MAX, &mut gradients).unwrap();
        optimiser.step(gradients.tensors(), 1e-4).unwrap();
    }
    let workload = Workload {
        lora: options.lora.clone(),
        computation: options.computation,
        dtype: DType::F32,
        reference,
        tokens: TEXTS * LENGTH,
        scored: TEXTS * (LENGTH - 1),
        longest: LENGTH,
        rows: 0,
        generates_ahead: false,
    };
    let plan = MemoryPlan::new(&scaled(), &workload, &Device::Cpu).unwrap();
    let planned = i64::try_from(plan.training()).unwrap();
    (PEAK.load(Relaxed) - start, planned)
}

#[test]
fn peak_is_planned() {
    let lora = LoraSettings {
        rank: 2,
        ..LoraSettings::default()
    };
    let (mut lines, mut wrong, mut whole) = (Vec::new(), 0, 0.0);
    for lora in [None, Some(lora)] {
        for composed in [false, true] {
            for (recompute, vocabulary_rows, reference) in [
                (false, None, Reference::Shared),
                (true, Some(16), Reference::Shared),
                (true, None, Reference::Copy),
            ] {
                let options = PolicyModelOptions {
                    lora: lora.clone(),
                    computation: Computation {
                        composed,
                        recompute,
                        vocabulary_rows,
                    },
                    ..PolicyModelOptions::default()
                };
                // Adapters have no second model. With them, composed operations and recomputation,
                // so little is left that buffers of matrix products are 16 % of it.
                let is_small = lora.is_some() && composed && recompute;
                if is_small || (lora.is_some() && reference == Reference::Copy) {
                    continue;
                }
                let (counted, planned) = counted(|| peak(&options, reference));
                let difference = (counted - planned).abs() as f64 / planned as f64;
                let line =
                    format!("{options:?} {reference:?}: {counted} counted, {planned} planned");
                lines.push(line);
                if difference > 0.1 {
                    wrong += 1;
                }
                // The step of the whole model in f32, in at most 9.6 GiB.
                if lora.is_none() && !composed && vocabulary_rows.is_some() {
                    whole = counted as f64 * 256.0 / f64::from(1 << 30);
                }
            }
        }
    }
    assert_eq!(wrong, 0, "{lines:#?}");
    assert!(whole > 8.0 && whole <= 9.6, "{whole} GiB, {lines:#?}");
}
