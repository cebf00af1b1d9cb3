//! Suggestions of prompts to sample next.

use std::collections::BTreeMap;

use assay_engine::{Batch, Mode};
use assay_review::suggest::PromptRequest;

use crate::fixtures::{batch, fixture, item};
use crate::review;

#[tokio::test]
async fn suggestions_use_the_history_of_prompts() {
    let fixture = fixture().await;
    let review = review(&fixture);
    for step in [1, 2] {
        let mut visited = item("exact", "1", "1");
        visited.prompt_key = Some("p1".to_owned());
        let batch = Batch {
            run: Some("run".into()),
            step: Some(step),
            ..batch(vec![visited])
        };
        fixture.engine.grade(batch, Mode::Whole).await.unwrap();
    }
    let request = || PromptRequest {
        run: "run".to_owned(),
        keys: vec!["p1".to_owned(), "p2".to_owned()],
        seed: Some(7),
        ..PromptRequest::default()
    };
    let chosen = review.suggest(request()).await.unwrap();
    assert_eq!(
        chosen,
        review.suggest(request()).await.unwrap(),
        "the same seed gives the same answer"
    );
    let names: BTreeMap<_, _> = chosen
        .iter()
        .map(|chosen| (chosen.prompt_key.as_str(), chosen.visits))
        .collect();
    assert_eq!(names, BTreeMap::from([("p1", 2), ("p2", 0)]));
}
