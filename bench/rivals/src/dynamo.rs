//! `dynamo-parsers` on a completion. Two of its parsers share the work: one is after reasoning, the
//! other after calls, and each reads all of the text.

use dynamo_parsers::{
    GptOssReasoningParser, JsonParserConfig, ParserResult, ReasoningParser as _, ToolCallResponse,
    parse_tool_calls_harmony_complete,
};
use tokio::runtime::{Builder, Runtime};

use crate::answer::Answer;

/// A reader of completions.
pub struct Dynamo {
    runtime: Runtime,
    config: JsonParserConfig,
}

impl Default for Dynamo {
    fn default() -> Self {
        let runtime = Builder::new_current_thread().build().expect("it needs no I/O and no clock");
        Self { runtime, config: JsonParserConfig::default() }
    }
}

impl Dynamo {
    /// Reads all of `texts` within one task, so that no time is spent on entering the runtime.
    pub fn each_calls(
        &self,
        texts: &[String],
        mut take: impl FnMut(Vec<ToolCallResponse>, String),
    ) {
        self.runtime.block_on(async {
            for text in texts {
                let (calls, rest) = self.calls(text).await;
                take(calls, rest);
            }
        });
    }

    /// Reads as its serving pipeline does: reasoning first, then calls in what is left.
    pub fn each_answer(&self, texts: &[String], mut take: impl FnMut(Answer)) {
        self.runtime.block_on(async {
            for text in texts {
                let ParserResult { normal_text, reasoning_text } = Self::reasoning(text);
                let mut answer = Answer { reasoning: reasoning_text, ..Answer::default() };
                // What is left is Harmony text only if there is a call in it.
                if normal_text.contains("<|call|>") {
                    let (calls, rest) = self.calls(&normal_text).await;
                    let named =
                        |call: ToolCallResponse| (call.function.name, call.function.arguments);
                    answer.calls = calls.into_iter().map(named).collect();
                    answer.text = rest;
                } else {
                    answer.text = normal_text;
                }
                take(answer);
            }
        });
    }

    async fn calls(&self, text: &str) -> (Vec<ToolCallResponse>, String) {
        let parsed = parse_tool_calls_harmony_complete(text, &self.config, None).await;
        let (calls, rest) = parsed.expect("completions are well-formed");
        (calls, rest.unwrap_or_default())
    }

    pub fn reasoning(text: &str) -> ParserResult {
        let parser = GptOssReasoningParser::new();
        parser.expect("the vocabulary was written").detect_and_parse_reasoning(text, &[])
    }
}
