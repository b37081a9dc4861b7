"""The messages of :mod:`openchatml.compat.openai_harmony`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = [
    "Author",
    "ChannelConfig",
    "Content",
    "Conversation",
    "DeveloperContent",
    "Message",
    "ReasoningEffort",
    "Role",
    "SystemContent",
    "TextContent",
    "ToolDescription",
    "ToolNamespaceConfig",
]

_BROWSER = "browser"
_PYTHON = "python"


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


@dataclass
class Author:
    """Who speaks."""

    role: Role
    name: str | None = None

    @classmethod
    def new(cls, role: Role, name: str) -> Author:
        """Creates an author with a name."""
        return cls(role, name)


class Content:
    """A part of a message."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the part as data."""
        raise NotImplementedError


@dataclass
class TextContent(Content):
    """Text."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass
class ToolDescription:
    """The declaration of a function."""

    name: str
    description: str
    parameters: dict[str, Any] | None = None

    @classmethod
    def new(
        cls, name: str, description: str, parameters: dict[str, Any] | None = None
    ) -> ToolDescription:
        """Creates a declaration."""
        return cls(name, description, parameters)

    def _data(self) -> dict[str, Any]:
        return _given(name=self.name, description=self.description, parameters=self.parameters)


@dataclass
class ChannelConfig:
    """The channels of the model."""

    valid_channels: list[str]
    channel_required: bool

    @classmethod
    def require_channels(cls, channels: list[str]) -> ChannelConfig:
        """Requires a channel for every message."""
        return cls(channels, True)

    def _data(self) -> dict[str, Any]:
        return {
            "valid_channels": self.valid_channels,
            "channel_required": self.channel_required,
        }


@dataclass
class ToolNamespaceConfig:
    """A namespace of tools."""

    name: str
    description: str | None = None
    tools: list[ToolDescription] = field(default_factory=list)

    @staticmethod
    def browser() -> ToolNamespaceConfig:
        """Returns the built-in tool for the web."""
        return _builtin(_BROWSER)

    @staticmethod
    def python() -> ToolNamespaceConfig:
        """Returns the built-in tool for code."""
        return _builtin(_PYTHON)

    def _data(self) -> dict[str, Any]:
        return _given(
            name=self.name,
            description=self.description,
            tools=[tool._data() for tool in self.tools],
        )


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {key: value for key, value in fields.items() if value is not None}


def _builtin(name: str) -> ToolNamespaceConfig:
    """Returns a built-in namespace."""
    from .._openchatml import _builtin_tools

    return _namespaces({name: _builtin_tools(name)})[name]


def _namespaces(raw: dict[str, Any]) -> dict[str, ToolNamespaceConfig]:
    return {
        key: it
        if isinstance(it, ToolNamespaceConfig)
        else ToolNamespaceConfig(
            it["name"],
            it.get("description"),
            [
                ToolDescription(tool["name"], tool["description"], tool.get("parameters"))
                for tool in it["tools"]
            ],
        )
        for key, it in raw.items()
    }


def _required() -> ChannelConfig:
    return ChannelConfig.require_channels(["analysis", "commentary", "final"])


@dataclass
class SystemContent(Content):
    """The system message. Its methods change it and return it."""

    model_identity: str | None = "You are ChatGPT, a large language model trained by OpenAI."
    reasoning_effort: ReasoningEffort | None = ReasoningEffort.MEDIUM
    conversation_start_date: str | None = None
    knowledge_cutoff: str | None = "2024-06"
    channel_config: ChannelConfig | None = field(default_factory=_required)
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
        """Sets the current date."""
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
        self.tools = {**(self.tools or {}), ns_config.name: ns_config}
        return self

    def with_browser_tool(self) -> SystemContent:
        """Adds the built-in tool for the web."""
        return self.with_tools(ToolNamespaceConfig.browser())

    def with_python_tool(self) -> SystemContent:
        """Adds the built-in tool for code."""
        return self.with_tools(ToolNamespaceConfig.python())

    def to_dict(self) -> dict[str, Any]:
        effort = self.reasoning_effort
        return _given(
            model_identity=self.model_identity,
            reasoning_effort=None if effort is None else ReasoningEffort(effort).value,
            conversation_start_date=self.conversation_start_date,
            knowledge_cutoff=self.knowledge_cutoff,
            channel_config=None if self.channel_config is None else self.channel_config._data(),
            tools=_tools(self.tools),
            type="system_content",
        )

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> SystemContent:
        """Reads the content from data."""
        fields = {key: value for key, value in raw.items() if key != "type"}
        if isinstance(fields.get("reasoning_effort"), str):
            fields["reasoning_effort"] = ReasoningEffort(fields["reasoning_effort"])
        if isinstance(fields.get("channel_config"), dict):
            fields["channel_config"] = ChannelConfig(**fields["channel_config"])
        if fields.get("tools") is not None:
            fields["tools"] = _namespaces(fields["tools"])
        return cls(**fields)


def _tools(tools: dict[str, ToolNamespaceConfig] | None) -> dict[str, Any] | None:
    return None if tools is None else {key: it._data() for key, it in tools.items()}


@dataclass
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
        self.tools = {**(self.tools or {}), ns_config.name: ns_config}
        return self

    def with_function_tools(self, tools: Sequence[ToolDescription]) -> DeveloperContent:
        """Declares functions."""
        return self.with_tools(ToolNamespaceConfig("functions", None, list(tools)))

    def to_dict(self) -> dict[str, Any]:
        return _given(
            instructions=self.instructions, tools=_tools(self.tools), type="developer_content"
        )

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> DeveloperContent:
        """Reads the content from data."""
        tools = raw.get("tools")
        return cls(raw.get("instructions"), None if tools is None else _namespaces(tools))


_KINDS = {
    "text": lambda raw: TextContent(raw["text"]),
    "system_content": SystemContent.from_dict,
    "developer_content": DeveloperContent.from_dict,
}


@dataclass
class Message:
    """A message. Its methods change it and return it."""

    author: Author
    content: list[Content] = field(default_factory=list)
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None

    @classmethod
    def from_author_and_content(cls, author: Author, content: str | Content) -> Message:
        """Creates a message of an author."""
        return cls(author).adding_content(content)

    @classmethod
    def from_role_and_content(cls, role: Role, content: str | Content) -> Message:
        """Creates a message of a role."""
        return cls.from_author_and_content(Author(role), content)

    @classmethod
    def from_role_and_contents(cls, role: Role, contents: Sequence[Content]) -> Message:
        """Creates a message with several parts."""
        return cls(Author(role), list(contents))

    def adding_content(self, content: str | Content) -> Message:
        """Adds a part."""
        self.content.append(TextContent(content) if isinstance(content, str) else content)
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
        return {
            "role": Role(self.author.role).value,
            "name": self.author.name,
            "content": [part.to_dict() for part in self.content],
            **_given(
                channel=self.channel, recipient=self.recipient, content_type=self.content_type
            ),
        }

    def to_json(self) -> str:
        """Returns the message as JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Message:
        """Reads a message from data."""
        content = data["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kinds = [part.get("type") for part in parts]
        unknown = next((kind for kind in kinds if kind not in _KINDS), None)
        if unknown is not None or None in kinds:
            raise ValueError(f"the kind `{unknown}` of content is unknown")
        return cls(
            Author(Role(data["role"]), data.get("name")),
            [_KINDS[part["type"]](part) for part in parts],
            data.get("channel"),
            data.get("recipient"),
            data.get("content_type"),
        )


@dataclass
class Conversation:
    """A conversation."""

    messages: list[Message] = field(default_factory=list)

    @classmethod
    def from_messages(cls, messages: Sequence[Message]) -> Conversation:
        """Creates a conversation of these messages."""
        return cls(list(messages))

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def to_dict(self) -> dict[str, Any]:
        """Returns the conversation as data."""
        return {"messages": [message.to_dict() for message in self.messages]}

    def to_json(self) -> str:
        """Returns the conversation as JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, payload: str) -> Conversation:
        """Reads a conversation from JSON."""
        return cls([Message.from_dict(it) for it in json.loads(payload)["messages"]])
