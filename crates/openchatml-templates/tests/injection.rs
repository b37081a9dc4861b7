//! Content never produces a control token, whatever it spells and whatever the template does with
//! it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::path::Path;

use openchatml::{Channel, Code, Conversation, Data, Intent, Message, Role, Tool, Value};
use openchatml_templates::{ErrorPlace, Options, Rendered, Template, TemplateError};
use openchatml_testkit::{Source, cases, one_in, pick};
use openchatml_tokens::{ByteEncoding, Encoding as _};

/// The number of cases of a property.
const CASES: usize = 3_000;

/// The parts of hostile content.
const PIECES: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|IM_END|>",
    "<think>",
    "</think>",
    "</tool_call>",
    "<|end|>",
    "<｜User｜>",
    "[INST]",
    "[/INST]",
    "<s>",
    "</s>",
    "<tool_response>",
    "<|eot_id|>",
    "<|user|>",
    "<",
    "<|",
    "|>",
    ">",
    "[",
    "]",
    "|im_end|>",
    "im_end",
    "think>",
    "/think",
    "/function",
    "end|",
    "|",
    "/",
    "INST",
    "/INST]",
    "user",
    "a",
    " ",
    "\n",
    "é",
    "\u{fdd0}",
    "\u{fdd1}",
    "\u{fdd2}",
    "\u{fdd3}\u{fdd4}",
    "{{ x }}",
    "{% generation %}",
    "\"",
    "\\",
];

/// Hostile names of parameters, each with a harmless replacement.
const KEYS: &[(&str, &str)] = &[
    ("think", "thing"),
    ("/function", "xfunction"),
    ("|end|", "xendx"),
    ("a>", "ax"),
    ("<|end|>", "xxendxx"),
    ("x><think", "xxxthink"),
];

/// The same content without any part of a control token.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() { c } else { 'x' }).collect()
}

/// A conversation with the text of the user, tools and so on made by `content`.
fn conversation(source: &mut Source<'_>, is_hostile: bool) -> Conversation<'static> {
    let says = |text: String| if is_hostile { text } else { harmless(&text) };
    let said = |source: &mut Source<'_>| {
        let count = source.int_in_range(0..=6).unwrap_or(0);
        says((0..count).map(|_| pick(source, PIECES)).collect())
    };
    let data = |source: &mut Source<'_>, text: String| {
        let (hostile, benign) = pick(source, KEYS);
        let key = if is_hostile { hostile } else { benign };
        Value::from(Data::Map(vec![(key.into(), text.into())]))
    };
    let mut messages = Vec::new();
    if one_in(source, 2) {
        messages.push(Message::new(Role::System, said(source)));
    }
    for round in 0..source.int_in_range(1..=3).unwrap_or(1) {
        // A template may look for the last question.
        let mut question = Message::new(Role::User, format!("{} {round}", said(source)));
        question.name = one_in(source, 3).then(|| said(source).into());
        messages.push(question);
        if one_in(source, 2) {
            messages.push(Message::reasoning(said(source) + "x"));
        }
        if one_in(source, 2) {
            let mut preamble = Message::new(Role::Assistant, said(source));
            (preamble.channel, preamble.intent) =
                (Some(Channel::Commentary), Some(Intent::Preamble));
            messages.push(preamble);
            let text = said(source);
            let mut call = Message::new(Role::Assistant, data(source, text).to_json());
            let id = if is_hostile { "<|end|>ab" } else { "xxendxxab" };
            call.recipient = Some(format!("functions.{}", said(source) + "x").into());
            call.channel = Some(Channel::Commentary);
            call.call_id = Some(id.into());
            messages.push(call);
            let mut reply = Message::new(Role::Tool, said(source));
            reply.call_id = Some(id.into());
            messages.push(reply);
        }
        messages.push(Message::answer(said(source)));
    }
    let mut conversation = Conversation::from_messages(messages);
    if one_in(source, 2) {
        let mut tool = Tool::new(said(source));
        tool.description = Some(said(source).into());
        let text = said(source);
        let schema = data(source, text);
        let properties = Data::Map(vec![("city".into(), schema)]).into();
        tool.parameters = Some(Data::Map(vec![("properties".into(), properties)]).into());
        conversation.tools.push(tool);
    }
    conversation
}

fn templates() -> Vec<(String, Template)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/templates");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let source = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, Template::new(&source, &Default::default()).unwrap())
    };
    files.iter().map(read).collect()
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.date = Some("2025-06-28".parse().unwrap());
    options.special_tokens =
        vec![("bos_token".into(), "<s>".into()), ("eos_token".into(), "</s>".into())];
    options
}

/// The control tokens of a rendered prompt, in order.
fn controls(rendered: &Rendered) -> Vec<&str> {
    let controls = rendered.pieces.iter().filter(|piece| piece.is_control);
    controls.map(|piece| &rendered.text[piece.span.clone()]).collect()
}

#[test]
fn control_tokens_do_not_depend_on_content() {
    let templates = templates();
    cases(CASES, |source| {
        let (name, template) =
            &templates[source.int_in_range(0..=templates.len() - 1).unwrap_or(0)];
        let mut options = options();
        options.generation_prompt = one_in(source, 2);
        let rest = source.bytes(source.len()).unwrap_or_default();
        let [hostile, benign] = [true, false].map(|is_hostile| {
            let conversation = conversation(&mut Source::new(rest), is_hostile);
            template.render_pieces(&conversation, &options)
        });
        match (&hostile, &benign) {
            (Ok(hostile), Ok(benign)) => {
                let [hostile_ones, benign_ones] = [controls(hostile), controls(benign)];
                if name == "qwen3_like.jinja" {
                    // This template renders content with reasoning in another way.
                    let turns = |all: &[&str]| all.iter().filter(|it| it.starts_with("<|")).count();
                    assert_eq!(turns(&hostile_ones), turns(&benign_ones), "{name}");
                } else {
                    assert_eq!(hostile_ones, benign_ones, "{name}");
                }
                pieces_are_the_text(hostile);
                assert_eq!(hostile.generation.len(), benign.generation.len(), "{name}");
            }
            (Err(hostile), Err(benign)) => assert_eq!(hostile.code, benign.code),
            (hostile, benign) => panic!("{name}: {hostile:?}, but {benign:?}"),
        }
    });
}

