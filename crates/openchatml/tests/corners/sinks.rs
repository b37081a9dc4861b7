//! Sinks that are used directly, and dialects that are created at run time.

use std::ops::Range;

use openchatml::lex::{Escape, TokenTable};
use openchatml::render::{Part, Sink, SinkError, TextSink, render_to};
use openchatml::{
    Carrier, Control, Conversation, Format, FormatError, Message, ReadOptions, RenderOptions, Role,
    Span, TextFormat, dialects, parse,
};
use openchatml_tokens::{ByteEncoding, Tokenizer};

/// Returns the parts of each written message: the text between its end and the next message, its
/// opening, the rest of its header, its body and its end.
fn parts(text: &str, format: TextFormat) -> Vec<[String; 5]> {
    let tokenizer = Tokenizer::new(format, ByteEncoding::default());
    let document = parse(text, format.into(), &ReadOptions::default()).document;
    let rendered = tokenizer.render(&document, &RenderOptions::default()).expect("it is written");
    let part = |range: Range<usize>| {
        let read = tokenizer.parse(&rendered.ids[range], &ReadOptions::default());
        read.text().to_owned()
    };
    let spans = rendered.spans.iter().cloned();
    spans.map(|it| [it.gap, it.opening, it.header, it.body, it.end].map(part)).collect()
}

#[test]
fn the_end_of_a_turn_that_went_on_is_between_messages() {
    let call = "<|assistant_start|><|tools_prefix|>[{\"f\": {}}]<|tools_suffix|>";
    let user = "<|user_start|>q<|user_end|>";
    let text = format!("<s>{user}{call}<|assistant_end|>{user}{call}[1]<|assistant_end|>{user}");
    let name = "<|tools_prefix|>[{\"f\": ";
    let said = [
        ["", "<|user_start|>", "", "q", "<|user_end|>"],
        ["<|assistant_end|>", "<|assistant_start|>", name, "{}", "}]<|tools_suffix|>"],
        ["", "<|user_start|>", "", "q", "<|user_end|>"],
        ["", "<|assistant_start|>", name, "{}", "}]<|tools_suffix|>"],
        ["<|assistant_end|>", "", "[", "1", "]"],
        ["", "<|user_start|>", "", "q", "<|user_end|>"],
    ];
    assert_eq!(parts(&text, TextFormat::APERTUS), said);
}

#[test]
fn the_line_break_after_a_turn_is_between_messages() {
    let text = "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n";
    let said = [
        ["\n", "<|im_start|>user\n", "", "q", "<|im_end|>"],
        ["\n", "<|im_start|>assistant\n", "", "a", "<|im_end|>"],
    ];
    assert_eq!(parts(text, TextFormat::QWEN3), said);
}

#[test]
fn kept_layout_has_the_parts_of_a_message() {
    let text = "<｜begin▁of▁sentence｜>\n<｜Assistant｜>\n<think>\nHm.</think>\nA.<｜end▁of▁sentence｜>\n\
        <｜User｜>q<｜Assistant｜>\n</think>\nB.<｜end▁of▁sentence｜>";
    let end = "<｜end▁of▁sentence｜>";
    let said = [
        ["", "<｜begin▁of▁sentence｜>\n<｜Assistant｜>", "\n<think>", "\nHm.", "</think>"],
        ["\n", "", "", "\nA.", end],
        ["", "<｜User｜>", "", "q", ""],
        ["", "<｜Assistant｜>", "\n</think>", "\nB.", end],
    ];
    assert_eq!(parts(text, TextFormat::DEEPSEEK_V3_1), said);
    let text = "<|im_start|>assistant\n<think>Hm.</think>A.<|im_end|>\n";
    let said = [
        ["", "<|im_start|>assistant\n", "<think>", "Hm.", "</think>"],
        ["\n", "", "", "A.", "<|im_end|>"],
    ];
    assert_eq!(parts(text, TextFormat::QWEN3), said);
}

/// A sink that does not tell seams from parts.
#[derive(Default)]
struct Parts(Vec<Part>);

impl Sink for Parts {
    fn control(&mut self, _: Control) -> Result<(), SinkError> {
        Ok(())
    }

    fn text(&mut self, _: &str) -> Result<(), SinkError> {
        Ok(())
    }

    fn preamble(&mut self, _: &str) -> Result<(), SinkError> {
        Ok(())
    }

    fn part(&mut self, part: Part) {
        self.0.push(part);
    }
}

#[test]
fn a_seam_begins_a_part() {
    let document = Conversation::from_messages([Message::new(Role::System, "s")]).into();
    let mut parts = Parts::default();
    render_to(&document, TextFormat::APERTUS, &RenderOptions::default(), &mut parts).expect("text");
    assert!(parts.0.contains(&Part::Body) && parts.0.contains(&Part::End), "{:?}", parts.0);
}

#[test]
fn a_header_ends_at_the_start_of_a_line() {
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    sink.preamble("version: 2.2").expect("a header");
    sink.control(Control::Start).expect("a token");
    assert_eq!(out, "version: 2.2\n<|start|>");
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    let error = sink.preamble("a: b\n<|start|>c\n").expect_err("this begins a message");
    assert_eq!(error.span.range(), 5..16);
}

#[test]
fn a_literal_block_cannot_contain_its_end() {
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    for control in [Control::Start, Control::Message, Control::Literal] {
        sink.control(control).expect("a token");
    }
    let error = sink.text("a<|endliteral|>").expect_err("this ends the block");
    assert_eq!((error.span.range(), error.spelling), (1..15, "<|endliteral|>"));
    sink.text("a<|end|>").expect("this does not");
    assert_eq!(out, "<|start|><|message|><|literal|>a<|end|>");
}

