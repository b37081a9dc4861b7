//! What a document is written for, and what that changes.

use openchatml::convert::Loss;
use openchatml::prompt::Prompt;
use openchatml::{Conversation, Document, End, Format, RenderOptions};

use super::kept_messages::KeptMessages;

/// The purpose of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The same conversation in another format.
    #[default]
    Faithful,
    /// The next prompt of a model.
    Prompt,
    /// The next prompt with all reasoning.
    PromptWithReasoning,
    /// A training sample.
    Training,
}

impl Purpose {
    /// Returns the document for the purpose, the losses of this step, and the indices of the
    /// remaining messages. The target is the format of the output.
    pub fn prepare<'t>(
        self,
        document: Document<'t>,
        target: Format,
        options: &RenderOptions,
    ) -> (Document<'t>, Vec<Loss>, KeptMessages) {
        let Document::Conversation(conversation) = &document else {
            return (document, Vec::new(), KeptMessages::all(0));
        };
        let count = conversation.messages.len();
        if self == Self::Faithful {
            return (document, Vec::new(), KeptMessages::all(count));
        }
        let prompt = Prompt::new(conversation, target, options);
        let (mut document, losses, origins) = prompt.into_parts();
        let mut left = 0;
        if let Document::Conversation(conversation) = &mut document {
            left = conversation.messages.len();
            self.ends(conversation, target);
        }
        (document, losses, KeptMessages::of(count, left, &origins))
    }

    /// A stored message ends with `<|end|>`, except the last answer of a training sample.
    fn ends(self, conversation: &mut Conversation<'_>, target: Format) {
        if self == Self::Training
            && target.carries().ends.contains(&End::Return)
            && let Some(answer) =
                conversation.messages.iter_mut().rfind(|message| message.is_answer())
            && answer.end == End::End
        {
            answer.end = End::Return;
        }
    }
}
