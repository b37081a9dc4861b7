//! How to read.

use crate::Role;
use crate::limits::Limits;

/// How to read a document.
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
    /// Whether what is tolerable is an error.
    pub mode: Mode,
    /// What to do with malformed input.
    pub recover: Recover,
    /// Whether the last message may be open: a prompt that the model is to continue.
    pub open_prompt: bool,
    /// The input continues a prompt that ended in this role's header, as a model's raw completion
    /// does. If this is the assistant, only the assistant may speak in it, and the first stop token of
    /// its own ends it: what others say, and what follows, is hidden and reported as
    /// `E-COMPLETION-ROLE`.
    ///
    /// The stop tokens are `<|return|>` and `<|call|>` in OpenChatML 2.x and Harmony (HIP-1 §8),
    /// `<|assistant_end|>` and `<|tools_suffix|>` in Apertus, `<|end_message|>` in ChatML, and
    /// `<|im_end|>` in `im` and OpenChatML 0.1, where `</s>` is one, too.
    pub continues: Option<Role>,
    /// Whether the prompt that the input [continues](Self::continues) ended inside of reasoning, as it
    /// does where a chat template writes `<think>` itself.
    pub in_reasoning: bool,
    /// Whether a completion goes on past its stop token: what the assistant says there
    /// is taken as its next messages. For several generations one after another in one text, and
    /// for servers that go on where HIP-1 §8 has them stop.
    pub past_stop: bool,
    /// Bounds on what is read.
    pub limits: Limits,
}

impl ReadOptions {
    /// Reads the completion of a prompt that ended where the assistant speaks, as
    /// [`RenderOptions::prompt`](crate::RenderOptions::prompt) ends it.
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

/// Whether what is tolerable is an error.
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
    /// What can be understood is a warning. For model output and foreign files.
    #[default]
    Lenient,
    /// What the specification does not allow is an error.
    Strict,
}

/// What to do with text that stands where none may stand, and with headers that make no sense.
///
/// Whatever the policy: each byte of the input is in a message or in the span of a diagnostic, and
/// uncertain text is never shown to the user.
///
/// ```
/// use openchatml::{Format, ReadOptions, Recover, parse};
///
/// let im: Format = "im".parse()?;
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
pub enum Recover {
    /// It becomes a hidden message of its own.
    #[default]
    Keep,
    /// It is left out.
    Drop,
    /// It ends the reading: what follows is left out, too.
    Error,
}
