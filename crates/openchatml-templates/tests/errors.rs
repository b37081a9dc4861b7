//! Errors of a template are reported with their place in the template.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::{Code, Conversation, Message, Role};
use openchatml_templates::{ErrorPlace, Template};

/// The code, the message and the text at the place of an error.
fn error(source: &str) -> (Code, String, String) {
    let message = Message::new(Role::User, "Hi.");
    let conversation = Conversation::from_messages([message]);
    let rendered = Template::new(source, &Default::default())
        .and_then(|template| template.render(&conversation, &Default::default()));
    let error = rendered.unwrap_err();
    let at = match &error.at {
        ErrorPlace::Template(span) => source[span.range()].to_owned(),
        other => format!("{other:?}"),
    };
    (error.code, error.message, at)
}

#[test]
fn errors_have_a_code_a_message_and_a_place() {
    use Code::{TemplateRender, TemplateSyntax};
    for (source, code, message, at) in [
        (
            "{{ a ~ b }}\n{% if x %}",
            TemplateSyntax,
            "unexpected end of input, expected end of block",
            "%}",
        ),
        ("{% fro x in y %}", TemplateSyntax, "unknown statement fro", "fro"),
        (
            "{% generation %}x",
            TemplateSyntax,
            "unexpected end of input, expected end of block",
            "x",
        ),
        ("{{ 'a' ~ (x }}", TemplateSyntax, "unexpected `}`, expected `)`", "}"),
        ("a\n{{ b ~ messages|nope }}", TemplateRender, "filter nope is unknown", "nope"),
        ("{{ 1 is nope }}", TemplateRender, "test nope is unknown", "nope"),
        ("{{ nope(1) }}", TemplateRender, "nope is unknown", "nope(1)"),
        ("{{ 'x'.nope() }}", TemplateRender, "string has no method named nope", ".nope()"),
        ("{{ a.b.c }}", TemplateRender, "`a` is undefined", "a.b"),
        (
            "{{ 'é' ~ a ~ raise_exception('a\n`b`') }}",
            TemplateRender,
            "a\n`b`",
            "raise_exception('a\n`b`')",
        ),
        (
            "{{ 'a' + 1 }}",
            TemplateRender,
            "tried to use + operator on unsupported types string and number",
            "'a' + 1",
        ),
    ] {
        let wanted = (code, message.to_owned(), at.to_owned());
        assert_eq!(error(source), wanted, "{source}");
    }
}
