"""Streams of text and of token ids."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy
import openchatml
import pytest
from openchatml import Event, Stream, Tokenizer

SAMPLED = (
    "<|channel|>analysis<|message|>Äsy.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>4.<|return|>"
)
IDS = [200005, 17196, 200008, 13225, 200002]


def joined(events: list[Event]) -> list[tuple[str, int | None, str | None]]:
    """Joins adjacent deltas."""
    out: list[tuple[str, int | None, str | None]] = []
    for event in events:
        if out and event.text is not None and out[-1][:2] == (event.type, event.index):
            out[-1] = (event.type, event.index, (out[-1][2] or "") + event.text)
        else:
            out.append((event.type, event.index, event.text))
    return out


def events_of(chunks: list[object], **options: object) -> list[Event]:
    return list(Stream("harmony", completion=True, **options).read(chunks))


def test_every_split_gives_the_same_events() -> None:
    whole = joined(events_of([SAMPLED]))
    data = SAMPLED.encode()
    for at in range(len(data)):
        assert joined(events_of([data[:at], data[at:]])) == whole
    assert joined(events_of(list(SAMPLED))) == whole


def test_events_have_messages_and_reasons() -> None:
    events = events_of([SAMPLED])
    done = [event for event in events if event.type == "message.done"]
    assert [event.message.text for event in done if event.message] == ["Äsy.", "4."]
    assert events[-1].type == "response.done" and events[-1].reason == "return"
    assert events[0].to_dict()["type"] == "message.start"
    assert events[0] == events_of([SAMPLED])[0] and events[0] != events[1]


def test_a_user_sees_no_reasoning() -> None:
    events = events_of([SAMPLED], user=True)
    assert "".join(event.text or "" for event in events) == "4."
    assert all("sy." not in event.to_json() for event in events)


def test_ids() -> None:
    tokenizer = Tokenizer("harmony")
    one = Stream(tokenizer, completion=True)
    single = [event for id in IDS for event in one.feed(id)] + one.finish()
    for whole in (IDS, tuple(IDS), numpy.array(IDS, dtype=numpy.uint32), numpy.array(IDS)):
        stream = Stream(tokenizer, completion=True)
        assert joined(stream.feed(whole) + stream.finish()) == joined(single)
    assert [event.text for event in single if event.text] == ["Hello"]


def test_kinds_are_not_mixed() -> None:
    text = Stream("harmony")
    with pytest.raises(openchatml.ArgumentValueError):
        text.feed(1)
    with pytest.raises(openchatml.ArgumentTypeError):
        text.feed(True)
    ids = Stream(Tokenizer("harmony"))
    with pytest.raises(openchatml.ArgumentValueError):
        ids.feed("Hi")
    with pytest.raises(openchatml.ArgumentValueError):
        ids.feed(-1)
    with pytest.raises(openchatml.ArgumentTypeError):
        ids.feed([1, "2"])
    # A refused chunk does not end the stream.
    assert not text.has_ended and not ids.has_ended


def test_the_end() -> None:
    stream = Stream("harmony", completion=True)
    stream.feed("<|channel|>final<|message|>Hal")
    assert stream.open_message is not None and stream.open_message.channel == "final"
    events = stream.finish()
    assert any(event.code == "E-STREAM-TRUNCATED" for event in events)
    assert stream.has_ended and "ended" in repr(stream)
    for late in (lambda: stream.feed("x"), stream.finish, stream.cancel):
        with pytest.raises(openchatml.StreamError):
            late()


def test_cancel() -> None:
    stream = Stream("harmony", completion=True)
    stream.feed("<|channel|>final<|message|>Hal")
    assert "response.cancel" in [event.type for event in stream.cancel()]


def test_async_sources() -> None:
    async def chunks() -> AsyncIterator[str]:
        for character in SAMPLED:
            await asyncio.sleep(0)
            yield character

    async def read() -> list[Event]:
        return [event async for event in Stream("harmony", completion=True).read(chunks())]

    assert joined(asyncio.run(read())) == joined(events_of([SAMPLED]))

    async def plain() -> list[Event]:
        return [event async for event in Stream("harmony", completion=True).read([SAMPLED])]

    assert joined(asyncio.run(plain())) == joined(events_of([SAMPLED]))
    with pytest.raises(openchatml.ArgumentTypeError):
        list(Stream("harmony").read(chunks()))
    with pytest.raises(openchatml.ArgumentTypeError):
        list(Stream("harmony").read(3))
