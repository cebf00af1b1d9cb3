//! Mutations of small programs.

use super::{CPP, JAVASCRIPT, PYTHON, mutations};

fn programs(source: &str, lexicon: &super::Lexicon) -> Vec<String> {
    mutations(source, lexicon)
        .into_iter()
        .map(|(_, program)| program)
        .collect()
}

#[test]
fn changes_operators_constants_conditions_returns_and_statements_of_python() {
    let source = "def f(a, *b):\n    \"\"\"a < 1\"\"\"\n    # a < 2\n    \
                  if a < 10 and -a:\n        b += 1\n    return [x for x in b if x]\n";
    let programs = programs(source, &PYTHON);
    for changed in [
        "if a <= 10",
        "if a < 11",
        "10 or -a",
        "if not (a < 10 and -a):",
        "b -= 1",
        "b += 2",
        "        pass\n",
        "return None",
        "if not (x)]",
    ] {
        assert!(
            programs.iter().any(|program| program.contains(changed)),
            "{changed}: {programs:#?}"
        );
    }
    assert_eq!(programs.len(), 9, "{programs:#?}");
    assert!(
        programs
            .iter()
            .all(|program| program.contains("\"\"\"a < 1\"\"\""))
    );
}

#[test]
fn says_what_was_changed_in_which_line() {
    let source = "def f(n):\n    return n\n\nclass Solution:\n    def g(self, n):\n        \
                  return n // 2\n";
    let descriptions: Vec<String> = mutations(source, &PYTHON)
        .into_iter()
        .map(|(description, _)| description)
        .collect();
    assert_eq!(
        descriptions,
        [
            "`return` of `None` in line 2",
            "`return` of `None` in line 6",
            "`//` to `*` in line 6",
            "`2` to `3` in line 6"
        ]
    );
}

#[test]
fn changes_programs_by_the_grammar_of_their_language() {
    let source = "int f(int n) {\n    // n < 3\n    if (n < 2) {\n        return 1;\n    }\n    \
                  total += n;\n    return n * f(n - 1);\n}\n";
    let changed = programs(source, &CPP);
    for text in [
        "if (n <= 2)",
        "if (!(n < 2)) {",
        "return 2;",
        "    \u{20}\n",
        "n + f(n - 1)",
    ] {
        let text = text.replace("    \u{20}\n", "    ;\n");
        assert!(
            changed.iter().any(|program| program.contains(&text)),
            "{text}: {changed:#?}"
        );
    }
    let source =
        "function f(a) {\n  if (a === 'x') {\n    return a || 1;\n  }\n  return `${a} < 2`;\n}\n";
    let changed = programs(source, &JAVASCRIPT);
    for text in ["a !== 'x'", "(!(a === 'x'))", "a && 1", "return null;"] {
        assert!(
            changed.iter().any(|program| program.contains(text)),
            "{text}: {changed:#?}"
        );
    }
}

#[test]
fn survives_broken_programs() {
    for source in [
        "", "if", "if (", "'", "\"\"\"", "return", "x +=", "\\", "é < ", "))) < 1",
    ] {
        for lexicon in [&PYTHON, &JAVASCRIPT, &CPP] {
            let _ = mutations(source, lexicon);
        }
    }
}
