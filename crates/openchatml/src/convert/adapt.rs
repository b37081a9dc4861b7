//! Makes a conversation one that a format can carry.

use crate::dialects;
use crate::model::{
    Body, Channel, Content, Conversation, Document, End, Message, Part, Role, Segment, Visibility,
};
use crate::rules::{Carries, Channels, Intents, Loss, Lost, ends_section};

/// The document as `carries` can carry it, and where the messages of a conversation stood. `None` if
/// it can carry it as it is.
pub(super) fn document<'a>(
    document: &Document<'a>,
    carries: &Carries,
    losses: &mut Vec<Loss>,
) -> Option<(Document<'a>, Option<Vec<usize>>)> {
    match document {
        Document::Conversation(it) => {
            let (adapted, kept) = conversation(it, carries, losses)?;
            Some((Document::Conversation(adapted), Some(kept)))
        }
        Document::Files(parts) => {
            let adapted = files(parts, carries, losses)?;
            Some((Document::Files(adapted), None))
        }
        Document::Infill(_) => None,
    }
}

/// The files as `carries` can carry the conversations among them. `None` if it can carry all of
/// them as they are.
fn files<'a>(
    parts: &[Part<'a>],
    carries: &Carries,
    losses: &mut Vec<Loss>,
) -> Option<Vec<Part<'a>>> {
    let mut changed: Option<Vec<Part<'a>>> = None;
    for (index, part) in parts.iter().enumerate() {
        let Content::Conversation(it) = &part.content else { continue };
        let first = losses.len();
        let Some((adapted, _)) = conversation(it, carries, losses) else { continue };
        // The places of messages are places in a document that is a conversation.
        losses[first..].iter_mut().for_each(|loss| loss.message = None);
        let changed = changed.get_or_insert_with(|| parts.to_vec());
        changed[index].content = Content::Conversation(adapted);
    }
    changed
}

/// The conversation as `carries` can carry it. `None` if it can carry it as it is.
pub(super) fn conversation<'a>(
    conversation: &Conversation<'a>,
    carries: &Carries,
    losses: &mut Vec<Loss>,
) -> Option<(Conversation<'a>, Vec<usize>)> {
    if carries.fits_all(conversation) {
        return None;
    }
    let mut adapted = Conversation {
        header: conversation.header.clone(),
        tools: conversation.tools.clone(),
        messages: Vec::with_capacity(conversation.messages.len()),
        origin: conversation.origin,
        layout: conversation.layout.clone(),
    };
    let home = dialects::carried_by(conversation.origin);
    around(&mut adapted, (carries, home), losses);
    let count = conversation.messages.len();
    let mut kept = Vec::with_capacity(count);
    for (index, message) in conversation.messages.iter().enumerate() {
        let last = index + 1 == count;
        let mut push = |message, last| {
            let losses = &mut *losses;
            let mut adapter = Adapter { carries, home, index, last, losses, message };
            let is_carried = carries.fits(&adapter.message, last) || adapter.adapt();
            if is_carried {
                adapted.messages.push(adapter.message);
                kept.push(index);
            }
            is_carried
        };
        match message.split_reasoning() {
            None => drop(push(message.clone(), last)),
            Some((said, reasoning)) => {
                push(said, false);
                if push(reasoning, last) {
                    let lost = Lost::ReasoningMoved;
                    losses.push(Loss::new(Some(index), message.span, lost));
                }
            }
        }
    }
    lead_calls(&mut adapted.messages, &kept, carries, losses);
    Some((adapted, kept))
}

