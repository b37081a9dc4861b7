"""The interface of ``openai_harmony`` 0.0.8, made of this library.

Change the import of a program, and leave the rest as it is::

    from openchatml.compat.openai_harmony import load_harmony_encoding

Prompts and training samples are the same ids. Well-formed completions are the same messages.
Malformed completions are read as this library reads them, and raise only with ``strict=True``. The
guide "Programs that use openai_harmony" lists all differences.

The messages are models of pydantic: ``pip install 'openchatml[harmony]'``. No file is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, NoReturn

from .. import _openchatml as _native
from .._errors import ArgumentValueError, Error, HarmonyError
from ._harmony_messages import (
    Author,
    Content,
    Conversation,
    DeveloperContent,
    Message,
    ReasoningEffort,
    Role,
    SystemContent,
    TextContent,
)
from ._harmony_tools import ChannelConfig, ToolDescription, ToolNamespaceConfig
from ._pydantic import BaseModel

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


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raises the exception for a special token that a text must not spell.

    Raises:
        HarmonyError: Always.
    """
    raise HarmonyError(
        f"Encountered text corresponding to disallowed special token {token!r}: allow it "
        "with `allowed_special`, or encode it as text with `disallowed_special=()`"
    )


class HarmonyEncodingName(str, Enum):
    """The encodings."""

    HARMONY_GPT_OSS = "HarmonyGptOss"

    def __str__(self) -> str:
        return self.value


class RenderConversationConfig(BaseModel):
    """Options of conversations."""

    auto_drop_analysis: bool = True


class RenderOptions(BaseModel):
    """Options of single messages."""

    conversation_has_function_tools: bool = False


_DEFAULT = RenderConversationConfig()

_RESERVED = frozenset((200018, 201088))

# The number of ids of ordinary text.
_WORDS = 199998


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
        return self._written(conversation, keep_reasoning=keep, **options)

    def _written(self, conversation: Conversation, **options: Any) -> list[int]:
        try:
            chat = conversation._native()
            rendered = self._inner.prompt(chat, profile="reference", bare=True, **options)
        except HarmonyError:
            raise
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
        messages = [message]
        is_told = options.conversation_has_function_tools and message.author.role == Role.SYSTEM
        if is_told:
            # The system message says where functions are called, if the conversation has them.
            tools = DeveloperContent.new().with_function_tools(
                [ToolDescription(name="f", description="")]
            )
            messages.append(Message.from_role_and_content(Role.DEVELOPER, tools))
        chat = Conversation(messages=messages)
        ids = self._written(chat, keep_reasoning=True, add_generation_prompt=False)
        if not is_told:
            return ids
        return ids[: ids.index(self._special["<|start|>"], 1)]

    def parse_messages_from_completion_tokens(
        self, tokens: Sequence[int], role: Role | None = None, *, strict: bool = False
    ) -> list[Message]:
        """Returns the messages of a completion.

        Raises:
            HarmonyError: With `strict`: the completion is malformed.
        """
        parser = StreamableParser(self, role, strict=strict)
        parser._process_all(tokens)
        return parser.messages

    def decode_utf8(self, tokens: Sequence[int]) -> str:
        """Returns the text of ids, which must be UTF-8."""
        try:
            return self._bytes(tokens).decode()
        except UnicodeDecodeError as error:
            raise HarmonyError(f"Invalid utf-8: {error}") from error

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Returns the text of ids."""
        return self._bytes(tokens).decode("utf-8", errors=errors)

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        try:
            if _RESERVED.isdisjoint(tokens):
                return self._inner.decode_bytes(tokens)
            parts = (
                self._spellings[id].encode() if id in _RESERVED else self._inner.decode_bytes([id])
                for id in tokens
            )
            return b"".join(parts)
        except ArgumentValueError as error:
            known = self._spellings.keys() | range(_WORDS)
            unknown = next((id for id in tokens if id not in known), error)
            raise HarmonyError(f"Invalid token for decoding: {unknown}") from error

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
        special = self.special_tokens_set
        allowed = special if allowed_special == "all" else special & allowed_special
        if disallowed_special == "all":
            disallowed: Collection[str] = special - allowed if _OPENING in text else ()
        else:
            disallowed = disallowed_special
        if found := _first(disallowed, text):
            raise_disallowed_special_token(found)
        # A lone surrogate has no UTF-8.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not allowed or _OPENING not in text:
            return self._inner.encode(text)
        ids: list[int] = []
        end = 0
        for match in _pattern(frozenset(allowed)).finditer(text):
            ids += self._inner.encode(text[end : match.start()])
            ids.append(self._special[match.group()])
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


# How every special token begins.
_OPENING = "<|"


@lru_cache(maxsize=16)
def _pattern(tokens: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


def _first(tokens: Collection[str], text: str) -> str | None:
    if not tokens:
        return None
    match = _pattern(frozenset(tokens)).search(text)
    return match.group() if match else None


class StreamState(Enum):
    """What a parser waits for."""

    EXPECT_START = "ExpectStart"
    HEADER = "Header"
    CONTENT = "Content"


_ROLES = {role.value: role for role in Role}


class StreamableParser(_native._HarmonyParser):
    """Reads ids one by one.

    Args:
        encoding: The encoding.
        role: The role whose header the prompt has left open, or ``None`` for whole messages.
        strict: Raises :class:`HarmonyError` for an id that makes the input malformed.
    """

    guard: ClassVar[bool] = False
    """Whether messages of the assistant have the channel that this library shows them on, and calls
    with a guessed part no recipient. See :func:`openchatml.compat.install`."""

    def __new__(
        cls, encoding: HarmonyEncoding, role: Role | None, *, strict: bool = False
    ) -> StreamableParser:
        word = None if role is None else Role(role).value
        return super().__new__(cls, encoding._inner, word, strict, cls.guard)

    @property
    def current_role(self) -> Role | None:
        """The role of the open message."""
        role = self._role
        return None if role is None else _ROLES[role]

    @property
    def messages(self) -> list[Message]:
        """The messages until now."""
        return [
            Message(
                author=Author(role=_ROLES[role], name=name),
                content=[TextContent(text=text)],
                channel=channel,
                recipient=recipient,
                content_type=content_type,
            )
            for role, name, text, channel, recipient, content_type in self._fields
        ]

    @property
    def state(self) -> StreamState:
        """What the parser waits for."""
        return StreamState(self._state)

    @property
    def state_data(self) -> dict[str, Any]:
        """The state as data."""
        data: dict[str, Any] = {"state": self._state}
        if data["state"] == StreamState.HEADER.value:
            data["header_tokens"] = self._header_tokens
        elif data["state"] == StreamState.CONTENT.value:
            author = {"role": self._role}
            if self._name is not None:
                author["name"] = self._name
            data["header"] = {
                "author": author,
                "recipient": self.current_recipient,
                "channel": self.current_channel,
                "content_type": self.current_content_type,
            }
            data["content_tokens"] = self._content_tokens
        return data


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
