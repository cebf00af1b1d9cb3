//! Parsing of objectives.

use assay_objective::{Objective, PRESETS, Surrogate};

fn read(text: &str) -> Result<Objective, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn presets_are_valid_and_round_trip() {
    for preset in PRESETS {
        let objective = read(&format!(r#"{{"preset": "{}"}}"#, preset.name)).unwrap();
        assert_eq!(objective, preset.objective());
        let text = serde_json::to_string(&objective).unwrap();
        assert_eq!(read(&text).unwrap(), objective, "{text}");
    }
    let mut names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PRESETS.len());
}

#[test]
fn axis_overrides_preset() {
    let objective =
        read(r#"{"preset": "dapo", "surrogate": {"rule": "ppo", "high": 0.3}, "entropy": 0.01}"#)
            .unwrap();
    assert_eq!(
        objective.surrogate,
        Surrogate::Ppo {
            low: 0.2,
            high: 0.3,
            dual: None
        }
    );
    assert_eq!(read("{}").unwrap(), read(r#"{"preset": "grpo"}"#).unwrap());
}

#[test]
fn rejects_invalid_objectives() {
    let cases = [
        (
            r#"{"preset": "gpro"}"#,
            "unknown preset `gpro`; available presets: `grpo`, `dr_grpo`",
        ),
        (
            r#"{"aggregation": {"kind": "token_mean", "length": 3}}"#,
            "unknown field `length`",
        ),
        (r#"{"clip": 0.2}"#, "unknown field `clip`"),
        (
            r#"{"surrogate": {"rule": "ppo", "low": -0.1}}"#,
            "`surrogate.low` is -0.1; it must be between 0 and 1",
        ),
        (
            r#"{"surrogate": {"rule": "ppo", "high": 0.3, "dual": 1.2}}"#,
            "it must be at least 1 + `high`",
        ),
        (
            r#"{"surrogate": {"rule": "cispo", "low": 2, "high": 1}}"#,
            "it must be at least `low`",
        ),
        (
            r#"{"entropy": -1}"#,
            "`entropy` is -1; it must be at least 0",
        ),
        (r#"{"masks": {"top_entropy": 0}}"#, "above 0 and at most 1"),
        (
            r#"{"anchor": "teacher"}"#,
            "`anchor` must be `old` or `behaviour`",
        ),
        (
            r#"{"preset": "prime_rl", "correction": {"weight": "token"}}"#,
            "`correction` cannot be combined with `anchor = \"behaviour\"`",
        ),
        (
            r#"{"preset": "pacs", "demonstrations": {"kind": "shaped"}}"#,
            "`pacs` does not support demonstrations",
        ),
        (
            r#"{"advantage": {"estimator": "verdict"}}"#,
            "`verdict` requires `pass`, `fail` or both",
        ),
        (
            r#"{"advantage": {"estimator": "returns", "gamma": 1.5}}"#,
            "it must be between 0 and 1",
        ),
        (
            r#"{"penalties": [{"from": "old", "coefficient": -1}]}"#,
            "`penalties.coefficient` is -1",
        ),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
