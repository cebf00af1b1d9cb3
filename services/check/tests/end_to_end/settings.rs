//! Settings of a configuration, and rules of a team.

use assay_check::findings::Severity;
use assay_check::reports::Format;
use assay_check::{Options, OwnRules, Settings, Thresholds};
use serde_json::Value;

use crate::fixtures::{check_lines, found, row};

/// Options with a section `[check]` and a file of rules.
fn configured(section: &str, rules: &str) -> Result<Options, String> {
    let settings: Settings = toml::from_str(section).map_err(|error| error.to_string())?;
    let own_rules = OwnRules::parse(rules)?;
    let resolved = settings.resolve(&own_rules)?;
    Ok(Options {
        codes: resolved.codes,
        ignores: resolved.ignores,
        ignore_column: resolved.ignore_column,
        thresholds: settings.thresholds,
        ignored: settings.ignore.into_iter().collect(),
        selected: settings.select.into_iter().collect(),
        own_rules,
        ..Options::default()
    })
}

#[tokio::test]
async fn severities_and_ignores_are_set_by_code() {
    let section = r#"
        ignore = ["refusal-accepted"]
        [severity]
        gold-missing = "error"
        empty-accepted = "warning"
        [datasets."*.jsonl"]
        ignore = ["gold-brittle"]
        [datasets."other/*"]
        ignore = ["gold-missing"]
    "#;
    let lines = row(0, "nan") + &row(1, "anything") + &row(2, "9 (apples)");
    let report = check_lines(&lines, configured(section, "").unwrap()).await;
    assert_eq!(found(&report), [(1, "gold-missing"), (2, "empty-accepted")]);
    assert_eq!(report.ignored, 2);
    assert_eq!(
        (report.of(Severity::Error), report.of(Severity::Warning)),
        (1, 1)
    );
    assert_eq!(report.findings[0].code.severity, Severity::Error);
}

#[tokio::test]
async fn findings_of_single_rows_are_ignored() {
    let with_id = |id: &str| row(0, "nan").replacen('{', &format!("{{\"id\":\"{id}\","), 1);
    let section = r#"
        [[rows]]
        keys = ["a", "c"]
        ignore = ["gold-missing", "duplicate-row"]
        [[rows]]
        dataset = "other.jsonl"
        keys = ["b"]
        ignore = ["gold-missing"]
    "#;
    let lines = with_id("a") + &with_id("b") + &with_id("c");
    let report = check_lines(&lines, configured(section, "").unwrap()).await;
    assert_eq!(found(&report), [(2, "gold-missing"), (2, "duplicate-row")]);
    let with_column = |value: &str| {
        let column = format!("{{\"assay_ignore\":{value},");
        row(0, "nan").replacen('{', &column, 1)
    };
    let lines = with_column("\"gold-missing, duplicate-row\"")
        + &with_column("[\"gold-mising\", \"duplicate-row\"]");
    let report = check_lines(&lines, Options::default()).await;
    assert_eq!(found(&report), [(2, "ignore-invalid"), (2, "gold-missing")]);
    let message = &report.findings[0].message;
    assert!(
        message.contains("did you mean `gold-missing`?"),
        "{message}"
    );
}

#[test]
fn unknown_names_and_values_are_rejected() {
    for (section, expected) in [
        ("ignore = [\"gold-mising\"]", "did you mean `gold-missing`?"),
        ("[severity]\nflakey = \"error\"", "did you mean `flaky`?"),
        ("[severity]\nflaky = \"fatal\"", "unknown variant `fatal`"),
        ("[datasets.\"[\"]\nignore = []", "is not a pattern"),
        ("[datasets.a]\nignore = [\"x\"]", "unknown finding code `x`"),
        (
            "[[rows]]\nkeys = []\nignore = [\"x\"]",
            "unknown finding code",
        ),
        ("[thresholds]\nrollouts = 0", "must be at least 1"),
        ("[thresholds]\nmain_language_share = 1.5", "is 1.5"),
        ("[thresholds]\nshare = 1.5", "unknown field `share`"),
        ("fail_on = \"always\"", "unknown variant `always`"),
    ] {
        let error = configured(section, "").err().unwrap();
        assert!(error.contains(expected), "{section}: {error}");
    }
}

#[tokio::test]
async fn thresholds_change_what_is_found() {
    let rollouts = row(0, "5").replacen('{', "{\"rolls\":[0,0],", 1);
    let options = |thresholds: &str| Options {
        rollout_column: Some("rolls".to_owned()),
        ..configured(thresholds, "").unwrap()
    };
    assert_eq!(found(&check_lines(&rollouts, options("")).await), []);
    let report = check_lines(&rollouts, options("[thresholds]\nrollouts = 2")).await;
    assert_eq!(found(&report), [(1, "never-solved")]);
    assert_eq!(Settings::default().thresholds, Thresholds::default());
}

