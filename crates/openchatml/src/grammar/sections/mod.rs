//! Turns with sections: the turns of each role have their own tokens, and the turn of the assistant
//! has sections: reasoning, text, tool calls and replies.
//!
//! The differences between the dialects of the family are data: [`Rules`]. Reading, writing,
//! completions and masks use the same data, and the writer checks its output with the reader.

mod answer;
mod attributes;
mod bare;
pub(super) mod between;
mod body;
mod call;
mod calls;
mod compose;
mod elements;
mod ends;
mod guarded;
mod ids;
mod in_body;
mod in_elements;
mod in_parameters;
mod in_tree;
mod laid_out;
pub(super) mod layout_tracker;
mod parameters;
mod quote;
mod reader;
pub(super) mod reasoning;
mod recover;
mod replies;
mod tree;
mod turns;
mod unopened;
mod waiting;
mod write_check;
mod writer;

pub(crate) use self::attributes::AttributeHeader;
pub(crate) use self::compose::{BETWEEN, Opened, Which, compose, say};
pub(crate) use crate::grammar::owner::Owner;

use self::between::Kind;
use crate::dialect::{Grammar, TextForm};
use crate::lex::TokenTable;
use crate::model::{Conversation, Document, DocumentLayout, FormId, Message, Raw, Role};
use crate::options::{LayoutChoice, ReadOptions, RenderOptions};
use crate::rules::Completion;
pub(crate) use crate::rules::{
    Array, CallForm, CallPiece as Piece, Calls, Guard, InnerCalls, Literals, Mark, NoReasoning,
    PromptEnd, Prompts, Reasoning, Sections,
};
use crate::writing::{RenderError, Sink};
use crate::{Control, Section, reading};

/// The differences between the dialects of the family.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The name of the dialect.
    pub(crate) form: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The token that begins a sequence, if there is one, and what it belongs to.
    pub(crate) bos: Option<(Control, Owner)>,
    /// The beginning and end of the turns of each role. The writer uses the first row of a role.
    pub(crate) turns: &'static [Turn],
    /// The sections of the assistant's turn.
    pub(crate) sections: &'static Sections,
    pub(crate) replies: Replies,
    /// The tokens that end a completion. The first one closes the turn of the assistant.
    pub(crate) stops: &'static [Control],
}

impl Rules {
    /// Returns the text form of a dialect of this family: a dialect changes what differs.
    pub(crate) const fn text_form(&'static self) -> TextForm {
        TextForm {
            stops: self.stops,
            framing: Some(Completion::Sections(self.sections)),
            ..TextForm::new(self.form, self.controls, self)
        }
    }
}

impl Grammar for Rules {
    fn reader<'a>(
        &'static self,
        options: &ReadOptions,
    ) -> Box<dyn reading::Reader<'a> + Send + Sync + 'a> {
        Box::new(reader::reader(self, options))
    }

    fn write(
        &'static self,
        document: &Document<'_>,
        options: &RenderOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), RenderError> {
        writer::write(self, document, options, sink)
    }
}

/// The beginning and end of the turns of a role.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) opening: Opening,
    /// The token that closes the turn. Without one, the turn ends where the next turn begins.
    pub(crate) close: Option<Mark>,
    /// Whether the token of the next turn closes the turn, too. The closing token is then written
    /// only at the end.
    pub(crate) may_stay_open: bool,
}

impl Turn {
    /// Whether its opening contains this name.
    fn is_named(&self, word: &str) -> bool {
        match self.opening {
            Opening::Named(_, name) => name == word,
            Opening::Titled(title) => title.name == word,
            Opening::Attributes(_) => word.is_empty(),
            _ => false,
        }
    }

    /// Returns the token that opens it.
    fn opener(&self) -> Option<Control> {
        match self.opening {
            Opening::Named(token, _)
            | Opening::Mark(token)
            | Opening::Line(token)
            | Opening::Declaration(token) => Some(token),
            Opening::Titled(title) => Some(title.open),
            Opening::Attributes(header) => Some(header.open),
            Opening::Bare | Opening::Implied => None,
        }
    }

    /// Whether another name than that of a role can be in its opening.
    fn has_speakers(&self) -> bool {
        match self.opening {
            Opening::Titled(title) => title.others == OtherNames::Speaker,
            Opening::Attributes(_) => true,
            _ => false,
        }
    }

    /// Returns the number of line breaks at the end of its opening, after a name between two tokens.
    fn breaks_after_title(&self) -> u8 {
        if let Opening::Titled(title) = self.opening { title.after } else { 0 }
    }

    /// Whether its opening contains the word of a role, and nothing else.
    fn is_of_words(&self) -> bool {
        match self.opening {
            Opening::Named(..) => true,
            Opening::Titled(title) => title.others == OtherNames::Unknown,
            _ => false,
        }
    }

