//! `render`: prompts.

use crate::support::{Folder, GOOD, MESSAGES, command, json, ocml_with, run};

const TURNS: &str = r#"{"messages":[
    {"role":"user","content":"2 + 2?"},
    {"role":"assistant","channel":"analysis","content":"Easy."},
    {"role":"assistant","channel":"final","content":"4.","end":"return"},
    {"role":"user","content":"Times 3?"},
    {"role":"assistant","channel":"analysis","content":"4 * 3."},
    {"role":"assistant","channel":"final","content":"12."}
]}"#;

fn rendered(flags: &[&str]) -> String {
    let args = ["render", "-t", "openchatml-2.2"].iter().chain(flags);
    ocml_with(args, TURNS).silent().stdout
}

#[test]
fn a_prompt_has_no_earlier_reasoning() {
    assert_eq!(
        rendered(&[]),
        "version: 2.2\n\n\
         <|start|>user<|message|>2 + 2?<|end|>\n\
         <|start|>assistant<|channel|>final<|message|>4.<|end|>\n\
         <|start|>user<|message|>Times 3?<|end|>\n\
         <|start|>assistant<|channel|>final<|message|>12.<|end|>\n",
    );
    assert!(rendered(&["--keep-reasoning"]).contains("Easy."));
    assert!(rendered(&["--keep-reasoning"]).contains("4.<|end|>"));
}

#[test]
fn a_prompt_ends_where_the_model_continues() {
    assert!(rendered(&["--generation-prompt"]).ends_with("12.<|end|>\n<|start|>assistant"));
    assert!(rendered(&["--add-generation-prompt"]).ends_with("<|start|>assistant"));
    assert!(rendered(&["--continue-final"]).ends_with("<|message|>12."));
    let both = ["render", "-t", "chatml", "--generation-prompt", "--continue-final"];
    ocml_with(both, TURNS).exits(2);
}

