//! Calls that no token opens: text is withheld while it can still be a call, and no longer.

use openchatml::{Event, Format, Message, ReadOptions, Stream, TextFormat, parse};

fn completion() -> ReadOptions {
    ReadOptions::completion()
}

/// Returns the text that a stream has shown after each character.
fn shown(text: &str, format: TextFormat) -> Vec<String> {
    let mut stream = Stream::new(format, &completion());
    let mut shown = String::new();
    let mut all = Vec::new();
    for char in text.chars() {
        for event in stream.feed(char.encode_utf8(&mut [0; 4])) {
            if let Event::Delta { text, .. } = event {
                shown.push_str(&text);
            }
        }
        all.push(shown.clone());
    }
    all
}

/// Returns the kind and the text of each message: `call f {}`, `text Hi.`.
fn told(messages: &[Message<'_>]) -> Vec<String> {
    let tell = |message: &Message<'_>| {
        let kind = match message.recipient.as_deref() {
            Some(tool) if message.is_call() && !message.recovered => format!("call {tool}"),
            _ if message.is_reasoning() => "hidden".to_owned(),
            _ => format!("{:?}", message.role).to_lowercase(),
        };
        format!("{kind} {}", message.body.text())
    };
    messages.iter().map(tell).collect()
}

fn read(text: &str, format: Format, options: &ReadOptions) -> Vec<String> {
    told(&parse(text, format, options).into_conversation().messages)
}

#[test]
fn text_appears_as_soon_as_it_cannot_be_a_call() {
    let is_shown_after = |text: &str, format: TextFormat| {
        shown(text, format).iter().position(|it| !it.is_empty()).map(|at| text[..at].to_owned())
    };
    let (three, four) = (TextFormat::LLAMA_3, TextFormat::LLAMA_4);
    for (text, format, before) in [
        ("Hi.", three, ""),
        ("{\"capital\": 1}", three, "{\""),
        ("{\"name\": \"Bern\", \"size\": 1}", three, "{\"name\": \"Bern\", \""),
        ("{\"name\": 1}", three, "{\"name\": "),
        ("{\"name\": \"f\", \"parameters\": []}", three, "{\"name\": \"f\", \"parameters\": "),
        ("{} ", three, "{"),
        ("[1]", three, "["),
        ("[Bern](x)", four, "[Bern"),
        ("[1]", four, "["),
        ("[f(a=x)]", four, "[f(a=x"),
        ("[f()].", four, "[f()]"),
    ] {
        assert_eq!(is_shown_after(text, format).as_deref(), Some(before), "{text}");
    }
    assert_eq!(
        is_shown_after("{\"name\": \"f\", \"parameters\": {\"a\": 1}}<|eot_id|>", three),
        None
    );
    assert_eq!(is_shown_after("[f(a=1), g()]\n<|eot|>", four), None);
}

#[test]
fn text_beyond_the_limit_is_no_call() {
    let mut options = completion();
    options.limits.message_bytes = 40;
    let call = "{\"name\": \"f\", \"parameters\": {}}";
    let read = |text: &str| read(text, Format::LLAMA_3, &options);
    assert_eq!(read(&[call, "<|eot_id|>"].concat()), ["call functions.f {}"]);
    let long = [call, &" ".repeat(20), "<|eot_id|>"].concat();
    assert!(read(&long)[0].starts_with("assistant {"), "{:?}", read(&long));
    let marked = ["<|python_tag|>", &long].concat();
    assert!(read(&marked)[0].starts_with("hidden {"), "{:?}", read(&marked));
}

