"""A reasoning parser and a tool parser of each format, for vLLM without a single parser.

They also tell vLLM's engine when reasoning ends, so that it constrains only the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

from vllm.entrypoints.generate.base.protocol import (
    DeltaMessage,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.reasoning.abs_reasoning_parsers import ReasoningParser
from vllm.reasoning.gptoss_reasoning_parser import GptOssReasoningParser
from vllm.tool_parsers.abstract_tool_parser import ToolParser
from vllm.tool_parsers.gptoss_tool_parser import GptOssToolParser

from ..._openchatml import Tokenizer, parse
from .._completion import CompletionReader, is_in_reasoning
from ._parser import delta_message
from ._phase import ReasoningPhase, ends_after_reasoning
from ._tokenizers import tokenizer_for

__all__ = ["FormatReasoningParser", "FormatToolParser", "reasoning_parser", "tool_parser"]


class FormatReasoningParser(ReasoningParser):
    """Separates reasoning from the text behind it, which is left as it is."""

    openchatml_format: ClassVar[str]
    """The name of the text format."""

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._tokenizer: Tokenizer = tokenizer_for(self.openchatml_format, tokenizer)
        self._in_reasoning = False
        self._reader: CompletionReader | None = None
        self._phase: ReasoningPhase | None = None
        self._content: list[int] | None = None

    def adjust_request(self, request: Any) -> Any:
        """Keeps control tokens in the text."""
        request.skip_special_tokens = False
        return request

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """Reads whether the completion begins inside of reasoning."""
        self._in_reasoning = is_in_reasoning(self._tokenizer, prompt_token_ids)

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Returns whether a prompt ends after reasoning, so that the completion has none."""
        if self._phase is None:
            self.adjust_initial_state_from_prompt(input_ids)
        return ends_after_reasoning(self._tokenizer, input_ids)

    def is_reasoning_end_streaming(
        self, input_ids: Sequence[int], delta_ids: Iterable[int]
    ) -> bool:
        """Returns whether reasoning ends in the last ids, or whether there is none."""
        if self._reader is None:
            self._follow(list(delta_ids))
        return self._content is not None

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """Returns those of the last ids that are behind the reasoning."""
        if self._content is None:
            return []
        return self._content

    def _follow(self, ids: list[int]) -> None:
        """Reads the next ids, to know which of them are behind the reasoning."""
        if self._phase is None:
            self._phase = ReasoningPhase(self._tokenizer, self._in_reasoning)
        self._content = self._phase.feed(ids)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Returns the number of ids of reasoning, without control tokens."""
        reader = CompletionReader(self._tokenizer, in_reasoning=self._in_reasoning)
        reader.feed(token_ids)
        return reader.reasoning_count

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Returns the reasoning at the beginning of a text, and the rest of the text."""
        texts = [_split(self.openchatml_format, model_output, is_in) for is_in in (False, True)]
        # Here vLLM does not tell how the prompt ends. Reasoning that ends has begun there.
        first, rest, has_errors = texts[self._in_reasoning]
        if has_errors and not texts[1][2]:
            first, rest, _ = texts[1]
        return first or None, (rest.lstrip("\n") if first else rest) or None

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> DeltaMessage | None:
        """Returns the reasoning of the last ids, and the text behind it."""
        if self._reader is None:
            self._reader = CompletionReader(self._tokenizer, in_reasoning=self._in_reasoning)
        self._follow(list(delta_token_ids))
        pieces = self._reader.feed(delta_token_ids)
        if self._content is None:
            return delta_message([it for it in pieces if it.kind == "reasoning"])
        delta = delta_message([it for it in pieces if it.kind == "reasoning"]) or DeltaMessage()
        delta.content = self._tokenizer.decode(self._content) or None
        return delta


def _split(format: str, text: str, in_reasoning: bool) -> tuple[str, str, bool]:
    """Splits a completion after the reasoning that it begins with. Returns whether it has errors."""
    parsed = parse(text, format, completion=True, in_reasoning=in_reasoning)
    messages = parsed.conversation
    data = text.encode()
    thoughts: list[str] = []
    end = 0
    for message in messages:
        if not message.is_reasoning:
            break
        thoughts.append(message.text)
        end = message.span[1]
    has_errors = any(it.severity == "error" for it in parsed.diagnostics)
    return "\n".join(thoughts), data[end:].decode(errors="replace"), has_errors


class FormatToolParser(ToolParser):
    """Separates the calls of a text from its content."""

    openchatml_format: ClassVar[str]
    """The name of the text format."""

    # Required and named calls are written in the format too.
    supports_required_and_named = False

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self._declared = tools
        self._tokenizer: Tokenizer = tokenizer_for(self.openchatml_format, tokenizer)
        self._reader: CompletionReader | None = None

    def adjust_request(self, request: Any) -> Any:
        """Keeps control tokens in the text."""
        request = super().adjust_request(request)
        request.skip_special_tokens = False
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        """Returns the calls and the content of a text."""
        read = CompletionReader.whole(self.openchatml_format, model_output, tools=self._declared)
        calls = [
            ToolCall(function=FunctionCall(name=tool, arguments=arguments))
            for tool, arguments in read.calls
        ]
        return ExtractedToolCallInformation(
            tools_called=bool(calls), tool_calls=calls, content=read.content
        )

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> DeltaMessage | None:
        """Returns the calls and the content of the last ids."""
        if self._reader is None:
            self._reader = CompletionReader(self._tokenizer, tools=self._declared)
        pieces = self._reader.feed(delta_token_ids)
        return delta_message([it for it in pieces if it.kind != "reasoning"])


# vLLM accepts only subclasses of its own parsers for gpt-oss.
class _HarmonyReasoning(GptOssReasoningParser):
    openchatml_format = "harmony"


class _HarmonyTools(GptOssToolParser):
    openchatml_format = "harmony"


@cache
def reasoning_parser(format: str) -> type[ReasoningParser]:
    """Returns the class of the reasoning parser for a text format."""
    if format == "harmony":
        return _HarmonyReasoning
    return type("FormatReasoningParser", (FormatReasoningParser,), {"openchatml_format": format})


@cache
def tool_parser(format: str) -> type[ToolParser]:
    """Returns the class of the tool parser for a text format."""
    if format == "harmony":
        return _HarmonyTools
    return type("FormatToolParser", (FormatToolParser,), {"openchatml_format": format})
