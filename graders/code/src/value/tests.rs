use super::compare::Comparison;
use super::numbers::MAX_DIGITS;
use super::*;

fn values(got: &str, expected: &str) -> (Json, Json) {
    (read(got).unwrap(), read(expected).unwrap())
}

fn same(got: &str, expected: &str) -> bool {
    let (got, expected) = values(got, expected);
    equal(&got, &expected, Rule::default())
}

fn unordered(got: &str, expected: &str) -> bool {
    let (got, expected) = values(got, expected);
    equal(
        &got,
        &expected,
        Rule {
            unordered: true,
            tolerance: None,
        },
    )
}

fn made(class: &str, arguments: &str) -> String {
    format!(r#"{{"$":"made","v":["{class}",{{"$":"tuple","v":[{arguments}]}}]}}"#)
}

fn decimal(text: &str) -> String {
    made("decimal.Decimal", &format!("{text:?}"))
}

fn fraction(numerator: i64, denominator: i64) -> String {
    made("fractions.Fraction", &format!("{numerator},{denominator}"))
}

#[test]
fn reads_values_as_deep_as_the_driver_writes_them() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(&deep(MAX_DEPTH)).is_some());
    assert_eq!(read(&deep(5_000)), None);
    assert!(read(r#"{"a":1,"a":2}"#).is_some());
    assert_eq!(read("nan"), None);
}

#[test]
fn shows_values_as_python_writes_them() {
    for (value, text) in [
        (r#"{"$":"tuple","v":[1,{"$":"set","v":[2]}]}"#, "(1, {2})"),
        (r#"{"$":"dict","v":[["a",[null]]]}"#, r#"{"a": [null]}"#),
        (r#"{"$":"object","v":"Tree"}"#, "<Tree>"),
        (r#"{"a":1.0}"#, r#"{"a": 1.0}"#),
    ] {
        assert_eq!(shown(&read(value).unwrap()), text);
    }
}

#[test]
fn values_equal_in_python_are_equal() {
    for (got, expected) in [
        ("5", "5.0"),
        ("5.0", "5"),
        ("-0.0", "0"),
        ("true", "1"),
        ("1", "true"),
        ("0", "false"),
        (
            r#"{"$":"int","v":"0x8000000000000000"}"#,
            "9223372036854775808",
        ),
        (
            r#"{"$":"int","v":"-0x8000000000000001"}"#,
            "-9223372036854775809",
        ),
        (r#"{"$":"float","v":"inf"}"#, "1e400"),
        (r#"{"$":"complex","v":[5.0,-0.0]}"#, "5"),
        (r#"[[0],{"$":"same","v":1}]"#, "[[0],[0]]"),
        (r#"{"$":"Counter","v":[["a",2]]}"#, r#"{"a":2}"#),
        (
            r#"{"$":"defaultdict","v":[["a",[2]]],"factory":null}"#,
            r#"{"a":[2]}"#,
        ),
        (&fraction(1, 2), "0.5"),
        (&fraction(4, 2), "2"),
        (&decimal("2.50"), "2.5"),
        (&decimal("5.0"), "5"),
        (&decimal("1E+30"), "1000000000000000000000000000000"),
        (&decimal("1"), "true"),
        (&decimal("-Infinity"), "-1e400"),
    ] {
        assert!(same(got, expected), "{got} {expected}");
    }
}

#[test]
fn values_with_the_same_json_are_equal() {
    for (got, expected) in [
        (
            r#"{"$":"tuple","v":[1,[{"$":"tuple","v":[]}]]}"#,
            "[1,[[]]]",
        ),
        (
            r#"{"$":"dict","v":[["a",1],[2,null]]}"#,
            r#"{"2":null,"a":1}"#,
        ),
        (
            r#"{"$":"dict","v":[[true,1],[null,2],[1.5,3]]}"#,
            r#"{"true":1,"null":2,"1.5":3}"#,
        ),
        (
            r#"{"$":"dict","v":[[{"$":"int","v":"0x8000000000000000"},1]]}"#,
            r#"{"9223372036854775808":1}"#,
        ),
        (
            r#"{"$":"dict","v":[[{"$":"float","v":"-inf"},1]]}"#,
            r#"{"-Infinity":1}"#,
        ),
    ] {
        assert!(same(got, expected), "{got} {expected}");
    }
}

#[test]
fn rejects_different_values() {
    for (got, expected) in [
        ("5", "6"),
        ("\"5\"", "5"),
        ("100000000000000001", "100000000000000000.0"),
        ("[1,2]", "[2,1]"),
        ("[1]", "[1,1]"),
        ("null", "false"),
        ("\"\"", "null"),
        (r#"{"$":"object","v":"T"}"#, "5"),
        (r#"{"$":"float","v":"nan"}"#, "5"),
        (r#"{"$":"complex","v":[5.0,1.0]}"#, "5"),
        (r#"{"$":"dict","v":[["a",1]]}"#, r#"{"a":1,"b":2}"#),
        (
            r#"{"$":"dict","v":[["a",1],["b",2]]}"#,
            r#"[["a",1],["b",2]]"#,
        ),
        (
            r#"{"$":"dict","v":[[{"$":"tuple","v":[1,2]},1]]}"#,
            r#"{"[1, 2]":1}"#,
        ),
        (r#"{"$":"set","v":[1,2]}"#, "[1,2]"),
        (r#"{"$":"set","v":[1,2,3]}"#, "[3,2,1,1]"),
        (r#"{"$":"frozenset","v":[]}"#, "[]"),
        (r#"{"$":"deque","v":[1,2],"maxlen":null}"#, "[1,2]"),
        (r#"{"$":"range","v":[0,2,1]}"#, "[0,1]"),
        (r#"{"$":"bytes","v":"ab"}"#, r#""ab""#),
        (r#"[{"$":"same","v":0}]"#, "[[[[]]]]"),
        (r#"{"$":"str","v":[55296]}"#, "\"\""),
        (r#"{"$":"same","v":7}"#, "1"),
        (&fraction(0, 0), "4"),
        (&fraction(-4, -1), "4"),
        (&fraction(1, 10), "0.1"),
        (&decimal("0.1"), "0.1"),
        (&decimal("NaN"), "0"),
        (&decimal("2.5"), r#""2.5""#),
    ] {
        assert!(!same(got, expected), "{got} {expected}");
    }
}

#[test]
fn unordered_comparison_counts_every_element() {
    for (got, expected) in [
        (r#"{"$":"set","v":[1,2,3]}"#, "[3,2,1]"),
        ("[2,1,1]", "[1,1.0,2]"),
        (r#"{"$":"tuple","v":["b","a"]}"#, r#"["a","b"]"#),
        (r#"[[1,2],{"$":"set","v":[3,4]}]"#, "[[4,3],[1,2]]"),
        (
            r#"[{"$":"dict","v":[["a",{"$":"frozenset","v":[2,1]}]]}]"#,
            r#"[{"a":[1,2]}]"#,
        ),
        ("[]", "[]"),
        ("5", "5"),
    ] {
        assert!(unordered(got, expected), "{got} {expected}");
    }
    for (got, expected) in [
        (r#"{"$":"set","v":[1,2,3]}"#, "[1,1,2,3]"),
        ("[1,2,2]", "[1,1,2]"),
        ("[[1,2]]", "[[2,1]]"),
        (r#"[{"$":"set","v":[1,2]}]"#, "[[1,1]]"),
        ("[1]", "[1,1]"),
    ] {
        assert!(!unordered(got, expected), "{got} {expected}");
    }
}

#[test]
fn finds_matches_within_a_tolerance() {
    let rule = Rule {
        tolerance: Some(0.1),
        unordered: true,
    };
    let close = |got: &str, expected: &str| {
        let (got, expected) = values(got, expected);
        equal(&got, &expected, rule)
    };
    assert!(close("[1.15,1.05,1.0]", "[1.1,1.0,1.09]"));
    assert!(close(
        r#"[["b",1.05],["a",0.95]]"#,
        r#"[["a",1.0],["b",1.0]]"#
    ));
    // Sorted by their first numbers, matching elements have different indices.
    assert!(close("[[1.0,5.0],[1.05,3.0]]", "[[1.05,5.0],[1.0,3.0]]"));
    assert!(!close("[1.0,1.0]", "[1.0,2.0]"));
    // Every element has an equal one on the other side, but two of them have only one between them.
    assert!(!close(
        "[[1.0,5.0],[1.02,5.0],[1.04,3.0]]",
        "[[0.96,3.0],[0.98,3.0],[1.06,5.0]]"
    ));
}

#[test]
fn compares_long_collections_without_order() {
    let texts = |order: &dyn Fn(usize) -> usize| {
        let words: Vec<String> = (0..50_000)
            .map(|at| format!("\"a common beginning {}\"", order(at)))
            .collect();
        format!("[{}]", words.join(","))
    };
    assert!(unordered(
        &texts(&|at| at),
        &texts(&|at| at * 7_919 % 50_000)
    ));
    assert!(!unordered(&texts(&|at| at), &texts(&|at| at / 2)));
}

#[test]
fn compares_the_length_of_long_numbers_first() {
    let long = "7".repeat(MAX_DIGITS - 1);
    let many: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let (got, expected) = values(
        &format!("[{}]", many.join(",")),
        &format!("[{},{long}]", many[..many.len() - 1].join(",")),
    );
    let comparison = Comparison::new(
        &got,
        Rule {
            unordered: true,
            tolerance: None,
        },
    );
    let before = comparison.left.get();
    assert!(!comparison.in_any_order(got.elements(), expected.elements()));
    assert!(
        comparison.left.get() > before / 2,
        "the long number was not read for each short one"
    );
    assert!(same(&decimal(&long), &long));
    assert!(same(&decimal("0012"), "12") && !same(&decimal("12"), "120"));
    assert!(same(r#"{"$":"int","v":"0xff"}"#, "255") && same(r#"{"$":"int","v":"0xff"}"#, "255.0"));
}

#[test]
fn bounds_the_work_of_reading_long_numbers() {
    let numbers = |digit: char| {
        let one = |n: usize| format!("{digit}{}{n:05}", "7".repeat(MAX_DIGITS - 10));
        format!("[{}]", (0..200).map(one).collect::<Vec<_>>().join(","))
    };
    assert!(
        !unordered(&numbers('1'), &numbers('2')),
        "the work is used up long before all pairs are compared"
    );
}

#[test]
fn fractions_differ_from_integers_that_take_too_long_to_read() {
    let long = "7".repeat(MAX_DIGITS - 1);
    let (got, expected) = values(&made("fractions.Fraction", &format!("{long},1")), &long);
    let comparison = Comparison::new(&got, Rule::default());
    assert!(comparison.equal(&got, &expected));
    comparison.left.set(10_000);
    assert!(!comparison.equal(&got, &expected));
}

#[test]
fn comparing_recursive_values_terminates() {
    let recursive = r#"[{"$":"same","v":0},{"$":"same","v":0}]"#;
    assert!(!unordered(recursive, "[[[],[]],[[],[]]]"));
}

#[test]
fn tolerance_applies_to_floats_only() {
    let close = |got: &str, expected: &str| {
        let (got, expected) = values(got, expected);
        equal(
            &got,
            &expected,
            Rule {
                tolerance: Some(1e-6),
                unordered: false,
            },
        )
    };
    assert!(close("0.3333333", "0.33333333"));
    assert!(close("1000000.5", "1000000.6"));
    assert!(close(&decimal("0.3333333"), "0.33333333") && close(&fraction(1, 3), "0.33333333"));
    assert!(!close("1000001", "1000000") && !close(&decimal("1000001"), "1000000"));
    for special in ["nan", "inf", "-inf"] {
        assert!(
            !close(&format!(r#"{{"$":"float","v":"{special}"}}"#), "1.0"),
            "{special}"
        );
        assert!(
            !close(&format!(r#"{{"$":"float","v":"{special}"}}"#), "5"),
            "{special}"
        );
    }
    assert!(!close(&decimal("NaN"), "1.0") && !close(&decimal("Infinity"), "1.0"));
}
