"""Reads the streams of the client of OpenAI: Chat Completions and Responses, of any server.

    with client.chat.completions.create(model=…, messages=…, stream=True) as stream:
        reader = ChatReader()
        for piece in reader.read(stream):
            print(piece.text, end="")
    chat = reader.conversation

The objects of the client are accepted as they are, and dicts of the same form.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar

from .._errors import ArgumentTypeError
from .._openchatml import Conversation, Parsed, parse

_Kind = TypeVar("_Kind", dict[str, Any], list[Any], str, int)

_MOST = 10_000
"""No response has so many items, calls or parts: a larger number is a mistake, and would take memory."""

__all__ = ["ChatReader", "ResponsesReader", "StreamPiece"]


class StreamPiece(NamedTuple):
    """Text that a chunk adds."""

    kind: Literal["content", "reasoning", "reasoning_summary", "refusal", "arguments"]
    """What the text is. ``"arguments"`` are those of a call."""
    text: str
    """The text."""
    number: int
    """The number of the call, or of the output item, from 0."""


class _Reader(ABC):
    """What both readers do."""

    error: dict[str, Any] | None = None
    """The error that the service reports instead of the rest, such as ``{"message": "overloaded"}``.
    ``None`` if it reports none."""

    @abstractmethod
    def push(self, chunk: Any) -> list[StreamPiece]:
        """Reads a chunk, and returns the text that it adds."""

    @property
    @abstractmethod
    def parsed(self) -> Parsed:
        """What was read until now, with diagnostics."""

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """Whether the response has ended as the model wanted."""

    @property
    def conversation(self) -> Conversation:
        """The messages of the assistant until now.

        If the response is not complete, the last message is open, and a call of it is never run.
        """
        chat = self.parsed.conversation
        if self.is_complete or len(chat) == 0:
            return chat
        return chat.replace(messages=[*chat[:-1], chat[-1].replace(end="open")])

    def read(self, stream: Iterable[Any]) -> Iterator[StreamPiece]:
        """Reads a whole stream, and yields the text that arrives."""
        if not isinstance(stream, Iterable):
            raise ArgumentTypeError(
                f"argument `stream`: expected an iterable, not `{type(stream).__name__}`; "
                "`read_async` reads asynchronous streams"
            )
        for chunk in stream:
            yield from self.push(chunk)

    async def read_async(self, stream: AsyncIterable[Any]) -> AsyncIterator[StreamPiece]:
        """Reads a whole asynchronous stream, and yields the text that arrives."""
        if not isinstance(stream, AsyncIterable):
            raise ArgumentTypeError(
                f"argument `stream`: expected an asynchronous iterable, not `{type(stream).__name__}`"
            )
        async for chunk in stream:
            for piece in self.push(chunk):
                yield piece


def _data(chunk: Any) -> dict[str, Any]:
    """A chunk as a dict."""
    if isinstance(chunk, dict):
        return chunk
    dump = getattr(chunk, "model_dump", None)
    if dump is None:
        raise ArgumentTypeError(
            f"argument `chunk`: expected an object of the client or a `dict`, not "
            f"`{type(chunk).__name__}`"
        )
    data: dict[str, Any] = dump(exclude_unset=True)
    return data


_NAMES = {dict: "an object", list: "a list", str: "text", int: "a number"}


def _field(data: dict[str, Any], key: str, kind: type[_Kind], default: _Kind) -> _Kind:
    """A field of a chunk, or the default if it is absent or null."""
    value = data.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ArgumentTypeError(
            f"argument `chunk`: `{key}`: expected {_NAMES[kind]}, not `{value!r:.100}`"
        )
    return value


def _objects(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A field of a chunk that is a list of objects."""
    return [_field({key: item}, key, dict, {}) for item in _field(data, key, list, [])]


def _number(data: dict[str, Any], key: str, default: int = 0) -> int:
    """A field of a chunk that is the number of an item."""
    number = _field(data, key, int, default)
    if not 0 <= number < _MOST:
        raise ArgumentTypeError(f"argument `chunk`: `{key}`: expected a number from 0, not `{number}`")
    return number


