//! The codes: stable names for kinds of findings.

use std::fmt;
use std::str::FromStr;

use super::Severity;

/// Declares the codes in one table: variant, name, usual severity, what it is, what an end user
/// may be told.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $severity:ident, $title:literal, $user:literal;)+) => {
        /// What kind of finding a [`Diagnostic`](super::Diagnostic) is.
        ///
        /// The first eight are the error taxonomy of OpenChatML 2.2 §14; the others are of the
        /// same style and cover what none of the eight fits. Names never change their meaning.
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
            /// Every code, the specification's first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// What it is about, in a few words.
            ///
            /// ```
            /// use openchatml::Code;
            ///
            /// assert_eq!(Code::ToolTimeout.title(), "tool exceeded its deadline");
            /// ```
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }

            /// What an end user may be told: it names no place and quotes nothing, so it is the
            /// same whatever hidden text says (OpenChatML 2.2 §14).
            ///
            /// ```
            /// use openchatml::Code;
            ///
            /// // Two findings about hidden text, and one answer.
            /// let told = [Code::ParseHeader, Code::ParseFrame].map(Code::user_summary);
            /// assert_eq!(told, ["Part of this conversation could not be read."; 2]);
            /// ```
            pub const fn user_summary(self) -> &'static str {
                match self { $(Self::$variant => $user),+ }
            }

            /// What it means, with an example and the way to mend it, as Markdown.
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

            /// How bad such a finding is unless it says otherwise.
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
        "channel absent where the profile requires one", "Part of this conversation could not be read.";
    BodyConstraintViolation = "E-BODY-CONSTRAINT-VIOLATION", Error,
        "body is not of the type that it declares", "The assistant produced data that could not be read.";
    CallSchema = "E-CALL-SCHEMA", Error,
        "tool arguments missing or invalid", "The assistant could not use a tool.";
    ToolTimeout = "E-TOOL-TIMEOUT", Error,
        "tool exceeded its deadline", "A tool took too long.";
    ToolCancelled = "E-TOOL-CANCELLED", Error,
        "tool was cancelled", "A tool was cancelled.";
    StreamTruncated = "E-STREAM-TRUNCATED", Error,
        "message ends without a stop token", "The answer was cut off.";
    PermVisibility = "E-PERM-VISIBILITY", Error,
        "attempt to display what is hidden", "Part of this conversation is not for display.";
    ParseFrame = "E-PARSE-FRAME", Error,
        "text or control token outside its place", "Part of this conversation could not be read.";
    ParseYaml = "E-PARSE-YAML", Error,
        "header is not readable YAML", "Part of this conversation could not be read.";
    ParseJson = "E-PARSE-JSON", Error,
        "input is not the JSON that the format wants", "This conversation could not be read.";
    ParseVersion = "E-PARSE-VERSION", Error,
        "text of another version of the format", "This conversation is in another format.";
    FormatUnknown = "E-FORMAT-UNKNOWN", Error,
        "format cannot be told", "This conversation could not be read.";
    ParseUtf8 = "E-PARSE-UTF8", Error,
        "input is not UTF-8", "Part of this conversation could not be read.";
    ParseToken = "E-PARSE-TOKEN", Error,
        "token id that stands for nothing here", "Part of this conversation could not be read.";
    ParseSlip = "E-PARSE-SLIP", Error,
        "slip of the pen that the reader mended", "Part of this conversation could not be read.";
    DuplicateKey = "E-DUPLICATE-KEY", Error,
        "key given twice", "Part of this conversation could not be read.";
    UnknownKey = "E-UNKNOWN-KEY", Error,
        "key that the format does not know", "Part of this conversation could not be read.";
    Limit = "E-LIMIT", Error,
        "limit exceeded", "This conversation is too large.";
    Capability = "E-CAPABILITY", Error,
        "use of what the capabilities do not declare", "Part of this conversation could not be read.";
    CallRoute = "E-CALL-ROUTE", Error,
        "tool call on the wrong channel", "The assistant could not use a tool.";
    CallUnknown = "E-CALL-UNKNOWN", Error,
        "call of a tool that there is not", "The assistant could not use a tool.";
    ToolFailed = "E-TOOL-FAILED", Error,
        "tool failed", "A tool failed.";
    ToolOutput = "E-TOOL-OUTPUT", Error,
        "tool output that cannot be used", "A tool failed.";
    CompletionRole = "E-COMPLETION-ROLE", Error,
        "completion that speaks for somebody else or goes on after its end", "Part of the answer was withheld.";
    RenderControl = "E-RENDER-CONTROL", Error,
        "content spells a control token that cannot be escaped", "This conversation cannot be shown in that format.";
    RenderUnsupported = "E-RENDER-UNSUPPORTED", Error,
        "document that the format cannot carry", "This conversation cannot be shown in that format.";
    TemplateSyntax = "E-TEMPLATE-SYNTAX", Error,
        "chat template that cannot be read", "This conversation cannot be shown in that format.";
    TemplateRender = "E-TEMPLATE-RENDER", Error,
        "chat template that cannot write the conversation", "This conversation cannot be shown in that format.";
    Loss = "W-LOSS", Warning,
        "conversion loses something", "Something could not be carried over.";
    Return = "W-RETURN", Warning,
        "`<|return|>` outside of `final`", "The answer ended in an unusual way.";
    ContentType = "W-CONTENT-TYPE", Warning,
        "content type that nobody can check", "The assistant used an unknown type of data.";
    LegacyRole = "W-LEGACY-ROLE", Note,
        "role spelled the old way", "This conversation uses an old spelling.";
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
