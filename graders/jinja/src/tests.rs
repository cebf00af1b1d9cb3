//! Tests that templates which would exceed their budget fail early, and that others render as
//! without limits.

use minijinja::{Environment, UndefinedBehavior, Value};

use crate::*;

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(20_000_000));
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    bound(&mut environment);
    environment
}

fn render(source: &str) -> Result<String, String> {
    let environment = environment();
    let message = |error: Error| error.to_string();
    let program = Program::compile(&environment, "template", source).map_err(message)?;
    let root = Value::from_pairs([
        ("text", Value::from("a b")),
        ("list", Value::from(vec!["x", "y"])),
        ("n", Value::from(100_000_000)),
    ]);
    program
        .render(&environment, root, None)
        .map(|(text, _)| text)
        .map_err(message)
}

/// Why instructions are rewritten: the engine's own limit counts instructions, and few of them make
/// a text of any size.
#[test]
fn instructions_that_the_engine_counts_do_not_bound_memory() {
    let mut environment = Environment::new();
    environment.set_fuel(Some(500));
    let source = "{% set ns = namespace(a='ab') %}{% for i in range(24) %}\
                  {% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a | length }}";
    let text = environment.render_str(source, ()).unwrap();
    assert_eq!(text, (2 << 24).to_string());
    let error = render(&source.replace("24", "60")).unwrap_err();
    assert!(error.contains("MiB of text"), "{error}");
}

#[test]
fn stops_templates_that_read_a_text_again_and_again() {
    for read in ["s.count('z')", "s | length"] {
        let source = format!(
            "{{% set s = text * 3000000 %}}{{% for i in range(100000) %}}{{% if {read} == 1 %}}\
             {{% endif %}}{{% endfor %}}"
        );
        let error = render(&source).unwrap_err();
        assert!(error.contains("reads more than 4 GiB of text"), "{error}");
    }
}

#[test]
fn stops_templates_that_multiply_text() {
    let twice = |body: &str| {
        format!(
            "{{% set ns = namespace(a=text, l=list) %}}{{% for i in range(60) %}}{body}{{% endfor \
             %}}"
        )
    };
    let attacks = [
        twice("{% set ns.a = ns.a ~ ns.a %}"),
        twice("{% set ns.a = ns.a + ns.a %}"),
        twice("{% set ns.a = ns.a.replace('a', ns.a) %}"),
        twice("{% set ns.a = ns.a | replace('a', ns.a) %}"),
        twice("{% set ns.a = [ns.a, ns.a] | join(ns.a) %}"),
        twice("{% set ns.a = ns.a.join([ns.a, ns.a]) %}"),
        twice("{% set ns.a = '%s%s' | format(ns.a, ns.a) %}"),
        twice("{% set ns.a = '{0}{0}'.format(ns.a) %}"),
        twice("{% set ns.a %}{{ ns.a }}{{ ns.a }}{% endset %}"),
        twice("{% set ns.a %}{{ [ns.a, ns.a] }}{% endset %}"),
        twice("{% set ns.l = ns.l + ns.l %}") + "{{ ns.l | length }}",
        twice("{% set ns.l = [ns.l, ns.l] %}") + "{{ ns.l }}",
        twice("{% set ns.l = ns.l | chain(ns.l) | list %}"),
        twice("{% set ns.l = {'a': ns.l, 'b': ns.l} %}"),
        "{{ text * n }}".to_owned(),
        "{{ (list * n) | length }}".to_owned(),
        "{{ ((1, 2) * n) | length }}".to_owned(),
        "{{ 'x' * 100000000 }}".to_owned(),
        "{% if 'x' * 10 ** 8 %}{% endif %}".to_owned(),
        "{{ text | indent(10000000000) }}".to_owned(),
        "{{ text | indent(width=10000000000, first=true) }}".to_owned(),
        "{{ list | batch(10000000000, 'x') }}".to_owned(),
        "{{ list | slice(10000000000) }}".to_owned(),
        "{{ '%10000000000d' | format(1) }}".to_owned(),
        "{{ '{:>10000000000}'.format(1) }}".to_owned(),
        "{{ '%.4000000000f' | format(1.5) }}".to_owned(),
        "{{ '%*d' | format(n * 10, 1) }}".to_owned(),
        "{% set s = text * 500000 %}{{ ([s] * 100000) | map('upper') | list | length }}".to_owned(),
        "{% set s = text * 500000 %}{{ s in ([s] * 1000) }}{{ 'x' in [s, s, s] * 100 }}".to_owned(),
        format!(
            "{{% set a %}}{{% for i in range(100000) %}}{}{{% endfor %}}{{% endset %}}",
            "x".repeat(10_000)
        ),
        format!(
            "{{% macro m() %}}{{% for i in range(100000) %}}{}{{% endfor %}}{{% endmacro %}}{{{{ \
             m() }}}}",
            "x".repeat(10_000)
        ),
        format!(
            "{{% for i in range(100000) %}}{}{{% endfor %}}",
            "x".repeat(10_000)
        ),
        "{% set ns = namespace(a=[]) %}{% for i in range(100000) %}{% set ns.a = [ns.a] %}{% \
         endfor %}"
            .to_owned(),
        "{% set ns = namespace() %}{% set ns.own = ns %}{{ ns }}".to_owned(),
        "{% set ns = namespace() %}{% set ns.own = [ns] %}{{ ns }}".to_owned(),
    ];
    for attack in attacks {
        assert!(render(&attack).is_err(), "{attack}");
    }
}

