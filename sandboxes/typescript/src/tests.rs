use super::*;

/// The translation, with runs of spaces reduced to one, and none at the ends of lines.
fn short(text: &str) -> String {
    let translated = javascript(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(
        translated.lines().count(),
        text.lines().count(),
        "lines of {text}"
    );
    let mut result = String::new();
    for character in translated.chars() {
        if character == '\n' {
            result.truncate(result.trim_end_matches(' ').len());
        }
        if character != ' ' || !result.ends_with([' ', '\n']) {
            result.push(character);
        }
    }
    result.trim().to_owned()
}

fn refused(text: &str) -> (Option<(usize, usize)>, String) {
    match javascript(text) {
        Err(TypeScriptError::Syntax { position, message }) => {
            (position.map(|at| (at.line, at.column)), message)
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn types_become_spaces() {
    for (text, expected) in [
        ("let x: number = 1;", "let x = 1;"),
        ("let x!: number;", "let x ;"),
        (
            "const f = (a: string, b?: number): void => {};",
            "const f = (a , b ) => {};",
        ),
        (
            "function f<T extends A>(this: B, x: T, ...r: T[]): x is T {}",
            "function f ( x , ...r ) {}",
        ),
        ("const y = x as unknown as T[];", "const y = x ;"),
        ("const y = x satisfies T;", "const y = x ;"),
        ("const y = x!.z![0]!;", "const y = x .z [0] ;"),
        ("const y = <T>x;", "const y = x;"),
        ("new Map<string, Array<number>>();", "new Map ();"),
        (
            "f<number>(1); f<string>`a`; const g = f<number>;",
            "f (1); f `a`; const g = f ;",
        ),
        ("try {} catch (e: unknown) {}", "try {} catch (e ) {}"),
        ("for (const x of xs as T[]) {}", "for (const x of xs ) {}"),
        (
            "const { a, b }: { a: number; b: string } = c;",
            "const { a, b } = c;",
        ),
        (
            "const f = async <T,>(x: T) => x;",
            "const f = async (x ) => x;",
        ),
        ("x = y < z && a > (b);", "x = y < z && a > (b);"),
        ("const s = `${x as string}`;", "const s = `${x }`;"),
        (
            "label: for (;;) { x ? y : z; }",
            "label: for (;;) { x ? y : z; }",
        ),
    ] {
        assert_eq!(short(text), expected, "{text}");
    }
}

#[test]
fn declarations_of_types_become_empty_statements() {
    for (text, expected) in [
        ("interface A { x: number }\nf()", ";\nf()"),
        ("a\ntype B = C | D\n(e)()", "a\n;\n(e)()"),
        (
            "declare const x: number;\ndeclare function f(): void;",
            ";\n;",
        ),
        (
            "declare module 'm' { }\ndeclare global { }\ndeclare namespace N { }",
            ";\n;\n;",
        ),
        ("export type A = B; export interface C {}", "; ;"),
        (
            "import type { A } from 'a'; import { type B, c, type D } from 'b'; c();",
            "; import { c, } from 'b'; c();",
        ),
        (
            "export { type A, b }; export type { C } from 'c'; export type * from 'd';",
            "export { b }; ; ;",
        ),
        (
            "function f(x: number): void;\nfunction f(x: any) {}",
            ";\nfunction f(x ) {}",
        ),
        ("import fs = require('fs');", "const fs = require('fs');"),
        ("export = f;", "module.exports = f;"),
        ("export default interface A {}", ";"),
    ] {
        assert_eq!(short(text), expected, "{text}");
    }
}

#[test]
fn classes_keep_their_runtime_parts() {
    for (text, expected) in [
        (
            "abstract class A<T> extends B<T> implements C, D<T> { abstract x: number; abstract f(): void; }",
            "class A extends B { ; ; }",
        ),
        (
            "class A { private readonly x: number = 1; static y?: string; z!: T; [key: string]: any; }",
            "class A { ; x = 1; static y ;; z ;; ; }",
        ),
        (
            "class A { public async f?(): Promise<void> {} protected get g(): number { return 1 } f(x: 1): void; f(x: any) {} }",
            "class A { ; async f () {} ; get g() { return 1 } ; f(x ) {} }",
        ),
        (
            "class A { declare x: number; override f() {} #p: number = 2 }",
            "class A { ; ; f() {} #p = 2 }",
        ),
        (
            "class A { public; private = 1; readonly() {} static static: number }",
            "class A { public; private = 1; readonly() {} static static ; }",
        ),
        ("export abstract class A {}", "export class A {}"),
        ("const A = class implements B {};", "const A = class {};"),
    ] {
        assert_eq!(short(text), expected, "{text}");
    }
}

#[test]
fn parameter_properties_are_assigned() {
    assert_eq!(
        short("class A { constructor(private x: number, public readonly y = 2, z?: T) { f(); } }"),
        "class A { constructor( x , y = 2, z ) { this.x = x; this.y = y; f(); } }"
    );
    assert_eq!(
        short("class A extends B { constructor(readonly x: number) { super(x)\n g() } }"),
        "class A extends B { constructor( x ) { super(x); this.x = x;\ng() } }"
    );
    assert_eq!(
        refused("class A {\n  constructor(private { x }: T) {} }").0,
        Some((2, 15))
    );
}

#[test]
fn enums_become_objects() {
    assert_eq!(
        short("enum Color { Red, Green = 5, Blue }"),
        "var Color; (function (Color) { Color[Color[\"Red\"] = 0] = \"Red\"; \
         Color[Color[\"Green\"] = 5] = \"Green\"; \
         Color[Color[\"Blue\"] = Color[\"Green\"] + 1] = \"Blue\"; })(Color || (Color = {}));"
    );
    assert_eq!(
        short("export const enum E {\n  A = 'a',\n  B = 1 << 2,\n  C = B | 1,\n  'd-e' = `x`,\n}"),
        "export var E; (function (E) {\nE[\"A\"] = 'a';\nE[E[\"B\"] = 1 << 2] = \"B\";\n\
         E[E[\"C\"] = E.B | 1] = \"C\";\nE['d-e'] = `x`;\n})(E || (E = {}));"
    );
}

#[test]
fn a_return_type_of_several_lines_stays_before_the_arrow() {
    assert_eq!(
        short("const f = (x: number): {\n  y: number;\n} => ({ y: x });"),
        "const f = (x\n\n) => ({ y: x });"
    );
}

#[test]
fn unsupported_features_and_errors_have_a_position() {
    for (text, position, message) in [
        ("\nnamespace N { export const x = 1 }", (2, 1), "namespace"),
        ("class A {\n  @log f() {} }", (2, 3), "decorator"),
        ("class A { accessor x = 1 }", (1, 11), "accessor"),
        ("const é = 1; let x: = 2", (1, 21), ""),
        ("import a = N.b;", (1, 1), "alias"),
    ] {
        let (found, text_of_message) = refused(text);
        assert_eq!(found, Some(position), "{text}: {text_of_message}");
        assert!(text_of_message.contains(message), "{text_of_message}");
    }
    assert_eq!(
        javascript(&" ".repeat(MAX_BYTES + 1)),
        Err(TypeScriptError::TooLong)
    );
}

#[test]
fn deep_nesting_fits_the_stack() {
    let deepest = |unit: &str, end: &str| unit.repeat((MAX_BYTES - end.len()) / unit.len()) + end;
    let check = move || {
        for (unit, end) in [
            ("(", ""),
            ("[", ""),
            ("!", "x"),
            ("- ", "x"),
            ("a?b:", "c"),
            ("x=>", "x"),
            ("if(a)", ";"),
            ("{", ""),
            ("new ", "x"),
            ("`${", ""),
            ("let x:A<", ""),
            ("type A=(", ""),
            ("type A=keyof ", "x"),
            ("<T>", "x"),
            ("a=", "b"),
            ("a**", "b"),
            ("class A{x=", ""),
            ("async()=>", "x"),
            ("f(", ""),
            ("({a:", ""),
        ] {
            // Whether it is a program does not matter, only that the parser returns.
            let _ = javascript(&deepest(unit, end));
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(check);
    thread.unwrap().join().unwrap();
}

#[test]
fn statements_stay_separate_without_semicolons() {
    for (text, expected) in [
        ("a = b as number\n[1].map(f)", "a = b ;\n[1].map(f)"),
        ("a = b satisfies T\n(c)()", "a = b ;\n(c)()"),
        ("a = b as T\n+ 1", "a = b\n+ 1"),
        (
            "class A {\nx = 1\npublic *g() {}\nprivate ['y'] = 2\n}",
            "class A {\nx = 1\n; *g() {}\n; ['y'] = 2\n}",
        ),
        (
            "class A {\nset: Set<T>\nget: T\nf() {}\n}",
            "class A {\nset ;\nget ;\nf() {}\n}",
        ),
        ("f(x => <T>{ a: x })", "f(x => ( { a: x }))"),
        ("return_(<\nT\n>x)", "return_((\n\nx))"),
    ] {
        assert_eq!(short(text), expected, "{text}");
    }
}

#[test]
fn names_that_are_only_types_are_neither_imported_nor_exported() {
    for (text, expected) in [
        (
            "import { A, b } from 'm'; import C from 'n'; import * as D from 'o'; const x: A & C = b;",
            "import { b } from 'm'; ; ; const x = b;",
        ),
        (
            "import e, { F } from 'm'; e();",
            "import e, { } from 'm'; e();",
        ),
        ("import 'm';", "import 'm';"),
        (
            "interface A {} const b = 1; export { A, b };",
            "; const b = 1; export { b };",
        ),
        ("type A = 1; export default A;", "; ;"),
        (
            "interface A {} class A {} export { A };",
            "; class A {} export { A };",
        ),
        (
            "import { A } from 'm'; enum E { X = A }",
            "import { A } from 'm'; var E; (function (E) { E[E[\"X\"] = A] = \"X\"; })(E || (E = {}));",
        ),
    ] {
        assert_eq!(short(text), expected, "{text}");
    }
}

#[test]
fn members_that_repeat_strings_have_no_reverse_mapping() {
    assert!(short("enum E { A = 'a', B = A }").contains("E[\"B\"] = E.A;"));
}

#[test]
fn nesting_is_limited() {
    assert_eq!(
        refused(&format!("x = {}1", "(".repeat(500))),
        (
            Some((1, 205)),
            "the program is nested too deeply".to_owned()
        )
    );
}

#[test]
fn values_of_enums_lose_their_types() {
    let translated =
        short("enum E { A = 1 as number, B = <number>2, C = (A as any)!, D = 'd' as string }");
    assert!(
        translated.contains("E[\"A\"] = 1 ] = \"A\";"),
        "{translated}"
    );
    assert!(!translated.contains("number") && !translated.contains("as any"));
    assert!(translated.contains("E[\"D\"] = 'd'"), "{translated}");
    assert!(!translated.contains("E[E[\"D\"]"), "{translated}");
}

#[test]
fn const_enums_exist_before_their_declaration() {
    let translated = short("const a = E.A;\nconst enum E { A = 2, B }");
    let first = translated.lines().next().unwrap();
    assert!(first.starts_with("var E; (function (E) {"), "{translated}");
    assert!(first.ends_with("const a = E.A;"), "{translated}");
    let unused = short("const enum E { A }\nconst a = E.A;");
    assert!(unused.starts_with("var E;") && unused.matches("var E").count() == 1);
}

#[test]
fn namespaces_of_types_become_empty_statements() {
    let text = "namespace N { export interface A {} type B = 1; \
                export namespace M { export type C = 2 } }\nlet x = 1;";
    assert_eq!(short(text), ";\nlet x = 1;");
    assert_eq!(
        short("export namespace N { interface A {} }\nlet x = 1;"),
        ";\nlet x = 1;"
    );
    assert!(
        refused("namespace N { interface A {} const x = 1; }")
            .1
            .contains("namespace")
    );
}

#[test]
fn modules_can_use_the_names_of_commonjs() {
    let translated =
        short("import { a } from 'm';\nmodule.exports = { f: () => require('fs') && a };");
    let first = translated.lines().next().unwrap();
    assert!(
        first.starts_with("import { createRequire as $createRequire }"),
        "{translated}"
    );
    assert!(first.ends_with("import { a } from 'm';"), "{translated}");
    assert!(!short("import { a } from 'm'; a();").contains("createRequire"));
    assert!(!short("module.exports = require('fs');").contains("createRequire"));
    assert!(
        short("import { a } from 'm'; import fs = require('fs'); a(fs);").contains("createRequire")
    );
}

#[test]
fn jsx_is_named_in_the_message() {
    assert_eq!(
        refused("const a = <div>{x}</div>;").1,
        "JSX is not supported"
    );
}
