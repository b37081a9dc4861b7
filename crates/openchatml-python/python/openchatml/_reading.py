"""Iterates over the events of a source."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING

from ._errors import ArgumentTypeError

if TYPE_CHECKING:
    from ._openchatml import Event, Stream

    _Chunk = str | bytes | int | Iterable[int]

__all__ = ["Reading"]


class Reading:
    """The events of all chunks of a source, and of its end.

    Use it once, with ``for`` or ``async for``. The source is an iterable of chunks, or for ``async
    for`` also an asynchronous one.
    """

    __slots__ = ("_source", "_stream")

    def __init__(self, stream: Stream, source: Iterable[_Chunk] | AsyncIterable[_Chunk]) -> None:
        self._stream = stream
        self._source = source

    def __iter__(self) -> Iterator[Event]:
        if not isinstance(self._source, Iterable):
            raise ArgumentTypeError(
                f"argument `source`: expected an iterable, not `{type(self._source).__name__}`"
            )
        for chunk in self._source:
            yield from self._stream.feed(chunk)
        yield from self._stream.finish()

    async def __aiter__(self) -> AsyncIterator[Event]:
        if isinstance(self._source, AsyncIterable):
            async for chunk in self._source:
                for event in self._stream.feed(chunk):
                    yield event
        else:
            if not isinstance(self._source, Iterable):
                raise ArgumentTypeError(
                    f"argument `source`: expected an iterable, not `{type(self._source).__name__}`"
                )
            for chunk in self._source:
                for event in self._stream.feed(chunk):
                    yield event
        for event in self._stream.finish():
            yield event
