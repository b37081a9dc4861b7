//! Trace spans of runs, completions and calls.
//!
//! The spans are those of the crate `tracing`, with the names and attributes of OpenTelemetry's
//! semantic conventions for generative AI, so that `tracing-opentelemetry` exports them unchanged.
//! No span contains content: no prompt, no arguments, no output.

#[cfg(not(feature = "tracing"))]
pub(crate) use self::nothing::{Span, here};
#[cfg(feature = "tracing")]
pub(crate) use self::spans::{Span, here};

#[cfg(feature = "tracing")]
mod spans {
    use std::future::Future;

    use openchatml::Code;
    use tracing::field::{Empty, display};
    use tracing::{Instrument as _, info_span};

    /// A trace span of an operation that takes time and may fail.
    #[derive(Clone, Debug)]
    pub(crate) struct Span(tracing::Span);

    #[cfg_attr(
        not(feature = "session"),
        allow(dead_code, reason = "runs and completions have spans")
    )]
    impl Span {
        /// The span of a run of a session.
        pub(crate) fn run() -> Self {
            Self(info_span!(
                "invoke_agent",
                gen_ai.operation.name = "invoke_agent",
                otel.status_code = Empty,
                "error.type" = Empty,
            ))
        }

        /// The span of a completion in this format.
        pub(crate) fn completion(format: openchatml::Format) -> Self {
            Self(info_span!(
                "text_completion",
                otel.kind = "client",
                gen_ai.operation.name = "text_completion",
                openchatml.format = %format,
                gen_ai.usage.input_tokens = Empty,
                gen_ai.usage.output_tokens = Empty,
                otel.status_code = Empty,
                "error.type" = Empty,
            ))
        }

        /// The span of a call of this tool.
        pub(crate) fn tool(name: &str, call_id: Option<&str>) -> Self {
            Self(info_span!(
                "execute_tool",
                otel.name = format!("execute_tool {name}"),
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = name,
                gen_ai.tool.call.id = call_id,
                otel.status_code = Empty,
                "error.type" = Empty,
            ))
        }

        /// Runs a future inside the span.
        pub(crate) async fn around<T>(&self, what: impl Future<Output = T>) -> T {
            what.instrument(self.0.clone()).await
        }

        /// Records that the operation failed with this error type.
        pub(crate) fn failed(&self, how: &str) {
            self.0.record("otel.status_code", "ERROR");
            self.0.record("error.type", how);
        }

        /// Records that the call failed with this code.
        pub(crate) fn failed_with(&self, code: Code) {
            self.failed(code.as_str());
        }

        /// Records the usage of a completion.
        #[cfg(feature = "session")]
        pub(crate) fn took(&self, usage: crate::Usage) {
            self.0.record("gen_ai.usage.input_tokens", display(usage.prompt));
            self.0.record("gen_ai.usage.output_tokens", display(usage.completion));
        }
    }

    /// Runs a future in the current span, even on another thread.
    pub(crate) fn here<F: Future>(what: F) -> impl Future<Output = F::Output> {
        what.in_current_span()
    }
}

#[cfg(not(feature = "tracing"))]
mod nothing {
    use std::future::Future;

    use openchatml::Code;

    /// A span that records nothing, for builds without the feature `tracing`.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Span;

    #[cfg_attr(
        not(feature = "session"),
        allow(dead_code, reason = "runs and completions have spans")
    )]
    impl Span {
        pub(crate) fn run() -> Self {
            Self
        }

        pub(crate) fn completion(_: openchatml::Format) -> Self {
            Self
        }

        pub(crate) fn tool(_: &str, _: Option<&str>) -> Self {
            Self
        }

        pub(crate) async fn around<T>(&self, what: impl Future<Output = T>) -> T {
            what.await
        }

        pub(crate) fn failed(&self, _: &str) {}

        pub(crate) fn failed_with(&self, _: Code) {}

        #[cfg(feature = "session")]
        pub(crate) fn took(&self, _: crate::Usage) {}
    }

    pub(crate) fn here<F: Future>(what: F) -> impl Future<Output = F::Output> {
        what
    }
}
