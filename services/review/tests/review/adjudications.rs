//! Drawn grades and their adjudications.

use assay_core::GradeId;
use assay_engine::Mode;
use assay_review::adjudications::DrawFilter;

use crate::fixtures::{batch, fixture, item};
use crate::review;

#[tokio::test]
async fn adjudications_of_drawn_grades_update_the_interval() {
    let fixture = fixture().await;
    let review = review(&fixture);
    // The grader passes five of the fifteen correct answers.
    let answers = [("1/2", 5), ("0.5", 10), ("3", 30)];
    let items = answers
        .into_iter()
        .flat_map(|(answer, times)| (0..times).map(move |_| item("exact", "1/2", answer)));
    let graded = fixture.engine.grade(batch(items.collect()), Mode::Whole);
    graded.await.unwrap();
    let mut drawn: Vec<GradeId> = Vec::new();
    for _ in 0..40 {
        let draws = DrawFilter {
            passes: Some(false),
            ..DrawFilter::default()
        };
        let (stored, draw) = review.draw(&draws, "operator").await.unwrap().unwrap();
        assert!(!drawn.contains(&draw.grade) && stored.grade.pass == Some(false));
        let undrawn = 40 - u32::try_from(drawn.len()).unwrap();
        assert!((draw.probability - 1.0 / f64::from(undrawn)).abs() < 1e-12);
        drawn.push(draw.grade);
        let right = stored.source.completion_hash == item("exact", "", "0.5").completion_hash();
        review
            .adjudicate(draw.grade, right, None, "operator")
            .await
            .unwrap();
    }
    assert_eq!(
        review
            .draw(
                &DrawFilter {
                    passes: Some(false),
                    ..DrawFilter::default()
                },
                "operator",
            )
            .await
            .unwrap(),
        None
    );
    let ledger = review.channels().await.unwrap();
    let report = ledger.named("exact/default").unwrap();
    assert_eq!(report.checks, [40, 0]);
    // All negatives were adjudicated: of the 15 correct answers, 10 had not passed.
    let rho1 = report.rho1.unwrap().estimate;
    assert!(rho1.interval.contains(10.0 / 15.0), "{rho1:?}");
    // A grade that an operator chooses is not a random sample and does not count.
    let picked = fixture.recorded.grades()[0].grade.grade;
    review
        .adjudicate(picked, false, Some("looks odd".to_owned()), "operator")
        .await
        .unwrap();
    assert_eq!(
        review
            .channels()
            .await
            .unwrap()
            .named("exact/default")
            .unwrap()
            .checks,
        [40, 0]
    );
}
