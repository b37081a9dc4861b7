//! Schemas without limits: every grammar is written and lists the parts that it does not enforce.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::harmony::Namespace;
use openchatml::{Data, TextFormat, Tool, Value};
use openchatml_grammars::{Grammar, GrammarError, Language, Options, Requirement, grammar};

fn map<const N: usize>(entries: [(&'static str, Value<'static>); N]) -> Value<'static> {
    Data::Map(entries.map(|(key, value)| (key.into(), value)).into()).into()
}

fn list(values: Vec<Value<'static>>) -> Value<'static> {
    Data::List(values).into()
}

fn written(schema: Value<'static>, language: Language, options: &Options) -> Grammar {
    let tool = Tool::new("f").with_parameters(schema);
    let tools = [Namespace::functions(vec![tool])];
    grammar(TextFormat::HARMONY, &tools, language, options).unwrap()
}

/// Whether the grammar reports that a part of the schema exceeds the limits.
#[track_caller]
fn gives_up(schema: &Value<'static>, what: &Requirement) -> bool {
    let found = Language::ALL.map(|language| {
        let grammar = written(schema.clone(), language, &Options::default());
        assert!(grammar.text.len() < 32 << 20, "{language:?}: {} bytes", grammar.text.len());
        grammar.unenforced.iter().any(|unenforced| unenforced.requirement == *what)
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    found[0]
}

fn nested(depth: usize) -> Value<'static> {
    (0..depth).fold(map([("type", "string".into())]), |inner, _| {
        map([("type", "object".into()), ("properties", map([("a", inner)]))])
    })
}

#[test]
fn schemas_are_as_deep_as_the_limit() {
    assert!(!gives_up(&nested(64), &Requirement::Depth));
    assert!(gives_up(&nested(65), &Requirement::Depth));
    let mut options = Options::default();
    options.depth = 2;
    for (depth, unenforced) in [(2, 0), (3, 1)] {
        let grammar = written(nested(depth), Language::Lark, &options);
        assert_eq!(grammar.unenforced.len(), unenforced, "{:?}", grammar.unenforced);
    }
}

#[test]
fn schemas_have_as_many_parts_as_the_limit() {
    let many = |count: usize| {
        let property = |at: usize| (format!("p{at}").into(), map([("type", "null".into())]));
        let properties = Data::Map((0..count).map(property).collect()).into();
        map([("type", "object".into()), ("properties", properties)])
    };
    assert!(!gives_up(&many(1_000), &Requirement::Size));
    let mut options = Options::default();
    options.nodes = 10;
    let grammar = written(many(20), Language::Lark, &options);
    assert!(
        grammar.unenforced.iter().any(|unenforced| unenforced.requirement == Requirement::Size)
    );
}

#[test]
fn recursive_schemas_have_finite_grammars() {
    let reference = |to: &'static str| map([("$ref", to.into())]);
    // Each refers to the next one twice.
    let names: Vec<String> = (0..60).map(|at| format!("d{at}")).collect();
    let doubling = names.iter().enumerate().map(|(at, name)| {
        let next = map([("$ref", format!("#/$defs/d{}", at + 1).into())]);
        (name.clone().into(), map([("allOf", list(vec![next.clone(), next]))]))
    });
    let mut defs: Vec<_> = doubling.collect();
    defs.push(("d60".into(), map([("type", "object".into())])));
    let bomb =
        map([("allOf", list(vec![reference("#/$defs/d0")])), ("$defs", Data::Map(defs).into())]);
    assert!(gives_up(&bomb, &Requirement::Size));
    // A cycle, and two that produce a new schema at each step.
    assert!(gives_up(&map([("allOf", list(vec![reference("#")]))]), &Requirement::Depth));
    let tree = |other: &'static str| {
        let both = list(vec![reference("#/$defs/a"), reference("#/$defs/b")]);
        let next = map([("x", map([("allOf", both)])), ("y", reference(other))]);
        map([("type", "object".into()), ("properties", next)])
    };
    let defs = map([("a", tree("#/$defs/b")), ("b", tree("#/$defs/a"))]);
    gives_up(&map([("$ref", "#/$defs/a".into()), ("$defs", defs)]), &Requirement::Depth);
}

#[test]
fn tools_that_cannot_be_called_are_omitted() {
    let tool = |name: &'static str, parameters| {
        let mut tool = Tool::new(name);
        tool.parameters = parameters;
        tool
    };
    let never = map([("type", "object".into()), ("enum", list(Vec::new()))]);
    let next = map([("next", map([("$ref", "#".into())]))]);
    let required = list(vec!["next".into()]);
    let endless = map([("type", "object".into()), ("properties", next), ("required", required)]);
    for (one, what) in [
        (tool("f", Some(endless)), Requirement::Nothing),
        (tool("a b", None), Requirement::Name),
        (tool("", None), Requirement::Name),
        (tool("<|end|>", None), Requirement::Name),
        (tool("f", Some(never)), Requirement::Nothing),
    ] {
        let tools = [Namespace::functions(vec![one, tool("g", None)])];
        for language in Language::ALL {
            let format = "harmony".parse().unwrap();
            let grammar = grammar(format, &tools, language, &Options::default()).unwrap();
            assert!(
                grammar.unenforced.iter().any(|unenforced| unenforced.requirement == what),
                "{what:?}"
            );
            assert!(grammar.text.contains("functions.g") && !grammar.text.contains("functions.f"));
        }
    }
    let mut options = Options::default();
    options.answer = Some(false.into());
    let error = grammar(TextFormat::CHATML, &[], Language::Lark, &options).unwrap_err();
    assert_eq!(error, GrammarError::Nothing);
}
