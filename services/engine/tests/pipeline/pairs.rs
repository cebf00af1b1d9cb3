//! Pairs for reward models: kept once, durable before the answer.

use std::sync::atomic::Ordering;

use assay_core::Completion;
use assay_core::pair::Pair;
use assay_engine::{ChannelError, Collected, NewPair};

use crate::fixtures::fixture;

fn pairs(count: usize) -> Vec<NewPair> {
    let pair = |n: usize| Pair {
        prompt: Completion::Text(format!("{n}?").into()),
        accepted: Completion::Text("yes".into()),
        rejected: Completion::Text("no".into()),
        reference: None,
    };
    (0..count)
        .map(|n| NewPair {
            pair: pair(n),
            source_json: None,
        })
        .collect()
}

#[tokio::test]
async fn the_same_pairs_sent_twice_at_once_are_new_once() {
    let fixture = fixture();
    let (one, other) = tokio::join!(
        fixture.engine.collect_pairs("rm", pairs(3), "a"),
        fixture.engine.collect_pairs("rm", pairs(3), "b")
    );
    let mut got = [one.unwrap(), other.unwrap()];
    got.sort_by_key(|collected| collected.added);
    assert_eq!(
        got[0],
        Collected {
            added: 0,
            known: 3,
            total: 3
        }
    );
    assert_eq!(
        got[1],
        Collected {
            added: 3,
            known: 0,
            total: 3
        }
    );
    assert_eq!(
        fixture.memory.entries.lock().unwrap().len(),
        1,
        "what adds nothing writes nothing"
    );
}

#[tokio::test]
async fn a_pair_that_was_not_kept_is_not_known() {
    let fixture = fixture();
    fixture.memory.broken.store(true, Ordering::Relaxed);
    let refused = fixture.engine.collect_pairs("rm", pairs(1), "a").await;
    assert!(
        matches!(refused, Err(ChannelError::Store(_))),
        "{refused:?}"
    );
    fixture.memory.broken.store(false, Ordering::Relaxed);
    assert_eq!(
        fixture
            .engine
            .collect_pairs("rm", pairs(1), "a")
            .await
            .unwrap()
            .added,
        1
    );
}
