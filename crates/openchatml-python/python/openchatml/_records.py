"""Plain results: immutable, comparable, and safe to pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ._openchatml import Conversation

__all__ = [
    "Candidate",
    "Conversion",
    "Diagnostic",
    "Edit",
    "Evidence",
    "Explanation",
    "Files",
    "Fix",
    "Fixed",
    "FormatInfo",
    "Grammar",
    "Infill",
    "Loss",
    "MessageSpan",
    "Negotiation",
    "Pair",
    "RunResult",
    "Truncated",
    "Unenforced",
    "UserMessage",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in the input."""

    span: tuple[int, int]
    """The first byte, and the byte after the last one, in the UTF-8 text of the input."""
    replacement: str
    """The text that replaces it."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the input that resolves a diagnostic."""

    applicability: Literal["safe", "unsafe"]
    """A safe fix keeps the conversation, an unsafe one can change it."""
    edits: tuple[Edit, ...]
    """The replacements."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong with the input, where, and how to fix it.

    >>> import openchatml
    >>> parsed = openchatml.parse("<|im_start|>user\\nHi!", "chatml")
    >>> print(parsed.diagnostics[0])
    2:4: error[E-STREAM-TRUNCATED]: the text ends inside a message
    """

    code: str
    """The code, such as ``"E-PARSE-FRAME"``. :func:`openchatml.explain` explains it."""
    severity: Literal["error", "warning", "note"]
    """How severe it is."""
    message: str
    """What is wrong."""
    span: tuple[int, int]
    """The first byte, and the byte after the last one, in the UTF-8 text of the input."""
    line: int | None
    """The line, from 1. ``None`` in streams and for token ids, which have no lines."""
    column: int | None
    """The column in characters, from 1."""
    help: str | None
    """How to fix it."""
    dropped: str | None
    """The kind of input that is missing from the document, or ``None``: the names of `allow_loss`."""
    pointer: str | None
    """The JSON Pointer (RFC 6901) of the place, in JSON."""
    fix: Fix | None
    """A change of the input that resolves it."""
    user_summary: str
    """A sentence for end users. It contains nothing of the input."""

    def __str__(self) -> str:
        if self.line is None or self.column is None:
            place = f"bytes {self.span[0]}..{self.span[1]}"
        else:
            place = f"{self.line}:{self.column}"
        return f"{place}: {self.severity}[{self.code}]: {self.message}"


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of a document that a format cannot express."""

    name: str
    """The name for `allow_loss`, such as ``"call_id"``."""
    text: str
    """What is lost, with the message: ``"message 3: call_id dropped"``."""
    message_index: int | None
    """The index of the message in the document, from 0."""
    detail: str | None
    """The name of the dropped field or value, if there is one."""
    span: tuple[int, int]
    """The place in the input: bytes of its UTF-8 text. Empty if the document was not parsed."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document in another format, and what that format cannot express."""

    output: str
    """The text or JSON."""
    losses: tuple[Loss, ...]
    """What the output does not contain, all of it allowed by `allow_loss`."""
    diagnostics: tuple[Diagnostic, ...]
    """The diagnostics of the input, if it was parsed."""

    def __str__(self) -> str:
        return self.output


@dataclass(frozen=True, slots=True)
class Infill:
    """A fill-in-the-middle task."""

    prefix: str
    """The text before the gap."""
    suffix: str
    """The text after the gap."""
    middle: str | None = None
    """The text of the gap, if the document has it."""
    order: Literal["prefix-middle-suffix", "prefix-suffix-middle", "suffix-prefix-middle"] = (
        "prefix-middle-suffix"
    )
    """The order of the parts in the document."""


