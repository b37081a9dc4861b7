"""The exceptions of the package. Each of them is an :class:`Error`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._openchatml import Conversation
    from ._records import Loss

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "EncodingError",
    "Error",
    "FormatError",
    "GrammarError",
    "HarmonyError",
    "HiddenError",
    "InternalError",
    "LossError",
    "ModelError",
    "ParseError",
    "RenderError",
    "StreamError",
    "TemplateError",
    "ToolError",
    "TruncateError",
]


class Error(Exception):
    """Any error of this package.

    >>> import openchatml
    >>> try:
    ...     openchatml.parse("Hi.", "harmonie")
    ... except openchatml.Error as error:
    ...     print(type(error).__name__, "-", error)
    FormatError - unknown format `harmonie`; did you mean `harmony`?
    """

    code: str | None
    """The code of the diagnostic, such as ``"E-PARSE-JSON"``, or ``None``."""
    span: tuple[int, int] | None
    """The place in the input: the first byte, and the byte after the last one, of its UTF-8 text."""
    line: int | None
    """The line of the place, from 1."""
    column: int | None
    """The column of the place in characters, from 1."""
    help: str | None
    """How to fix it."""
    user_summary: str
    """A sentence for end users. It contains nothing of the input."""
    message_index: int | None
    """The index of the message that the error is about."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        span: tuple[int, int] | None = None,
        line: int | None = None,
        column: int | None = None,
        help: str | None = None,
        user_summary: str = "Something went wrong.",
        message_index: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.span = span
        self.line = line
        self.column = column
        self.help = help
        self.user_summary = user_summary
        self.message_index = message_index

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (type(self), self.args, self.__dict__.copy()))


def _restored(kind: type[Error], arguments: tuple[object, ...], fields: dict[str, object]) -> Error:
    """Restores a pickled error."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(fields)
    return error


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type."""


class ArgumentValueError(Error, ValueError):
    """An argument has the right type and an invalid value."""


class FormatError(Error, ValueError):
    """A format is unknown, cannot be detected, or does not support the operation."""


class ParseError(Error, ValueError):
    """The input is invalid, and was to be read strictly."""


class RenderError(Error, ValueError):
    """The format cannot express the document."""


class LossError(RenderError):
    """A conversion would lose something that was not allowed.

    >>> import openchatml
    >>> chat = openchatml.Conversation([openchatml.Message.reasoning("Easy.")])
    >>> try:
    ...     openchatml.convert(chat, "chatml")
    ... except openchatml.LossError as error:
    ...     print([loss.name for loss in error.losses])
    ['analysis']
    """

    losses: tuple[Loss, ...]
    """What would be lost and is not allowed."""

    def __init__(self, message: str = "", losses: tuple[Loss, ...] = ()) -> None:
        super().__init__(
            message,
            code="W-LOSS",
            help="allow it: `allow_loss=[…]` with its name, or `allow_loss=\"all\"`",
        )
        self.losses = losses


class HiddenError(Error, LookupError):
    """The message is hidden from the user (``E-PERM-VISIBILITY``)."""


class StreamError(Error, RuntimeError):
    """The stream has ended."""


class EncodingError(Error, ValueError):
    """A vocabulary is invalid, or has no ids for the control tokens of a format."""


class TruncateError(Error, ValueError):
    """A conversation cannot be truncated to the given number of ids."""

    least: int | None
    """The smallest possible number of ids, if a larger budget would do."""

    def __init__(self, message: str = "", least: int | None = None) -> None:
        super().__init__(message)
        self.least = least


class TemplateError(Error, ValueError):
    """A chat template is invalid, or cannot write the conversation."""


class GrammarError(Error, ValueError):
    """There is no such grammar."""


class ToolError(Error, ValueError):
    """A tool or its declaration is invalid."""


class ModelError(Error, RuntimeError):
    """A model cannot be asked, or failed."""

    conversation: Conversation | None = None
    """The conversation up to there, with the replies of tools, if it failed in a run."""


class HarmonyError(Error, RuntimeError):
    """A conversation cannot be written by :mod:`openchatml.compat.openai_harmony`, or ids read."""


class InternalError(Error, RuntimeError):
    """A bug of this package. Please report the last line of its message."""
