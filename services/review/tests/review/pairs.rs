//! Pairs for reward models: stored once, and durable before the request is answered.

use std::sync::atomic::Ordering;

use assay_core::Completion;
use assay_record::pair::Collected;
use assay_record::pair::Pair;
use assay_review::ReviewError;
use assay_review::pairs::NewPair;

use crate::fixtures::fixture;
use crate::review;

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
async fn stores_concurrently_sent_pairs_once() {
    let fixture = fixture().await;
    let review = review(&fixture);
    let (one, other) = tokio::join!(
        review.collect_pairs("rm", pairs(3), "a"),
        review.collect_pairs("rm", pairs(3), "b")
    );
    let mut results = [one.unwrap(), other.unwrap()];
    results.sort_by_key(|collected| collected.added);
    assert_eq!(
        results[0],
        Collected {
            added: 0,
            known: 3,
            total: 3
        }
    );
    assert_eq!(
        results[1],
        Collected {
            added: 3,
            known: 0,
            total: 3
        }
    );
    assert_eq!(
        fixture.recorded.entries.lock().unwrap().len(),
        1,
        "a request without new pairs writes nothing"
    );
}

#[tokio::test]
async fn a_pair_that_was_not_recorded_is_still_new() {
    let fixture = fixture().await;
    let review = review(&fixture);
    fixture.recorded.broken.store(true, Ordering::Relaxed);
    let rejected = review.collect_pairs("rm", pairs(1), "a").await;
    assert!(
        matches!(rejected, Err(ReviewError::Store(_))),
        "{rejected:?}"
    );
    fixture.recorded.broken.store(false, Ordering::Relaxed);
    assert_eq!(
        review
            .collect_pairs("rm", pairs(1), "a")
            .await
            .unwrap()
            .added,
        1
    );
}
