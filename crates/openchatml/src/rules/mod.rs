//! What formats can carry, and the losses of a conversion.

mod attributes;
mod carries;
mod carry;
mod completion;
mod compose;
mod contents;
mod declaration_losses;
mod elements;
mod guard;
mod history;
mod loss;
mod opening;
mod origins;
mod parameters;
mod prepared;
mod sections;
mod tree;

pub use self::attributes::{CallAttributes, ParameterAttributes};
pub(crate) use self::carries::is_json_call;
pub use self::carries::{Carries, Channels, Intents, Markers};
pub(crate) use self::carry::{ConversationRule, NAMES, REQUIRED, adapt, fits};
pub use self::completion::{Completion, Framed};
pub(crate) use self::compose::{Composed, Composer, Composing, Join};
pub(crate) use self::contents::{ContentRules, Unaccepted};
pub(crate) use self::declaration_losses::{
    declare_as_text, lost, lost_field, medium, partly_expressed,
};
pub use self::elements::Elements;
pub use self::guard::{CallForm, Guard, Literals};
pub(crate) use self::history::{
    History, kept_after_last_answer, kept_after_last_user, kept_by_reference, kept_with_tools,
    kept_without_reasoning,
};
pub use self::loss::{Loss, Lost};
pub(crate) use self::opening::Opening;
pub use self::origins::Origins;
pub use self::parameters::{Parameters, Tag, Words};
pub use self::prepared::{Prepared, Weighed};
pub use self::sections::{
    Array, CallPiece, Calls, InnerCalls, Mark, NoReasoning, PromptEnd, Prompts, Reasoning, Sections,
};
pub use self::tree::Tree;
