//! Conversations are written as the ids of the reference renderer of Harmony and of its fork, as
//! `reference/record.py` recorded them.
//!
//! `OPENCHATML_REFERENCE` and `OPENCHATML_OSS_HARMONY` name files with more recorded conversations,
//! for a larger run.

use openchatml::render::Profile;
use openchatml::{
    Channel, Code, End, Format, Message, RenderOptions, Role, TextFormat, Visibility, history,
    parse,
};
use openchatml_tokens::{O200kHarmony, Tokenizer};
use serde_json::Value;

fn cases(variable: &str, recorded: &str) -> Vec<Value> {
    let text = match std::env::var_os(variable) {
        Some(file) => std::fs::read_to_string(file).expect("a file of recorded conversations"),
        None => recorded.to_owned(),
    };
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

#[test]
fn ids_equal_those_of_the_reference_renderer() {
    let recorded = include_str!("reference/conversations.jsonl");
    same_ids(&cases("OPENCHATML_REFERENCE", recorded), Profile::Reference);
}

#[test]
fn ids_equal_those_of_its_fork() {
    let recorded = include_str!("reference/oss_harmony.jsonl");
    same_ids(&cases("OPENCHATML_OSS_HARMONY", recorded), Profile::OssHarmony);
}

fn same_ids(cases: &[Value], profile: Profile) {
    let json: Format = "harmony:json".parse().expect("a format");
    let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
    for (index, case) in cases.iter().enumerate() {
        let text = case["conversation"].as_str().expect("a conversation");
        let read = parse(text, json, &Default::default()).into_conversation();
        let mut conversation = match case["drops"] == true {
            true => history::reference_prompt(&read),
            false => read,
        };
        let mut options = RenderOptions::default();
        options.profile = profile;
        match case["mode"].as_str() {
            Some("completion") => options.generation_prompt = Some(Role::Assistant),
            Some("training") => {
                let is_final = |it: &&mut Message<'_>| {
                    it.role == Role::Assistant && it.channel == Some(Channel::Final)
                };
                if let Some(last) = conversation.messages.last_mut().filter(is_final) {
                    last.end = End::Return;
                }
            }
            _ => {}
        }
        // The reference leaves out `to=all`. A message that only this would hide would become
        // visible, so it is refused.
        let is_for_all = |it: &Message<'_>| {
            it.recipient.as_deref() == Some("all") && it.visibility() == Visibility::Hidden
        };
        let may_refuse = conversation.messages.iter().any(is_for_all);
        let rendered = match tokenizer.render(&conversation.into(), &options) {
            Ok(rendered) => rendered,
            Err(error) if may_refuse && error.code == Code::PermVisibility => continue,
            Err(error) => panic!("case {index}: {error}"),
        };
        let wanted: Vec<u32> = case["ids"]
            .as_array()
            .expect("ids")
            .iter()
            .map(|id| id.as_u64().expect("an id") as u32)
            .collect();
        if rendered.ids != wanted {
            let shown = |ids: &[u32]| tokenizer.parse(ids, &Default::default()).text().to_owned();
            assert_eq!(shown(&rendered.ids), shown(&wanted), "case {index}");
            assert_eq!(rendered.ids, wanted, "case {index}");
        }
    }
}
