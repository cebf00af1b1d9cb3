//! The file of Lean that the server checks: the statement, the code of the completion, and a
//! theorem that has the type of the statement and is proved by the one of the completion.
//!
//! The kernel of Lean checks this theorem, and `#print axioms` lists what it depends on. Code that
//! could change what these two commands mean, or could run programs on the server, is rejected
//! before: syntax, macros, elaborators, attributes that register code, options that switch off the
//! kernel.

use assay_extraction::fences::{blocks, fences, without_margin};

use super::statement::{Statement, is_of_name, words};

/// Words that are rejected in the code of a completion, wherever they occur outside of comments.
/// Each leaves a proof unfinished, adds an axiom, changes the syntax, runs code while Lean reads
/// the file, or adds hypotheses to the theorems that follow.
const REJECTED: &[&str] = &[
    "Lean",
    "admit",
    "axiom",
    "binder_predicate",
    "builtin_initialize",
    "by_elab",
    "csimp",
    "declare_syntax_cat",
    "elab",
    "elab_rules",
    "extern",
    "implemented_by",
    "include",
    "include_str",
    "infix",
    "infixl",
    "infixr",
    "initialize",
    "macro",
    "macro_rules",
    "native",
    "native_decide",
    "notation",
    "notation3",
    "ofReduceBool",
    "ofReduceNat",
    "omit",
    "postfix",
    "prefix",
    "register_option",
    "run_cmd",
    "run_elab",
    "run_meta",
    "run_tac",
    "simproc",
    "simproc_decl",
    "dsimproc",
    "dsimproc_decl",
    "sorry",
    "sorryAx",
    "syntax",
    "trustCompiler",
    "unsafe",
    "variable",
    "variables",
];

/// Commands that are rejected: they run code, or hide messages and what follows.
const COMMANDS: &[&str] = &[
    "#eval",
    "#eval!",
    "#exit",
    "#guard",
    "#guard_msgs",
    "#print",
    "#reduce",
];

/// Attributes that are permitted. Others may register code that Lean runs.
const ATTRIBUTES: &[&str] = &[
    "ext",
    "gcongr",
    "high",
    "inline",
    "instance",
    "irreducible",
    "local",
    "low",
    "norm_cast",
    "push_cast",
    "reducible",
    "refl",
    "scoped",
    "semireducible",
    "simp",
    "symm",
    "trans",
];

/// Options that are permitted, and whether their value counts heartbeats.
const OPTIONS: &[(&str, bool)] = &[
    ("autoImplicit", false),
    ("maxHeartbeats", true),
    ("maxRecDepth", false),
    ("relaxedAutoImplicit", false),
    ("synthInstance.maxHeartbeats", true),
    ("synthInstance.maxSize", false),
];

/// Prefixes of the names of options that are permitted.
const OPTION_PREFIXES: &[&str] = &["linter.", "pp."];

/// Most heartbeats that a completion may request. Without a limit, a proof that does not end would
/// time out instead of being wrong.
const MAX_HEARTBEATS: u32 = 1_000_000;

/// A file to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// The name of the theorem whose axioms are listed.
    pub(crate) check: String,
    /// The first line of the completion's code, from 1.
    pub(crate) first_line: usize,
}

/// The file for a completion. `code` is random, so that a completion cannot name the declarations
/// of the check.
///
/// # Errors
/// Why the completion proves nothing, whatever Lean says.
pub(crate) fn source(
    statement: &Statement,
    completion: &str,
    code: &str,
) -> Result<Source, String> {
    let proof = proof(completion).ok_or("there is no fenced block of Lean")?;
    let proof = without_imports(&proof);
    let body = without_preamble(&proof, &statement.preamble);
    check(body, &statement.name)?;
    let (target, check) = (
        format!("assay_target_{code}"),
        format!("assay_check_{code}"),
    );
    let Statement {
        imports,
        preamble,
        name,
        signature,
    } = statement;
    let imports = imports.join("\n");
    let before = format!("{imports}\n\n{preamble}\n\naxiom {target} {signature}\n\n");
    let text = format!(
        "{before}{}\n\ntheorem _root_.{check} : type_of% @{target} := @{name}\n\n\
         #print axioms {check}\n",
        body.trim()
    );
    Ok(Source {
        text,
        check,
        first_line: before.matches('\n').count() + 1,
    })
}

/// The last fenced block of Lean, or the last block without a language.
fn proof(completion: &str) -> Option<String> {
    let fences = fences(completion);
    let blocks = blocks(completion, &fences);
    let of = |languages: &[Option<&str>]| {
        let mut found = blocks.iter().rev();
        found.find(|block| languages.contains(&block.language()))
    };
    let block = of(&[Some("lean"), Some("lean4")]).or_else(|| of(&[None]))?;
    Some(without_margin(
        completion,
        block.inside.clone(),
        block.margin,
    ))
}

