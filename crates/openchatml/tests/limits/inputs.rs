//! Inputs that use exactly a given amount of a limited resource, for every format that has the
//! limit.

/// A way to reach a limit.
pub(crate) struct Case {
    pub(crate) limit: &'static str,
    pub(crate) format: &'static str,
    /// Creates an input that uses exactly this amount.
    pub(crate) input: fn(usize) -> String,
}

const fn case(limit: &'static str, format: &'static str, input: fn(usize) -> String) -> Case {
    Case { limit, format, input }
}

/// Each limit, at every place that checks it.
pub(crate) const CASES: &[Case] = &[
    case("message_bytes", "openchatml-2.2", |n| framed("user", &letters(n))),
    case("message_bytes", "openchatml-2.2", |n| framed("user", &escaped(n))),
    case("message_bytes", "openchatml-2.2", |n| framed("user", &literal(n))),
    case("message_bytes", "openchatml-2.0", |n| framed("user", &letters(n))),
    case("message_bytes", "openchatml-0.1", |n| turn("user", &letters(n))),
    case("message_bytes", "openchatml-0.1", |n| infill(&letters(n - 8))),
    case("message_bytes", "chatml-wire:text", |n| start("user", &letters(n))),
    case("message_bytes", "chatml-wire", |n| wire(&letters(n))),
    case("message_bytes", "chatml", |n| turn("user", &letters(n))),
    case("message_bytes", "json", |n| messages(&object("content", &letters(n)))),
    case("message_bytes", "openchatml-2.2:json", |n| object("content", &letters(n))),
    // The header of the document, and that of a message.
    case("header_bytes", "openchatml-2.2", |n| format!("version: 2.2\n#{}\n{HI}", letters(n - 15))),
    case("header_bytes", "openchatml-2.0", |n| format!("version: 2.0\n#{}\n{HI}", letters(n - 15))),
    case("header_bytes", "openchatml-2.2", |n| framed(&role(n), "Hi.")),
    case("header_bytes", "openchatml-2.0", |n| framed(&role(n), "Hi.")),
    case("header_bytes", "chatml-wire:text", |n| start(&role(n), "Hi.")),
    // Here the line break is part of the header.
    case("header_bytes", "openchatml-0.1", |n| turn(&role(n - 1), "Hi.")),
    case("header_bytes", "chatml", |n| turn(&role(n - 1), "Hi.")),
    case("header_bytes", "json", |n| format!(r#"{{"header":{{"a":"{}"}}}}"#, letters(n - 8))),
    case("value_bytes", "openchatml-2.2", |n| framed(&format!("user name={}", letters(n)), "Hi.")),
    case("value_bytes", "openchatml-2.2", |n| call(&format!("to={} call_id=c", letters(n)))),
    case("value_bytes", "openchatml-2.2", |n| call(&format!("to=f call_id={}", letters(n)))),
    case("value_bytes", "openchatml-2.2", |n| {
        framed(&format!("user content_type={}", letters(n)), "Hi.")
    }),
    case("value_bytes", "openchatml-2.2", |n| {
        framed(&format!("assistant<|constrain|>{}", letters(n)), "Hi.")
    }),
    case("value_bytes", "openchatml-2.0", |n| call(&format!("to={}", letters(n)))),
    case("value_bytes", "openchatml-0.1", |n| turn(&format!("user name={}", letters(n)), "Hi.")),
    case("value_bytes", "chatml", |n| turn(&format!("user name={}", letters(n)), "Hi.")),
    case("attributes", "openchatml-2.2", |n| framed(&attributes(n), "Hi.")),
    case("attributes", "openchatml-2.0", |n| framed(&attributes(n), "Hi.")),
    case("messages", "openchatml-2.2", |n| HI.repeat(n)),
    case("messages", "openchatml-2.0", |n| HI.repeat(n)),
    case("messages", "openchatml-0.1", |n| turn("user", "Hi.").repeat(n)),
    case("messages", "chatml-wire:text", |n| start("user", "Hi.").repeat(n)),
    case("messages", "chatml-wire", |n| format!("[{}]", list(WIRE, n))),
    case("messages", "chatml", |n| turn("user", "Hi.").repeat(n)),
    case("messages", "json", |n| messages(&list(&object("content", "a"), n))),
    case("yaml_depth", "openchatml-2.2", |n| header(&block(n))),
    case("yaml_depth", "openchatml-2.2", |n| header(&format!("a: {}\n", arrays(n)))),
    case("yaml_depth", "openchatml-2.2", |n| header(&format!("a: {}\n", flow(n - 1)))),
    case("yaml_depth", "openchatml-2.0", |n| header(&block(n))),
    // The mapping, the version and the list are one node each.
    case("yaml_nodes", "openchatml-2.2", |n| header(&format!("a: [{}]\n", list("1", n - 3)))),
    case("yaml_nodes", "openchatml-2.2", |n| header(&keys(n - 2))),
    case("yaml_nodes", "openchatml-2.0", |n| header(&keys(n - 2))),
    case("json_depth", "openchatml-2.2", |n| {
        framed("assistant<|channel|>final<|constrain|>json", &arrays(n))
    }),
    case("json_depth", "openchatml-2.2", |n| {
        call("to=functions.f call_id=c<|constrain|>json").replace("{}", &arrays(n))
    }),
    case("json_depth", "openchatml-2.2", |n| {
        framed("assistant<|channel|>final<|constrain|>json", &flow(n).replace('a', "\"a\""))
    }),
    case("json_depth", "json", |n| format!(r#"{{"header":{{"a":{}}}}}"#, arrays(n - 2))),
    case("json_depth", "openchatml-2.2:json", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("json_depth", "openchatml-2.0:json", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("json_depth", "chatml-wire", |n| format!("[{}]", arrays(n - 1))),
    case("diagnostics", "openchatml-2.2", |n| framed(&words(n), "Hi.")),
    case("diagnostics", "chatml-wire:text", |n| start(&words(n), "Hi.")),
    case("diagnostics", "openchatml-0.1", |n| sequence(&words(n))),
    case("diagnostics", "chatml", |n| turn(&words(n), "Hi.")),
    case("diagnostics", "json", |n| messages(&list("1", n))),
    case("diagnostics", "openchatml-2.2:json", |n| format!("[{}]", list("1", n))),
    case("diagnostics", "openchatml-2.0:json", |n| format!("[{}]", list("1", n))),
    case("diagnostics", "chatml-wire", |n| format!("[{}]", list("1", n))),
    case("message_bytes", "json", |n| messages(&segments("text", &letters(n)))),
    case("message_bytes", "json", |n| format!(r#"{{"infill":{{"prefix":"{}"}}}}"#, letters(n))),
    case("message_bytes", "json", |n| format!(r#"{{"files":["{}"]}}"#, letters(n))),
    case("message_bytes", "json", |n| messages(&segments("literal", &letters(n)))),
    case("message_bytes", "openchatml-2.2:json", |n| segments("text", &letters(n))),
    case("message_bytes", "openchatml-2.2:json", |n| thought(&letters(n))),
    case("message_bytes", "openchatml-2.2:json", |n| {
        format!(
            r#"{{"role":"assistant","tool_call":{{"recipient":"f","arguments":"{}"}}}}"#,
            letters(n)
        )
    }),
    case("message_bytes", "openchatml-2.0:json", |n| object("content", &letters(n))),
    case("message_bytes", "openchatml-2.0:json", |n| thought(&letters(n))),
    case("message_bytes", "openai", |n| messages(&object("content", &letters(n)))),
    case("message_bytes", "openai", |n| messages(&segments("text", &letters(n)))),
    case("message_bytes", "openai", |n| messages(&given(&letters(n)))),
    case("value_bytes", "openai", |n| messages(&named(&letters(n)))),
    case("messages", "openai", |n| format!("[{}]", list(&object("content", "a"), n))),
    case("messages", "openai", caller),
    case("messages", "openchatml-2.0:json", caller),
    case("json_depth", "openai", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("diagnostics", "openai", |n| format!("[{}]", list("1", n))),
    case("message_bytes", "sharegpt", |n| format!("[{}]", from_human(&letters(n)))),
    case("messages", "sharegpt", |n| format!("[{}]", list(&from_human("a"), n))),
    case("json_depth", "sharegpt", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("diagnostics", "sharegpt", |n| format!("[{}]", list("1", n))),
    case("message_bytes", "anthropic", |n| messages(&object("content", &letters(n)))),
    case("message_bytes", "anthropic", |n| messages(&segments("text", &letters(n)))),
    case("message_bytes", "anthropic", |n| {
        format!(r#"{{"system":"{}","messages":[]}}"#, letters(n))
    }),
    case("message_bytes", "anthropic", |n| {
        let result = format!(r#"{{"type":"tool_result","content":"{}"}}"#, letters(n));
        messages(&format!(r#"{{"role":"user","content":[{result}]}}"#))
    }),
    case("value_bytes", "anthropic", |n| {
        let call =
            format!(r#"{{"type":"tool_use","name":"f","id":"{}","input":{{}}}}"#, letters(n));
        messages(&format!(r#"{{"role":"assistant","content":[{call}]}}"#))
    }),
    case("messages", "anthropic", |n| format!("[{}]", list(&object("content", "a"), n))),
    case("messages", "anthropic", |n| {
        let call = r#"{"type":"tool_use","name":"f","input":{}}"#;
        format!(r#"{{"role":"assistant","content":[{}]}}"#, list(call, n))
    }),
    case("messages", "anthropic", |n| {
        let text = r#"{"type":"text","text":"a"}"#;
        format!(r#"{{"system":[{}],"messages":[]}}"#, list(text, n))
    }),
    case("json_depth", "anthropic", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("diagnostics", "anthropic", |n| format!("[{}]", list("1", n))),
    case("message_bytes", "records", |n| {
        format!(r#"{{"prompt":"{}","completion":"a"}}"#, letters(n))
    }),
    case("message_bytes", "records", |n| {
        let input = letters(n - 2);
        format!(r#"{{"instruction":"a","input":"{input}","output":"a"}}"#)
    }),
    case("messages", "records", |n| {
        let said = list(&object("content", "a"), n - 1);
        format!(r#"{{"prompt":[{said}],"completion":"a"}}"#)
    }),
    case("json_depth", "records", |n| {
        format!(r#"{{"prompt":"a","completion":"a","meta":{}}}"#, arrays(n - 1))
    }),
    case("message_bytes", "gemini", |n| part(&format!(r#""text":"{}""#, letters(n)))),
    case("message_bytes", "gemini", |n| {
        part(&format!(r#""functionResponse":{{"response":{{"output":"{}"}}}}"#, letters(n)))
    }),
    case("value_bytes", "gemini", |n| {
        let call = format!(r#""functionCall":{{"name":"f","id":"{}","args":{{}}}}"#, letters(n));
        part(&call).replace("user", "model")
    }),
    case("messages", "gemini", |n| {
        let content = r#"{"role":"user","parts":[{"text":"a"}]}"#;
        format!(r#"{{"contents":[{}]}}"#, list(content, n))
    }),
    case("messages", "gemini", |n| {
        let text = r#"{"text":"a"}"#;
        format!(r#"{{"systemInstruction":{{"parts":[{}]}},"contents":[]}}"#, list(text, n))
    }),
    case("json_depth", "gemini", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("diagnostics", "gemini", |n| format!("[{}]", list("1", n))),
    case("message_bytes", "responses", |n| format!("[{}]", object("content", &letters(n)))),
    case("message_bytes", "responses", |n| format!("[{}]", segments("input_text", &letters(n)))),
    case("message_bytes", "responses", |n| format!(r#"{{"input":"{}"}}"#, letters(n))),
    case("value_bytes", "responses", |n| format!("[{}]", named(&letters(n)))),
    case("messages", "responses", |n| format!("[{}]", list(&object("content", "a"), n))),
    case("json_depth", "responses", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("diagnostics", "responses", |n| format!("[{}]", list("1", n))),
    case("message_bytes", "apertus", |n| said(&letters(n))),
    case("message_bytes", "apertus", |n| turned(&letters(n))),
    case("message_bytes", "apertus", |n| calling("f", &letters(n), "")),
    case("message_bytes", "apertus", |n| calling("f", "{}", &format!("[{}]", letters(n - 2)))),
    // The header of a call is the text before its arguments.
    case("header_bytes", "apertus", |n| {
        let list = format!(r#"[{}{{"f": {{}}}}]"#, " ".repeat(n - 7));
        turned(&format!("<|tools_prefix|>{list}<|tools_suffix|>"))
    }),
    case("value_bytes", "apertus", |n| calling(&letters(n), "{}", "")),
    case("messages", "apertus", |n| said("Hi.").repeat(n)),
    case("diagnostics", "apertus", |n| format!("<s>{}", "<|user_end|>".repeat(n))),
    case("message_bytes", "apertus:json", |n| messages(&object("content", &letters(n)))),
    case("message_bytes", "apertus:json", |n| blocks(&said_in("response", &letters(n)))),
    case("message_bytes", "apertus:json", |n| blocks(&output(&format!("{:?}", letters(n))))),
    case("message_bytes", "apertus:json", |n| blocks(&output(&"1".repeat(n)))),
    case("value_bytes", "apertus:json", |n| messages(&named(&letters(n)))),
    case("messages", "apertus:json", |n| messages(&list(&object("content", "a"), n))),
    case("messages", "apertus:json", |n| blocks(&list(&said_in("response", "a"), n))),
    case("json_depth", "apertus:json", |n| format!(r#"[{{"x":{}}}]"#, arrays(n - 2))),
    case("diagnostics", "apertus:json", |n| format!("[{}]", list("1", n))),
    case("value_bytes", "json", |n| messages(&named(&letters(n)))),
    case("value_bytes", "openchatml-2.2:json", |n| named(&letters(n))),
    case("value_bytes", "openchatml-2.0:json", |n| named(&letters(n))),
    case("messages", "openchatml-2.2:json", |n| format!("[{}]", list(&object("content", "a"), n))),
    case("messages", "openchatml-2.0:json", |n| format!("[{}]", list(&object("content", "a"), n))),
    // Diagnostics of the rules, which follow those of the reader.
    case("diagnostics", "openchatml-2.2:json", |n| format!("[{}]", list(WRONG, n))),
    case("diagnostics", "json", |n| messages(&list(WRONG, n))),
    // An alias bomb is limited by the number of nodes.
    case("yaml_aliases", "openchatml-2.2", |n| {
        header(&format!("a: &x 1\nb: [{}]\n", list("*x", n)))
    }),
];

/// A message whose body does not match its content type.
const WRONG: &str = r#"{"role":"user","content_type":"json","constrained":true,"content":"x"}"#;

const HI: &str = "<|start|>user<|message|>Hi.<|end|>\n";
const WIRE: &str =
    r#"{"token":"<|start|>"},"user",{"token":"<|message|>"},"a",{"token":"<|end_message|>"}"#;

fn letters(count: usize) -> String {
    "x".repeat(count)
}

/// Creates a valid header of this size.
fn role(bytes: usize) -> String {
    format!("user{}", " ".repeat(bytes - 4))
}

/// Creates this number of attributes, whose only error is that they are duplicates.
fn attributes(count: usize) -> String {
    format!("user{}", " name=a".repeat(count))
}

/// Creates a header with this number of invalid words.
fn words(count: usize) -> String {
    format!("user{}", " x".repeat(count))
}

/// Creates text of this size that spells a token.
fn escaped(bytes: usize) -> String {
    format!("<<|end|>{}", letters(bytes - "<|end|>".len()))
}

fn literal(bytes: usize) -> String {
    format!("<|literal|>{}<|endliteral|>", letters(bytes))
}

/// Creates a message of the user in Apertus.
fn said(text: &str) -> String {
    format!("<|user_start|>{text}<|user_end|>")
}

/// Creates a turn of the assistant in Apertus.
fn turned(text: &str) -> String {
    format!("<s><|assistant_start|>{text}<|assistant_end|>")
}

/// Creates a turn with a call, and the text after it.
fn calling(name: &str, arguments: &str, rest: &str) -> String {
    let list = format!("[{{\"{name}\": {arguments}}}]");
    turned(&format!("<|tools_prefix|>{list}<|tools_suffix|>{rest}"))
}

/// A message of the assistant in blocks.
fn blocks(blocks: &str) -> String {
    messages(&format!(r#"{{"role":"assistant","content":{{"blocks":[{blocks}]}}}}"#))
}

fn said_in(kind: &str, text: &str) -> String {
    format!(r#"{{"type":"{kind}","text":"{text}"}}"#)
}

/// A block with the output of a tool, which is JSON.
fn output(json: &str) -> String {
    format!(r#"{{"type":"tool_outputs","outputs":[{{"output":{json}}}]}}"#)
}

/// Returns copies of `item` with commas between them.
pub(crate) fn list(item: &str, count: usize) -> String {
    vec![item; count].join(",")
}

/// Returns nested lists of this depth.
pub(crate) fn arrays(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

/// Returns nested mappings of this depth.
fn flow(depth: usize) -> String {
    format!("{}1{}", "{a: ".repeat(depth), "}".repeat(depth))
}

/// Returns nested mappings of this depth in block style, below the mapping of the header.
fn block(depth: usize) -> String {
    let mut lines: String = (0..depth).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    lines.truncate(lines.len() - 1);
    lines + " 1\n"
}

/// Returns this number of keys.
fn keys(count: usize) -> String {
    (0..count).map(|key| format!("k{key}: 1\n")).collect()
}

/// A transcript with these lines in its header.
pub(crate) fn header(lines: &str) -> String {
    format!("version: 2.2\n{lines}\n{HI}")
}

/// A transcript of one message in the framing of 2.x.
pub(crate) fn framed(header: &str, body: &str) -> String {
    format!("version: 2.2\n\n<|start|>{header}<|message|>{body}<|end|>\n")
}

/// A transcript of one call.
fn call(attributes: &str) -> String {
    let header = format!("assistant<|channel|>commentary {attributes}");
    format!("version: 2.2\n\n<|start|>{header}<|message|>{{}}<|call|>\n")
}

/// A message in the framing of ChatML.
fn start(header: &str, body: &str) -> String {
    format!("<|start|>{header}<|message|>{body}<|end_message|>")
}

/// A message in the framing of 0.1.
pub(crate) fn turn(header: &str, body: &str) -> String {
    format!("<|im_start|>{header}\n{body}<|im_end|>\n")
}

/// Such a message in an otherwise valid conversation of 0.1.
fn sequence(header: &str) -> String {
    format!("<s>\n{}</s>\n", turn(header, "Hi."))
}

fn infill(text: &str) -> String {
    format!("<|fim_prefix|>{text}<|fim_suffix|>suffix<|fim_middle|>m\n")
}

/// The wire list of ChatML with one message of this text.
fn wire(text: &str) -> String {
    format!("[{}]", WIRE.replace("\"a\"", &format!("\"{text}\"")))
}

/// Canonical JSON with these messages.
fn messages(messages: &str) -> String {
    format!(r#"{{"messages":[{messages}]}}"#)
}

/// An object with this number of calls, each of which becomes a message.
fn caller(count: usize) -> String {
    let call = r#"{"type":"function","function":{"name":"f","arguments":"{}"}}"#;
    format!(r#"{{"role":"assistant","tool_calls":[{}]}}"#, list(call, count))
}

/// A message as JSON, with one more field.
fn object(key: &str, value: &str) -> String {
    format!(r#"{{"role":"user","{key}":"{value}"}}"#)
}

/// A content of Gemini with one part.
fn part(fields: &str) -> String {
    format!(r#"[{{"role":"user","parts":[{{{fields}}}]}}]"#)
}

/// A message with this name.
fn named(name: &str) -> String {
    format!(r#"{{"role":"user","name":"{name}","content":"a"}}"#)
}

/// A message of one segment.
fn segments(kind: &str, text: &str) -> String {
    format!(r#"{{"role":"user","content":[{{"type":"{kind}","text":"{text}"}}]}}"#)
}

/// A turn with this text.
fn from_human(text: &str) -> String {
    format!(r#"{{"from":"human","value":"{text}"}}"#)
}

/// A call of a custom tool.
fn given(text: &str) -> String {
    let custom = format!(r#"{{"type":"custom","custom":{{"name":"f","input":"{text}"}}}}"#);
    format!(r#"{{"role":"assistant","tool_calls":[{custom}]}}"#)
}

/// A message of the assistant with only reasoning.
fn thought(text: &str) -> String {
    format!(r#"{{"role":"assistant","thinking":"{text}"}}"#)
}
