//! Numbers that equal documents share.

use std::hash::{DefaultHasher, Hash as _, Hasher};

use crate::json::{Data, Value};
use crate::model::{Beyond, Conversation, Document, Message};

/// The keys under which records have media beside their messages.
const MEDIA: &[&str] = &["image", "images", "video", "videos", "audio", "audios"];

/// Returns a number that two documents share if they are the same sample, and hardly otherwise, to
/// find [duplicates](crate::Code::Duplicate) in a data set. Samples are the same if they have the
/// same messages and the same [rest](fingerprint_beside_text). The number depends on the version of
/// the library, so do not store it.
///
/// ```
/// use openchatml::{Conversation, Message, lint};
///
/// let say = |text| Conversation::from_messages([Message::user(text)]).into();
/// assert_eq!(lint::fingerprint(&say("Hi.")), lint::fingerprint(&say("Hi.")));
/// assert_ne!(lint::fingerprint(&say("Hi.")), lint::fingerprint(&say("Bye.")));
///
/// // An answer is the same in formats with and without channels.
/// let plain = Message::new(openchatml::Role::Assistant, "4.");
/// let both = [plain, Message::answer("4.")].map(|it| Conversation::from_messages([it]).into());
/// assert_eq!(lint::fingerprint(&both[0]), lint::fingerprint(&both[1]));
/// ```
pub fn fingerprint(document: &Document<'_>) -> u128 {
    let rest = fingerprint_beside_text(document);
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, rest).hash(&mut hasher);
        for conversation in document.conversations() {
            conversation.messages.len().hash(&mut hasher);
            for message in &conversation.messages {
                (message.role.as_str(), &message.name, &message.recipient).hash(&mut hasher);
                // Some formats write `final` where others write no channel.
                (message.effective_channel().as_str(), &message.content_type).hash(&mut hasher);
                message.body.text().hash(&mut hasher);
            }
        }
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

/// Returns a number for what a sample has beside the text of its messages: tools, images and other
/// media, weights, and whether it is a bad example. It is 0 if there is nothing of that.
///
/// ```
/// use openchatml::{Format, ReadOptions, lint, parse};
///
/// let number = |text: &str| {
///     let parsed = parse(text, Format::OPENAI, &ReadOptions::default());
///     lint::fingerprint_beside_text(&parsed.document)
/// };
/// let text = |label| {
///     format!(r#"{{"messages":[{{"role":"assistant","content":"Hi."}}],"label":{label}}}"#)
/// };
/// assert_eq!(number(&text("true")), 0);
/// assert_ne!(number(&text("false")), 0);
/// ```
pub fn fingerprint_beside_text(document: &Document<'_>) -> u64 {
    let mut rest = Rest { hasher: DefaultHasher::new(), is_empty: true };
    for (number, conversation) in document.conversations().into_iter().enumerate() {
        rest.conversation(number, conversation);
    }
    // 0 says that there is nothing.
    if rest.is_empty { 0 } else { rest.hasher.finish() | 1 }
}

struct Rest {
    hasher: DefaultHasher,
    is_empty: bool,
}

impl Rest {
    fn add(&mut self, at: (usize, usize), what: &str) {
        self.is_empty = false;
        (at, what).hash(&mut self.hasher);
    }

    fn conversation(&mut self, number: usize, conversation: &Conversation<'_>) {
        let end = (number, conversation.messages.len());
        for tool in &conversation.tools {
            self.add(end, &tool.name);
            self.add(end, tool.description.as_deref().unwrap_or_default());
            let parameters = tool.parameters.as_ref().map(Value::to_json);
            self.add(end, &parameters.unwrap_or_default());
        }
        for (at, message) in conversation.messages.iter().enumerate() {
            self.message((number, at), message);
        }
        let Some(layout) = &conversation.layout else { return };
        let fields = layout.beyond.iter().flat_map(|beyond| &beyond.fields);
        for (key, value) in fields.filter(|field| MEDIA.contains(&field.0.as_ref())) {
            self.add(end, key);
            self.add(end, &value.to_json());
        }
        self.items(end, layout.beyond.as_deref());
    }

    fn message(&mut self, at: (usize, usize), message: &Message<'_>) {
        if let Some(weight) = &message.weight {
            self.add(at, &format!("{weight:?}"));
        }
        let Some(layout) = &message.layout else { return };
        // A bad answer is an example, and differs from one that is left out.
        if layout.beyond.as_ref().is_some_and(|beyond| beyond.weight_key == Beyond::IMPLIED) {
            self.add(at, Beyond::IMPLIED);
        }
        let parts = layout.content.as_ref().and_then(Value::as_list).unwrap_or_default();
        let is_text = |part: &&Value<'_>| {
            part.data == Data::Null || part.get("text").unwrap_or(part).as_str().is_some()
        };
        for part in parts.iter().filter(|part| !is_text(part)) {
            self.add(at, &part.to_json());
        }
        self.items(at, layout.beyond.as_deref());
    }

    fn items(&mut self, at: (usize, usize), beyond: Option<&Beyond<'_>>) {
        for item in beyond.iter().flat_map(|it| it.items.iter().chain(&it.after)) {
            self.add(at, &item.to_json());
        }
    }
}