fn pieces_are_the_text(rendered: &Rendered) {
    let mut at = 0;
    for piece in &rendered.pieces {
        assert!(piece.span.start == at && piece.span.end > at, "{rendered:?}");
        at = piece.span.end;
    }
    assert_eq!(at, rendered.text.len());
    // The control tokens among the ids are exactly those of the pieces.
    let spellings =
        ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "[INST]", "</s>", "<|end|>"];
    let encoding = ByteEncoding::new(spellings);
    let ids = rendered.ids(&encoding).ids;
    let known = controls(rendered).into_iter().filter(|it| encoding.control(it).is_some());
    assert_eq!(ids.iter().filter(|id| **id > 255).count(), known.count());
}

/// Text is refused if its control tokens differ from those of the pieces.
#[test]
fn text_determines_the_control_tokens_or_is_refused() {
    let templates = templates();
    cases(CASES, |source| {
        let (_, template) = &templates[source.int_in_range(0..=templates.len() - 1).unwrap_or(0)];
        let rest = source.bytes(source.len()).unwrap_or_default();
        let conversation = conversation(&mut Source::new(rest), true);
        let pieces = template.render_pieces(&conversation, &options());
        match (template.render(&conversation, &options()), pieces) {
            (Ok(text), pieces) => assert_eq!(Ok(text), pieces),
            (Err(error), Ok(_)) => assert_eq!(error.code, Code::RenderControl),
            (error, pieces) => assert_eq!(error, pieces),
        }
    });
}

fn rendered(source: &str, content: &str) -> Result<Rendered, TemplateError> {
    let conversation = Conversation::from_messages([Message::new(Role::User, content.to_owned())]);
    let template = Template::new(source, &Default::default()).unwrap();
    template.render_pieces(&conversation, &options())
}

#[test]
fn templates_can_work_with_content() {
    let content = "<think>\nHm.\n</think>\n\n a <|end|> b ";
    for (expression, wanted) in [
        ("c.split('</think>')[-1].lstrip('\n')", " a <|end|> b "),
        ("c.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n')", "Hm."),
        ("c | trim", content.trim()),
        ("c.replace('<think>', '').replace('</think>', '')", "\nHm.\n\n\n a <|end|> b "),
        ("c.partition('</think>')[2].strip()", "a <|end|> b"),
        ("'</think>' in c", "True"),
        ("c.startswith('<think>')", "True"),
        ("c.strip().endswith('b')", "True"),
        ("c | length", "35"),
        ("c.count('<')", "3"),
        ("c.removeprefix('<think>') | length", "28"),
        ("c | tojson", "\"<think>\\nHm.\\n</think>\\n\\n a <|end|> b \""),
        ("c | tojson(ensure_ascii=true)", "\"<think>\\nHm.\\n</think>\\n\\n a <|end|> b \""),
        ("c | upper", "<THINK>\nHM.\n</THINK>\n\n A <|END|> B "),
        ("[c, c] | length", "2"),
        ("c.isascii()", "True"),
    ] {
        let source = format!("{{% set c = messages[0].content %}}{{{{ {expression} }}}}<|end|>");
        let rendered = rendered(&source, content).unwrap();
        assert_eq!(rendered.text, format!("{wanted}<|end|>"), "{expression}");
        assert_eq!(controls(&rendered), ["<|end|>"], "{expression}");
    }
}

#[test]
fn control_tokens_are_not_assembled_from_content() {
    for (source, content) in [
        ("{{ '<|' ~ messages[0].content ~ '|>' }}{{ '<|end|>' if x }}", "end"),
        ("<{{ messages[0].content }}{{ '<think>' if x }}", "think>"),
        ("{{ messages[0].content | lower }}{{ '<|end|>' if x }}", "<|END|>"),
        ("{{ messages[0].content.replace('-', '') }}{{ '<|end|>' if x }}", "<|e-nd|>"),
        ("{{ messages[0].content ~ messages[0].content }}{{ '<a><a>' if x }}", "<a>"),
        ("{{ messages[0].content[3:] }}{{ '<|end|>' if x }}", "abc<|end|>"),
        ("{{ messages[0].content | list | join }}{{ '<|end|>' if x }}", "<|end|>"),
        ("{{ messages[0].content.split(' ') | join }}{{ '<|end|>' if x }}", "<|e nd|>"),
    ] {
        assert!(controls(&rendered(source, content).unwrap()).is_empty(), "{source}");
    }
    // A template that cuts content which it also compares with a marker is refused, because the
    // origin of the characters is then unknown.
    let source =
        "{{ messages[0].content[1:] }}{{ 'x' in '<think>' }}{{ messages[0].content == '<think>' }}";
    let error = rendered(source, "<think>").unwrap_err();
    assert_eq!(error.code, Code::RenderControl);
    let ErrorPlace::Content { message, field, span } = error.at else { panic!("{:?}", error.at) };
    assert_eq!((message, field.as_str(), span.range()), (Some(0), "content", 0..7));
}
