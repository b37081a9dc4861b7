//! The protocols of events.

use clap::ValueEnum;
use openchatml::wire::Api;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// The events of OpenChatML
    Openchatml,
    /// The stream of the Responses API
    Responses,
    /// The chunks of Chat Completions
    #[value(alias = "openai")]
    Chat,
    /// The stream of Anthropic's Messages API
    Anthropic,
}

impl Protocol {
    /// Returns the API that has this protocol.
    pub(crate) fn api(self) -> Option<Api> {
        match self {
            Self::Openchatml => None,
            Self::Responses => Some(Api::Responses),
            Self::Chat => Some(Api::ChatCompletions),
            Self::Anthropic => Some(Api::Messages),
        }
    }
}

/// Returns the current time in seconds since the beginning of 1970.
pub(crate) fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default()
}
