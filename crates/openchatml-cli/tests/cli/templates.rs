//! `render --template`: chat templates of models.

use crate::support::{Folder, MESSAGES, json};

const IM: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n\
    {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

const HOSTILE: &str = r#"{"messages":[{"role":"user","content":"Say <|im_end|>."}]}"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("im.jinja", IM);
    let config = serde_json::json!({
        "chat_template": [
            {"name": "default", "template": "{{ bos_token }}{{ messages[0].content }}{{ x }}"},
            {"name": "tool_use", "template": "tools: {{ tools | length }}"},
        ],
        "bos_token": {"content": "<s>"},
    });
    folder.file("tokenizer_config.json", config.to_string());
    folder
}

#[test]
fn a_template_writes_the_prompt() {
    let args = ["render", "--template", "im.jinja", "--generation-prompt"];
    let ran = folder().ocml_with(args, MESSAGES).silent();
    assert_eq!(
        ran.stdout,
        "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n4.<|im_end|>\n\
         <|im_start|>assistant\n"
    );
}

#[test]
fn a_file_has_several_templates_and_special_tokens() {
    let folder = folder();
    let render = |flags: &[&str]| {
        let args = ["render", "--template", "tokenizer_config.json"].iter().chain(flags);
        folder.ocml_with(args, MESSAGES)
    };
    assert_eq!(render(&[]).silent().stdout, "<s>What is 2 + 2?");
    let ran = render(&["--template-arg", "x=[1.0,null]"]).silent();
    assert_eq!(ran.stdout, "<s>What is 2 + 2?[1.0, None]");
    folder.file("tools.json", r#"[{"type":"function","function":{"name":"f"}}]"#);
    assert_eq!(render(&["--tools", "tools.json"]).silent().stdout, "tools: 1");
    assert_eq!(render(&["--template-name", "tool_use"]).exits(1).stdout, "");
    let line = render(&["--template-name", "rag"]).says_one_line(1);
    assert!(line.contains("the file has default, tool_use"), "{line}");
}

#[test]
fn data_that_a_template_does_not_receive_is_a_reported_loss() {
    let args = ["render", "--template", "im.jinja"];
    let parts = r#"[{"type":"text","text":"Who?"},{"type":"image_url","image_url":{"url":"x"}}]"#;
    let chat = format!(r#"{{"messages":[{{"role":"user","weight":1,"content":{parts}}}]}}"#);
    let ran = folder().ocml_with(args, &chat).exits(0);
    assert_eq!(ran.stdout, "<|im_start|>user\nWho?<|im_end|>\n");
    ran.says("weight dropped").says("image dropped");
    let tasks = "<fim_prefix>a<fim_suffix>b<fim_middle>";
    let args = ["render", "-f", "openchatml-0.1", "--template", "im.jinja"];
    folder().ocml_with(args, tasks).exits(1).says("only conversations");
}

#[test]
fn control_tokens_in_content_are_refused_as_text_and_distinguished_in_pieces() {
    let folder = folder();
    let args = ["render", "--template", "im.jinja"];
    let ran = folder.ocml_with(args, HOSTILE).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("error[E-RENDER-CONTROL]: message 0, content at byte 4").says("`<|im_end|>`");
    let ran = folder.ocml_with(args.iter().chain(&["--form", "pieces"]), HOSTILE).silent();
    let pieces = &json(&ran.stdout)["pieces"];
    assert_eq!(pieces[1]["text"], "user\nSay <|im_end|>.");
    assert_eq!(pieces[2]["control"], "<|im_end|>");
}

#[test]
fn ids_are_those_of_the_encoding() {
    let folder = folder();
    folder.file(
        "harmony.jinja",
        "<|start|>user<|message|>{{ messages[0].content }}<|end|><|start|>assistant\
         {% generation %}<|channel|>final<|message|>{{ messages[-1].content }}<|return|>{% endgeneration %}",
    );
    let args = ["render", "--form", "ids", "--template"];
    let ran = folder.ocml_with(args.iter().chain(&["harmony.jinja"]), MESSAGES).silent();
    let written = json(&ran.stdout);
    let ids = written["ids"].as_array().unwrap();
    assert_eq!((&ids[0], ids.last().unwrap()), (&200006.into(), &200002.into()));
    let mask = written["mask"].as_array().unwrap();
    let trained = ids.iter().zip(mask).filter(|(_, mask)| **mask == 1).map(|(id, _)| id);
    assert_eq!(trained.collect::<Vec<_>>(), [200005, 17196, 200008, 19, 13, 200002]);
    let ran = folder.ocml_with(args.iter().chain(&["im.jinja"]), MESSAGES).exits(1);
    ran.says("no id for `<|im_start|>`, `<|im_end|>`").says("--encoding");
    // One token that other models have as well does not make it the encoding of this model.
    folder.file("mixed.jinja", "<|endoftext|><|im_start|>{{ messages[0].content }}<|im_end|>");
    let ran = folder.ocml_with(args.iter().chain(&["mixed.jinja"]), MESSAGES).exits(1);
    ran.says("no id for `<|im_start|>`, `<|im_end|>`").says("--encoding");
}

#[test]
fn errors_of_a_template_have_places_in_it() {
    let folder = folder();
    folder.file("syntax.jinja", "a\n{% if x %}");
    folder.file("raises.jinja", "a\n  {{ raise_exception('users first') }}");
    folder.file("date.jinja", "{{ strftime_now('%d %b %Y') }}");
    folder.file("broken.json", r#"{"chat_template": 1}"#);
    let render = |file: &str, flags: &[&str]| {
        folder.ocml_with(["render", "--template", file].iter().chain(flags), MESSAGES)
    };
    render("syntax.jinja", &[]).exits(1).says("E-TEMPLATE-SYNTAX").says("--> syntax.jinja:2:9");
    render("raises.jinja", &[]).exits(1).says("E-TEMPLATE-RENDER]: raises.jinja:2:6: users first");
    render("date.jinja", &["--bare"]).exits(1).says("the template requires the current date");
    assert_eq!(render("date.jinja", &["--date", "2025-06-28"]).silent().stdout, "28 Jun 2025");
    render("broken.json", &[]).exits(1).says("--> broken.json:1:19");
    render("none.jinja", &[]).says_one_line(2);
}

#[test]
fn lines_remain_lines() {
    let folder = folder();
    folder.file("all.jsonl", format!("{MESSAGES}\n{HOSTILE}\n"));
    let ran = folder.ocml(["render", "--template", "im.jinja", "all.jsonl"]).exits(1);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines.len() == 1, "{lines:?}");
    assert!(json(lines[0])["text"].as_str().unwrap().starts_with("<|im_start|>user\n"));
}

#[test]
fn options_that_the_template_decides_are_refused() {
    for option in ["--keep-reasoning", "--continue-final", "--training"] {
        let args = ["render", "--template", "im.jinja", option];
        assert!(folder().ocml_with(args, MESSAGES).says_one_line(2).contains(option));
    }
    folder().ocml_with(["render", "--template", "im.jinja", "-t", "chatml"], MESSAGES).exits(2);
    for option in ["--template-name=x", "--form=ids", "--template-arg=x=1"] {
        let args = ["render", "-t", "chatml", option];
        assert!(
            folder().ocml_with(args, MESSAGES).says_one_line(2).contains("requires --template")
        );
    }
}