    /// Whether its opening has a name or attributes between two tokens.
    fn is_titled(&self) -> bool {
        matches!(self.opening, Opening::Titled(_) | Opening::Attributes(_))
    }
}

/// The name of a message of the system that declares tools in a turn of its own.
pub(crate) const DECLARATION: &str = "available_tools";

/// The beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// A token, the name of the role, and a line break: `<|im_start|>user\n`.
    Named(Control, &'static str),
    /// A name between two tokens: `<|im_user|>user<|im_middle|>`.
    Titled(&'static Title),
    /// Attributes between two tokens: `<|open|>message role="user" name="Eric"<|sep|>`.
    Attributes(&'static AttributeHeader),
    /// The token of the role. The turn of the assistant continues without it after its own end and
    /// after replies of tools.
    Mark(Control),
    /// The token of the role and a line break, which prompts of the assistant do not have.
    Line(Control),
    /// Nothing: the turn is the text at the beginning of the document.
    Bare,
    /// Nothing: the turn of the assistant is what stands between turns of others.
    Implied,
    /// The token of a declaration of tools, which is a message of the system with the name
    /// [`DECLARATION`]. The row has the role `developer`, which the format does not have otherwise.
    Declaration(Control),
}

/// The beginning of a turn with a name between two tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Title {
    pub(crate) open: Control,
    /// The name of the role. Several roles can have the same tokens and different names. Another
    /// name is that of the speaker.
    pub(crate) name: &'static str,
    pub(crate) end: Control,
    /// In turns of replies, the text before the id of the call, which has a line of its own. Such a
    /// turn has one reply.
    pub(crate) heading: Option<&'static str>,
    /// The number of line breaks after the token that ends the name.
    pub(crate) after: u8,
    /// What a name means that is not the name of a role.
    pub(crate) others: OtherNames,
}

/// What a name in the beginning of a turn means that is not the name of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherNames {
    /// It is the name of the speaker.
    Speaker,
    /// The role is unknown, and the message is hidden.
    Unknown,
}

/// The form of replies of tools.
#[derive(Debug)]
pub(crate) struct Replies {
    /// The role whose turns contain replies. `None` if replies follow the turn of the assistant,
    /// which continues after them.
    pub(crate) turn: Option<Role>,
    /// The tokens that open and close one reply. The line breaks before the opening token are only
    /// written after another reply.
    pub(crate) item: Option<(Mark, Mark)>,
    /// The number of line breaks before the first reply of a turn.
    pub(crate) lead: u8,
    /// Whether each reply has a turn of its own. Several replies in one turn are read, too.
    pub(crate) alone: bool,
    /// The tokens around replies that follow each other.
    pub(crate) list: Option<(Mark, Mark)>,
    /// The token between the id of the call and the content of a reply, if replies have ids.
    pub(crate) content: Option<Control>,
    /// The text around replies that follow each other, and between them.
    pub(crate) array: Option<Array>,
    /// The number of line breaks between a reply and a text of the user in the same turn, if a turn
    /// can contain both.
    pub(crate) said: Option<u8>,
    /// Whether their tokens are ordinary words, which are tokens only where a reply can begin or
    /// end.
    pub(crate) are_words: bool,
    /// The form of replies inside of the turn of the assistant, which continues after them. The token
    /// that opens a reply then ends a completion.
    pub(crate) inside: Option<ReplyInside>,
}

/// A reply with the name of its tool and its text as a string:
/// `response:NAME{value:<|"|>TEXT<|"|>}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyInside {
    /// The text before the name.
    pub(crate) open: &'static str,
    /// The text between the name and the text of the reply, which begins with a brace and ends with
    /// a colon.
    pub(crate) value: &'static str,
    /// The token before and after a string.
    pub(crate) quote: Control,
}

impl Replies {
    /// Values that most formats share. A table writes only the others.
    pub(crate) const NONE: Self = Self {
        turn: None,
        item: None,
        lead: 0,
        alone: false,
        content: None,
        array: None,
        list: None,
        said: None,
        are_words: false,
        inside: None,
    };
}

