//! The closed sets of words: roles, channels, intents, markers, ends.

use crate::words::words;

/// The role of a message: who speaks (OpenChatML 2.2 §4).
///
/// Roles are ordered by the instruction hierarchy of the specification: `system` > `developer` >
/// `user` > `assistant` > `tool`. If two instructions conflict, the greater role wins.
///
/// ```
/// use openchatml::Role;
///
/// assert!(Role::System > Role::Developer && Role::Developer > Role::User);
/// assert_eq!([Role::Tool, Role::User, Role::Assistant].iter().max(), Some(&Role::User));
/// assert_eq!(Role::from_word("assistant"), Some(Role::Assistant));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// A tool, which replies to a call.
    Tool,
    /// The model.
    Assistant,
    /// The end user.
    User,
    /// The application: instructions and tool definitions.
    Developer,
    /// The system: rules that always hold.
    System,
}

words!(pub Role {
    System = "system",
    Developer = "developer",
    User = "user",
    Assistant = "assistant",
    Tool = "tool",
});

/// The channel of a message (OpenChatML 2.2 §5).
///
/// ```
/// use openchatml::Channel;
///
/// assert_eq!(Channel::from_word("analysis"), Some(Channel::Analysis));
/// assert_eq!(Channel::from_word("Final"), None); // Words are compared exactly.
/// let words: Vec<_> = Channel::ALL.iter().map(|channel| channel.as_str()).collect();
/// assert_eq!(words, ["analysis", "commentary", "final"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Private reasoning, which is never shown.
    Analysis,
    /// Tool calls and replies, and preambles if they are marked as such.
    Commentary,
    /// The answer.
    Final,
}

words!(pub Channel { Analysis = "analysis", Commentary = "commentary", Final = "final" });

/// The purpose of a message, in addition to its channel (OpenChatML 2.2 §6).
///
/// ```
/// use openchatml::{Intent, parse};
///
/// let text = "version: 2.2\n\n\
///     <|start|>assistant intent=preamble<|channel|>commentary<|message|>I search.<|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// assert_eq!(parsed.into_conversation().messages[0].intent, Some(Intent::Preamble));
/// assert_eq!(Intent::from_word("debug").map(Intent::as_str), Some("debug"));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// Commentary for the user, such as a plan or a list of actions.
    Preamble,
    /// A note on progress, not for display.
    Status,
    /// A note for developers, not for display.
    Debug,
}

words!(pub Intent { Preamble = "preamble", Status = "status", Debug = "debug" });

/// A chain-of-thought marker (OpenChatML 2.2 §7). It has no end token: it applies up to the next
/// marker or to the end of the body.
///
/// ```
/// use openchatml::{Marker, Segment, parse};
///
/// let text = "version: 2.2\n\n\
///     <|start|>assistant<|channel|>analysis<|message|><|start_reason|>2 and 2 is 4.<|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let conversation = parsed.into_conversation();
/// let first = conversation.messages[0].body.segments().next();
/// assert_eq!(first, Some(Segment::Marker(Marker::Reason)));
/// assert_eq!(Marker::from_word("reflect"), Some(Marker::Reflect));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Marker {
    /// Self-critique: `<|start_reflect|>`.
    Reflect,
    /// Latent probes: `<|start_introspect|>`.
    Introspect,
    /// Step-by-step logic: `<|start_reason|>`.
    Reason,
}

words!(pub Marker { Reflect = "reflect", Introspect = "introspect", Reason = "reason" });

/// How a message ends.
///
/// ```
/// use openchatml::{End, ReadOptions, parse};
///
/// let mut options = ReadOptions::default();
/// options.open_prompt = true;
/// let text = "version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n<|start|>assistant";
/// let messages = parse(text, "openchatml-2.2".parse()?, &options).into_conversation().messages;
/// assert_eq!((messages[0].end, messages[1].end), (End::End, End::Prompt));
/// assert_eq!(End::from_word("return"), Some(End::Return));
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// With `<|end|>`.
    #[default]
    End,
    /// With `<|call|>`: a tool call that waits for its reply.
    Call,
    /// With `<|return|>`: the end of sampling.
    Return,
    /// Without an end token: the text ends inside the body.
    Open,
    /// Without an end token: the text ends inside the header, such as a generation prompt of
    /// OpenChatML 2.x or ChatML. A generation prompt of the `<|im_start|>` framing has a complete
    /// header, so it is read as [`Open`](Self::Open).
    Prompt,
}

words!(pub End {
    End = "end",
    Call = "call",
    Return = "return",
    Open = "open",
    Prompt = "prompt",
});
