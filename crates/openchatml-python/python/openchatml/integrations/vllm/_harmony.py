"""vLLM's parser of gpt-oss, with the reader of this package."""

from __future__ import annotations

from collections.abc import Sequence

from openai_harmony import Message
from vllm.parser.harmony import ChunkResult, HarmonyParser, Segment

from ...compat.openai_harmony import Role, StreamableParser, load_harmony_encoding

__all__ = ["HarmonyCompletionParser"]

_ENCODING = load_harmony_encoding("HarmonyGptOss")


class _GuardedParser(StreamableParser):
    """vLLM drops messages without a channel, and returns any call."""

    guard = True


class HarmonyCompletionParser(HarmonyParser):
    """Reads the completions of gpt-oss. vLLM's server requires a subclass of its own parser."""

    _streamed = 0
    _parser: StreamableParser | None

    @property
    def _harmony_parser(self) -> StreamableParser:
        if self._parser is None:
            self._parser = _GuardedParser(_ENCODING, Role.ASSISTANT)
        return self._parser

    def _poll_completed_message(self) -> Message | None:
        parser = self._harmony_parser
        if parser._count <= self._num_processed_messages:
            return None
        message = parser.messages[self._num_processed_messages]
        self._num_processed_messages += 1
        # Other parts of vLLM require messages of the package that it imported.
        return Message.from_dict(message.to_dict())

    def process_chunk(self, token_ids: Sequence[int]) -> ChunkResult:
        """Reads ids. A message that becomes known as a whole is also streamed as a whole."""
        result = super().process_chunk(token_ids)
        segments: list[Segment] = []
        for segment in result.segments:
            self._streamed += len(segment.delta)
            self._append(segments, segment)
        return ChunkResult(segments, result.reasoning_token_count)

    def flush(self) -> list[Segment]:
        """Ends a completion."""
        segments: list[Segment] = []
        for segment in super().flush():
            self._append(segments, segment)
        self._streamed = 0
        return segments

    def _append(self, segments: list[Segment], segment: Segment) -> None:
        message = segment.completed_message
        if message is not None:
            text = "".join(getattr(part, "text", "") for part in message.content)
            rest = text[self._streamed :]
            if rest:
                segments.append(Segment(message.channel, message.recipient, rest))
            self._streamed = 0
        segments.append(segment)