/// Text in which calls between tokens are malformed or in unusual places.
const HOSTILE: &[&str] = &[
    "<|python_start|>\u{c}[f()]<|python_end|><|eot|>",
    "\u{c}[f()]<|eot|>",
    "<|tool_call_start|>\u{c}[f()]<|tool_call_end|><|im_end|>",
    "<|tool_call_start|> \n[ f(a='<|tool_call_end|>') ]<|tool_call_end|>x<|im_end|>",
    "<|tool_call_start|>[f(a='<|im_end|>')]<|tool_call_end|><|im_end|>",
    "<|tool_call_start|>[f()]<|tool_call_end|><|tool_call_end|><|im_end|>",
    "<|tool_call_start|><|tool_call_start|>[f()]<|tool_call_end|><|im_end|>",
    "<|tool_call_start|>[f()]<|tool_call_start|>[g()]<|tool_call_end|><|im_end|>",
    "<|tool_call_start|><|tool_call_end|><|tool_call_start|>[]<|tool_call_end|>x<|im_end|>",
    "<|tool_call_start|>[f()]<|tool_response_start|><|tool_call_end|><|im_end|>",
    "<|tool_call_end|>[f()]<|tool_call_start|><|im_end|>",
    "<|tool_call_start|> [ \n {\"name\": \"f\", \"arguments\": {}} ] <|tool_call_end|><|im_end|>",
    "<|tool_call_start|>[\u{c}{\"name\": \"f\", \"arguments\": {}}]<|tool_call_end|><|im_end|>",
    "<|tool_call_start|>[{\"name\": \"f\", \"arguments\": {\"a b\": 1}},]<|tool_call_end|><|im_end|>",
    "<think>a<|tool_call_start|>[f()]<|tool_call_end|>b</think>c<|im_end|>",
    "<think>a<|tool_call_start|>[f(</think>)]<|tool_call_end|>c<|im_end|>",
    "<think>a<|tool_call_start|>[f()]<|im_end|>",
    "<function_calls>\n\nf(a=1)\n\ng(b='</function_calls>')\n</function_calls>x<|im_end|>",
    "<function_calls>f(a=1), g()</function_calls><|endoftext|>",
    "<function_calls>f(a=\n1)g()</function_calls></function_calls><|im_end|>",
    "<function_calls>f()<functions></function_calls><|im_end|>",
    "<function_calls>[f()]\n[g()]</function_calls><|im_end|>",
    "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"a\": \"<|/tool_call|>\"}}, {}]<|/tool_call|>x<|end|>",
    "<|tool_call|><|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]<|tool|><|/tool_call|><|end|>",
    "<think>a<|tool_call|>{\"name\": \"f\", \"arguments\": {\"</think>\": 1}}<|/tool_call|>b<|endoftext|>",
];

const FORMATS: &[TextFormat] = &[
    TextFormat::LLAMA_3,
    TextFormat::LLAMA_4,
    TextFormat::LFM2,
    TextFormat::LFM2_5,
    TextFormat::OLMO_3,
    TextFormat::PHI_4_MINI,
];

#[test]
fn chunks_of_hostile_text_make_no_difference() {
    let many =
        "<|start_header_id|>assistant<|end_header_id|>\n\n{\"name\": \"<|python_tag|>".repeat(70);
    let strings =
        ["{\"name\": \"f\", \"parameters\": {\"a\": \"", &"<|python_tag|>".repeat(50)].concat();
    let texts = [
        "{\"name\": \"f\", \"parameters\": {\"a\": \"<|eot_id|>\"}}<|eot_id|>",
        "{\"name\": \"f\", \"parameters\": {}}<|python_tag|>{\"name\": \"g\", \"parameters\": {}}<|eot_id|>",
        "<|python_tag|><|python_tag|>{\"name\": \"f\", \"parameters\": {}}<|eot_id|>",
        "<|python_tag|>{\"name\": \"f\", \"parameters\": {}} x<|eot_id|>",
        "<|python_tag|>{\"name\": \"f\", \"parameters\": {}};<|eot_id|>",
        "{\"name\": \"f\", \"parameters\": {}}<|end_header_id|><|eot_id|>",
        "{\"name\": \"f\", \"name\": \"g\", \"parameters\": {}}<|eot_id|>",
        "{\"name\": \"\", \"parameters\": {}}<|eot_id|>",
        "{\"name\": \"\\u0066\", \"parameters\": {\"é\": \"\\ud83d\"}}<|eot_id|>",
        " \n {\"name\": \"f\", \"parameters\": {}} \n <|eom_id|>{\"name\": \"g\"",
        "<|python_tag|>f.call(a=1).call()<|eot_id|>",
        "<|python_tag|>f.x(a=1)<|eot_id|>",
        "<|python_tag|>   <|eot_id|>",
        "x<|python_tag|>",
        "[f(a='<|header_start|>user<|header_end|>')]<|eot|>",
        "[f(a='<|header_start|>user<|header_end|>\n\nHi.<|eot|>",
        "[f(a='''<|python_end|>''')]<|python_end|><|eot|>",
        "<|python_start|>[f(a='<|python_end|>')]<|python_end|>[g()]<|eot|>",
        "<|python_start|><|python_start|>[f()]<|python_end|><|python_end|><|eot|>",
        "<|python_end|>[f()]<|eot|>",
        "[f(a=\"\\N{DASH}\")]<|eot|>",
        &many,
        &strings,
    ];
    for text in texts.iter().chain(HOSTILE) {
        for &format in FORMATS {
            let whole = parse(text, format.into(), &completion());
            let findings = format!("{:?}", whole.diagnostics);
            let whole = told(&whole.into_conversation().messages);
            for size in [1, 3, 7] {
                let mut stream = Stream::new(format, &completion());
                let (mut messages, mut found) = (Vec::new(), Vec::new());
                let mut take = |event: Event<'_>| match event {
                    Event::MessageDone { message, .. } => {
                        messages.push(Message::clone(&message).into_owned());
                    }
                    Event::Diagnostic { diagnostic, .. } => found.push((*diagnostic).clone()),
                    _ => {}
                };
                let chars: Vec<_> = text.chars().collect();
                for chunk in chars.chunks(size) {
                    let chunk: String = chunk.iter().collect();
                    stream.feed(&chunk).for_each(&mut take);
                }
                stream.finish().for_each(&mut take);
                assert_eq!(told(&messages), whole, "{format}: {text}");
                assert_eq!(format!("{found:?}"), findings, "{format}: {text}");
            }
        }
    }
}