def _error(data: dict[str, Any]) -> dict[str, Any] | None:
    """The error that a chunk reports. Some servers write only its message."""
    error = data.get("error")
    if error is None or isinstance(error, dict):
        return error
    return {"message": str(error)}


class ChatReader(_Reader):
    """Reads the chunks of a Chat Completion, also the reasoning that other servers add.

    Args:
        choice: The number of the choice to read, from 0.

    >>> reader = ChatReader()
    >>> for text in ["2 + 2", " is 4."]:
    ...     pieces = reader.push({"choices": [{"index": 0, "delta": {"content": text}}]})
    >>> reader.conversation[0].end
    'open'
    >>> end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    >>> reader.push(end)
    []
    >>> reader.conversation
    Conversation([Message('assistant', '2 + 2 is 4.', channel='final')])
    """

    def __init__(self, choice: int = 0) -> None:
        if not isinstance(choice, int) or isinstance(choice, bool):
            raise ArgumentTypeError(f"argument `choice`: expected an `int`, not `{choice!r}`")
        self._choice = choice
        self._texts: dict[str, str] = {}
        self._calls: dict[int, dict[str, str]] = {}
        self.finish_reason: str | None = None
        """Why the response ended, or ``None``."""
        self.usage: dict[str, Any] | None = None
        """The numbers of tokens, if the server tells them."""

    def push(self, chunk: Any) -> list[StreamPiece]:
        """Reads a chunk, and returns the text that it adds.

        Raises:
            ArgumentTypeError: The chunk is no object of the client.
        """
        data = _data(chunk)
        self.error = _error(data) or self.error
        self.usage = _field(data, "usage", dict, {}) or self.usage
        pieces: list[StreamPiece] = []
        for choice in _objects(data, "choices"):
            if _number(choice, "index") == self._choice:
                reason = _field(choice, "finish_reason", str, "")
                self.finish_reason = reason or self.finish_reason
                pieces += self._delta(_field(choice, "delta", dict, {}))
        return pieces

    def _delta(self, delta: dict[str, Any]) -> list[StreamPiece]:
        pieces: list[StreamPiece] = []
        # vLLM says `reasoning`, the others `reasoning_content`; some say both.
        reasoning = _field(delta, "reasoning_content", str, "")
        texts: tuple[tuple[Literal["reasoning", "content", "refusal"], str], ...] = (
            ("reasoning", reasoning or _field(delta, "reasoning", str, "")),
            ("content", _field(delta, "content", str, "")),
            ("refusal", _field(delta, "refusal", str, "")),
        )
        for kind, text in texts:
            if text:
                self._texts[kind] = self._texts.get(kind, "") + text
                pieces.append(StreamPiece(kind, text, 0))
        for at, call in enumerate(_objects(delta, "tool_calls")):
            index = _number(call, "index", at)
            function = _field(call, "function", dict, {})
            known = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
            known["id"] = _field(call, "id", str, "") or known["id"]
            known["name"] += _field(function, "name", str, "")
            if text := _field(function, "arguments", str, ""):
                known["arguments"] += text
                pieces.append(StreamPiece("arguments", text, index))
        return pieces

    @property
    def is_complete(self) -> bool:
        """Whether the response has ended as the model wanted."""
        ends = ("stop", "tool_calls", "function_call")
        return self.error is None and self.finish_reason in ends

    @property
    def parsed(self) -> Parsed:
        """What was read until now, with diagnostics."""
        message: dict[str, Any] = {"role": "assistant"}
        if "reasoning" in self._texts:
            message["reasoning_content"] = self._texts["reasoning"]
        content = self._texts.get("content", "") + self._texts.get("refusal", "")
        if content or not self._calls:
            message["content"] = content
        if self._calls:
            message["tool_calls"] = [
                {
                    "id": call["id"] or f"call_{index}",
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for index, call in sorted(self._calls.items())
            ]
        has_text = bool(self._texts) or bool(self._calls)
        if self.error is not None and not has_text:
            return parse(json.dumps({"error": self.error}), "openai")
        return parse(json.dumps({"messages": [message] if has_text else []}), "openai")


_PARTS: dict[str, tuple[Literal["content", "reasoning", "reasoning_summary", "refusal"], str, str]] = {
    "response.output_text.delta": ("content", "content", "output_text"),
    "response.refusal.delta": ("refusal", "content", "refusal"),
    "response.reasoning_text.delta": ("reasoning", "content", "reasoning_text"),
    "response.reasoning_summary_text.delta": ("reasoning_summary", "summary", "summary_text"),
}

_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesReader(_Reader):
    """Reads the events of a Response.

    >>> reader = ResponsesReader()
    >>> message = {"type": "message", "role": "assistant", "content": []}
    >>> reader.push({"type": "response.output_item.added", "output_index": 0, "item": message})
    []
    >>> reader.push({"type": "response.output_text.delta", "output_index": 0, "delta": "4."})
    [StreamPiece(kind='content', text='4.', number=0)]
    >>> reader.conversation
    Conversation([Message('assistant', '4.', channel='final', end='open')])
    """

    def __init__(self) -> None:
        self._items: dict[int, dict[str, Any]] = {}
        self.status: str | None = None
        """``"completed"``, ``"incomplete"`` or ``"failed"``, or ``None`` before the end."""
        self.response: dict[str, Any] | None = None
        """The whole response, after its end."""

    def push(self, chunk: Any) -> list[StreamPiece]:
        """Reads an event, and returns the text that it adds.

        Raises:
            ArgumentTypeError: The event is no object of the client.
        """
        event = _data(chunk)
        kind, index = _field(event, "type", str, ""), _number(event, "output_index")
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index] = dict(_field(event, "item", dict, {}))
        elif kind in _PARTS:
            return self._text(event, index, *_PARTS[kind])
        elif kind == "response.function_call_arguments.delta":
            item = self._item(index, "function_call")
            delta = _field(event, "delta", str, "")
            item["arguments"] = _field(item, "arguments", str, "") + delta
            return [StreamPiece("arguments", delta, index)]
        elif kind == "error":
            # The fields of the error stand in the event, or in an object of it.
            names = ("code", "message", "param")
            fields: dict[str, Any] = {name: event[name] for name in names if name in event}
            self.status = "failed"
            self.error = _error(event) or fields
        elif kind in _ENDS:
            self.status = kind.rpartition(".")[2]
            self.response = _field(event, "response", dict, {})
            self.error = _error(self.response) or self.error
            # It has all items, if the server repeats them.
            if output := _objects(self.response, "output"):
                self._items = dict(enumerate(output))
        return []

    def _item(self, index: int, kind: str) -> dict[str, Any]:
        return self._items.setdefault(index, {"type": kind})

    def _text(
        self,
        event: dict[str, Any],
        index: int,
        kind: Literal["content", "reasoning", "reasoning_summary", "refusal"],
        field: str,
        part: str,
    ) -> list[StreamPiece]:
        item = self._item(index, "reasoning" if "reasoning" in kind else "message")
        if item.get("type") == "message":
            item.setdefault("role", "assistant")
        # The list belongs to this reader, and not to the event that began the item.
        parts = [dict(it) for it in _objects(item, field)]
        at = _number(event, "summary_index" if field == "summary" else "content_index")
        delta = _field(event, "delta", str, "")
        while len(parts) <= at:
            parts.append({"type": part})
        key = "refusal" if part == "refusal" else "text"
        parts[at]["type"] = part
        parts[at][key] = _field(parts[at], key, str, "") + delta
        item[field] = parts
        return [StreamPiece(kind, delta, index)]

    @property
    def is_complete(self) -> bool:
        """Whether the response has ended as the model wanted."""
        return self.status == "completed"

    @property
    def parsed(self) -> Parsed:
        """What was read until now, with diagnostics."""
        output = [self._items[index] for index in sorted(self._items)]
        data: dict[str, Any] = {"output": output}
        if self.error is not None:
            data |= {"status": "failed", "error": self.error}
        return parse(json.dumps(data), "responses")