#[test]
fn a_prompt_in_apertus_equals_that_of_its_template() {
    let args = ["render", "-t", "apertus", "--date", "2026-01-31", "--thinking"];
    let prompt = ocml_with(args, TURNS).silent().stdout;
    assert!(prompt.contains("Current date: 2026-01-31<|system_end|>"), "{prompt}");
    assert!(prompt.contains("<|developer_start|>Deliberation: enabled\n"), "{prompt}");
    // It keeps all reasoning and leaves the last turn open.
    assert!(prompt.contains("<|inner_prefix|>Easy.<|inner_suffix|>4.<|assistant_end|>"));
    assert!(prompt.ends_with("4 * 3.<|inner_suffix|>12."), "{prompt}");
    ocml_with(["render", "--bare", "-t", "apertus"], TURNS).exits(1).says("the current date");
    let json = ocml_with(["render", "-t", "apertus:json", "--thinking"], TURNS).silent().stdout;
    assert!(json.contains(r#""enable_thinking":true"#), "{json}");
}

#[test]
fn a_training_sample_ends_with_return() {
    let sample = rendered(&["--training"]);
    assert!(sample.contains("Easy.<|end|>") && sample.contains("4.<|end|>"), "{sample}");
    assert!(sample.ends_with("12.<|return|>\n"), "{sample}");
    // In a format without this token, nothing is lost.
    let ran = ocml_with(["render", "-t", "chatml", "--training", "--no-loss"], MESSAGES);
    ran.exits(1).says("analysis dropped");
    ocml_with(["render", "-t", "chatml", "--training"], MESSAGES).exits(0);
}

#[test]
fn convert_keeps_everything_except_for_prompts() {
    let args = ["convert", "-t", "openchatml-2.2"];
    let faithful = ocml_with(args, TURNS).silent().stdout;
    assert!(faithful.contains("Easy.") && faithful.contains("4.<|return|>"), "{faithful}");
    let args = ["convert", "-t", "openchatml-2.2", "--generation-prompt"];
    let prompt = ocml_with(args, TURNS).silent().stdout;
    assert!(!prompt.contains("Easy.") && prompt.ends_with("<|start|>assistant"), "{prompt}");
    let args = ["convert", "-t", "openchatml-2.2", "--generation-prompt", "--keep-reasoning"];
    assert!(ocml_with(args, TURNS).silent().stdout.contains("Easy."));
}

#[test]
fn messages_can_be_in_any_format() {
    let named = ocml_with(["render", "-q", "-t", "chatml", "-f", "openchatml-2.2"], GOOD).exits(0);
    let detected = ocml_with(["render", "-q", "-t", "chatml"], GOOD).exits(0);
    assert_eq!(detected.stdout, named.stdout);
    let completion = "<|channel|>analysis<|message|>Easy.<|end|>\
        <|start|>assistant<|channel|>final<|message|>4.<|return|>";
    let ran = ocml_with(["render", "-t", "chatml"], completion).exits(0);
    assert_eq!(ran.stdout, "<|im_start|>assistant\n4.<|im_end|>\n");
    ocml_with(["render"], MESSAGES).exits(2);
}

#[test]
fn options_without_effect_are_reported() {
    const PLAIN: &str = r#"{"messages":[{"role":"user","content":"Hi."}]}"#;
    let ran = ocml_with(["render", "-t", "chatml", "--date", "2026-01-01"], PLAIN).exits(0);
    ran.says("--date has no effect: a prompt in chatml has no place for the date");
    let ran = ocml_with(["tokens", "-t", "qwen3", "--reasoning-effort", "high"], PLAIN);
    ran.says("--reasoning-effort has no effect");
    ocml_with(["render", "-t", "harmony", "--date", "2026-01-01"], PLAIN).silent();

    // A conversation with its own system message of Harmony keeps it.
    let own = ocml_with(["render", "-t", "harmony", "--date", "2026-01-01"], PLAIN).stdout;
    let args = ["render", "-t", "harmony", "--reasoning-effort", "high", "--date", "2026-01-02"];
    let ran = ocml_with(args, &own).exits(0);
    assert_eq!(ran.stdout, own);
    ran.says(
        "no effect of --date, --reasoning-effort: the conversation has its own system message",
    );
    ocml_with(["render", "-t", "harmony"], &own).silent();
}

#[test]
fn tools_come_from_a_file() {
    let folder = Folder::new();
    let tool = r#"{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}"#;
    folder.file("list.json", format!("[{tool}]"));
    folder.file("object.json", format!("{{\"tools\":[{tool}]}}"));
    for file in ["list.json", "object.json"] {
        let ran = folder.ocml_with(["render", "-t", "json", "--tools", file], MESSAGES);
        assert_eq!(json(&ran.silent().stdout)["tools"][0]["function"]["name"], "f");
    }
    let ran = folder.ocml_with(["render", "-t", "chatml", "--tools", "list.json"], MESSAGES);
    let ran = ran.exits(0).says("tools written as text");
    assert!(ran.stdout.starts_with("<|im_start|>system\n# Tools\n\n[{"), "{}", ran.stdout);
}

#[test]
fn errors_in_tools_have_places_in_their_file() {
    let folder = Folder::new();
    folder.file("tools.json", "[\n{\"type\":\"function\",\"function\":{\"nam\":\"f\"}}]");
    let args = ["render", "-t", "json", "--tools", "tools.json"];
    let ran = folder.ocml_with(args, MESSAGES).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("the function has no `name`").says("--> tools.json:2:31");
    folder.ocml_with(["render", "-t", "json", "--tools", "none"], MESSAGES).says_one_line(2);
}

const PROMPT: &str = r#"{"messages":[{"role":"system","content":"Be brief."},
    {"role":"user","content":"2 + 2?"}]}"#;

fn harmony(flags: &[&str], input: &str) -> String {
    let args = ["render", "-t", "harmony"].iter().chain(flags);
    ocml_with(args, input).silent().stdout
}

#[test]
fn options_for_the_system_message_add_one() {
    let plain = "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>2 + 2?<|end|>";
    assert_eq!(harmony(&["--bare"], PROMPT), plain);
    let dated = harmony(&["--date", "2025-06-28"], PROMPT);
    assert!(dated.contains("\nCurrent date: 2025-06-28\n\nReasoning: medium\n"), "{dated}");
    assert!(dated.contains("<|message|># Instructions\n\nBe brief.<|end|>"), "{dated}");
    for (flags, said) in [
        (["--reasoning-effort", "low"], "Reasoning: low\n"),
        (["--identity", "You are a robot."], "<|start|>system<|message|>You are a robot.\n"),
        (["--builtin-tools", "python,browser"], "## browser\n"),
        (["--builtin-tools", "python"], "## python\n"),
    ] {
        let text = harmony(&flags, PROMPT);
        assert!(text.contains(said) && text.contains("Current date"), "{text}");
    }
    // Another date does not replace the first one, and ids are written as text is.
    let read = ["render", "-f", "harmony", "-t", "harmony", "--date", "2030-01-01"];
    let ran = ocml_with(read, &dated).exits(0).says("no effect of --date");
    assert_eq!(ran.stdout, dated);
    let tokens = ["tokens", "-t", "harmony", "--count", "--date", "2025-06-28"];
    let plain = ["tokens", "-f", "harmony", "-t", "harmony", "--count"];
    assert_eq!(ocml_with(tokens, PROMPT).silent().stdout, ocml_with(plain, &dated).silent().stdout);
}

