//! The trained text of turns with sections: everything that the model writes, and nothing that the
//! prompt contains.

use openchatml::{Format, ReadOptions, RenderOptions, TextFormat, parse};
use openchatml_tokens::{ByteEncoding, MaskPolicy, Token, Tokenizer};

/// The text of the trained ids.
fn trained(text: &str, format: TextFormat) -> String {
    let spellings = format.controls().entries().iter().map(|(_, spelling)| *spelling);
    let tokenizer = Tokenizer::new(format, ByteEncoding::new(spellings));
    let parsed = parse(text, Format::from(format), &ReadOptions::default());
    assert_eq!(parsed.diagnostics, [], "{text}");
    let conversation = parsed.into_conversation();
    let document = conversation.clone().into();
    let rendered = tokenizer.render(&document, &RenderOptions::default()).expect("it was read");
    let mask = MaskPolicy::default().mask(&conversation, &rendered);
    let mut said = Vec::new();
    for (id, _) in rendered.ids.iter().zip(mask).filter(|(_, is_trained)| *is_trained) {
        match openchatml_tokens::Encoding::token(tokenizer.encoding(), *id) {
            Some(Token::Control(text) | Token::Text(text)) => said.extend(text.as_bytes()),
            Some(Token::Bytes(bytes)) => said.extend(bytes),
            None => panic!("an id of no encoding"),
        }
    }
    String::from_utf8(said).expect("text")
}

#[test]
fn qwen3_trains_the_text_after_the_assistant_line() {
    let said = "<think>\nEasy.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n\
        </tool_call><|im_end|>";
    let text = format!(
        "<|im_start|>user\nGo.<|im_end|>\n<|im_start|>assistant\n{said}\n<|im_start|>user\n\
        <tool_response>\n1\n</tool_response><|im_end|>\n"
    );
    assert_eq!(trained(&text, TextFormat::QWEN3), said);
}

/// Prompts end in the token that opens reasoning, or in the one that ends it.
#[test]
fn deepseek_v3_1_trains_the_text_after_the_prompt() {
    let said = "Easy.</think>I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}\
        <｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>";
    let text = format!(
        "<｜begin▁of▁sentence｜>Be brief.<｜User｜>Go.<｜Assistant｜><think>{said}\
        <｜tool▁output▁begin｜>1<｜tool▁output▁end｜>"
    );
    assert_eq!(trained(&text, TextFormat::DEEPSEEK_V3_1), said);
}

#[test]
fn qwen3_coder_trains_the_tags_and_values_of_parameters() {
    let said = "I look.\n\n<tool_call>\n<function=f>\n<parameter=a>\nx </parameter> y\n</parameter>\n\
        <parameter=b>\n3\n</parameter>\n</function>\n</tool_call><|im_end|>";
    let text = format!(
        "<|im_start|>user\nGo.<|im_end|>\n<|im_start|>assistant\n{said}\n<|im_start|>user\n\
        <tool_response>\n1\n</tool_response>\n<|im_end|>\n"
    );
    assert_eq!(trained(&text, TextFormat::QWEN3_CODER), said);
}

/// The token of the next turn ends the turn of the assistant.
#[test]
fn glm_4_5_trains_the_token_of_the_next_turn() {
    let calls = "\n<think>A tool.</think>\n<tool_call>f\n<arg_key>a</arg_key>\n\
        <arg_value>x</arg_value>\n</tool_call><|observation|>";
    let answer = "\n<think></think>\nDone.<|endoftext|>";
    let text = format!(
        "[gMASK]<sop><|user|>\nGo.<|assistant|>{calls}\n<tool_response>\n1\n</tool_response>\
        <|assistant|>{answer}"
    );
    assert_eq!(trained(&text, TextFormat::GLM_4_5), [calls, answer].concat());
    // The same with another layout.
    let text =
        text.replacen("<|user|>\n", "<|user|>", 1).replacen("</think>\n<tool", "</think><tool", 1);
    let calls = calls.replacen("</think>\n<tool", "</think><tool", 1);
    assert_eq!(trained(&text, TextFormat::GLM_4_5), [&calls, answer].concat());
}

/// Only the tokens inside of elements have ids.
fn kimi_k3() -> Tokenizer<ByteEncoding> {
    let tokens = ["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"];
    Tokenizer::new("kimi-k3".parse().expect("a format"), ByteEncoding::new(tokens))
}