impl Rules {
    /// Returns the beginning and end of the turns of a role.
    fn turn(&self, role: Role) -> Option<&'static Turn> {
        self.turns.iter().find(|turn| turn.role == role)
    }

    /// Returns the row of the turns that this token opens.
    fn opened_by(&self, control: Control) -> Option<&'static Turn> {
        self.turns.iter().find(|turn| turn.opener() == Some(control))
    }

    /// Returns the row of the turns with this token and this name in the opening.
    fn titled(&self, control: Option<Control>, name: &str) -> Option<&'static Turn> {
        let mut rows = self.turns.iter().filter(|turn| turn.opener() == control);
        rows.find(|turn| turn.is_named(name))
    }

    /// Returns the token that ends the opening of a turn, if names or attributes stand between two
    /// tokens.
    fn end_of_title(&self) -> Option<Control> {
        self.turns.iter().find_map(|turn| match turn.opening {
            Opening::Titled(title) => Some(title.end),
            Opening::Attributes(header) => Some(header.end),
            _ => None,
        })
    }

    /// Whether the opening of a turn can contain the name of the speaker of this message.
    pub(crate) fn is_speaker(&self, message: &Message<'_>) -> bool {
        let Some(name) = message.name.as_deref() else { return false };
        let turn = self.turn(message.role).filter(|turn| turn.has_speakers());
        // Between two tokens, a name is read without white space, and can be that of a role.
        let is_read = |turn: &Turn| {
            turn.attributes().is_some()
                || self.titled(turn.opener(), name).is_none() && name.trim_ascii() == name
        };
        matches!(message.role, Role::System | Role::Developer | Role::User)
            && turn.is_some_and(is_read)
            && !name.is_empty()
    }

    /// Whether a turn contains replies of tools.
    fn has_replies(&self, turn: &Turn) -> bool {
        turn.role == Role::Tool || self.replies.turn == Some(turn.role)
    }

    /// Whether a token opens or closes turns or the document. Such a token is recognized
    /// everywhere.
    fn frames(&self, control: Control) -> bool {
        control == Control::Eos
            || self.begins(control)
            || self.is_other_end(control)
            || self.opened_by(control).is_some()
            || self.turns.iter().any(|turn| turn.close.is_some_and(|it| it.control == control))
    }

    /// Whether a token ends a completion, and does not close the turn of the assistant.
    fn stops_otherwise(&self, control: Control) -> bool {
        self.stops.iter().skip(1).any(|stop| *stop == control)
    }

    /// Whether a token ends the turn of the assistant instead of the one that closes it.
    fn is_other_end(&self, control: Control) -> bool {
        control.ends_message() && self.stops_otherwise(control)
    }

    /// Whether a token of calls is text in reasoning.
    fn is_text_in_reasoning(&self, control: Control) -> bool {
        let is_of_calls = matches!(
            control,
            Control::OpenSection(Section::Calls | Section::Call)
                | Control::CloseSection(Section::Calls | Section::Call)
                | Control::Arguments
                | Control::CallId
        );
        is_of_calls && self.sections.reasoning.calls == InnerCalls::Text
    }

    /// Whether a token ends a message of the system with this role, wherever it is.
    fn ends_said(&self, role: Role, control: Control) -> bool {
        let turn = self.turn(role).or(self.turn(Role::System));
        let is_ended = turn.is_some_and(|turn| self.is_ended_by_reply(turn));
        self.frames(control) || is_ended && self.opens_reply(control)
    }

    /// Whether a reply outside of turns ends this turn, which has no end token.
    fn is_ended_by_reply(&self, turn: &Turn) -> bool {
        turn.close.is_none() && self.replies.turn.is_none() && !self.replies.are_words
    }

    /// Returns the text that was read before a message, if it was not canonical.
    pub(crate) fn before<'m>(&self, message: &'m Message<'_>) -> Option<&'m Raw<'m>> {
        let layout = message.layout.as_deref().filter(|it| it.form == self.form)?;
        layout.before.as_ref()
    }

    /// The same, if the options ask for kept layout.
    pub(super) fn kept_before<'m>(
        &self,
        message: &'m Message<'_>,
        options: &RenderOptions,
    ) -> Option<&'m Raw<'m>> {
        self.before(message).filter(|_| options.layout == LayoutChoice::Keep)
    }

    /// Returns the kept layout around a conversation, if the options ask for it.
    pub(super) fn kept_around<'c>(
        &self,
        conversation: &'c Conversation<'_>,
        options: &RenderOptions,
    ) -> Option<&'c DocumentLayout<'c>> {
        let layout = conversation.layout.as_deref().filter(|it| it.form == self.form);
        layout.filter(|_| options.layout == LayoutChoice::Keep)
    }

    /// Whether a token begins a sequence.
    fn begins(&self, control: Control) -> bool {
        self.bos.is_some_and(|(bos, _)| bos == control)
    }

    /// Whether a token opens a reply.
    fn opens_reply(&self, control: Control) -> bool {
        self.replies.item.is_some_and(|(open, _)| open.control == control)
    }

    /// Whether a token is part of replies or calls, and a word elsewhere.
    fn is_word(&self, control: Control) -> bool {
        self.replies.are_words && is_of_replies(control) || self.is_word_of_calls(control)
    }

    /// Whether a token is part of a call, and a word outside of lists of calls.
    fn is_word_of_calls(&self, control: Control) -> bool {
        self.sections.calls.are_words && is_of_one_call(control)
    }

    /// Whether some tokens are words elsewhere.
    fn has_words(&self) -> bool {
        self.replies.are_words || self.sections.calls.are_words
    }

    /// Whether a call of this tool ends reasoning, if it is the only call of its list.
    pub(crate) fn ends_reasoning(&self, name: &str) -> bool {
        self.sections.reasoning.ended_by.contains(&name)
    }

    /// Returns the name of the tool that a message calls, without the namespace.
    pub(crate) fn tool<'m>(&self, message: &'m Message<'_>) -> &'m str {
        self.sections.calls.tool(message.recipient.as_deref().unwrap_or_default())
    }

    /// Returns the name that is written before a message: that of the tool of a call or of a reply, or
    /// the id that contains it, that of a speaker, or the id of a reply.
    pub(super) fn name<'m>(&self, message: &'m Message<'_>) -> &'m str {
        let id = message.call_id.as_deref().filter(|_| self.has_named_ids());
        let name = message.name.as_deref().unwrap_or_default();
        match message.role {
            _ if message.is_call() => id.unwrap_or_else(|| self.tool(message)),
            Role::Tool if self.heading().is_some() => id.unwrap_or_default(),
            Role::Tool if self.replies.inside.is_some() || self.names_replies() => {
                self.sections.calls.tool(name)
            }
            _ if self.is_speaker(message) => name,
            _ => "",
        }
    }

    /// Returns the token around strings, if arguments have one.
    pub(super) fn quote(&self) -> Option<Control> {
        self.sections.calls.tree().map(|tree| tree.quote)
    }

    /// Whether declarations of tools have a turn of their own.
    fn declares(&self) -> bool {
        self.turns.iter().any(|turn| matches!(turn.opening, Opening::Declaration(_)))
    }

    /// Whether calls and replies have ids.
    fn has_ids(&self) -> bool {
        self.replies.content.is_some()
    }

    /// Returns the recipient of a call with this name.
    pub(crate) fn recipient(&self, name: &str) -> String {
        match name.contains('.') {
            true => name.to_owned(),
            false => [self.sections.calls.namespace, ".", name].concat(),
        }
    }

    /// Sets the recipient of a call to the one that is read back, because calls do not contain all
    /// namespaces. Returns whether it changes.
    pub(crate) fn readdress(&self, message: &mut Message<'_>) -> bool {
        let recipient = message.recipient.as_deref().unwrap_or_default();
        let name = self.tool(message);
        // A name with a dot is read as the whole recipient, another one as the part after the
        // namespace.
        let is_same = match name.contains('.') {
            true => name == recipient,
            false => name.len() < recipient.len(),
        };
        if !is_same {
            message.recipient = Some(self.recipient(name).into());
        }
        !is_same
    }

    /// Returns the turn of the assistant, if it begins without a token.
    pub(super) fn implied(&self) -> Option<&'static Turn> {
        self.turn(Role::Assistant).filter(|turn| turn.opening == Opening::Implied)
    }

    /// Whether a line break follows the token that opens a turn.
    fn has_line(&self, role: Role) -> bool {
        self.turn(role).is_some_and(|turn| matches!(turn.opening, Opening::Line(_)))
    }

    /// Whether the opening of the next turn is what the model writes to end its turn.
    pub(super) fn ends_by_next(&self, last: Kind) -> bool {
        self.turn_of(last).is_some_and(|turn| turn.role == Role::Assistant && turn.may_stay_open)
    }

    /// Whether a turn without reasoning can have no token for that.
    fn is_silent_at_first(&self) -> bool {
        use NoReasoning::{AfterUser, Never, Nothing};
        matches!(self.sections.reasoning.none, Nothing | Never | AfterUser)
    }

    /// Returns the role words.
    fn role_words(&self) -> impl Iterator<Item = &'static str> {
        self.turns.iter().filter_map(|turn| match turn.opening {
            Opening::Named(_, word) => Some(word),
            Opening::Titled(title) if title.others == OtherNames::Unknown => Some(title.name),
            _ => None,
        })
    }

    pub(super) fn spelling(&self, control: Control) -> &'static str {
        self.controls.spelling(control).unwrap_or_default()
    }
}

/// Whether a token opens or closes replies.
fn is_of_replies(control: Control) -> bool {
    matches!(
        control,
        Control::OpenSection(Section::Replies | Section::Reply)
            | Control::CloseSection(Section::Replies | Section::Reply)
    )
}

/// Whether a token is part of one call: it opens or closes the call, a key or a value.
fn is_of_one_call(control: Control) -> bool {
    matches!(
        control,
        Control::OpenSection(Section::Call | Section::Key | Section::Value)
            | Control::CloseSection(Section::Call | Section::Key | Section::Value)
    )
}