#[test]
fn rejects_expressions_too_deep_to_compile() {
    for operator in ["+1", "~n", "|upper", ".x"] {
        let error = render(&format!("{{{{ n{} }}}}", operator.repeat(40_000))).unwrap_err();
        assert!(error.contains("more than 4000 tokens"), "{error}");
    }
    assert!(render(&"{{ n + 1 }}".repeat(2_000)).is_ok());
}

#[test]
fn reports_limit_and_line() {
    assert!(
        render("{{ text * n }}")
            .unwrap_err()
            .contains("produces more than 128 MiB")
    );
    assert!(
        render("a\n{{ text * n }}")
            .unwrap_err()
            .contains("template:2")
    );
}

#[test]
fn allows_multiplication_of_numbers() {
    for source in [
        "{{ (n * 10000000) }}",
        "{{ [n][0] * 10000000 }}",
        "{{ dict(a=n * 10000000, b=1).a }}",
        "{{ '%d' | format(n * 50) }}",
    ] {
        assert!(render(source).is_ok(), "{source}: {:?}", render(source));
    }
}

#[test]
fn renders_ordinary_templates_as_without_limits() {
    let sources = [
        "{% for x in list %}{{ loop.index }}{% if not loop.last %}, {% endif %}{% else %}none{% \
         endfor %}",
        "{% for x in list if x != 'x' %}{{ x }}{% endfor %}{% for x in [] %}{% else %}empty{% \
         endfor %}",
        "{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break \
         %}{% endif %}{{ x }}{% endfor %}",
        "{% macro m(a, b='x') %}<{{ a }}{{ b }}{{ caller() if caller }}>{% endmacro %}{{ m(1) \
         }}{{ m(b=2, a=3) }}{% call m(4) %}in{% endcall %}",
        "{% set ns = namespace(s='') %}{% for x in list %}{% set ns.s = ns.s + x ~ '-' %}{% \
         endfor %}{{ ns.s }}",
        "{% set y %}a{{ text }}b{% endset %}{{ y | upper }}{% filter title %}some {{ text }}{% \
         endfilter %}",
        "{{ '-' * 5 }}{{ [1] * 3 }}{{ (1, 2) + (3,) }}{{ list + ['z'] }}{{ list[1:] }}{{ \
         text[::-1] }}{{ {'a': [1, {'b': 2}]} }}",
        "{{ 'a' in text }}{{ 'q' not in list }}{{ 1 < 2 < 3 }}{{ text and list or 1 }}{{ 'yes' if \
         missing is defined else 'no' }}",
        "{{ text.replace('a', 'bb').upper() }}{{ ', '.join(list) }}{{ '{:>5}|{}'.format(1, 'x') \
         }}{{ '%05.1f' | format(2.25) }}",
        "{% with a = 1, b = text %}{{ a }}{{ b }}{% endwith %}{% block body %}in {{ text }}{% \
         endblock %}",
        "{% for k, v in {'a': 1, 'b': 2} | items %}{{ k }}={{ v }};{% endfor %}{% for a in [[1, \
         [2]], [3]] recursive %}{{ loop(a) if a is sequence else a }}{% endfor %}",
        "{{ list | map('upper') | join('+') }}{{ list | batch(2) | list }}{{ text | indent(2) \
         }}{{ dict(a=1) }}{{ list | sort(reverse=true) }}",
    ];
    for source in sources {
        let mut plain = Environment::new();
        plain.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        let root = Value::from_pairs([
            ("text", Value::from("a b")),
            ("list", Value::from(vec!["x", "y"])),
        ]);
        let expected = plain
            .render_named_str("template", source, root)
            .map_err(|error| error.to_string());
        assert_eq!(render(source), expected, "{source}");
    }
}