const CALL: &str = "<|open|>message role=\"user\"<|sep|>Go.<|close|>message<|sep|><|end_of_msg|>\
    <|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>A tool.<|close|>think<|sep|>\
    <|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|>\
    <|open|>call tool=\"f\" index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"number\"<|sep|>3\
    <|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>\
    <|end_of_msg|>";

#[test]
fn elements_of_kimi_k3_are_written_and_read_with_the_ids_of_their_tokens() {
    let tokenizer = kimi_k3();
    let parsed = parse(CALL, Format::KIMI_K3, &ReadOptions::default());
    assert_eq!(parsed.diagnostics, []);
    let rendered = tokenizer.render(&parsed.document, &RenderOptions::default()).expect("ids");
    assert_eq!(rendered.spelled, []);
    let is_token = |id: &&u32| {
        let token = openchatml_tokens::Encoding::token(tokenizer.encoding(), **id);
        matches!(token, Some(Token::Control(_)))
    };
    assert_eq!(rendered.ids.iter().filter(is_token).count(), CALL.matches("<|").count());
    let read = tokenizer.parse(&rendered.ids, &ReadOptions::default());
    assert_eq!(read.diagnostics(), []);
    assert_eq!(*read.document(), parsed.document);
}

#[test]
fn kimi_k3_trains_the_text_after_the_prompt() {
    let tokenizer = kimi_k3();
    let conversation = parse(CALL, Format::KIMI_K3, &ReadOptions::default()).into_conversation();
    let rendered = tokenizer
        .render(&conversation.clone().into(), &RenderOptions::default())
        .expect("it was read");
    let mask = MaskPolicy::default().mask(&conversation, &rendered);
    let first = mask.iter().position(|is_trained| *is_trained).expect("a trained id");
    let before = "<|open|>message role=\"user\"<|sep|>Go.<|close|>message<|sep|><|end_of_msg|>\
        <|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>";
    let text = |ids: &[u32]| -> Vec<u8> {
        let token = |id: &u32| openchatml_tokens::Encoding::token(tokenizer.encoding(), *id);
        let bytes = |token| match token {
            Some(Token::Control(text) | Token::Text(text)) => text.as_bytes().to_vec(),
            Some(Token::Bytes(bytes)) => bytes.to_vec(),
            None => panic!("an id of no encoding"),
        };
        ids.iter().flat_map(|id| bytes(token(id))).collect()
    };
    assert_eq!(String::from_utf8(text(&rendered.ids[..first])).expect("text"), before);
    assert!(mask[first..].iter().all(|is_trained| *is_trained));
}

/// Of a tag of a call, only the token before it has an id. The model writes the token of reasoning.
#[test]
fn minimax_m3_trains_what_follows_the_header() {
    let tokens = ["]~!b[", "]~b]", "[e~[", "<mm:think>", "</mm:think>", "]<]minimax[>["];
    let tokenizer = Tokenizer::new(TextFormat::MINIMAX_M3, ByteEncoding::new(tokens));
    let answer = "<mm:think>A tool.</mm:think>I look.]<]minimax[>[<tool_call>\n\
        ]<]minimax[>[<invoke name=\"f\">]<]minimax[>[<a>]<]minimax[>[<item>3]<]minimax[>[</item>\
        ]<]minimax[>[</a>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>[e~[";
    let text = format!("]~!b[]~b]user\nGo.[e~[\n]~b]ai\n{answer}\n");
    let parsed = parse(&text, Format::MINIMAX_M3, &ReadOptions::default());
    assert_eq!(parsed.diagnostics, []);
    let rendered = tokenizer.render(&parsed.document, &RenderOptions::default()).expect("ids");
    let is_token = |id: &&u32| {
        let token = openchatml_tokens::Encoding::token(tokenizer.encoding(), **id);
        matches!(token, Some(Token::Control(_)))
    };
    let count: usize = tokens.iter().map(|token| text.matches(token).count()).sum();
    assert_eq!(rendered.ids.iter().filter(is_token).count(), count);
    let read = tokenizer.parse(&rendered.ids, &ReadOptions::default());
    assert_eq!(read.diagnostics(), []);
    assert_eq!(*read.document(), parsed.document);
    assert_eq!(trained(&text, TextFormat::MINIMAX_M3), answer);
}
