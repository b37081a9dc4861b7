//! `models`, and the option `--model`.

use crate::support::Folder;

/// A folder with a model whose template has reasoning and calls, but no encoding.
fn folder() -> Folder {
    let folder = Folder::new();
    let templates =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../openchatml-templates/tests/goldens/templates");
    let template =
        std::fs::read_to_string(format!("{templates}/qwen3_like.jinja")).expect("a template");
    folder.file("chat_template.jinja", &template);
    folder.file("config.json", r#"{"model_type": "qwen3"}"#);
    folder.file("generation_config.json", r#"{"eos_token_id": [5, 7]}"#);
    folder.file(
        "tokenizer_config.json",
        r#"{"added_tokens_decoder": {"5": {"content": "<|im_end|>"}}}"#,
    );
    folder.file("chat.json", r#"{"messages": [{"role": "user", "content": "Hi"}]}"#);
    folder
}

#[test]
fn the_format_follows_from_the_template() {
    let folder = folder();
    let ran = folder.ocml(["models", "."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for line in ["architecture  qwen3", "format        qwen3", "stop tokens   <|im_end|> (5), 7"] {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    let json = folder.ocml(["models", "--json", "."]).stdout;
    assert!(
        json.contains(r#""format":"qwen3""#) && json.contains(r#"{"id":7,"token":null}"#),
        "{json}"
    );
}

#[test]
fn a_folder_without_a_template_has_no_format() {
    let ran = Folder::new().ocml(["models", "."]);
    assert_eq!(ran.status, 1, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("unknown: the folder `.` has no `chat_template.jinja`"),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_option_stands_for_the_format() {
    let folder = folder();
    let ran =
        folder.ocml(["render", "--verbose", "--model", ".", "--generation-prompt", "chat.json"]);
    assert_eq!(
        ran.stdout, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("--model . stands for: --to qwen3"), "{}", ran.stderr);
    // What is said counts, and a template decides itself.
    let named = folder.ocml(["render", "--model", ".", "--to", "openchatml-2.0", "chat.json"]);
    assert!(named.stdout.contains("<|start|>user<|message|>Hi<|end|>"), "{}", named.stdout);
    let written = folder.ocml(["render", "--model", ".", "--template", ".", "chat.json"]);
    assert_eq!(written.stdout, "<|im_start|>user\nHi<|im_end|>\n", "{}", written.stderr);
    // With a target, it is the format of the input.
    let said = "<think>\nEasy.\n</think>\n\n4.<|im_end|>";
    let read =
        folder.ocml_with(["convert", "-t", "json", "--role", "assistant", "--model", "."], said);
    assert!(read.stdout.contains(r#""channel":"analysis","content":"Easy.""#), "{}", read.stdout);
    let streamed = folder.ocml_with(["stream", "--role", "assistant", "--model", "."], said);
    assert!(
        streamed.stdout.contains(r#""type":"response.reasoning_text.delta""#),
        "{}",
        streamed.stdout
    );
}

#[test]
fn a_name_is_no_folder() {
    let ran = folder().ocml(["render", "--model", "qwen3", "chat.json"]);
    assert_eq!(ran.status, 2);
    assert_eq!(ran.stderr, "error: `qwen3` is not the folder of a model\n");
    let ran =
        folder().ocml_with(["stream", "-f", "harmony", "--events", "chat", "--model", "m"], "");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn tools_say_which_arguments_are_strings() {
    let folder = Folder::new();
    let schema = r#"{"type": "object", "properties": {"zip": {"type": "string"}}}"#;
    folder.file(
        "tools.json",
        format!(r#"[{{"type": "function", "function": {{"name": "f", "parameters": {schema}}}}}]"#),
    );
    let call = "<tool_call>\n<function=f>\n<parameter=zip>\n10115\n</parameter>\n</function>\n</tool_call><|im_end|>";
    let read = |tools: &[&str]| {
        let args = ["parse", "-f", "qwen3-coder", "--role", "assistant"].iter().chain(tools);
        folder.ocml_with(args.copied().collect::<Vec<_>>(), call).stdout
    };
    assert!(read(&[]).contains(r#"{\"zip\": 10115}"#), "{}", read(&[]));
    let with = read(&["--tools", "tools.json"]);
    assert!(with.contains(r#"{\"zip\": \"10115\"}"#), "{with}");
}