#[test]
fn invalid_dates_are_refused() {
    let today = harmony(&["--date", "today"], PROMPT);
    assert_eq!(harmony(&[], PROMPT), today);
    let mut fixed = command(["render", "-t", "harmony", "--generation-prompt"]);
    let fixed = run(fixed.env("SOURCE_DATE_EPOCH", "86400"), PROMPT).exits(0);
    assert!(fixed.stdout.contains("Current date: 1970-01-02"), "{}", fixed.stdout);
    let date = today.split("Current date: ").nth(1).unwrap_or_default();
    let date = date.lines().next().unwrap_or_default();
    assert!(date.len() == 10 && date.starts_with("20"), "{today}");
    for wrong in ["2025-02-30", "28.6.2025", "2025-06-28T12:00", ""] {
        ocml_with(["render", "-t", "harmony", "--date", wrong], PROMPT).exits(2);
    }
}

#[test]
fn response_formats_come_from_a_file() {
    let folder = Folder::new();
    folder.file("form.json", r#"{"name":"sum","schema":{"type":"number"}}"#);
    folder.file("broken.json", r#"[{"name":"sum"}]"#);
    let args = ["render", "-t", "harmony", "--response-format"];
    let ran = folder.ocml_with(args.iter().chain(&["form.json"]), MESSAGES).exits(0);
    assert!(ran.stdout.contains("# Response Formats\n\n## sum\n\n{\"type\":\"number\"}<|end|>"));
    folder.ocml_with(args.iter().chain(&["broken.json"]), MESSAGES).exits(1).says("`schema`");
    folder.ocml_with(args.iter().chain(&["none.json"]), MESSAGES).says_one_line(2);
}

#[test]
fn a_template_decides_about_reasoning() {
    let template = |flags: &[&str]| {
        let fixed = ["--profile", "hf-template", "--date", "2025-06-28"];
        harmony(&fixed.iter().chain(flags).copied().collect::<Vec<_>>(), TURNS)
    };
    let (sample, prompt) = (template(&[]), template(&["--generation-prompt"]));
    assert!(!sample.contains("Easy.") && sample.contains("4 * 3."), "{sample}");
    assert!(sample.ends_with("<|message|>12.<|return|>"), "{sample}");
    // Parts of a sample that are not trained are reported.
    let training = [
        "render",
        "-t",
        "harmony",
        "--profile",
        "hf-template",
        "--date",
        "2025-06-28",
        "--training",
    ];
    let trained = ocml_with(training, TURNS).exits(0).says("analysis dropped");
    assert_eq!(trained.stdout, sample);
    assert!(!prompt.contains("4 * 3.") && prompt.ends_with("12.<|end|><|start|>assistant"));
    let bare = ["render", "--bare", "-t", "harmony", "--profile", "hf-template"];
    ocml_with(bare, TURNS).exits(1).says("date");
    let kept = ["render", "-t", "harmony", "--profile", "hf-template", "--keep-reasoning"];
    ocml_with(kept, TURNS).says_one_line(2);
}

#[test]
fn the_reasoning_effort_of_a_request_is_used() {
    let chat = r#"{"messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"high"}"#;
    let args = ["render", "-f", "openai", "-t", "harmony", "--date", "2026-01-31"];
    let ran = ocml_with(args, chat).exits(0);
    assert!(ran.stdout.contains("Reasoning: high"), "{}", ran.stdout);
    let ran = ocml_with(args.into_iter().chain(["--reasoning-effort", "low"]), chat).exits(0);
    assert!(ran.stdout.contains("Reasoning: low"), "{}", ran.stdout);
}
