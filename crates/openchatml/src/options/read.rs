//! Options for reading.

use std::sync::Arc;

use crate::Role;
use crate::limits::Limits;
use crate::model::Tool;
use crate::words::words;

/// Options for reading a document.
///
/// ```
/// use openchatml::{Mode, ReadOptions};
///
/// let mut options = ReadOptions::default();
/// options.mode = Mode::Strict;
/// assert_eq!(options.continues, None);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Whether tolerable errors are errors or warnings.
    pub mode: Mode,
    /// How to handle malformed input.
    pub recover: Recover,
    /// Whether the last message can be open: a prompt that the model will continue.
    pub open_prompt: bool,
    /// The role whose message the input continues, for a raw completion of a model: its prompt
    /// ended in the header of this role. If this is the assistant, only the assistant can speak in
    /// the input, and its first stop token ends the input. Messages of other roles, and everything
    /// after the stop token, are hidden and reported as `E-COMPLETION-ROLE`.
    ///
    /// The stop tokens are `<|return|>` and `<|call|>` in OpenChatML 2.x and Harmony (HIP-1 §8),
    /// `<|assistant_end|>` and `<|tools_suffix|>` in Apertus, `<|end_message|>` in `chatml-wire`,
    /// `<|im_end|>` in `chatml`, and `<|im_end|>` and `</s>` in OpenChatML 0.1.
    pub continues: Option<Role>,
    /// Whether the prompt that the input [continues](Self::continues) ended inside reasoning,
    /// because the chat template wrote `<think>`.
    pub in_reasoning: bool,
    /// Whether a completion continues after its stop token: messages of the assistant after it are
    /// read as its next messages. Use it for several generations in one text, and for servers that
    /// continue where HIP-1 §8 requires a stop.
    pub past_stop: bool,
    /// Whether text of the assistant in JSON that begins with reasoning in tags, such as
    /// `<think>Easy.</think>4.`, is read as two messages: the reasoning and the answer. Text before a
    /// lone `</think>` is reasoning, too. The tags and the line breaks beside them are dropped.
    /// Without `</think>`, all of the text is reasoning, and reported (`E-STREAM-TRUNCATED`). Text
    /// formats with such tokens always read them.
    ///
    /// ```
    /// use openchatml::{Format, ReadOptions, parse};
    ///
    /// let text = r#"[{"role":"assistant","content":"<think>\nEasy.\n</think>\n\n4."}]"#;
    /// let mut options = ReadOptions::default();
    /// assert!(parse(text, Format::OPENAI, &options).into_conversation().messages[0].is_answer());
    /// options.split_reasoning = true;
    /// let messages = parse(text, Format::OPENAI, &options).into_conversation().messages;
    /// assert!(messages[0].is_reasoning() && messages[1].is_answer());
    /// assert_eq!((messages[0].body.text(), messages[1].body.text()), ("Easy.".into(), "4.".into()));
    /// ```
    pub split_reasoning: bool,
    /// Whether and how the arguments of calls that are almost JSON are repaired; see
    /// [`repair_call`](crate::repair_call). Streams ignore it: they pass arguments on as they arrive.
    ///
    /// ```
    /// use openchatml::{Format, ReadOptions, Repair, parse};
    ///
    /// let text = "[TOOL_CALLS]weather[ARGS]{'city': 'Bern'}</s>";
    /// let mut options = ReadOptions::completion();
    /// options.repair = Some(Repair::Accept);
    /// let messages = parse(text, Format::MISTRAL_V11, &options).into_conversation().messages;
    /// assert_eq!(messages[0].body.text(), r#"{"city": "Bern"}"#);
    /// ```
    pub repair: Option<Repair>,
    /// The tools that the model can call. In formats whose calls do not say whether an argument is a
    /// string, such as `<parameter=zip>10115</parameter>`, their schemas do. Without a schema, it is
    /// a string unless it is valid JSON.
    pub tools: Arc<[Tool<'static>]>,
    /// The limits on the input.
    pub limits: Limits,
}

impl ReadOptions {
    /// Creates options for the completion of a prompt that ended where the assistant speaks, as
    /// from [`RenderOptions::prompt`](crate::RenderOptions::prompt).
    ///
    /// ```
    /// use openchatml::{Format, ReadOptions, parse};
    ///
    /// let sampled = "<|channel|>final<|message|>4.<|return|>";
    /// let parsed = parse(sampled, Format::HARMONY, &ReadOptions::completion());
    /// assert!(parsed.diagnostics.is_empty());
    /// assert!(parsed.into_conversation().messages[0].is_answer());
    /// ```
    pub fn completion() -> Self {
        Self { continues: Some(Role::Assistant), ..Self::default() }
    }
}

/// What a call is after its arguments were repaired.
///
/// ```
/// use openchatml::Repair;
///
/// assert_eq!(Repair::from_word("accept"), Some(Repair::Accept));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Repair {
    /// It stays uncertain ([`Message::recovered`](crate::Message::recovered)): no program runs it.
    Mark,
    /// It is a call like any other, and programs run it.
    Accept,
}

words!(pub Repair { Mark = "mark", Accept = "accept" });

/// Whether tolerable errors are errors or warnings.
///
/// ```
/// use openchatml::{Format, Mode, ReadOptions, parse};
///
/// let format: Format = "openchatml-2.2".parse()?;
/// let text = "<|start|>user<|message|>A transcript without a header<|end|>\n";
/// let mut options = ReadOptions::default();
/// assert!(!parse(text, format, &options).has_errors());
/// options.mode = Mode::Strict;
/// assert!(parse(text, format, &options).has_errors());
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Warnings for errors that the reader can correct. For model output and files of others.
    #[default]
    Lenient,
    /// Errors for everything that the specification does not allow.
    Strict,
}

/// How to handle text outside of messages, and invalid headers.
///
/// With every policy, each byte of the input is in a message or in the span of a diagnostic, and
/// uncertain text is never shown to the user.
///
/// ```
/// use openchatml::{Format, ReadOptions, Recover, parse};
///
/// let im: Format = "chatml".parse()?;
/// let text = "<|im_start|>user\nHi<|im_end|>\nOops\n<|im_start|>assistant\nHi!<|im_end|>\n";
/// let messages = [Recover::Keep, Recover::Drop, Recover::Error].map(|recover| {
///     let mut options = ReadOptions::default();
///     options.recover = recover;
///     parse(text, im, &options).into_conversation().messages.len()
/// });
/// assert_eq!(messages, [3, 2, 1]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recover {
    /// The text becomes a hidden message.
    #[default]
    Keep,
    /// The text is dropped.
    Drop,
    /// The reader stops there and drops the rest of the input.
    Error,
    /// As with `Keep`. A completion from which a server has removed the control tokens, such as
    /// `analysis…assistantfinal…`, is read by the words that are left, in formats where this is
    /// possible (Harmony). The last answer is visible, all else is hidden, and no call is certain.
    Stripped,
}

impl Recover {
    /// Whether uncertain text becomes a hidden message.
    pub(crate) fn keeps(self) -> bool {
        matches!(self, Self::Keep | Self::Stripped)
    }
}
