"""The declarations of :mod:`openchatml.compat.openai_harmony`: channels and tools."""

from __future__ import annotations

from typing import Any

from .._openchatml import _builtin_tools
from ._pydantic import BaseModel

__all__ = ["ChannelConfig", "ToolDescription", "ToolNamespaceConfig"]


class ToolDescription(BaseModel):
    """The declaration of a function. Its parameters are a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any] | None = None

    @classmethod
    def new(
        cls, name: str, description: str, parameters: dict[str, Any] | None = None
    ) -> ToolDescription:
        """Creates a declaration."""
        return cls(name=name, description=description, parameters=parameters)


class ChannelConfig(BaseModel):
    """The channels of the model."""

    valid_channels: list[str]
    channel_required: bool

    @classmethod
    def require_channels(cls, channels: list[str]) -> ChannelConfig:
        """Requires a channel for every message."""
        return cls(valid_channels=channels, channel_required=True)


class ToolNamespaceConfig(BaseModel):
    """A namespace of tools."""

    name: str
    description: str | None = None
    tools: list[ToolDescription]

    @staticmethod
    def browser() -> ToolNamespaceConfig:
        """Returns the built-in tool for the web."""
        return ToolNamespaceConfig(**_builtin_tools("browser"))

    @staticmethod
    def python() -> ToolNamespaceConfig:
        """Returns the built-in tool for code."""
        return ToolNamespaceConfig(**_builtin_tools("python"))
