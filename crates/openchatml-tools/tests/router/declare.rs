//! Declarations of tools, read from the forms of other programs and written in each format.

use openchatml::declare::Style;
use openchatml::harmony::{DeveloperContent, Namespace, SystemContent};
use openchatml::{Conversation, Format, Message, RenderOptions, Role, convert};
use openchatml_tools::{Entry, Toolbox, declare};

use super::support::{echo, json};

const SCHEMA: &str = r#"{"type":"object","properties":{"city":{"type":"string","description":"Where."}},"required":["city"]}"#;

fn weather() -> Entry {
    let text = format!(
        r#"{{"tools":[{{"name":"weather","title":"Weather","description":"The weather.","inputSchema":{SCHEMA},"annotations":{{"idempotentHint":true}}}}]}}"#
    );
    let tools = declare::read(&text).unwrap();
    let keys: Vec<_> = tools[0].extra.iter().map(|(key, _)| key.as_ref()).collect();
    assert_eq!(keys, ["title", "annotations"]);
    echo().declared(&tools[0])
}

#[test]
fn three_formats_of_a_declaration_give_the_same_tool() {
    let rest = r#""name":"weather","description":"The weather.""#;
    let shapes = [
        format!(r#"[{{"type":"function","function":{{{rest},"parameters":{SCHEMA}}}}}]"#),
        format!(r#"[{{"type":"function",{rest},"parameters":{SCHEMA}}}]"#),
        format!(r#"{{"tools":[{{{rest},"inputSchema":{SCHEMA}}}]}}"#),
    ];
    for shape in shapes {
        let tools = declare::read(&shape).unwrap();
        let tool = &tools[0];
        assert_eq!((tools.len(), tool.name.as_ref()), (1, "weather"), "{shape}");
        assert_eq!(tool.description.as_deref(), Some("The weather."), "{shape}");
        assert_eq!(tool.parameters, Some(json(SCHEMA)), "{shape}");
        assert!(tool.extra.is_empty(), "{shape}");
    }
}

#[test]
fn invalid_declarations_are_errors_with_places() {
    for (text, pointer, at) in [
        ("[", None, 1),
        (r#"{"name":"f"}"#, Some(""), 0),
        (r#"{"tools":{}}"#, Some("/tools"), 9),
        (r#"[1]"#, Some("/0"), 1),
        (r#"[{}]"#, Some("/0"), 1),
        (r#"[{"name":"f"},{"name":7}]"#, Some("/1/name"), 22),
        (r#"[{"name":"f","description":[]}]"#, Some("/0/description"), 27),
        (r#"[{"type":"function","function":"f"}]"#, Some("/0/function"), 31),
        (r#"{"tools":[{"type":"mcp","name":"f"}]}"#, Some("/tools/0/type"), 18),
        (r#"[{"name":"f","name":"g"}]"#, None, 13),
    ] {
        let error = declare::read(text).unwrap_err();
        assert_eq!((error.pointer.as_deref(), error.span.start), (pointer, at), "{text}: {error}");
    }
}

#[test]
fn each_format_declares_functions_in_its_own_way() {
    let mut tools = Toolbox::default();
    tools.insert("functions.weather", weather()).unwrap();
    tools.insert("python", echo()).unwrap();
    for (format, said) in [
        (
            "openchatml-2.2",
            "// The weather.\ntype weather = (_: {\n// Where.\ncity: string,\n}) => any;",
        ),
        ("harmony", "// The weather.\ntype weather = (_: {\n// Where.\ncity: string,\n}) => any;"),
        ("apertus", "// The weather.\ntype weather = (_: {\n// Where.\ncity: string\n}) => any;"),
        (
            "openai",
            r#""function":{"name":"weather","description":"The weather.","parameters":{"type":"object""#,
        ),
        ("responses", r#""name":"weather""#),
        ("json", r#""name":"weather","description":"The weather.","parameters":{"type":"object""#),
    ] {
        let mut conversation =
            Conversation::from_messages([Message::new(Role::System, "You help.")]);
        let format: Format = format.parse().unwrap();
        tools.declare_in(&mut conversation, format.dialect());
        let once = conversation.clone();
        tools.declare_in(&mut conversation, format.dialect());
        assert_eq!(conversation, once, "{format}: to declare tools again changes nothing");
        let made =
            convert::convert(&conversation.into(), format, &RenderOptions::default()).unwrap();
        let text = made.output;
        assert!(text.contains(said), "{format}: {text}");
        let is_listed = text.contains("builtin_tools: [python]");
        assert_eq!(is_listed, format.dialect().id.starts_with("openchatml-2"), "{format}: {text}");
    }
}

#[test]
fn built_in_tools_are_declared_as_models_know_them() {
    let mut tools = Toolbox::default();
    for name in
        ["browser.search", "browser.open", "browser.find", "python", "files.read", "files.write"]
    {
        tools.insert(name, echo()).unwrap();
    }
    assert_eq!(tools.builtins(), [Namespace::browser(), Namespace::python()]);
    assert!(tools.declare().is_empty());
    let mut system = SystemContent::default();
    system.tools = tools.builtins();
    assert!(system.text(false, Style::Documented).contains("namespace browser {"));
    let mut developer = DeveloperContent::default();
    developer.tools = tools.namespaces();
    let text = developer.text(Style::Documented);
    assert!(text.contains("namespace files {\n\ntype read = () => any;\n\ntype write"), "{text}");

    let mut some = Toolbox::default();
    some.insert("browser.search", echo()).unwrap();
    let search: Vec<_> = some.builtins()[0].tools.iter().map(|it| it.name.to_string()).collect();
    assert_eq!(search, ["search"]);
}