@dataclass(frozen=True, slots=True)
class Files:
    """A document of several files."""

    parts: tuple[str | Infill | Conversation, ...]
    """The files."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A sample of preference training: two conversations with a common beginning."""

    chosen: Conversation
    """The preferred conversation."""
    rejected: Conversation
    """The other conversation."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message as a user sees it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    """Who speaks."""
    text: str
    """The text."""
    is_preamble: bool
    """Whether it is commentary for the user before the answer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A feature of a text that is evidence for its format."""

    what: str
    """The feature."""
    span: tuple[int, int]
    """The first byte, and the byte after the last one, in the UTF-8 text."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible format of a text."""

    format: str
    """The name of the format."""
    confidence: int
    """How certain it is, in per cent."""
    is_certain: bool
    """Whether the evidence suffices to read the text in this format without asking."""
    is_completion: bool
    """Whether the text is a completion: it continues the header of a message of the assistant."""
    evidence: tuple[Evidence, ...]
    """The evidence."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The result of fixing a text."""

    text: str
    """The text after the fixes; the input if none was applied."""
    applied: int
    """The number of applied fixes."""
    refused: tuple[Diagnostic, ...]
    """The diagnostics whose fixes would have changed more than they should, and were not applied."""


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """A format."""

    name: str
    """The name, for `format` and `to`."""
    aliases: tuple[str, ...]
    """Other names."""
    title: str
    """What it is."""
    used_by: str
    """Who uses it."""
    carriers: tuple[str, ...]
    """``"text"``, ``"json"`` or both. The name of a format can end in a carrier: ``"harmony:json"``."""
    control_tokens: tuple[str, ...]
    """The spellings of its control tokens."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a code means."""

    code: str
    """The code."""
    title: str
    """What it is, in one line."""
    text: str
    """The explanation, with an example and the fix, in Markdown."""
    user_summary: str
    """A sentence for end users."""


@dataclass(frozen=True, slots=True)
class Unenforced:
    """A part of the format or of a tool that a grammar does not express."""

    part: str
    """The tool, or the part of the format."""
    pointer: str
    """The JSON Pointer (RFC 6901) in the schema."""
    requirement: str
    """What the grammar does not require."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar of completions."""

    text: str
    """The grammar."""
    ends: tuple[str, ...]
    """The spellings of the control tokens that may end a completion."""
    unenforced: tuple[Unenforced, ...]
    """The parts that the grammar does not express."""


@dataclass(frozen=True, slots=True)
class MessageSpan:
    """The ids of a message. Its parts are adjacent ranges: first id, and the id after the last one."""

    message_index: int | None
    """The index of the message in the conversation; ``None`` if the format adds the message."""
    opening: tuple[int, int]
    """The token that opens the message, and its role."""
    header: tuple[int, int]
    """The rest of the header."""
    body: tuple[int, int]
    """The body."""
    end: tuple[int, int]
    """The end token; empty if the message is open."""
    gap: tuple[int, int]
    """The layout between this message and the next one."""


@dataclass(frozen=True, slots=True)
class Negotiation:
    """The comparison of the capabilities of two sides."""

    common: dict[str, list[str]]
    """What both sides support: ``"roles"``, ``"channels"``, ``"tokens"`` and ``"streaming"``."""
    missing: tuple[str, ...]
    """What only the first side supports."""
    unused: tuple[str, ...]
    """What only the other side supports."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run."""

    conversation: Conversation
    """The conversation with all new messages."""
    stop_reason: Literal[
        "answered",
        "call_limit",
        "cancelled",
        "cut_off",
        "no_message",
        "replied",
        "step_limit",
        "time_limit",
        "token_limit",
    ]
    """Why the run stopped."""
    losses: tuple[Loss, ...]
    """What the prompts did not contain."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """A truncated conversation."""

    conversation: Conversation
    """What is left."""
    dropped: tuple[int, ...]
    """The indices of the dropped messages in the conversation before."""
    cut: tuple[tuple[int, int, int], ...]
    """The shortened messages: the index before, the number of ids of its text before, and after."""
    ids: int
    """The number of ids of what is left."""
