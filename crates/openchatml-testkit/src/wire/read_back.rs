//! Reads the events of an API back.

use openchatml::wire::Api;
use openchatml::{Code, Message, detect, parse};

/// Reads the events. Returns the text for users, the arguments of calls and the reasoning.
///
/// # Panics
///
/// The events are not recognized, or parts of them cannot be read.
pub(super) fn read_back(api: Api, text: &str) -> [String; 3] {
    let format = match api {
        Api::Responses => "responses",
        Api::ChatCompletions => "openai",
        _ => "anthropic",
    };
    let found = detect(text);
    assert!(found[0].is_stream && found[0].format.to_string() == format, "{text}");
    let sse: String = text.lines().map(|line| format!("event: e\ndata: {line}\n\n")).collect();
    let array = format!("[{}]", text.lines().collect::<Vec<_>>().join(","));
    let [lines, sse, array] = [text, &sse, &array].map(|text| {
        let parsed = parse(text, found[0].format, &Default::default());
        for found in &parsed.diagnostics {
            let is_of_event = matches!(found.code, Code::ParseJson | Code::StreamTruncated);
            assert!(!is_of_event || text.contains("\"error\":{"), "{found} in {text}");
        }
        let conversation = parsed.into_conversation();
        let of = |is: fn(&Message<'_>) -> bool| -> String {
            let messages = conversation.messages.iter().filter(|it| is(it));
            messages.map(|it| it.body.text().into_owned()).collect()
        };
        let shown = of(|it| !it.is_call() && !it.is_reasoning());
        [shown, of(|it| it.is_call()), of(|it| it.is_reasoning())]
    });
    assert_eq!(lines, sse, "{text}");
    assert_eq!(lines, array, "{text}");
    lines
}