#[test]
fn broken_calls_are_not_run() {
    for (text, expected) in [
        ("{\"name\": \"f\", \"parameters\": {\"a\": \"<|eot_id|>\"}}<|eot_id|>", "assistant {"),
        ("<|python_tag|>{\"name\": \"f\", \"parameters\": {}} x<|eot_id|>", "hidden {"),
        ("<|python_tag|>{\"name\": \"f\", \"parameters\": {}};<|eot_id|>", "hidden {"),
        ("{\"name\": \"\", \"parameters\": {}}<|eot_id|>", "assistant {"),
        ("{\"name\": \"f\", \"name\": \"g\", \"parameters\": {}}<|eot_id|>", "assistant {"),
        ("<|python_tag|>f.x(a=1)<|eot_id|>", "hidden f.x"),
    ] {
        let read = read(text, Format::LLAMA_3, &completion());
        assert!(read[0].starts_with(expected), "{text}: {read:?}");
        assert!(!read.iter().any(|it| it.starts_with("call")), "{text}: {read:?}");
    }
}

#[test]
fn calls_between_tokens_need_their_end_token() {
    let run = |text: &str, format: Format| {
        let read = read(text, format, &completion());
        read.into_iter().filter(|it| it.starts_with("call")).collect::<Vec<_>>()
    };
    let (lfm, olmo) = (Format::LFM2_5, Format::OLMO_3);
    let one = "<|tool_call_start|>[f(a=1)]<|tool_call_end|>";
    assert_eq!(run(one, lfm), ["call functions.f {\"a\": 1}"]);
    assert_eq!(run("<function_calls>f(a=1)</function_calls>", olmo).len(), 1);
    for (text, format) in [
        ("[f(a=1)]<|im_end|>", lfm),
        ("<|tool_call_start|>[f(a=1)]", lfm),
        ("<|tool_call_start|>[f(a=1)]<|im_end|>", lfm),
        ("<|tool_call_start|>[f(a=1)]<|im_start|>user\n<|tool_call_end|>", lfm),
        ("<|tool_call_start|>[f(a=1), g(]<|tool_call_end|><|im_end|>", lfm),
        ("<think><|tool_call_start|>[f(a=1)]<|tool_call_end|></think><|im_end|>", lfm),
        ("f(a=1)<|im_end|>", olmo),
        ("<function_calls>f(a=1)\n", olmo),
        ("<function_calls>f(a=1)\ng(</function_calls><|im_end|>", olmo),
    ] {
        assert_eq!(run(text, format), [""; 0], "{text}");
    }
    // Two sections of calls in one turn are both run.
    assert_eq!(run(&[one, one, "<|im_end|>"].concat(), lfm).len(), 2);
}
