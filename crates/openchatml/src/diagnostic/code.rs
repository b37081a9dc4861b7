//! Diagnostic codes: stable names for kinds of diagnostics.

use std::fmt;
use std::str::FromStr;

use super::Severity;

/// Declares all codes in one table: variant, name, usual severity, title, and summary for end
/// users.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $severity:ident, $title:literal, $user:literal;)+) => {
        /// The kind of a [`Diagnostic`](super::Diagnostic).
        ///
        /// The first eight are the error taxonomy of OpenChatML 2.2 §14. The others follow its
        /// style and cover all other cases. The meaning of a code never changes.
        ///
        /// ```
        /// use openchatml::Code;
        ///
        /// let code: Code = "E-PARSE-HEADER".parse()?;
        /// assert_eq!(code, Code::ParseHeader);
        /// assert!(code.explanation().contains("## Example"));
        /// # Ok::<(), openchatml::UnknownName>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[$doc])* #[doc = concat!("`", $name, "`: ", $title, ".")] $variant),+ }

        impl Code {
            /// All codes, with those of the specification first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns a short description.
            ///
            /// ```
            /// use openchatml::Code;
            ///
            /// assert_eq!(Code::ToolTimeout.title(), "tool exceeded its deadline");
            /// ```
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }

            /// Returns the text for end users. It names no place and quotes nothing, so it does not
            /// depend on hidden text (OpenChatML 2.2 §14).
            ///
            /// ```
            /// use openchatml::Code;
            ///
            /// // Two diagnostics about hidden text have the same summary.
            /// let told = [Code::ParseHeader, Code::ParseFrame].map(Code::user_summary);
            /// assert_eq!(told, ["Part of this conversation could not be read."; 2]);
            /// ```
            pub const fn user_summary(self) -> &'static str {
                match self { $(Self::$variant => $user),+ }
            }

            /// Returns the explanation with an example and its fix, as Markdown.
            ///
            /// ```
            /// use openchatml::Code;
            ///
            /// let text = Code::StreamTruncated.explanation();
            /// assert!(text.starts_with("# E-STREAM-TRUNCATED: "));
            /// assert!(text.contains("## Example") && text.contains("## Fix"));
            /// ```
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("explain/", $name, ".md"))),+ }
            }

            /// Returns the usual severity.
            pub(crate) const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),+ }
            }
        }
    };
}