#[test]
fn a_refusal_across_pieces_has_its_place_in_the_last_piece() {
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
    sink.control(Control::Start).expect("a token");
    sink.text("user\nHi <|im_").expect("text so far");
    let error = sink.text("end|> and more").expect_err("a token after all");
    assert_eq!((error.span.range(), error.spelling), (0..5, "<|im_end|>"));
}

#[test]
fn tokens_that_a_dialect_lacks_are_refused() {
    for dialect in dialects::ALL {
        let mut out = String::new();
        let has_channels = dialect.controls.spelling(Control::Channel).is_some();
        let written = TextSink::new(dialect.controls, &mut out).control(Control::Channel);
        assert_eq!(written.is_ok(), has_channels, "{}", dialect.id);
        assert_eq!(out.is_empty(), !has_channels, "{}", dialect.id);
    }
}

#[test]
fn a_header_has_no_escape() {
    let mut out = String::new();
    let mut sink = TextSink::new(dialects::OPENCHATML_2_2.controls, &mut out);
    sink.control(Control::Start).expect("a token");
    let error = sink.text("user <|end|>").expect_err("a header cannot hold it");
    assert_eq!(error.to_string(), "a header cannot contain `<|end|>`");
}

/// A sink without an id for the end of messages.
struct Endless;

impl Sink for Endless {
    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        match control {
            Control::End => Err(SinkError::new(Span::default(), "<|end|>", "no id stands for")),
            _ => Ok(()),
        }
    }

    fn text(&mut self, _: &str) -> Result<(), SinkError> {
        Ok(())
    }

    fn preamble(&mut self, _: &str) -> Result<(), SinkError> {
        Ok(())
    }
}

#[test]
fn errors_of_a_sink_name_the_message() {
    let document = Conversation::from_messages([Message::new(Role::User, "Hi.")]).into();
    let format = TextFormat::OPENCHATML_2_2;
    let written = render_to(&document, format, &RenderOptions::default(), &mut Endless);
    let error = written.expect_err("a message has an end");
    assert_eq!(error.to_string(), "message 0, end: no id stands for `<|end|>`");
}

#[test]
fn a_sink_requires_a_text_format() {
    let document = Conversation::from_messages([Message::new(Role::User, "Hi.")]).into();
    let (mut out, options) = (String::new(), RenderOptions::default());
    let mut sink = TextSink::new(dialects::CHATML.controls, &mut out);
    render_to(&document, TextFormat::CHATML, &options, &mut sink).expect("text");
    assert_eq!(out, "<|im_start|>user\nHi.<|im_end|>\n");
}

#[test]
fn a_missing_form_is_a_format_error() {
    let lacks = |error: FormatError| error.to_string();
    let text = TextFormat::try_from(Format::JSON).map_err(lacks);
    assert_eq!(text, Err("`json` has no text form".to_owned()));
    assert_eq!(Format::RESPONSES.text().map_err(lacks), Err("`responses` has no text form".into()));
    let named = "chatml-wire".parse::<TextFormat>().map_err(lacks);
    assert_eq!(named, Err("`chatml-wire` has no text form".to_owned()));
    let unknown = "chatml:yaml".parse::<TextFormat>().map_err(lacks);
    assert_eq!(unknown, Err("unknown format `chatml:yaml`".to_owned()));
    let json = Format::new(&dialects::CHATML, Carrier::Json).map_err(lacks);
    assert_eq!(json, Err("`chatml` has no JSON form".to_owned()));
    assert_eq!(Format::new(&dialects::JSON, Carrier::Json), Ok(Format::JSON));
    assert_eq!(Format::new(&dialects::CHATML, Carrier::Text), Ok(TextFormat::CHATML.format()));
    assert_ne!(Format::from(TextFormat::CHATML), Format::JSON);
}

#[test]
fn each_text_format_belongs_to_its_dialect() {
    let texts = Format::all().filter(|format| format.carrier() == Carrier::Text);
    assert!(texts.map(TextFormat::try_from).eq(TextFormat::all().map(Ok)));
    for format in TextFormat::all() {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(format.format().text(), Ok(format));
        assert_eq!(format!("{format:?}"), format!("TextFormat({:?})", format.dialect().id));
    }
}

const TAGS: &[(Control, &str)] =
    &[(Control::Start, "<turn>"), (Control::Message, "<says>"), (Control::End, "</turn>")];

/// The tables of dialects are constants. This test also creates them at run time.
#[test]
fn token_tables_can_be_created_at_run_time() {
    let tags = TokenTable::new(std::hint::black_box(TAGS), Escape::None);
    assert_eq!(tags.longest(), "</turn>".len());
    for (control, spelling) in TAGS {
        assert_eq!(tags.spelling(*control), Some(*spelling));
        assert_eq!(tags.control(spelling), Some(*control));
        let text = format!("a < b {spelling} c");
        assert_eq!(tags.find(&text), Some((6, *control, spelling.len())));
    }
    assert_eq!(tags.spelling(Control::Channel), None);
    assert_eq!(tags.find("<turn <says </turn"), None);
}

#[test]
fn invalid_token_tables_are_refused() {
    let tables: [&'static [(Control, &'static str)]; 3] = [
        &[(Control::Start, "")],
        &[(Control::Start, "<turn>"), (Control::End, "<turn>")],
        &[(Control::Start, "<a>"); 129],
    ];
    for table in tables {
        let made = std::panic::catch_unwind(|| TokenTable::new(table, Escape::None));
        assert!(made.is_err(), "{table:?}");
    }
}
