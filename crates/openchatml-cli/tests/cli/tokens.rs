//! `tokens`, and streams of ids.

use crate::support::{Folder, json, ocml_with};

const CHAT: &str = r#"{"messages":[
  {"role":"user","content":"What is 2 + 2? <|end|>"},
  {"role":"assistant","channel":"analysis","content":"Easy."},
  {"role":"assistant","channel":"final","content":"4.","end":"return"}]}"#;

/// In Apertus, consecutive messages of the assistant form one text.
#[test]
fn joined_messages_have_the_lowest_weight() {
    let messages = |weights: [u8; 2]| {
        let [one, two] = weights;
        format!(
            r#"{{"messages":[{{"role":"system","content":"S"}},{{"role":"user","content":"u"}},{{"role":"assistant","content":"ONE","weight":{one}}},{{"role":"assistant","content":"TWO","weight":{two}}}]}}"#
        )
    };
    let args = ["tokens", "-t", "apertus", "--spell-control-tokens", "--mask", "--training"];
    let trained = |weights| {
        let ran = ocml_with(args, messages(weights)).exits(0);
        let mask = json(&ran.stdout)["mask"].as_array().unwrap().clone();
        (mask.iter().any(|it| *it == 1), ran.stderr.contains("weight dropped"))
    };
    assert_eq!(trained([1, 1]), (true, false));
    assert_eq!(trained([1, 0]), (false, true));
    assert_eq!(trained([0, 1]), (false, true));
}

