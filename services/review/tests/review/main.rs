//! Reviews of grades that an engine recorded, with the graders and the record of the tests of the
//! engine.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod adjudications;
mod comparison;
#[path = "../../../engine/tests/pipeline/fixtures.rs"]
#[expect(dead_code, reason = "the tests of the engine use the rest")]
mod fixtures;
mod pairs;
mod prompts;
mod redaction;
mod replays;

use assay_review::Review;

use fixtures::Fixture;

/// A review of what the engine of a fixture records.
fn review(fixture: &Fixture) -> Review {
    Review::new(fixture.engine.clone())
}
