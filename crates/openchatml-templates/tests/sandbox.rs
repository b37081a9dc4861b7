//! Hostile templates are refused with the name of a limit, and their memory is bounded.

use openchatml::{Code, Conversation, Message, Role};
use openchatml_templates::{Limits, Options, Template, TemplateError};

fn run(source: &str, limits: &Limits) -> Result<String, TemplateError> {
    let long = "x".repeat(1 << 20);
    let conversation = Conversation::from_messages([Message::new(Role::User, long)]);
    let template = Template::new(source, limits)?;
    Ok(template.render(&conversation, &Options::default())?.text)
}

/// Each of these would need too much memory or time.
const HOSTILE: &[(&str, &str)] = &[
    (
        "steps",
        "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    ),
    (
        "steps",
        "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    ),
    ("steps", "{{ 'x' * 1000000000 }}"),
    ("steps", "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"),
    ("value_bytes", "{{ messages[0].content.replace('x', messages[0].content) }}"),
    ("value_bytes", "{{ messages[0].content | replace('x', messages[0].content) }}"),
    ("value_bytes", "{{ messages[0].content | replace('', messages[0].content) }}"),
    ("value_bytes", "{{ messages[0].content.join(range(100000)) }}"),
    ("value_bytes", "{{ range(100000) | join(messages[0].content) }}"),
    ("value_bytes", "{{ 'a'.center(10000000000) }}"),
    ("value_bytes", "{{ 'a' | center(10000000000) }}"),
    ("value_bytes", "{{ '%10000000000d' | format(1) }}"),
    ("value_bytes", "{{ '{:>10000000000}'.format(1) }}"),
    ("value_bytes", "{{ ('{0}' * 100000).format(messages[0].content) }}"),
    ("value_bytes", "{{ ('%s' * 10) | format(([messages[0].content] * 9) ~ '') }}"),
    ("value_bytes", "{{ [messages[0].content] * 1000 }}"),
    ("value_bytes", "{{ ([messages[0].content] * 1000) ~ '' }}"),
    ("value_bytes", "{{ ([messages[0].content] * 1000) | upper }}"),
    ("value_bytes", "{{ ([messages[0].content] * 1000) | tojson }}"),
    ("value_bytes", "{{ ([[1] * 100000] * 100000) ~ '' }}"),
    ("value_bytes", "{{ ('a\n' * 100000) | indent(1000000) }}"),
    ("value_bytes", "{{ [1] | tojson(indent=1000000000) }}"),
    (
        "value_items",
        "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}",
    ),
    (
        "steps",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    ),
    ("value_items", "{% set x = [1] * 100000000 %}"),
    ("value_items", "{{ [[1] * 100000000] == [[1] * 100000000] }}"),
    ("value_items", "{{ [[1] * 100000000] is eq([[1] * 100000000]) }}"),
    ("value_items", "{{ ([[1] * 100000000] * 2).count([[1]]) }}"),
    (
        "value_depth",
        "{% set ns = namespace(x=1) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}",
    ),
    (
        "value_depth",
        "{% set ns = namespace(x=1) %}{% for i in range(100000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
    ),
    ("value_depth", "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}"),
    ("steps", "{{ (['x' * 60000000] * 90000) | sort | first }}"),
    ("steps", "{{ (['x' * 60000000] * 90000) | unique | first }}"),
    ("steps", "{{ (['x' * 60000000] * 90000) | min }}"),
    ("steps", "{{ ([{'a': 'x' * 60000000}] * 9000) | groupby('a') | length }}"),
    ("recursion", "{% macro f(x) %}{{ f([x]) }}{% endmacro %}{{ f(1) }}"),
    ("output_bytes", "{% for i in range(99) %}{{ messages[0].content }}{% endfor %}"),
];

#[test]
fn hostile_templates_are_refused_by_the_name_of_a_limit() {
    for (name, source) in HOSTILE {
        let error = run(source, &Limits::default()).map(|text| text.len()).unwrap_err();
        assert_eq!(error.code, Code::Limit, "{source}: {error:?}");
        assert!(error.message.contains(&format!("`{name}`")), "{source}: {error:?}");
    }
}

/// Lazy values of the engine do not accumulate.
#[test]
fn stored_values_are_fully_evaluated() {
    for source in [
        "{% set ns = namespace(x=[1, 2]) %}{% for i in range(20000) %}{% set ns.x = ns.x[0:] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1, 2]) %}{% for i in range(20000) %}{% set ns.x = ns.x * 1 %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x={'a': [1, 2]}) %}{% for i in range(20000) %}\
            {% set ns.x = {'a': ns.x.a[0:]} %}{% endfor %}{{ ns.x.a }}",
    ] {
        assert_eq!(run(source, &Limits::default()).unwrap(), "[1, 2]", "{source}");
    }
}

#[test]
fn every_limit_is_enforced() {
    let with = |set: fn(&mut Limits)| {
        let mut limits = Limits::default();
        set(&mut limits);
        limits
    };
    for (name, limits, source) in [
        ("source_bytes", with(|it| it.source_bytes = 3), "abcd"),
        ("output_bytes", with(|it| it.output_bytes = 3), "abcd"),
        ("value_bytes", with(|it| it.value_bytes = 3), "{{ [1, 2] }}"),
        ("value_items", with(|it| it.value_items = 1), "{% set x = [1, 2] %}"),
        ("value_depth", with(|it| it.value_depth = 1), "{% set x = [[[1]]] %}"),
        ("steps", with(|it| it.steps = 1), "{{ 1 }}{{ 2 }}"),
        (
            "recursion",
            with(|it| it.recursion = 6),
            "{% macro f(x) %}{% if x %}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(2) }}",
        ),
    ] {
        let error = run(source, &limits).unwrap_err();
        assert_eq!(error.code, Code::Limit, "{name}: {error:?}");
        assert!(error.message.contains(&format!("`{name}`")), "{name}: {error:?}");
        run(source, &Limits::default()).unwrap();
    }
}

#[test]
fn templates_read_no_file() {
    for source in ["{% include 'Cargo.toml' %}", "{% import 'x' as y %}", "{% extends 'x' %}"] {
        assert_eq!(run(source, &Limits::default()).unwrap_err().code, Code::TemplateSyntax);
    }
}

/// Chains of operators, which the engine follows with its stack.
#[test]
fn long_chains_of_operators_are_refused_before_they_exhaust_the_stack() {
    let chains: &[(&str, &str, &str)] = &[
        ("", "not ", "1"),
        ("", "-", "1"),
        ("", "1 if 1 else ", "1"),
        ("1", "**1", ""),
        ("1", "|string", ""),
        ("a", ".b", ""),
        ("a", "[0]", ""),
        ("1", "+1", ""),
        ("1", " and 1", ""),
        ("1", "~1", ""),
        ("[1]", "[0:1]", ""),
        ("1", " in 1", ""),
        ("1", " is defined", ""),
        ("", "[", ""),
        ("[", "not ", "1"),
        ("'a' }} {{ [ ", "not ", "1 }} {{ 1"),
        ("", "(", ""),
    ];
    for (start, step, end) in chains {
        let chain = |count: usize| format!("{{{{ {start}{}{end} }}}}", step.repeat(count));
        let error = Template::new(&chain(50_000), &Limits::default()).unwrap_err();
        assert_eq!(error.code, Code::Limit, "{step}");
        assert!(error.message.contains("`operators`"), "{step}: {}", error.message);
        // What is allowed may be malformed, but the stack is large enough for it.
        for count in [250, 333, 499, 999] {
            if let Ok(template) = Template::new(&chain(count), &Limits::default()) {
                let _ = template.render(&Conversation::default(), &Options::default());
            }
        }
    }
}