#[test]
fn data_next_to_ids_is_a_reported_loss() {
    let record = r#"{"ids":[200006,1428,200008,87,200007],"mask":[0,0,0,1,1]}"#;
    let args = ["convert", "-f", "harmony:tokens", "-t", "json"];
    let with =
        |flags: &[&'static str]| args.into_iter().chain(flags.iter().copied()).collect::<Vec<_>>();
    ocml_with(with(&["--no-loss"]), record).exits(1).says("field dropped: `mask`");
    let other = record.replace("mask", "label");
    let ran = ocml_with(args, &other).exits(1).says("unknown key `label` next to `ids`");
    assert_eq!(ran.stdout, "");
    let kept =
        ocml_with(with(&["--keep-ids"]), record).exits(0).says("field dropped: `mask`").stdout;
    // The kept messages are unchanged.
    assert_eq!(ocml_with(["fmt", "-f", "json"], &kept).silent().stdout, kept);
    assert_eq!(ocml_with(["convert", "-f", "json", "-t", "json"], &kept).silent().stdout, kept);
}

#[test]
fn a_prompt_is_a_list_of_ids() {
    let ran =
        ocml_with(["tokens", "--bare", "-t", "harmony", "--generation-prompt"], CHAT).silent();
    // The reasoning of an earlier answer is left out, and a spelled `<|end|>` in a text stays text.
    assert_eq!(
        ran.stdout,
        "[200006,1428,200008,4827,382,220,17,659,220,17,30,464,91,419,91,29,200007,\
         200006,173781,200005,17196,200008,19,13,200007,200006,173781]\n"
    );
    let ran = ocml_with(["tokens", "--bare", "-t", "harmony", "--count"], CHAT).silent();
    assert_eq!(ran.stdout, "25\n");
}

#[test]
fn a_mask_marks_the_trained_ids() {
    let ran =
        ocml_with(["tokens", "--bare", "-t", "harmony", "--training", "--mask"], CHAT).silent();
    let told = json(&ran.stdout);
    let trained: Vec<_> = (0..told["ids"].as_array().unwrap().len())
        .filter(|at| told["mask"][at] == 1)
        .map(|at| told["ids"][at].as_u64().unwrap())
        .collect();
    // The reasoning and the whole answer are trained, including its header, which the model also
    // writes.
    let analysis = [200_005, 35_644, 200_008, 41_154, 13, 200_007];
    let answer = [200_006, 173_781, 200_005, 17_196, 200_008, 19, 13, 200_002];
    assert_eq!(trained, [analysis.as_slice(), &answer].concat());
    let bodies: Vec<_> =
        told["spans"].as_array().unwrap().iter().map(|span| &span["body"]).collect();
    assert_eq!(bodies, [3, 22, 30]);
}

#[test]
fn lines_keep_their_order() {
    let lines = format!("{}\n\n{{\n{}\n", CHAT.replace('\n', ""), CHAT.replace('\n', ""));
    let ran = ocml_with(
        ["tokens", "--bare", "-t", "harmony", "--count", "--jsonl", "-f", "json"],
        &lines,
    );
    assert_eq!(ran.stdout, "25\n\n25\n");
}

#[test]
fn ids_are_streamed() {
    let ids = "[200005,17196,200008,17045,9999999\n13, 200002]";
    let args = ["stream", "-f", "harmony", "--ids", "--role", "assistant"];
    let ran = ocml_with(args, ids);
    let deltas: String = ran
        .stdout
        .lines()
        .map(json)
        .filter(|event| event["type"] == "response.delta")
        .map(|event| event["delta"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(deltas, "Answer\u{FFFD}.");
    assert!(ran.stdout.contains("E-PARSE-TOKEN"), "{}", ran.stdout);
}

/// A small encoding from the tests of another crate.
const BYTE_LEVEL: &str = include_str!("../../../openchatml-tokens/tests/encodings/byte_level.json");

#[test]
fn an_encoding_may_be_a_file() {
    let folder = Folder::new();
    folder.file("tokenizer.json", BYTE_LEVEL);
    let args = ["tokens", "-t", "chatml", "--encoding", "tokenizer.json"];
    let ran = folder.ocml_with(args, CHAT).silent();
    let ids: Vec<u32> = serde_json::from_str(&ran.stdout).expect("a list of ids");
    let file: serde_json::Value = serde_json::from_str(BYTE_LEVEL).unwrap();
    let added = file["added_tokens"].as_array().unwrap();
    let id =
        |content: &str| added.iter().find(|it| it["content"] == content).unwrap()["id"].as_u64();
    // Two messages, one with a spelled `<|end|>`, which is an added token and still text here.
    for (control, count) in [("<|im_start|>", 2), ("<|im_end|>", 2), ("<|end|>", 0)] {
        let control = id(control);
        assert_eq!(ids.iter().filter(|id| Some(u64::from(**id)) == control).count(), count);
    }
    let args = ["stream", "-f", "chatml", "--ids", "--encoding", "tokenizer.json"];
    let ran = folder.ocml_with(args, &ran.stdout).silent();
    assert!(ran.stdout.contains("What is 2 + 2? <|end|>"), "{}", ran.stdout);
}

#[test]
fn a_file_that_is_not_an_encoding_is_refused() {
    let folder = Folder::new();
    let refused = |name: &str, text: &str| {
        folder.file(name, text);
        folder.ocml_with(["tokens", "-t", "chatml", "--encoding", name], CHAT).says_one_line(1)
    };
    assert_eq!(
        refused("template.jinja", "{% for message in messages %}"),
        "error: template.jinja: unusable tokenizer.json: 1:2: key must be a string\n"
    );
    assert_eq!(
        refused("empty", ""),
        "error: empty: unusable rank file: line 1: expected a token and its rank\n"
    );
    let said = refused("some.tiktoken", "IQ== 0\n");
    assert!(said.contains("its pattern and control tokens are not known"), "{said}");
    let said =
        ocml_with(["tokens", "-t", "chatml", "--encoding", "nothing"], CHAT).says_one_line(2);
    assert_eq!(said, "error: `nothing` is neither an encoding (o200k_harmony) nor a file\n");
    let args = ["stream", "-f", "chatml", "--encoding", "o200k_harmony"];
    assert!(ocml_with(args, CHAT).stderr.contains("--ids"));
}

#[test]
fn an_encoding_without_the_control_tokens_is_refused() {
    let ids = "[1]";
    let commands: [(&[&str], &str); 9] = [
        (&["tokens", "-t", "chatml"], CHAT),
        (&["tokens", "-t", "chatml", "--count"], CHAT),
        (&["tokens", "-t", "openchatml-0.1"], CHAT),
        (&["convert", "-t", "chatml:tokens"], CHAT),
        (&["render", "-t", "chatml:tokens"], CHAT),
        (&["parse", "-f", "apertus:tokens"], ids),
        (&["show", "-f", "chatml:tokens"], ids),
        (&["check", "-f", "chatml:tokens"], ids),
        (&["stream", "--ids", "-f", "chatml"], ids),
    ];
    for (args, input) in commands {
        let said = ocml_with(args, input).says_one_line(2);
        for words in [
            "`o200k_harmony` has no ids for the control tokens `<",
            "--encoding",
            "--spell-control-tokens",
        ] {
            assert!(said.contains(words), "{args:?}: {said}");
        }
        let spelled = [args, &["--spell-control-tokens"]].concat();
        assert_ne!(ocml_with(&spelled, input).status, 2, "{spelled:?}");
    }
    let said = ocml_with(["tokens", "-t", "apertus"], CHAT).says_one_line(2);
    assert!(said.contains("`<s>`, `<|system_start|>`, `<|system_end|>` and 10 more"), "{said}");
    // A known encoding is reported by its name.
    let folder = Folder::new();
    folder.file("byte.json", BYTE_LEVEL.replace("<|return|>", "<|turn|>"));
    let args = ["tokens", "--bare", "-t", "harmony", "--encoding", "byte.json"];
    let said = folder.ocml_with(args, CHAT).says_one_line(2);
    assert!(said.contains("`<|return|>`"), "{said}");
    assert!(said.contains("`--encoding o200k_harmony`, which has them"), "{said}");
}

#[test]
fn counting_requires_an_encoding_of_the_format() {
    let im = "<|im_start|>user\nHi<|im_end|>\n";
    let said = ocml_with(["truncate", "--budget", "100"], im).says_one_line(2);
    assert!(said.contains("`<|im_start|>`"), "{said}");
    let args = ["truncate", "--budget", "100", "--for", "harmony"];
    assert_eq!(ocml_with(args, im).exits(0).stdout, im);
    let args = ["truncate", "--budget", "100", "--spell-control-tokens"];
    assert_eq!(ocml_with(args, im).exits(0).stdout, im);
}

#[test]
fn only_the_needed_control_tokens_are_required() {
    let plain = r#"{"messages":[{"role":"assistant","channel":"analysis","content":"a"}]}"#;
    let marked = plain.replace(r#""a""#, r#"[{"type":"marker","marker":"reason"}]"#);
    let target = ["tokens", "-t", "openchatml-2.2", "--training", "--jsonl", "-f", "json"];
    let ran = ocml_with(target, format!("{plain}\n{marked}\n")).exits(1);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    let ran = ran.says("E-RENDER-UNSUPPORTED").says("<stdin>:2:1");
    let ran = ran.says("this document needs `<|start_reason|>`, but the encoding");
    ran.says("--spell-control-tokens").says("--encoding");
    let count = [&target[..], &["--count"]].concat();
    assert_eq!(ocml_with(count, &marked).exits(1).stdout, "");
    let args = ["truncate", "--budget", "100", "--for", "openchatml-2.2"];
    assert_eq!(ocml_with(args, &marked).exits(1).stdout, "");
    let spelled = [&target[..], &["--spell-control-tokens"]].concat();
    let ids = ocml_with(spelled, &marked).silent().stdout;
    let back = ocml_with(["parse", "-f", "openchatml-2.2:tokens"], ids).exits(0).stdout;
    assert_eq!(json(&back)["messages"], json(&marked)["messages"]);
}

#[test]
fn a_format_without_text_has_no_tokens() {
    let ran = ocml_with(["tokens", "-t", "json"], CHAT);
    assert!(ran.stderr.contains("`json` is JSON, so it has no token ids"), "{}", ran.stderr);
}

#[test]
fn ids_can_be_converted_like_other_formats() {
    let ids = ocml_with(["convert", "-t", "harmony:tokens"], CHAT).silent().stdout;
    let back = ocml_with(["parse", "-f", "harmony:tokens"], &ids).silent().stdout;
    let given = ocml_with(["parse"], CHAT).silent().stdout;
    assert_eq!(json(&back), json(&given));
    let shown = ocml_with(["show", "-f", "harmony:tokens"], &ids).silent().stdout;
    assert_eq!(shown, "user\n  What is 2 + 2? <|end|>\n\nassistant\n  4.\n");
    // A model may use other ids for a word than the encoder; they are kept.
    let sampled = "[200006,1428,200008,2066,72807,200007]\n";
    let again = ocml_with(["convert", "-f", "harmony:tokens", "-t", "harmony:tokens"], sampled);
    assert_eq!(again.silent().stdout, sampled);
    let kept = ocml_with(["parse", "-f", "harmony:tokens", "--keep-ids"], sampled).silent().stdout;
    assert_eq!(json(&kept)["messages"][0]["ids"].as_array().map(Vec::len), Some(6));
    let again = ocml_with(["convert", "-t", "harmony:tokens"], &kept).silent().stdout;
    assert_eq!(again, sampled);
}

#[test]
fn errors_of_ids_have_the_place_of_the_id() {
    let args = ["check", "--output-format", "json", "-f", "harmony:tokens"];
    let found = |ids| {
        let ran = ocml_with(args, ids);
        let told = json(ran.stdout.lines().next().unwrap());
        (told["code"].as_str().unwrap().to_owned(), told["span"]["start"].as_u64().unwrap())
    };
    assert_eq!(found("[200006,1428,200008,9999999,200007]"), ("E-PARSE-TOKEN".into(), 20));
    assert_eq!(found("[200006,1428,,]"), ("E-PARSE-JSON".into(), 13));
    assert_eq!(found("{\"ids\": [200006,x]}"), ("E-PARSE-JSON".into(), 16));
    let ran = ocml_with(["fmt", "-f", "harmony:tokens"], "[]");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    let ran = ocml_with(["check", "--fix", "-f", "harmony:tokens"], "[]");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
}

const TRANSCRIPT: &str = "version: 2.2\nmodel: gpt-oss\n\n\
    <|start|>user name=alice<|message|>Weather?<|end|>\n\
    <|start|>assistant intent=status<|channel|>analysis<|message|>Look it up.<|end|>\n\
    <|start|>assistant to=functions.w call_id=wx1<|channel|>commentary<|constrain|>json<|message|>\
    {\"a\":1}<|call|>\n\
    <|start|>tool name=functions.w call_id=wx1 to=assistant<|channel|>commentary<|message|>\
    {\"ok\":true}<|end|>\n\
    <|start|>assistant<|channel|>final<|message|>Sunny.<|end|>\n";

#[test]
fn a_sidecar_contains_what_a_format_cannot_carry() {
    let folder = Folder::new();
    folder.file("chat.ocml", TRANSCRIPT);
    let to = ["convert", "-t", "harmony", "-o", "chat.harmony", "--sidecar", "beside.json"];
    folder.ocml([to.as_slice(), &["chat.ocml"]].concat()).silent();
    let back =
        ["convert", "-f", "harmony", "-t", "openchatml-2.2", "--with-sidecar", "beside.json"];
    let ran = folder.ocml([back.as_slice(), &["chat.harmony"]].concat()).silent();
    assert_eq!(ran.stdout, TRANSCRIPT);
    // Without it, the loss is reported.
    let lost = folder.ocml(["convert", "-t", "harmony", "chat.ocml"]).stderr;
    assert!(lost.contains("call_id dropped") && lost.contains("intent dropped"), "{lost}");
    // The file belongs to one conversation.
    folder.file("other.harmony", "<|start|>user<|message|>Hi<|end|>");
    let ran = folder.ocml([back.as_slice(), &["other.harmony"]].concat());
    assert!(
        ran.stderr
            .contains("the sidecar belongs to a conversation of 5 messages, but this one has 1"),
        "{}",
        ran.stderr
    );
    let masked =
        ocml_with(["tokens", "--bare", "-t", "harmony", "--mask", "--keep-reasoning"], TRANSCRIPT);
    let masked = masked.silent().stdout;
    let back = ocml_with(["convert", "-f", "harmony:tokens", "-t", "openchatml-2.2"], &masked);
    assert_eq!(back.exits(0).says("field dropped: `mask`").stdout, TRANSCRIPT);
}

#[test]
fn masks_follow_policies() {
    let trained = |more: &[&str]| {
        let args = [["tokens", "--bare", "-t", "harmony", "--training", "--mask"].as_slice(), more]
            .concat();
        let told = json(&ocml_with(args, CHAT).silent().stdout);
        let bits = told["mask"].as_array().unwrap().iter().map(|bit| bit.as_u64().unwrap());
        bits.map(|bit| bit.to_string()).collect::<String>()
    };
    let all = trained(&[]);
    assert_eq!(all.matches('1').count(), 14);
    assert_eq!(trained(&["--train", "answers"]).matches('1').count(), 8);
    assert_eq!(trained(&["--train", "answers", "--headers", "nothing"]).matches('1').count(), 3);
    assert_eq!(trained(&["--skip-message", "1"]).matches('1').count(), 8);
    assert_eq!(trained(&["--turns", "last"]), all);
    assert!(trained(&["--train-message", "0"]).matches('1').count() > 14);
}

#[test]
fn a_table_is_for_people() {
    let input = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\\n🙂\"},\
        {\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"4.\"}]}";
    let ran = ocml_with(["tokens", "--bare", "-t", "harmony", "--table"], input).silent();
    insta::assert_snapshot!("table", ran.stdout);
    let args = ["tokens", "--bare", "-t", "harmony", "--table", "--color", "always"];
    assert!(ocml_with(args, input).stdout.contains("\u{1b}["));
}

#[test]
fn conversations_are_truncated_to_fit() {
    let ran = ocml_with(["truncate", "--budget", "40"], TRANSCRIPT);
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.stdout,
        "version: 2.2\nmodel: gpt-oss\n\n\
         <|start|>user name=alice<|message|>Weather?<|end|>\n\
         <|start|>assistant<|channel|>final<|message|>Sunny.<|end|>\n"
    );
    assert!(ran.stderr.contains("message dropped to fit (3 messages"), "{}", ran.stderr);
    // The messages that must be kept exceed the limit.
    let ran = ocml_with(["truncate", "--budget", "4"], TRANSCRIPT);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("the messages that cannot be dropped have"), "{}", ran.stderr);
    // Line by line, with the ids of another format.
    let lines = format!("{}\n\n{{\"messages\":[]}}\n", CHAT.replace('\n', ""));
    let args = ["truncate", "--budget", "20", "--for", "harmony", "--jsonl", "-f", "json"];
    let ran = ocml_with(args, &lines);
    let out: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(out.len(), 3);
    assert_eq!(json(out[0])["messages"].as_array().map(Vec::len), Some(1));
    let ran = ocml_with(["truncate", "--budget", "1000", "--message", "3"], TRANSCRIPT);
    assert!(ran.stdout.contains("Look it up<|end|>"), "{}", ran.stdout);
    assert!(ran.stdout.contains("{\"a\":1}<|call|>"), "{}", ran.stdout);
}

#[test]
fn parts_of_a_request_that_ids_cannot_carry_are_reported_losses() {
    let chat = r#"{"messages":[
        {"role":"user","content":[{"type":"text","text":"See"},
            {"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]},
        {"role":"assistant","content":null,"refusal":"No."}]}"#;
    let ran = ocml_with(["tokens", "--bare", "-f", "openai", "-t", "harmony"], chat).exits(0);
    let ran = ran.says("image dropped").says("refusal mark dropped");
    let ids = "[200006,1428,200008,16457,200007,200006,173781,200005,17196,200008,3160,13,200007]";
    assert_eq!(ran.stdout.trim_end(), ids);
}

/// The indices are those of the conversation, whichever part of it is written.
#[test]
fn message_options_use_indices_of_the_input() {
    let chat = r#"{"messages":[{"role":"user","content":"q"},
        {"role":"assistant","channel":"analysis","content":"think"},
        {"role":"assistant","channel":"final","content":"AAA"},
        {"role":"user","content":"q2"},{"role":"assistant","channel":"final","content":"BBB"}]}"#;
    let trained = |args: &[&'static str]| {
        let args = [&["tokens", "-t", "harmony", "--mask"][..], args].concat();
        let written = json(&ocml_with(args, chat).exits(0).stdout);
        let mask = written["mask"].as_array().unwrap();
        let spans = written["spans"].as_array().unwrap().iter();
        let is_trained = |at: &serde_json::Value| {
            let at = usize::try_from(at.as_u64().unwrap()).unwrap();
            mask[at] == 1
        };
        let answers = spans.filter(|it| it["role"] == "assistant");
        answers.map(|it| is_trained(&it["body"])).collect::<Vec<_>>()
    };
    // A prompt leaves out reasoning before an earlier answer, and a system message may be added.
    let prompt = |args: &[&'static str]| trained(&[args, &["--generation-prompt"]].concat());
    assert_eq!(prompt(&[]), [true, true]);
    assert_eq!(prompt(&["--skip-message", "2"]), [false, true]);
    assert_eq!(prompt(&["--skip-message", "4"]), [true, false]);
    assert_eq!(prompt(&["--skip-message", "2", "--date", "2026-01-01"]), [false, true]);
    // A mask is for training, which keeps it.
    assert_eq!(trained(&["--skip-message", "4"]), [true, true, false]);
    assert_eq!(trained(&["--skip-message", "4", "--training"]), [true, true, false]);
}

#[test]
fn a_missing_message_cannot_be_trained_or_skipped() {
    let tokens = |flag| {
        let args = ["tokens", "--bare", "-t", "harmony", "--mask", flag, "3"];
        ocml_with(args, CHAT).exits(1).says(&format!("`{flag} 3`: message 3 does not exist")).stdout
    };
    assert_eq!(tokens("--skip-message"), "");
    assert_eq!(tokens("--train-message"), "");
}

#[test]
fn the_prompt_of_a_record_is_not_trained() {
    let trained = |weight: &str, more: &[&'static str]| {
        let record = format!(
            r#"{{"prompt":[{{"role":"user","content":"A?"}},{{"role":"assistant","content":"B."{weight}}},{{"role":"user","content":"C?"}}],"completion":[{{"role":"assistant","content":"D."}}]}}"#
        );
        let args = [&["tokens", "-t", "harmony", "--bare", "--mask"], more].concat();
        let written = json(&ocml_with(args, &record).exits(0).stdout);
        let mask: Vec<_> = written["mask"].as_array().unwrap().clone();
        let spans: Vec<_> = written["spans"].as_array().unwrap().clone();
        let is_trained = |at: usize| {
            let body = usize::try_from(spans[at]["body"].as_u64().unwrap()).unwrap();
            mask[body] == 1
        };
        [1, 3].map(is_trained)
    };
    assert_eq!(trained("", &[]), [false, true]);
    assert_eq!(trained("", &["--train-message", "1"]), [true, true]);
    assert_eq!(trained(r#","weight":1"#, &[]), [true, true]);
}

#[test]
fn a_table_counts_the_messages_of_the_input() {
    let chat = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#;
    let table = |args: &[&'static str]| {
        ocml_with([&["tokens", "-t", "harmony", "--training", "--table"], args].concat(), chat)
    };
    let out = table(&[]).exits(0).stdout;
    assert!(out.contains("added: system") && out.contains("message 1: assistant"), "{out}");
    assert!(table(&["--skip-message", "1"]).exits(0).stdout.ends_with(" 0 of them trained (*)\n"));
    table(&["--skip-message", "2"]).exits(1).says("message 2 does not exist");
}

#[test]
fn a_bad_answer_is_not_trained() {
    let trained = |label: bool| {
        let record = format!(r#"{{"prompt":"A?","completion":"B.","label":{label}}}"#);
        let written =
            json(&ocml_with(["tokens", "-t", "harmony", "--mask"], record).exits(0).stdout);
        written["mask"].as_array().unwrap().iter().any(|it| *it == 1)
    };
    assert_eq!([true, false].map(trained), [true, false]);
}

#[test]
fn an_answer_that_is_cut_is_not_complete() {
    let chat = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"aa bb cc dd ee ff gg"}]}"#;
    let args = ["truncate", "--budget", "1000", "--message", "5", "-t", "harmony", "--training"];
    let cut = ocml_with(args, chat).exits(0).stdout;
    assert!(!cut.contains("<|return|>") && !cut.ends_with("<|end|>"), "{cut}");
}

#[test]
fn the_turns_in_a_prompt_are_not_trained() {
    let said = |text: &str| format!(r#"{{"role":"assistant","content":"{text}"}}"#);
    let asked = r#"{"role":"user","content":"q"}"#;
    let prompt = format!("[{asked},{},{asked}]", said("old"));
    let count = |line: &str| {
        let mask = json(line)["mask"].as_array().cloned().unwrap_or_default();
        mask.iter().filter(|it| **it == 1).count()
    };
    let args = ["tokens", "--jsonl", "-t", "harmony", "--bare", "--mask"];
    // Both sides of a pair have the same prompt, and answers of the same length.
    let pair = format!(
        r#"{{"prompt":{prompt},"chosen":[{}],"rejected":[{}]}}"#,
        said("good"),
        said("bad")
    );
    let sides = ocml_with(args, pair).exits(0).stdout;
    let sides = json(sides.trim_end());
    let trained = |side: &str| count(&sides[side].to_string());
    assert!(trained("chosen") > 0, "{sides}");
    assert_eq!(trained("chosen"), trained("rejected"), "{sides}");
    // A prompt that is cut leaves the completion trained.
    let folder = Folder::new();
    let record = format!(r#"{{"prompt":{prompt},"completion":[{}]}}"#, said("good"));
    folder.file("in.jsonl", &record);
    let whole = count(ocml_with(args, record).exits(0).stdout.trim_end());
    let tokenize = ["data", "tokenize", "-t", "harmony", "--max-length", "15"];
    let ran =
        folder.ocml(tokenize.iter().chain(&["--too-long", "truncate", "in.jsonl", "-o", "out"]));
    ran.exits(0);
    let rows = std::fs::read_to_string(folder.path().join("out/part-00000.jsonl"));
    assert_eq!(count(rows.expect("rows").trim_end()), whole);
    assert!(whole > 0);
}
