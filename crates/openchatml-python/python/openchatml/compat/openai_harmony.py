"""The interface of ``openai_harmony`` 0.0.8, made of this library.

Change the import of a program, and leave the rest as it is::

    from openchatml.compat.openai_harmony import load_harmony_encoding

Prompts and training samples are the same ids. Well-formed completions are the same messages.
Malformed completions are read as this library reads them: with ``strict=True``, an error is a
:class:`HarmonyError`; with ``strict=False``, what can be read is returned.

The classes of messages are data classes, not models of pydantic, and no file is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Literal

from .. import _openchatml as _native
from .._errors import Error
from ._harmony_messages import (
    Author,
    ChannelConfig,
    Content,
    Conversation,
    DeveloperContent,
    Message,
    ReasoningEffort,
    Role,
    SystemContent,
    TextContent,
    ToolDescription,
    ToolNamespaceConfig,
)

__all__ = [
    "Author",
    "ChannelConfig",
    "Content",
    "Conversation",
    "DeveloperContent",
    "HarmonyEncoding",
    "HarmonyEncodingName",
    "HarmonyError",
    "Message",
    "ReasoningEffort",
    "RenderConversationConfig",
    "RenderOptions",
    "Role",
    "StreamState",
    "StreamableParser",
    "SystemContent",
    "TextContent",
    "ToolDescription",
    "ToolNamespaceConfig",
    "load_harmony_encoding",
]


class HarmonyError(Error, RuntimeError):
    """A conversation cannot be written, or ids cannot be read."""


class HarmonyEncodingName(str, Enum):
    """The encodings."""

    HARMONY_GPT_OSS = "HarmonyGptOss"

    def __str__(self) -> str:
        return self.value


@dataclass
class RenderConversationConfig:
    """Options of conversations."""

    auto_drop_analysis: bool = True


@dataclass
class RenderOptions:
    """Options of single messages."""

    conversation_has_function_tools: bool = False


_DEFAULT = RenderConversationConfig()

_RESERVED = (200018, 201088)


class HarmonyEncoding:
    """Writes conversations as ids, and reads ids."""

    def __init__(self, inner: _native.Tokenizer) -> None:
        self._inner = inner
        # `openai_harmony` knows another token by this id, and one more.
        known = inner.control_tokens
        ids = {id: spelling for spelling, id in known.items()}
        ids.update({id: f"<|reserved_{id}|>" for id in _RESERVED})
        self._spellings = ids
        self._special = {spelling: id for id, spelling in ids.items()}

    @property
    def name(self) -> str:
        """The name of the encoding."""
        return HarmonyEncodingName.HARMONY_GPT_OSS.value

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The spellings of the special tokens."""
        return set(self._special)

    def _prompt(
        self, conversation: Conversation, config: RenderConversationConfig | None, **options: Any
    ) -> list[int]:
        keep = not (config or _DEFAULT).auto_drop_analysis
        return self._written(conversation.to_json(), keep_reasoning=keep, **options)

    def _written(self, json: str, **options: Any) -> list[int]:
        try:
            chat = _native.parse(json, "harmony:json").conversation
            rendered = self._inner.prompt(chat, profile="reference", bare=True, **options)
        except Error as error:
            raise HarmonyError(str(error), code=error.code) from error
        return rendered.tolist()

    def render_conversation_for_completion(
        self,
        conversation: Conversation,
        next_turn_role: Role,
        config: RenderConversationConfig | None = None,
    ) -> list[int]:
        """Returns the prompt that a message of this role continues."""
        role = Role(next_turn_role).value
        return self._prompt(conversation, config, add_generation_prompt=role)

    def render_conversation(
        self, conversation: Conversation, config: RenderConversationConfig | None = None
    ) -> list[int]:
        """Returns the ids of a conversation."""
        return self._prompt(conversation, config, add_generation_prompt=False)

    def render_conversation_for_training(
        self, conversation: Conversation, config: RenderConversationConfig | None = None
    ) -> list[int]:
        """Returns the ids of a conversation, whose last answer ends its completion."""
        ids = self._prompt(conversation, config, add_generation_prompt=False)
        last = conversation.messages[-1] if conversation.messages else None
        if last is not None and last.author.role == Role.ASSISTANT and last.channel == "final":
            ids[-1:] = self._controls("<|return|>")
        return ids

    def render(self, message: Message, render_options: RenderOptions | None = None) -> list[int]:
        """Returns the ids of a message."""
        options = render_options or RenderOptions()
        json = message.to_json()
        if not options.conversation_has_function_tools or message.author.role != Role.SYSTEM:
            return self._written(f'{{"messages": [{json}]}}', keep_reasoning=True, add_generation_prompt=False)
        # The system message says where functions are called, if the conversation has them.
        tools = DeveloperContent.new().with_function_tools([ToolDescription("f", "")])
        other = Message.from_role_and_content(Role.DEVELOPER, tools).to_json()
        ids = self._written(
            f'{{"messages": [{json}, {other}]}}', keep_reasoning=True, add_generation_prompt=False
        )
        return ids[: ids.index(self._special["<|start|>"], 1)]

    def parse_messages_from_completion_tokens(
        self, tokens: Sequence[int], role: Role | None = None, *, strict: bool = True
    ) -> list[Message]:
        """Returns the messages of a completion."""
        parser = StreamableParser(self, role, strict=strict)
        for token in tokens:
            parser.process(token)
        return parser.process_eos().messages

    def decode_utf8(self, tokens: Sequence[int]) -> str:
        """Returns the text of ids, which must be UTF-8."""
        try:
            return self._bytes(tokens).decode()
        except UnicodeDecodeError as error:
            raise HarmonyError(f"the ids are not UTF-8: {error}") from error

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Returns the text of ids."""
        return self._bytes(tokens).decode("utf-8", errors=errors)

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        try:
            return b"".join(
                self._spellings[id].encode() if id in self._spellings else self._inner.decode_bytes([id])
                for id in tokens
            )
        except Error as error:
            raise HarmonyError(str(error)) from error

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | Set[str] = frozenset(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """Returns the ids of a text. Only the allowed spellings become special tokens.

        Raises:
            HarmonyError: The text has the spelling of a disallowed special token.
        """
        special = self._special
        allowed = set(special) if allowed_special == "all" else set(allowed_special)
        if disallowed_special == "all":
            disallowed = set(special) - allowed
        else:
            disallowed = set(disallowed_special)
        if found := _first(disallowed, text):
            raise HarmonyError(
                f"the text has the special token {found!r}: allow it with `allowed_special`, or "
                "encode it as text with `disallowed_special=()`"
            )
        # A lone surrogate has no UTF-8.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ids: list[int] = []
        end = 0
        for match in _pattern(allowed & set(special)).finditer(text):
            ids += self._inner.encode(text[end : match.start()])
            ids.append(special[match.group()])
            end = match.end()
        return ids + self._inner.encode(text[end:])

    def is_special_token(self, token: int) -> bool:
        """Whether an id is a special token."""
        return token in self._spellings

    def stop_tokens(self) -> list[int]:
        """The ids that end a message or a completion."""
        return self._controls("<|call|>", "<|end|>", "<|return|>")

    def stop_tokens_for_assistant_actions(self) -> list[int]:
        """The ids that end a completion."""
        return self._controls("<|return|>", "<|call|>")

    def _controls(self, *spellings: str) -> list[int]:
        return [self._special[spelling] for spelling in spellings]


def _pattern(tokens: Collection[str]) -> re.Pattern[str]:
    # Nothing is nowhere.
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _first(tokens: Collection[str], text: str) -> str | None:
    match = _pattern(tokens).search(text)
    return match.group() if match else None


class StreamState(Enum):
    """What a parser waits for."""

    EXPECT_START = "ExpectStart"
    HEADER = "Header"
    CONTENT = "Content"


class StreamableParser:
    """Reads ids one by one."""

    def __init__(
        self, encoding: HarmonyEncoding, role: Role | None, *, strict: bool = True
    ) -> None:
        tokenizer = encoding._inner
        word: Any = None if role is None else Role(role).value
        self._stream = _native.Stream(tokenizer, continues=word, past_stop=word is not None)
        self._start = tokenizer.control_tokens["<|start|>"]
        self._strict = strict
        self._state = StreamState.EXPECT_START if role is None else StreamState.HEADER
        self._next_role = role
        self._header: _native.Message | None = None
        self._header_tokens: list[int] = []
        self._content_tokens: list[int] = []
        self._content = ""
        self._delta: str | None = None
        self._messages: list[Message] = []
        self._tokens: list[int] = []

    def process(self, token: int) -> StreamableParser:
        """Reads an id."""
        try:
            events = self._stream.feed(token)
        except Error as error:
            raise HarmonyError(str(error)) from error
        self._tokens.append(token)
        self._delta = None
        was = self._state
        self._take(events)
        if self._state is was:
            if was is StreamState.HEADER:
                self._header_tokens.append(token)
            elif was is StreamState.CONTENT:
                self._content_tokens.append(token)
            elif token == self._start:
                self._state = StreamState.HEADER
        return self

    def process_eos(self) -> StreamableParser:
        """Ends the input."""
        if self._state is StreamState.HEADER:
            raise HarmonyError("the ids end inside a header")
        try:
            self._delta = None
            self._take(self._stream.finish(), at_end=True)
        except Error as error:
            if isinstance(error, HarmonyError):
                raise
            raise HarmonyError(str(error)) from error
        return self

    def _take(self, events: list[_native.Event], at_end: bool = False) -> None:
        for event in events:
            if event.type == "message.start":
                self._header = event.message
                self._header_tokens = []
                self._next_role = None
                self._state = StreamState.CONTENT
            elif event.text is not None:
                self._content += event.text
                self._delta = (self._delta or "") + event.text
            elif event.type == "message.done" and event.message is not None:
                self._messages.append(_message(event.message))
                self._header, self._content, self._content_tokens = None, "", []
                # A delta belongs to the message that is open.
                self._delta = None
                self._state = StreamState.EXPECT_START
            elif event.diagnostic is not None and self._strict:
                found = event.diagnostic
                cut_off = at_end and found.code == "E-STREAM-TRUNCATED"
                if found.severity == "error" and not cut_off:
                    raise HarmonyError(found.message, code=found.code, help=found.help)

    @property
    def current_content(self) -> str:
        """The text of the open message until now."""
        return self._content

    @property
    def current_role(self) -> Role | None:
        """The role of the open message."""
        return self._next_role if self._header is None else Role(self._header.role)

    @property
    def current_content_type(self) -> str | None:
        """The type of the content of the open message."""
        return None if self._header is None else _content_type(self._header)

    @property
    def current_recipient(self) -> str | None:
        """The recipient of the open message."""
        return None if self._header is None else self._header.recipient

    @property
    def current_channel(self) -> str | None:
        """The channel of the open message."""
        return None if self._header is None else self._header.channel

    @property
    def last_content_delta(self) -> str | None:
        """The text that the last id added."""
        return self._delta

    @property
    def messages(self) -> list[Message]:
        """The messages until now."""
        return list(self._messages)

    @property
    def tokens(self) -> list[int]:
        """The ids until now."""
        return list(self._tokens)

    @property
    def state(self) -> StreamState:
        """What the parser waits for."""
        return self._state

    @property
    def state_data(self) -> dict[str, Any]:
        """The state as data."""
        data: dict[str, Any] = {"state": self._state.value}
        if self._state is StreamState.HEADER:
            data["header_tokens"] = list(self._header_tokens)
        elif self._state is StreamState.CONTENT and self._header is not None:
            author: dict[str, str] = {"role": self._header.role}
            if self._header.name is not None:
                author["name"] = self._header.name
            data["header"] = {
                "author": author,
                "recipient": self.current_recipient,
                "channel": self.current_channel,
                "content_type": self.current_content_type,
            }
            data["content_tokens"] = list(self._content_tokens)
        return data


def _content_type(message: _native.Message) -> str | None:
    if message.content_type is not None and message.constrained:
        return f"<|constrain|>{message.content_type}"
    return message.content_type


def _message(message: _native.Message) -> Message:
    return Message(
        Author(Role(message.role), message.name),
        [TextContent(message.text)],
        message.channel,
        message.recipient,
        _content_type(message),
    )


def load_harmony_encoding(name: str | HarmonyEncodingName) -> HarmonyEncoding:
    """Returns an encoding. It is part of the package, so nothing is downloaded.

    >>> encoding = load_harmony_encoding("HarmonyGptOss")
    >>> chat = Conversation.from_messages([Message.from_role_and_content(Role.USER, "Hi!")])
    >>> ids = encoding.render_conversation_for_completion(chat, Role.ASSISTANT)
    >>> encoding.decode(ids)
    '<|start|>user<|message|>Hi!<|end|><|start|>assistant'
    """
    if str(name) != HarmonyEncodingName.HARMONY_GPT_OSS.value:
        raise HarmonyError(f"the encoding `{name}` is unknown; there is `HarmonyGptOss`")
    return HarmonyEncoding(_native.Tokenizer("harmony"))
