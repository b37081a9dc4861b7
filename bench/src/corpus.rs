//! Conversations that resemble model transcripts. The same seed gives the same conversations.

use openchatml::convert::convert;
use openchatml::{
    Channel, Conversation, End, Format, Header, Message, RenderOptions, Role, Tool, parse, render,
};

use crate::clock::Load;

/// A random number generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }
}

const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "answer",
    "question",
    "function",
    "model",
    "weather",
    "Tokyo",
    "number",
    "because",
    "however",
    "should",
    "result",
    "return",
    "value",
    "first",
    "second",
    "compute",
    "explain",
    "naïve",
    "café",
    "東京",
    "天気",
    "🙂",
    "it's",
    "don't",
    "https://example.org/a?b=c",
    "`x`",
];

const CODE: &[&str] = &[
    "\n```rust\nfn main() { let v: Vec<u8> = vec![1, 2]; if v.len() < 3 { println!(\"{v:?}\"); } }\n```\n",
    "\n```html\n<div class=\"a\"><b>bold</b></div>\n```\n",
    "\n- one\n- two\n",
    "\n\n",
];

/// Generates about `bytes` bytes of text: mostly words, sometimes code with `<` in it.
pub fn text(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 32);
    while text.len() < bytes {
        if bytes > 200 && random.below(40) == 0 {
            text.push_str(CODE[random.below(CODE.len())]);
        } else {
            text.push_str(WORDS[random.below(WORDS.len())]);
            text.push(if random.below(12) == 0 { '.' } else { ' ' });
        }
    }
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// Generates a conversation with this number of turns, and bodies of about this size or half of it.
pub fn conversation(random: &mut Random, turns: usize, bytes: usize) -> Conversation<'static> {
    let size = |random: &mut Random| bytes / 2 + random.below(bytes.max(1));
    let mut conversation = Conversation::default();
    conversation.header = Some(Header::new("2.2"));
    let system = text(random, bytes);
    conversation.messages.push(Message::new(Role::System, system));
    for turn in 0..turns {
        let length = size(random);
        conversation.messages.push(Message::new(Role::User, text(random, length)));
        let length = size(random);
        conversation.messages.push(Message::reasoning(text(random, length)));
        if turn % 3 == 1 {
            conversation.messages.extend(call(random, turn, bytes));
        }
        let length = size(random);
        let mut answer = Message::answer(text(random, length));
        answer.end = End::Return;
        conversation.messages.push(answer);
    }
    conversation
}

fn call(random: &mut Random, turn: usize, bytes: usize) -> [Message<'static>; 2] {
    let mut call = Message::new(Role::Assistant, format!("{{\"location\":\"Tokyo {turn}\"}}"));
    call.channel = Some(Channel::Commentary);
    call.recipient = Some("functions.get_weather".into());
    call.call_id = Some(format!("call_{turn}").into());
    call.content_type = Some("json".into());
    call.constrained = true;
    call.end = End::Call;
    let content = text(random, bytes / 2).replace(['"', '\\', '\n'], " ");
    let mut reply = Message::new(Role::Tool, format!("{{\"ok\":true,\"content\":\"{content}\"}}"));
    reply.channel = Some(Channel::Commentary);
    reply.name = Some("functions.get_weather".into());
    reply.recipient = Some("assistant".into());
    reply.call_id = call.call_id.clone();
    [call, reply]
}

/// Generates a corpus with this total size of text.
pub fn corpus(seed: u64, total: usize, turns: usize, bytes: usize) -> Vec<Conversation<'static>> {
    let mut random = Random::new(seed);
    let mut conversations = Vec::new();
    let mut sum = 0;
    while sum < total {
        let conversation = conversation(&mut random, turns, bytes);
        sum += conversation.messages.iter().map(|message| message.body.len() + 40).sum::<usize>();
        conversations.push(conversation);
    }
    conversations
}

/// Additional tools that the conversations declare but do not call.
const TOOLS: &str = r#"{"messages":[],"tools":[{"type":"function","function":{
    "name":"get_weather","description":"The weather at a place, for some days.","parameters":{
        "type":"object","properties":{
            "location":{"type":"string","description":"A city, or an address."},
            "unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"},
            "days":{"type":"integer","description":"How many.","default":3}},
        "required":["location"]}}},{"type":"function","function":{
    "name":"search","description":"Pages that say something of a subject.","parameters":{
        "type":"object","properties":{
            "query":{"type":"string"},
            "languages":{"type":"array","items":{"type":"string"}},
            "limit":{"type":["integer","null"],"description":"Ten if not given."}},
        "required":["query"]}}}]}"#;

/// Returns typical tools of an agent: the called one, and another one.
pub fn tools() -> Vec<Tool<'static>> {
    let parsed = parse(TOOLS, Format::JSON, &Default::default());
    assert!(parsed.diagnostics.is_empty());
    parsed.into_conversation().tools
}

/// Converts the conversations to a format, and drops what it cannot represent.
pub fn converted(
    conversations: &[Conversation<'static>],
    format: Format,
    options: &RenderOptions,
) -> Vec<String> {
    let write = |conversation: &Conversation<'static>| {
        let converted = convert(&conversation.clone().into(), format, options);
        converted.expect("the corpus can be written").output
    };
    conversations.iter().map(write).collect()
}

/// Writes the conversations.
pub fn texts(conversations: &[Conversation<'static>], format: Format) -> Vec<String> {
    let options = RenderOptions::default();
    let write = |conversation: &Conversation<'static>| {
        render(&conversation.clone().into(), format, &options).expect("the corpus can be written")
    };
    conversations.iter().map(write).collect()
}

/// Returns the load of the conversations written as `texts`.
pub fn load(texts: &[String], conversations: &[Conversation<'static>]) -> Load {
    Load {
        bytes: texts.iter().map(String::len).sum(),
        messages: conversations.iter().map(|conversation| conversation.messages.len()).sum(),
    }
}