const RULES: &str = r#"
    [[rules]]
    code = "team-short"
    severity = "error"
    when = "{{ prompt | length < 11 }}"
    message = "the prompt has {{ prompt | length }} characters"
    title = "the prompt is short"
    help = "Write longer prompts."

    [[rules]]
    code = "team-level"
    when = "{{ row.level + 0 > 3 and task.type == 'math' }}"
    message = "level {{ row.level }} of {{ key }}"
"#;

#[tokio::test]
async fn rules_of_a_team_report_findings() {
    let with_level = |number: usize, level: &str| {
        row(number, "5").replacen('{', &format!("{{\"id\":{number},\"level\":{level},"), 1)
    };
    let lines = with_level(1, "2") + &with_level(10, "4") + &with_level(11, "[]");
    let report = check_lines(&lines, configured("", RULES).unwrap()).await;
    assert_eq!(
        found(&report),
        [(1, "team-short"), (2, "team-level"), (3, "rule-fails")]
    );
    let messages: Vec<&str> = report.findings.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(
        messages[..2],
        ["the prompt has 10 characters", "level 4 of 10"]
    );
    assert!(messages[2].contains("`team-level`"), "{}", messages[2]);
    assert_eq!(report.of(Severity::Error), 2);
    let mut sarif = Vec::new();
    Format::Sarif.write(&report, &mut sarif).unwrap();
    let sarif: Value = serde_json::from_slice(&sarif).unwrap();
    let run = &sarif["runs"][0];
    let result = &run["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&"team-short".into(), &"error".into())
    );
    let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(rule["id"], "team-short");
    assert_eq!(rule["shortDescription"]["text"], "the prompt is short");
    assert!(
        rule["help"]["markdown"]
            .as_str()
            .unwrap()
            .contains("Write longer prompts.")
    );
    // Their codes can be selected, and their severities set.
    let section = "ignore = [\"rule-fails\", \"team-level\"]\n[severity]\nteam-short = \"warning\"";
    let report = check_lines(&lines, configured(section, RULES).unwrap()).await;
    assert_eq!(found(&report), [(1, "team-short")]);
    assert_eq!(report.of(Severity::Warning), 1);
}

#[tokio::test]
async fn rules_fail_on_missing_columns_that_they_need() {
    let rule = |when: &str| {
        let rule = format!("[[rules]]\ncode = \"a\"\nwhen = \"{when}\"\nmessage = \"m\"\n");
        configured("", &rule).unwrap()
    };
    for (when, expected) in [
        ("{{ row.other | length > 3 }}", Some("rule-fails")),
        ("{{ row.other is not defined }}", Some("a")),
        ("{{ row.other is defined and row.other > 3 }}", None),
        ("{{ prompt }}", Some("rule-fails")),
        ("always", Some("rule-fails")),
    ] {
        let report = check_lines(&row(0, "5"), rule(when)).await;
        let expected: Vec<(u64, &str)> = expected.into_iter().map(|code| (1, code)).collect();
        assert_eq!(found(&report), expected, "{when}");
    }
}

#[tokio::test]
async fn rules_about_the_task_skip_rows_without_one() {
    let lines = "{\"prompt\":\"a long enough prompt\"}\n";
    let report = check_lines(lines, configured("", RULES).unwrap()).await;
    assert_eq!(found(&report), [(1, "field-missing")]);
}

#[test]
fn invalid_rules_are_rejected() {
    let rule = |code: &str, when: &str| {
        format!("[[rules]]\ncode = \"{code}\"\nwhen = \"{when}\"\nmessage = \"m\"\n")
    };
    for (rules, expected) in [
        (rule("Team", "{{ true }}"), "must be lower-case words"),
        (rule("flaky", "{{ true }}"), "`flaky` is taken"),
        (
            rule("a", "{{ true }}") + &rule("a", "{{ true }}"),
            "`a` is taken",
        ),
        (rule("a", "{{ prompt | }}"), "invalid template at `/a/when`"),
        (
            "[[rules]]\ncode = \"a\"\n".to_owned(),
            "missing field `when`",
        ),
        (
            "[[rule]]\ncode = \"a\"\n".to_owned(),
            "unknown field `rule`",
        ),
        (rule("a", "{{ true }}").repeat(101), "at most 100"),
    ] {
        let error = OwnRules::parse(&rules).err().unwrap();
        assert!(error.contains(expected), "{rules}: {error}");
    }
}
