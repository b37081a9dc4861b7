"""The messages of :mod:`openchatml.compat.openai_harmony`: models of pydantic, as programs expect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from .._errors import HarmonyError
from .._openchatml import Conversation as _NativeConversation
from .._openchatml import _harmony_conversation, parse
from ._harmony_tools import ChannelConfig, ToolDescription, ToolNamespaceConfig
from ._pydantic import BaseModel, Field

__all__ = [
    "Author",
    "Content",
    "Conversation",
    "DeveloperContent",
    "Message",
    "ReasoningEffort",
    "Role",
    "SystemContent",
    "TextContent",
]

_Declaring = TypeVar("_Declaring", "SystemContent", "DeveloperContent")


class Role(str, Enum):
    """The role of an author."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    DEVELOPER = "developer"
    TOOL = "tool"


class ReasoningEffort(str, Enum):
    """How much the model reasons."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"


class Author(BaseModel):
    """Who speaks: a role, and for a tool its name."""

    role: Role
    name: str | None = None

    @classmethod
    def new(cls, role: Role, name: str) -> Author:
        """Creates an author with a name."""
        return cls(role=role, name=name)


class Content(BaseModel):
    """A part of a message."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the part as data."""
        raise NotImplementedError


class TextContent(Content):
    """Text."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


def _required() -> ChannelConfig:
    return ChannelConfig.require_channels(["analysis", "commentary", "final"])


def _declared(content: _Declaring, namespace: ToolNamespaceConfig) -> _Declaring:
    """Adds a namespace of tools."""
    content.tools = {**(content.tools or {}), namespace.name: namespace}
    return content


class SystemContent(Content):
    """The system message. Its methods change it and return it."""

    model_identity: str | None = "You are ChatGPT, a large language model trained by OpenAI."
    reasoning_effort: ReasoningEffort | None = ReasoningEffort.MEDIUM
    conversation_start_date: str | None = None
    knowledge_cutoff: str | None = "2024-06"
    channel_config: ChannelConfig | None = Field(default_factory=_required)
    tools: dict[str, ToolNamespaceConfig] | None = None

    @classmethod
    def new(cls) -> SystemContent:
        """Creates the default system message."""
        return cls()

    def with_model_identity(self, model_identity: str) -> SystemContent:
        """Sets the identity of the model."""
        self.model_identity = model_identity
        return self

    def with_reasoning_effort(self, reasoning_effort: ReasoningEffort) -> SystemContent:
        """Sets the effort."""
        self.reasoning_effort = reasoning_effort
        return self

    def with_conversation_start_date(self, conversation_start_date: str) -> SystemContent:
        """Sets the current date, as ``"2026-01-31"``."""
        self.conversation_start_date = conversation_start_date
        return self

    def with_knowledge_cutoff(self, knowledge_cutoff: str) -> SystemContent:
        """Sets the date until which the model knows the world."""
        self.knowledge_cutoff = knowledge_cutoff
        return self

    def with_channel_config(self, channel_config: ChannelConfig) -> SystemContent:
        """Sets the channels."""
        self.channel_config = channel_config
        return self

    def with_required_channels(self, channels: list[str]) -> SystemContent:
        """Sets the channels, and requires one for every message."""
        return self.with_channel_config(ChannelConfig.require_channels(channels))

    def with_tools(self, ns_config: ToolNamespaceConfig) -> SystemContent:
        """Adds a namespace of tools."""
        return _declared(self, ns_config)

    def with_browser_tool(self) -> SystemContent:
        """Adds the built-in tool for the web."""
        return self.with_tools(ToolNamespaceConfig.browser())

    def with_python_tool(self) -> SystemContent:
        """Adds the built-in tool for code."""
        return self.with_tools(ToolNamespaceConfig.python())

    def to_dict(self) -> dict[str, Any]:
        return {**self.model_dump(exclude_none=True), "type": "system_content"}

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> SystemContent:
        """Reads the content from data."""
        return cls(**raw)


class DeveloperContent(Content):
    """The developer message. Its methods change it and return it."""

    instructions: str | None = None
    tools: dict[str, ToolNamespaceConfig] | None = None

    @classmethod
    def new(cls) -> DeveloperContent:
        """Creates an empty developer message."""
        return cls()

    def with_instructions(self, instructions: str) -> DeveloperContent:
        """Sets the instructions."""
        self.instructions = instructions
        return self

    def with_tools(self, ns_config: ToolNamespaceConfig) -> DeveloperContent:
        """Adds a namespace of tools."""
        return _declared(self, ns_config)

    def with_function_tools(self, tools: Sequence[ToolDescription]) -> DeveloperContent:
        """Declares functions."""
        return self.with_tools(ToolNamespaceConfig(name="functions", tools=list(tools)))

    def to_dict(self) -> dict[str, Any]:
        return {**self.model_dump(exclude_none=True), "type": "developer_content"}

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> DeveloperContent:
        """Reads the content from data."""
        return cls(**raw)


# Role, name, text, channel, recipient and content type.
_Fields: TypeAlias = tuple[str, str | None, str, str | None, str | None, str | None]

_KINDS: dict[str, type[Content]] = {
    "text": TextContent,
    "system_content": SystemContent,
    "developer_content": DeveloperContent,
}


class Message(BaseModel):
    """A message. Its methods change it and return it."""

    author: Author
    content: list[Content] = Field(default_factory=list)
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None

    @classmethod
    def from_author_and_content(cls, author: Author, content: str | Content) -> Message:
        """Creates a message of an author."""
        return cls(author=author, content=[_part(content)])

    @classmethod
    def from_role_and_content(cls, role: Role, content: str | Content) -> Message:
        """Creates a message of a role."""
        return cls.from_author_and_content(Author(role=role), content)

    @classmethod
    def from_role_and_contents(cls, role: Role, contents: Sequence[Content]) -> Message:
        """Creates a message with several parts."""
        return cls(author=Author(role=role), content=list(contents))

    def adding_content(self, content: str | Content) -> Message:
        """Adds a part."""
        self.content.append(_part(content))
        return self

    def with_channel(self, channel: str) -> Message:
        """Sets the channel."""
        self.channel = channel
        return self

    def with_recipient(self, recipient: str) -> Message:
        """Sets the recipient."""
        self.recipient = recipient
        return self

    def with_content_type(self, content_type: str) -> Message:
        """Sets the type of the content."""
        self.content_type = content_type
        return self

    def to_dict(self) -> dict[str, Any]:
        """Returns the message as data."""
        # By hand, because it is the larger part of the time of a prompt.
        data: dict[str, Any] = {"role": self.author.role, "name": self.author.name}
        data["content"] = [part.to_dict() for part in self.content]
        for key in ("channel", "recipient", "content_type"):
            value = getattr(self, key)
            if value is not None:
                data[key] = value
        return data

    def to_json(self) -> str:
        """Returns the message as JSON."""
        return json.dumps(self.to_dict())

    def _fields(self) -> _Fields | None:
        """The fields of a message that is one text, as most are."""
        if type(self) is not Message or len(self.content) != 1:
            return None
        part = self.content[0]
        if type(part) is not TextContent:
            return None
        author = self.author
        channel, recipient, kind = self.channel, self.recipient, self.content_type
        return (author.role, author.name, part.text, channel, recipient, kind)

    def _checked_json(self) -> str:
        """The message as JSON, if a prompt loses nothing of it."""
        for part in self.content:
            self._check(part)
        return self.to_json()

    def _check(self, part: Content) -> None:
        """Checks that a part is in a message of its role. It would be lost in another one."""
        role = Role.SYSTEM if isinstance(part, SystemContent) else Role.DEVELOPER
        if isinstance(part, (SystemContent, DeveloperContent)) and self.author.role != role:
            raise HarmonyError(
                f"{type(part).__name__} may only appear in a message of `{role.value}`, found in one "
                f"of `{Role(self.author.role).value}`"
            )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Message:
        """Reads a message from data.

        Raises:
            ValueError: The role or the kind of a part is unknown.
        """
        content = data["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        read: list[Content] = []
        for part in parts:
            kind = part.get("type")
            if kind not in _KINDS:
                raise ValueError(f"the kind `{kind}` of content is unknown")
            read.append(_KINDS[kind](**part))
        return cls(
            author=Author(role=Role(data["role"]), name=data.get("name")),
            content=read,
            channel=data.get("channel"),
            recipient=data.get("recipient"),
            content_type=data.get("content_type"),
        )


def _part(content: str | Content) -> Content:
    return TextContent(text=content) if isinstance(content, str) else content


class Conversation(BaseModel):
    """A conversation."""

    messages: list[Message] = Field(default_factory=list)

    @classmethod
    def from_messages(cls, messages: Sequence[Message]) -> Conversation:
        """Creates a conversation of these messages."""
        return cls(messages=list(messages))

    # Models of pydantic iterate over their fields; those of `openai_harmony` do it like this.
    def __iter__(self) -> Iterator[Message]:  # type: ignore[override]
        return iter(self.messages)

    def to_dict(self) -> dict[str, Any]:
        """Returns the conversation as data."""
        return {"messages": [message.to_dict() for message in self.messages]}

    def to_json(self) -> str:
        """Returns the conversation as JSON."""
        return json.dumps(self.to_dict())

    def _native(self) -> _NativeConversation:
        """The conversation as this package has it."""
        fields = [message._fields() for message in self.messages]
        # The messages at the beginning declare things, and the others are text.
        first = next((at for at, it in enumerate(fields) if it is not None), len(fields))
        texts = [it for it in fields[first:] if it is not None]
        if type(self) is Conversation and len(texts) == len(fields) - first:
            leading = _json_of(self.messages[:first]) if first else None
            made = _harmony_conversation(leading, texts)
            if made is not None:
                return made
        return parse(_json_of(self.messages), "harmony:json").conversation

    @classmethod
    def from_json(cls, payload: str) -> Conversation:
        """Reads a conversation from JSON."""
        return cls(messages=[Message.from_dict(it) for it in json.loads(payload)["messages"]])


def _json_of(messages: Sequence[Message]) -> str:
    return f'{{"messages":[{",".join([it._checked_json() for it in messages])}]}}'