/// Makes preambles answers where a format cannot say them.
fn lead_calls(
    messages: &mut [Message<'_>],
    kept: &[usize],
    carries: &Carries,
    losses: &mut Vec<Loss>,
) {
    let before = losses.len();
    for (at, from) in kept.iter().enumerate() {
        if !carries.fits_preamble(&messages[at], messages.get(at + 1)) {
            answer(&mut messages[at]);
            let span = messages[at].span;
            losses.push(Loss::new(Some(*from), span, Lost::Preamble));
        }
    }
    if losses.len() > before {
        losses.sort_by_key(|loss| loss.message);
    }
}

/// Makes a preamble an answer: the user sees both.
fn answer(message: &mut Message<'_>) {
    message.channel = Some(Channel::Final);
    message.intent = None;
}

/// Makes what stands around the messages what can be carried.
fn around(
    adapted: &mut Conversation<'_>,
    (carries, home): (&Carries, Option<&Carries>),
    losses: &mut Vec<Loss>,
) {
    let mut lose = |lost| {
        losses.push(Loss::new(None, crate::Span::default(), lost));
    };
    if !carries.fits_tools(adapted) {
        lose(Lost::Tools);
        adapted.tools.clear();
    }
    for tool in &mut adapted.tools {
        if carries.drop_keys(tool) {
            lose(Lost::Declaration);
        }
    }
    if !carries.header {
        let comes_back = |header: &_| home.is_some_and(|it| it.implies_header(header));
        if adapted.header.take().is_some_and(|header| !comes_back(&header)) {
            lose(Lost::Header);
        }
        return;
    }
    let Some(header) = &mut adapted.header else { return };
    let keys: Vec<_> = carries.lost_keys(header).collect();
    for key in keys {
        if header.remove(key).is_some() {
            lose(if key == "profiles" { Lost::Profiles } else { Lost::Capabilities });
        }
    }
}

struct Adapter<'c, 'a> {
    carries: &'c Carries,
    /// What the format can say that the conversation was read in.
    home: Option<&'c Carries>,
    index: usize,
    last: bool,
    losses: &'c mut Vec<Loss>,
    message: Message<'a>,
}

impl Adapter<'_, '_> {
    fn lose(&mut self, lost: Lost) {
        let span = self.message.span;
        self.losses.push(Loss::new(Some(self.index), span, lost));
    }

    /// Makes the message one that can be carried. Whether there is such a message.
    fn adapt(&mut self) -> bool {
        if self.message.foreign && !self.carries.recovered {
            self.lose(Lost::Foreign);
            return false;
        }
        if let Some(lost) = self.unsayable() {
            self.lose(lost);
            return false;
        }
        if !self.carries.roles.contains(&self.message.role) {
            self.lose(Lost::Developer);
            self.message.role = Role::System;
        }
        if self.carries.channels == Channels::Calls && self.message.is_commentary() {
            self.lose(Lost::Preamble);
            answer(&mut self.message);
        }
        self.channel();
        self.attributes();
        self.end();
        if !self.carries.fits_markers(&self.message) {
            self.lose(Lost::Markers);
            let rest = self.message.body.segments().filter_map(|segment| match segment {
                Segment::Marker(_) => None,
                Segment::Text(text) => Some(Segment::Text(text.into_owned().into())),
                Segment::Literal(text) => Some(Segment::Literal(text.into_owned().into())),
            });
            self.message.body = Body::from_segments(rest.collect::<Vec<_>>());
        }
        if !self.carries.weights && self.message.weight.take().is_some() {
            self.lose(Lost::Weight);
        }
        if !self.carries.recovered && self.message.unread.take().is_some() {
            self.lose(Lost::Unread);
        }
        if !self.carries.recovered && std::mem::take(&mut self.message.recovered) {
            self.lose(Lost::Recovered);
        }
        true
    }

    /// Why the message cannot be carried at all: it would become visible, or gain authority.
    fn unsayable(&self) -> Option<Lost> {
        let Message { role, recipient, end, .. } = &self.message;
        let is_hidden = || self.message.visibility() == Visibility::Hidden;
        let says_all = self.carries.ends.contains(end)
            && !(self.carries.channels == Channels::Sections && is_hidden());
        if *end == End::Prompt && self.message.body.is_empty() && !says_all {
            // Nothing was said yet, and it would be open for anything.
            return Some(Lost::Prompt);
        }
        if !self.carries.roles.contains(role) && *role != Role::Developer {
            return Some(Lost::Reply);
        }
        if self.carries.makes_calls && self.message.is_call() && !self.is_made() {
            return Some(Lost::Call);
        }
        let hidden = self.message.visibility() == Visibility::Hidden;
        let channel = self.message.effective_channel();
        match (self.carries.channels, role) {
            (Channels::All, _) => None,
            // Hidden by their role, whatever the channel.
            (_, Role::System | Role::Developer | Role::Tool) => None,
            (_, Role::User) => hidden.then_some(Lost::Hidden),
            (Channels::Sections, Role::Assistant) => {
                let goes_on = self.last && self.message.end == End::Open;
                (recipient.is_some() && !self.is_made() && !goes_on).then_some(Lost::Call)
            }
            (Channels::Turns | Channels::Calls, Role::Assistant) => match (recipient, channel) {
                (Some(_), _) => (!self.is_made()).then_some(Lost::Call),
                (None, Channel::Analysis) => {
                    (self.carries.channels == Channels::Calls).then_some(Lost::Analysis)
                }
                (None, Channel::Final) if !hidden => None,
                (None, _) => match self.carries.intents {
                    Intents::Implied | Intents::BeforeCalls => None,
                    _ if self.carries.channels == Channels::Calls && !hidden => None,
                    _ => Some(Lost::Commentary),
                },
            },
            (Channels::None, Role::Assistant) if hidden => Some(match (recipient, channel) {
                (Some(_), _) => Lost::Call,
                (None, Channel::Analysis) => Lost::Analysis,
                (None, Channel::Commentary) => Lost::Commentary,
                (None, Channel::Final) => Lost::Hidden,
            }),
            (Channels::None, Role::Assistant) => None,
        }
    }

    /// Whether a call was made for certain.
    fn is_made(&self) -> bool {
        self.message.end == End::Call && !self.message.recovered
    }

    fn channel(&mut self) {
        let fixed = match (self.carries.channels, self.message.role) {
            (Channels::All, _) => return,
            (Channels::None, _) | (_, Role::System | Role::Developer | Role::User) => None,
            (_, Role::Tool) => Some(Channel::Commentary),
            (_, Role::Assistant) if self.message.recipient.is_some() => Some(Channel::Commentary),
            (Channels::Sections, Role::Assistant) => return self.section(),
            (_, Role::Assistant) => Some(self.message.effective_channel()),
        };
        let before = self.message.channel;
        // `final` is what a message without a channel is.
        let same = before.unwrap_or(Channel::Final) == fixed.unwrap_or(Channel::Final);
        // Where replies have no channel of their own, the way back gives them this one again.
        let is_reply = self.message.role == Role::Tool && before == Some(Channel::Commentary);
        let comes_back = is_reply && self.home.is_some_and(|home| home.channels.are_fixed());
        if before.is_some() && !same && !comes_back {
            self.lose(Lost::Channel);
        }
        self.message.channel = fixed;
    }

    /// Where sections tell the channels: what a user may see is said aloud, the rest is not.
    fn section(&mut self) {
        if self.last && self.message.end == End::Prompt && self.message.body.is_empty() {
            self.message.channel = None;
            return;
        }
        let hidden = self.message.visibility() == Visibility::Hidden;
        let channel = if hidden { Channel::Analysis } else { Channel::Final };
        if self.message.effective_channel() != channel {
            self.lose(if hidden { Lost::CommentaryMoved } else { Lost::Channel });
        }
        self.message.channel = Some(channel);
    }

    fn attributes(&mut self) {
        let carries = self.carries;
        // It may move the message to another channel, which decides the rest.
        self.intent();
        if self.message.name.is_some() && !(carries.names)(&self.message) {
            self.message.name = None;
            self.lose(Lost::Name);
        }
        self.recipient();
        let is_paired = self.message.is_call() || self.message.role == Role::Tool;
        let keeps_id = carries.call_ids && (!carries.channels.are_fixed() || is_paired);
        if self.message.call_id.is_some() && !keeps_id {
            self.message.call_id = None;
            self.lose(Lost::CallId);
        }
        if self.message.content_type.is_some() && !(carries.content_types)(&self.message) {
            let constrained = std::mem::take(&mut self.message.constrained);
            let mut lost_type = None;
            // The type may be carried where the constraint is not.
            if !constrained || !(carries.content_types)(&self.message) {
                lost_type = self.message.content_type.take();
            }
            if constrained {
                self.lose(Lost::Constraint);
            }
            let is_read = self.home.is_some_and(|it| it.reads_json_calls);
            let comes_back = |it: &_| it == "json" && is_read && self.message.is_call();
            if lost_type.is_some_and(|it| !comes_back(&it)) {
                self.lose(Lost::ContentType);
            }
        }
        if carries.json_calls && self.message.is_call() {
            self.message.content_type = Some("json".into());
        }
    }

    fn intent(&mut self) {
        if self.carries.fits_intent(&self.message) {
            return;
        }
        self.message.intent = None;
        let implied = matches!(self.carries.intents, Intents::Implied | Intents::BeforeCalls);
        if implied && self.message.is_commentary() {
            // Without a word about it, it would be shown.
            self.message.channel = Some(Channel::Analysis);
            return self.lose(Lost::CommentaryMoved);
        }
        self.lose(Lost::Intent);
    }

    fn recipient(&mut self) {
        let carries = self.carries;
        let is_reply = self.message.role == Role::Tool;
        let fixed = carries.channels.are_fixed() && !self.message.is_call();
        if self.message.recipient.is_some() && (!carries.recipients || fixed) {
            let implied = is_reply && self.message.recipient.as_deref() == Some("assistant");
            self.message.recipient = None;
            if !implied {
                self.lose(Lost::Recipient);
            }
        }
        // What the turns of JSON imply.
        if carries.channels.are_fixed() && is_reply {
            self.message.recipient = Some("assistant".into());
        }
    }

    fn end(&mut self) {
        let end = self.message.end;
        let is_call = self.message.is_call();
        let fits = end == End::End
            || self.carries.ends.contains(&end)
                && (is_call
                    || !self.carries.channels.are_fixed()
                    || self.carries.channels == Channels::Sections);
        let is_open = matches!(end, End::Open | End::Prompt);
        let fits = fits && (self.last || self.carries.open_inside || !is_open);
        // A guess must not be taken for a call that is to be made.
        let guessed = end == End::Call && self.message.recovered && !self.carries.recovered;
        let fits = fits
            && (self.carries.channels != Channels::Sections
                || ends_section(&self.message, self.last, self.carries.open_roles));
        let fits = fits && (!self.carries.makes_calls || is_call || end != End::Call);
        if fits && !guessed {
            return;
        }
        self.message.end = End::End;
        self.lose(match end {
            End::Return => Lost::Return,
            End::Call => Lost::CallEnd,
            _ => Lost::Open,
        });
    }
}