/// The lines that are not imports.
fn without_imports(code: &str) -> String {
    let lines = code.lines().filter(|line| !line.starts_with("import "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The code after a repetition of the preamble, which would declare its definitions twice. A
/// preamble that ends with `in` belongs to the theorem.
fn without_preamble<'c>(code: &'c str, preamble: &str) -> &'c str {
    let mut rest = code;
    let mut last = "";
    for token in preamble.split_whitespace() {
        match rest.trim_start().strip_prefix(token) {
            Some(after) if after.is_empty() || after.starts_with(char::is_whitespace) => {
                rest = after;
            }
            _ => return code,
        }
        last = token;
    }
    if last == "in" { code } else { rest }
}

/// Rejects code that does not declare the theorem, or could change what the check means.
fn check(code: &str, name: &str) -> Result<(), String> {
    let code = without_comments(code);
    if let Some(word) = words(&code).find(|word| REJECTED.contains(word)) {
        return Err(format!("`{word}` is not permitted in a proof"));
    }
    let command = code.split('#').skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        let command = format!("#{}", &rest[..end]);
        COMMANDS.contains(&&*command).then_some(command)
    });
    if let Some(command) = command {
        return Err(format!("`{command}` is not permitted in a proof"));
    }
    check_attributes(&code)?;
    check_options(&code)?;
    let tokens: Vec<&str> = code.split_whitespace().collect();
    let declares = tokens.windows(2).any(|pair| {
        matches!(pair[0], "theorem" | "lemma")
            && pair[1].strip_prefix(name).is_some_and(|rest| {
                // A name may be followed by a binder or the colon.
                !rest.starts_with(is_of_name)
            })
    });
    if !declares {
        return Err(format!("the code does not declare the theorem `{name}`"));
    }
    Ok(())
}

fn check_attributes(code: &str) -> Result<(), String> {
    let lists = code.split("@[").skip(1);
    let commands = code.split("attribute").skip(1);
    let commands = commands.filter_map(|rest| rest.split_once('[').map(|(_, list)| list));
    for list in lists.chain(commands) {
        let (list, _) = list.split_once(']').unwrap_or((list, ""));
        if list.contains('[') {
            return Err("attributes with arguments in brackets are not permitted".to_owned());
        }
        if let Some(attribute) = words(list).find(|word| !ATTRIBUTES.contains(word)) {
            return Err(format!(
                "the attribute `{attribute}` is not permitted in a proof"
            ));
        }
    }
    Ok(())
}

fn check_options(code: &str) -> Result<(), String> {
    let mut tokens = code.split_whitespace();
    while let Some(token) = tokens.next() {
        if !token.contains("set_option") {
            continue;
        }
        let name = tokens.next().unwrap_or_default();
        let option = OPTIONS.iter().find(|(option, _)| *option == name);
        let is_permitted = token == "set_option"
            && (option.is_some()
                || OPTION_PREFIXES
                    .iter()
                    .any(|prefix| name.starts_with(prefix)));
        if !is_permitted {
            return Err(format!("the option `{name}` is not permitted in a proof"));
        }
        if let Some((_, true)) = option {
            let value = tokens.next().and_then(|value| value.parse::<u32>().ok());
            if !value.is_some_and(|value| (1..=MAX_HEARTBEATS).contains(&value)) {
                return Err(format!("`{name}` must be from 1 to {MAX_HEARTBEATS}"));
            }
        }
    }
    Ok(())
}

