"""Reads completions as the parts that servers return: reasoning, content and calls of tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .._openchatml import Event, Stream, Tokenizer, parse

__all__ = ["Call", "Completion", "CompletionReader", "Piece", "is_in_reasoning"]


class Piece(NamedTuple):
    """A part of a completion that has just become known."""

    kind: Literal["reasoning", "content", "call", "arguments"]
    """What it is. ``"call"`` begins a call, whose text follows as ``"arguments"``."""
    text: str
    """The text; for ``"call"`` the name of the tool."""
    call: int = 0
    """The number of the call, from 0."""


class Call(NamedTuple):
    """A call of a tool."""

    tool: str
    arguments: str


class Completion(NamedTuple):
    """A whole completion."""

    reasoning: str | None
    content: str | None
    calls: list[Call]


class CompletionReader:
    """Reads a completion of the assistant, from text or token ids.

    Messages that the completion wrote for another role are left out. Text whose meaning is uncertain
    is reasoning, and so is that of a call with a guessed part. Messages of a kind are separated by a
    line break; content that only calls separate is not.

    Args:
        source: The name of a format, for text; or a tokenizer, for ids.
        in_reasoning: Whether the prompt ends inside of reasoning.
        tools: The tools that the model can call, as dicts or as objects of pydantic. Those that are
            not functions are left out.
        past_stop: Whether text after a stop token belongs to the completion.
        whole_calls: Whether a call becomes known only when it is complete. Otherwise, calls are told
            while they are written, and an output that ends inside of one has told a part of it. The text
            of a call that is incomplete, or whose arguments are no JSON object, is uncertain.
        keep_uncertain: Whether text whose meaning is uncertain is reasoning. Otherwise, it is left out.

    >>> reader = CompletionReader("qwen3", in_reasoning=True)
    >>> [tuple(piece) for piece in reader.feed("Easy.</think>4.")]
    [('reasoning', 'Easy.', 0), ('content', '4.', 0)]
    """

    def __init__(
        self,
        source: Tokenizer | str,
        *,
        in_reasoning: bool = False,
        tools: Iterable[Any] | None = None,
        past_stop: bool = False,
        whole_calls: bool = False,
        keep_uncertain: bool = True,
    ) -> None:
        self._stream = Stream(
            source,
            completion=True,
            in_reasoning=in_reasoning,
            tools=_declared(tools),
            past_stop=past_stop,
            keep="nothing",
        )
        # With `whole_calls`, the text of each open call.
        self._open: dict[int, list[str]] | None = {} if whole_calls else None
        # Without `keep_uncertain`, the messages that are left out.
        self._left_out: set[int] | None = None if keep_uncertain else set()
        # The number of each call, and the last message of each other kind.
        self._calls: dict[int, int] = {}
        self._last: dict[str, int] = {}
        self._has_ended = False
        self._in_reasoning = in_reasoning
        self.count = 0
        """The number of ids that were read."""
        self.reasoning_count = 0
        """The number of them that are reasoning."""

    def feed(self, chunk: str | Iterable[int]) -> list[Piece]:
        """Reads text or ids, and returns what became known."""
        if isinstance(chunk, str):
            return self._pieces(self._stream.feed(chunk))
        pieces: list[Piece] = []
        for id in chunk:
            events = self._stream.feed(id)
            was = self._in_reasoning
            found = self._pieces(events)
            self.count += 1
            # Ids that begin or end a message are no reasoning.
            is_inside = was and self._in_reasoning
            self.reasoning_count += is_inside or any(it.kind == "reasoning" for it in found)
            pieces += found
        return pieces

    def finish(self) -> list[Piece]:
        """Ends the completion, and returns what became known. Later calls return nothing."""
        if self._has_ended:
            return []
        self._has_ended = True
        return self._pieces(self._stream.finish())

    def _pieces(self, events: list[Event]) -> list[Piece]:
        pieces: list[Piece] = []
        for event in events:
            index, message = event.index, event.message
            if event.type == "message.done":
                self._in_reasoning = False
                pieces += self._ended(event)
            elif message is not None and index is not None:
                self._in_reasoning = message.is_reasoning
                if message.recovered and self._left_out is not None:
                    self._left_out.add(index)
                is_own = message.role == "assistant" and not message.foreign
                if is_own and message.tool and not message.recovered:
                    if self._open is not None:
                        self._open[index] = []
                        continue
                    self._calls[index] = len(self._calls)
                    pieces.append(Piece("call", message.tool, self._calls[index]))
            elif event.text and index is not None:
                if self._open is not None and index in self._open:
                    self._open[index].append(event.text)
                    continue
                piece = self._delta(event.type, index, event.text)
                is_left_out = self._left_out is not None and index in self._left_out
                if not (is_left_out and piece.kind == "reasoning"):
                    pieces.append(piece)
        return pieces

    def _ended(self, event: Event) -> list[Piece]:
        """A call that was withheld: it, if it is complete, its arguments are a JSON object, and nothing
        in it is guessed. Otherwise its text is uncertain."""
        index, message = event.index, event.message
        if self._open is None or index is None or message is None or index not in self._open:
            return []
        text = "".join(self._open.pop(index))
        is_complete = message.end in ("call", "end") and not message.recovered
        if message.tool is None or not is_complete or not _is_object(text):
            is_left_out = self._left_out is not None
            return [] if is_left_out else [self._delta("", index, f"{message.tool} {text}")]
        number = self._calls[index] = len(self._calls)
        return [Piece("call", message.tool, number), Piece("arguments", text, number)]

    def _delta(self, kind_of_event: str, index: int, text: str) -> Piece:
        if index in self._calls:
            return Piece("arguments", text, self._calls[index])
        kind: Literal["reasoning", "content"]
        kind = "content" if kind_of_event == "response.delta" else "reasoning"
        last = self._last.get(kind, index)
        between = range(last + 1, index)
        if last != index and not (kind == "content" and between and self._all_calls(between)):
            text = "\n" + text
        self._last[kind] = index
        return Piece(kind, text)

    def _all_calls(self, messages: range) -> bool:
        return all(index in self._calls for index in messages)

    @staticmethod
    def whole(
        source: Tokenizer | str, chunk: str | Sequence[int], **options: Any
    ) -> Completion:
        """Reads a whole completion: what `feed` and `finish` return, put together. The options are
        those of the class.

        >>> text = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
        >>> CompletionReader.whole("qwen3", text).calls
        [Call(tool='now', arguments='{}')]
        """
        reader = CompletionReader(source, **options)
        texts: dict[str, str] = {}
        calls: list[Call] = []
        for piece in [*reader.feed(chunk), *reader.finish()]:
            if piece.kind == "call":
                calls.append(Call(piece.text, ""))
            elif piece.kind == "arguments":
                tool, arguments = calls[piece.call]
                calls[piece.call] = Call(tool, arguments + piece.text)
            else:
                texts[piece.kind] = texts.get(piece.kind, "") + piece.text
        return Completion(texts.get("reasoning"), texts.get("content"), calls)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _declared(tools: Iterable[Any] | None) -> list[dict[str, Any]]:
    """The names and schemas of functions, from those that a client has sent."""
    declared = []
    for tool in tools or ():
        data = tool.model_dump() if hasattr(tool, "model_dump") else tool
        function = data.get("function", data) if isinstance(data, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            continue
        parameters = function.get("parameters")
        schema = parameters if isinstance(parameters, Mapping) else {}
        declared.append({"type": "function", "function": {"name": function["name"], "parameters": schema}})
    return declared


def is_in_reasoning(source: Tokenizer | str, prompt: str | Sequence[int]) -> bool:
    """Returns whether a prompt ends inside of reasoning.

    >>> is_in_reasoning("qwen3", "<|im_start|>assistant\\n<think>\\n")
    True
    >>> is_in_reasoning("qwen3", "<|im_start|>assistant\\n")
    False
    """
    if isinstance(prompt, str):
        format = source if isinstance(source, str) else source.format
        parsed = parse(prompt, format, open_prompt=True)
    else:
        assert isinstance(source, Tokenizer), "ids require a tokenizer"
        parsed = source.parse(prompt, open_prompt=True)
    chat = parsed.conversation
    if len(chat) == 0:
        return False
    last = chat[-1]
    return last.role == "assistant" and last.end == "open" and last.is_reasoning
