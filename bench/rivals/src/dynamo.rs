//! `dynamo-parsers` for completions. It has two parsers, one for reasoning and one for calls, and
//! each reads the whole text.

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
    /// Reads all texts in one task, so that entering the runtime is not measured.
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

    /// Reads like its serving pipeline: reasoning first, then calls in the rest.
    pub fn each_answer(&self, texts: &[String], mut take: impl FnMut(Answer)) {
        self.runtime.block_on(async {
            for text in texts {
                let ParserResult { normal_text, reasoning_text } = Self::reasoning(text);
                let mut answer = Answer { reasoning: reasoning_text, ..Answer::default() };
                // The rest is Harmony text only if it contains a call.
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