/// The code with its comments replaced by spaces. Comments are kept, and so read as code, where
/// something may look like one without being one, or hide the end of one: in code with a string, a
/// quoted name or an empty comment, or with a mark that does not follow white space, as in `<--`,
/// which is `<-` and a minus.
fn without_comments(code: &str) -> String {
    if code.contains(['"', '«']) || code.contains("/--/") {
        return code.to_owned();
    }
    let (mut out, mut rest) = (String::with_capacity(code.len()), code);
    let mut after_space = true;
    while let Some(c) = rest.chars().next() {
        let (is_line, is_block) = (rest.starts_with("--"), rest.starts_with("/-"));
        if (is_line || is_block) && !after_space {
            return code.to_owned();
        }
        if is_line {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if is_block {
            rest = after_block(rest);
            out.push(' ');
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            after_space = c.is_ascii_whitespace();
        }
    }
    out
}

/// What follows a block comment, in which others may be nested. Lean reads an unclosed one to the
/// end of the file.
fn after_block(text: &str) -> &str {
    let (mut depth, mut rest) = (0_usize, text);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("/-") {
            (depth, rest) = (depth + 1, after);
        } else if let Some(after) = rest.strip_prefix("-/") {
            (depth, rest) = (depth - 1, after);
            if depth == 0 {
                return rest;
            }
        } else {
            let first = rest.chars().next().map_or(0, char::len_utf8);
            rest = &rest[first..];
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(preamble: &str) -> Statement {
        Statement {
            imports: vec!["import Mathlib".to_owned()],
            preamble: preamble.to_owned(),
            name: "easy".to_owned(),
            signature: "(n : ℕ) : n + 0 = n".to_owned(),
        }
    }

    fn of(code: &str) -> Result<Source, String> {
        source(
            &statement(""),
            &format!("So:\n```lean4\n{code}\n```"),
            "c0de",
        )
    }

    const PROOF: &str = "theorem easy (n : ℕ) : n + 0 = n := by\n  simp";

    #[test]
    fn the_statement_is_declared_before_the_proof_and_checked_after_it() {
        let file = of(&format!("import Mathlib\n\n{PROOF}")).unwrap();
        let expected = format!(
            "import Mathlib\n\n\n\naxiom assay_target_c0de (n : ℕ) : n + 0 = n\n\n{PROOF}\n\n\
             theorem _root_.assay_check_c0de : type_of% @assay_target_c0de := @easy\n\n\
             #print axioms assay_check_c0de\n"
        );
        assert_eq!(file.text, expected);
        let line = file.text.lines().nth(file.first_line - 1).unwrap();
        assert!(line.starts_with("theorem easy"), "{line}");
    }

    #[test]
    fn a_repeated_preamble_is_not_declared_twice() {
        let preamble = "open Real\n\ndef two := 2";
        let repeated = format!("```lean\nimport Mathlib\nopen Real\ndef two := 2\n{PROOF}\n```");
        let file = source(&statement(preamble), &repeated, "c0de").unwrap();
        assert_eq!(file.text.matches("def two").count(), 1, "{}", file.text);
        let once = source(&statement(preamble), &format!("```\n{PROOF}\n```"), "c0de").unwrap();
        assert_eq!(file.text, once.text);
    }

    #[test]
    fn rejects_what_could_change_the_check() {
        for (more, part) in [
            ("axiom cheat : False", "`axiom`"),
            ("macro \"easy\" : tactic => `(tactic| trivial)", "`macro`"),
            ("local notation \"ℕ\" => Unit", "`notation`"),
            ("open Lean Elab in", "`Lean`"),
            ("variable [Fact False]", "`variable`"),
            ("example : 1 = 1 := by native_decide", "`native_decide`"),
            ("example : 1 = 1 := by decide +native", "`native`"),
            ("#eval 1", "`#eval`"),
            ("#guard_msgs (drop all) in", "`#guard_msgs`"),
            ("@[implemented_by f] def g := 1", "`implemented_by`"),
            ("@[simp, command_elab foo] def g := 1", "`command_elab`"),
            ("attribute [tactic foo] g", "`tactic`"),
            ("set_option debug.skipKernelTC true", "`debug.skipKernelTC`"),
            ("set_option maxHeartbeats 0 in", "`maxHeartbeats`"),
            ("set_option maxHeartbeats 2000000", "`maxHeartbeats`"),
            ("example := by sorry", "`sorry`"),
            // What looks like a comment is none.
            ("example := do let x <-- sorry", "`sorry`"),
            ("example := \"--\" ++ sorry", "`sorry`"),
            ("def «--» := sorry", "`sorry`"),
            ("/-- a -- -/ axiom cheat : False", "`axiom`"),
            ("example := (rfl)/- -- -/ axiom cheat : False", "`axiom`"),
            ("/- -- -/ axiom cheat : False", "`axiom`"),
            ("/--/ axiom cheat : False -- -/", "`axiom`"),
        ] {
            let reason = of(&format!("{PROOF}\n{more}")).unwrap_err();
            assert!(reason.contains(part), "{more}: {reason}");
        }
        for (completion, part) in [
            ("theorem easy : 1 = 1 := by simp", "no fenced block"),
            ("```python\nprint(1)\n```", "no fenced block"),
            (
                "```lean\ntheorem easy' : 1 = 1 := rfl\n```",
                "does not declare",
            ),
            ("```lean\n-- theorem easy : 1 = 1\n```", "does not declare"),
            (
                "```lean\n/- theorem easy : 1 = 1 := rfl -/\n```",
                "does not declare",
            ),
        ] {
            let reason = source(&statement(""), completion, "c").unwrap_err();
            assert!(reason.contains(part), "{completion}: {reason}");
        }
    }

    #[test]
    fn permits_what_proofs_contain() {
        for more in [
            "-- no sorry is left\n",
            "-- first a comment\nimport Mathlib\n",
            "/-- Uses no axiom. -/\n@[simp] lemma of_macro : 1 = 1 := rfl\n",
            "/- an axiom /- nested -/ macro -/\n",
            "set_option maxHeartbeats 400000 in\n",
            "set_option linter.unusedVariables false\n",
            "@[simp] lemma aux : 1 = 1 := rfl\n",
            "attribute [local instance] Classical.propDecidable\n",
            "open Finset in\n",
            "noncomputable section\n",
            "lemma prefixed (initial : ℕ) : initial = initial := rfl\n",
        ] {
            let result = of(&format!("{more}{PROOF}"));
            assert!(result.is_ok(), "{more}: {result:?}");
        }
    }
}