codes! {
    ParseHeader = "E-PARSE-HEADER", Error,
        "malformed header", "Part of this conversation could not be read.";
    ParseChannelMissing = "E-PARSE-CHANNEL-MISSING", Error,
        "missing channel that the profile requires", "Part of this conversation could not be read.";
    BodyConstraintViolation = "E-BODY-CONSTRAINT-VIOLATION", Error,
        "body does not match its declared type", "The assistant produced data that could not be read.";
    CallSchema = "E-CALL-SCHEMA", Error,
        "tool arguments missing or invalid", "The assistant could not use a tool.";
    ToolTimeout = "E-TOOL-TIMEOUT", Error,
        "tool exceeded its deadline", "A tool took too long.";
    ToolCancelled = "E-TOOL-CANCELLED", Error,
        "tool was cancelled", "A tool was cancelled.";
    StreamTruncated = "E-STREAM-TRUNCATED", Error,
        "message ends without a stop token", "The answer was cut off.";
    PermVisibility = "E-PERM-VISIBILITY", Error,
        "attempt to display hidden text", "Part of this conversation is not for display.";
    ParseFrame = "E-PARSE-FRAME", Error,
        "misplaced text or control token", "Part of this conversation could not be read.";
    ParseYaml = "E-PARSE-YAML", Error,
        "invalid YAML in the header", "Part of this conversation could not be read.";
    ParseJson = "E-PARSE-JSON", Error,
        "input is not the JSON that the format requires", "This conversation could not be read.";
    ParseVersion = "E-PARSE-VERSION", Error,
        "text in another version of the format", "This conversation is in another format.";
    FormatUnknown = "E-FORMAT-UNKNOWN", Error,
        "format cannot be detected", "This conversation could not be read.";
    ParseUtf8 = "E-PARSE-UTF8", Error,
        "input is not UTF-8", "Part of this conversation could not be read.";
    ParseToken = "E-PARSE-TOKEN", Error,
        "unknown token id", "Part of this conversation could not be read.";
    ParseSlip = "E-PARSE-SLIP", Error,
        "typing error that the reader corrected", "Part of this conversation could not be read.";
    DuplicateKey = "E-DUPLICATE-KEY", Error,
        "duplicate key", "Part of this conversation could not be read.";
    UnknownKey = "E-UNKNOWN-KEY", Error,
        "unknown key", "Part of this conversation could not be read.";
    Limit = "E-LIMIT", Error,
        "limit exceeded", "This conversation is too large.";
    Capability = "E-CAPABILITY", Error,
        "use of an undeclared capability", "Part of this conversation could not be read.";
    CallUnanswered = "E-CALL-UNANSWERED", Error,
        "call without a reply", "Part of this conversation is missing.";
    ReplyUnmatched = "E-REPLY-UNMATCHED", Error,
        "reply without a call", "Part of this conversation is missing.";
    CallRoute = "E-CALL-ROUTE", Error,
        "tool call on the wrong channel", "The assistant could not use a tool.";
    CallUnknown = "E-CALL-UNKNOWN", Error,
        "call to an unknown tool", "The assistant could not use a tool.";
    ToolFailed = "E-TOOL-FAILED", Error,
        "tool failed", "A tool failed.";
    ToolOutput = "E-TOOL-OUTPUT", Error,
        "unusable tool output", "A tool failed.";
    CompletionRole = "E-COMPLETION-ROLE", Error,
        "completion speaks for another role or continues after its end", "Part of the answer was withheld.";
    RenderControl = "E-RENDER-CONTROL", Error,
        "content contains a control token that cannot be escaped", "This conversation cannot be shown in that format.";
    RenderUnsupported = "E-RENDER-UNSUPPORTED", Error,
        "format cannot express the document", "This conversation cannot be shown in that format.";
    TemplateSyntax = "E-TEMPLATE-SYNTAX", Error,
        "invalid chat template", "This conversation cannot be shown in that format.";
    TemplateRender = "E-TEMPLATE-RENDER", Error,
        "chat template cannot render the conversation", "This conversation cannot be shown in that format.";
    Loss = "W-LOSS", Warning,
        "conversion drops or changes something", "Something could not be carried over.";
    CallRepaired = "W-CALL-REPAIRED", Warning,
        "arguments of a call repaired", "The assistant could not use a tool.";
    Return = "W-RETURN", Warning,
        "`<|return|>` outside of `final`", "The answer ended in an unusual way.";
    ContentType = "W-CONTENT-TYPE", Warning,
        "unknown content type", "The assistant used an unknown type of data.";
    LegacyRole = "W-LEGACY-ROLE", Note,
        "role in an old spelling", "This conversation uses an old spelling.";
    EmptyMessage = "W-EMPTY-MESSAGE", Warning,
        "message without content", "A part of this conversation is empty.";
    OpenMessage = "W-OPEN-MESSAGE", Warning,
        "incomplete message in a sample", "The answer was cut off.";
    NoAssistant = "W-NO-ASSISTANT", Warning,
        "sample without a message of the assistant", "This conversation has no answer.";
    RepeatedRole = "W-REPEATED-ROLE", Warning,
        "two turns of the same role in a row", "This conversation has an unusual order.";
    LateSystem = "W-LATE-SYSTEM", Warning,
        "system message after the beginning", "This conversation has an unusual order.";
    VisibleReasoning = "W-VISIBLE-REASONING", Warning,
        "reasoning tags in visible text", "This answer contains text that is usually hidden.";
    HiddenUnicode = "W-HIDDEN-UNICODE", Warning,
        "invisible characters", "This conversation contains invisible characters.";
    Duplicate = "W-DUPLICATE", Warning,
        "conversation that occurs twice", "This conversation occurs twice.";
    UnbalancedPair = "W-UNBALANCED-PAIR", Warning,
        "preference pair without a preference", "These two answers cannot be compared.";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Code {
    type Err = crate::UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|code| code.as_str().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| crate::UnknownName::new("code", name))
    }
}
