"""One parser for reasoning, content and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    FunctionCall,
)
from vllm.parser.abstract_parser import DelegatingParser
from vllm.renderers.chat_utils import make_tool_call_id

from ..._openchatml import Tokenizer
from .._completion import CompletionReader, Piece, is_in_reasoning
from ._phase import ends_after_reasoning
from ._tokenizers import tokenizer_for

__all__ = ["CompletionParser", "delta_message"]


class CompletionParser(DelegatingParser):
    """Reads the completions of a format by their token ids. A stream and a whole completion give the
    same result.

    A subclass has a `format`. Calls are returned if there is a tool parser and the request has tools
    and does not forbid them; text of a call is never content.
    """

    format: ClassVar[str]
    """The name of the text format."""

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools, *args, **kwargs)
        self._tokenizer = tokenizer_for(self.format, tokenizer)
        self._declared = tools
        self._prompt: Sequence[int] | None = None
        self._reader: CompletionReader | None = None

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Remembers the prompt, which tells whether the completion begins inside of reasoning."""
        self._prompt = prompt_token_ids

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Returns whether a prompt ends after reasoning, so that the completion has none."""
        return ends_after_reasoning(self._tokenizer, input_ids)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Returns the number of ids of reasoning, without control tokens."""
        if self._reader is not None and self._reader.count == len(token_ids):
            return self._reader.reasoning_count
        reader = self._new_reader()
        reader.feed(token_ids)
        return reader.reasoning_count

    def parse(
        self,
        model_output: str,
        request: Any,
        enable_auto_tools: bool = False,
        model_output_token_ids: Sequence[int] = (),
    ) -> tuple[str | None, str | None, list[FunctionCall] | None]:
        """Reads a whole completion.

        Args:
            model_output: The text. It is read if there are no ids.
            request: The request.
            enable_auto_tools: Whether the server returns calls that the model decides to make.
            model_output_token_ids: The ids.

        Returns:
            The reasoning, the content and the calls.
        """
        if len(model_output_token_ids) > 0:
            self._reader = self._new_reader()
            chunk: str | Sequence[int] = model_output_token_ids
        else:
            self._reader = self._new_reader(self.format)
            chunk = model_output
        pieces = [*self._reader.feed(chunk), *self._reader.finish()]
        delta = self._shown(pieces, request)
        calls: list[FunctionCall] = []
        for call in delta.tool_calls if delta else []:
            function = call.function
            if function is not None and function.name is not None:
                calls.append(FunctionCall(name=function.name, arguments=function.arguments or ""))
        if delta is None:
            return None, None, None
        return delta.reasoning, delta.content, calls or None

    def parse_delta(
        self,
        delta_text: str,
        delta_token_ids: list[int],
        request: Any,
        prompt_token_ids: list[int] | None = None,
        *,
        finished: bool,
    ) -> DeltaMessage | None:
        """Reads the next ids of a completion.

        Returns:
            What they add to the message, or ``None`` if this is nothing.
        """
        if self._reader is None:
            if prompt_token_ids is not None:
                self._prompt = prompt_token_ids
            self._reader = self._new_reader()
        delta = self._shown(self._reader.feed(delta_token_ids), request)
        return self.finalize_generation(delta, request, self._stream_state) if finished else delta

    def finalize_generation(
        self, delta_message: DeltaMessage | None, request: Any, state: Any
    ) -> DeltaMessage | None:
        """Adds what the end of the completion makes known to the last delta."""
        reader, self._reader = self._reader, None
        last = self._shown(reader.finish(), request) if reader is not None else None
        if delta_message is None or last is None:
            return delta_message or last
        if last.content:
            delta_message.content = (delta_message.content or "") + last.content
        if last.reasoning:
            delta_message.reasoning = (delta_message.reasoning or "") + last.reasoning
        delta_message.tool_calls = [*delta_message.tool_calls, *last.tool_calls]
        return delta_message

    def _in_reasoning(self) -> bool:
        return self._prompt is not None and is_in_reasoning(self._tokenizer, self._prompt)

    def _new_reader(self, source: Tokenizer | str | None = None) -> CompletionReader:
        return CompletionReader(
            source or self._tokenizer, in_reasoning=self._in_reasoning(), tools=self._declared
        )

    def _shown(self, pieces: list[Piece], request: Any) -> DeltaMessage | None:
        """What the request wants of these pieces."""
        has_calls = self.tool_parser is not None and wants_calls(request)
        kinds = {"content"}
        if getattr(request, "include_reasoning", True):
            kinds.add("reasoning")
        if has_calls:
            kinds |= {"call", "arguments"}
        return delta_message([piece for piece in pieces if piece.kind in kinds])


def wants_calls(request: Any) -> bool:
    """Whether a request allows calls."""
    return bool(getattr(request, "tools", None)) and request.tool_choice != "none"


def delta_message(pieces: list[Piece]) -> DeltaMessage | None:
    """Returns pieces as a delta of vLLM, or ``None`` if there are none."""
    if not pieces:
        return None
    delta = DeltaMessage()
    calls: dict[int, DeltaToolCall] = {}
    for kind, text, number in pieces:
        if kind == "content":
            delta.content = (delta.content or "") + text
        elif kind == "reasoning":
            delta.reasoning = (delta.reasoning or "") + text
        elif kind == "call":
            function = DeltaFunctionCall(name=text, arguments="")
            calls[number] = DeltaToolCall(
                id=make_tool_call_id(), type="function", index=number, function=function
            )
        else:
            call = calls.get(number)
            if call is None:
                call = DeltaToolCall(index=number, function=DeltaFunctionCall(arguments=""))
                calls[number] = call
            assert call.function is not None
            call.function.arguments = (call.function.arguments or "") + text
    delta.tool_calls = list(calls.values())
    return delta
