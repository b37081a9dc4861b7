"""`openchatml.integrations.openai`, with the objects of OpenAI's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import openchatml
import pytest
from openchatml.integrations.openai import ChatReader, ResponsesReader

pytest.importorskip("openai")

from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

COMPLETIONS = [
    "<|channel|>final<|message|>It is sunny 😀.<|return|>",
    "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>4.<|return|>",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
    ' to=functions.weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>',
]
ANY = TypeAdapter(ResponseStreamEvent)


def streamed(api: str, completion: str) -> list[Any]:
    """The objects of the client for a completion that is streamed to it."""
    writer = openchatml.ApiWriter(api, "r1", "m", framing="lines", reasoning="raw")
    text = writer.start()
    chunks = [completion[at : at + 7] for at in range(0, len(completion), 7)]
    for event in openchatml.Stream("harmony", completion=True).read(chunks):
        text += writer.push(event)
    text += writer.finish(input_tokens=1, output_tokens=2)
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if api == "chat":
        return [ChatCompletionChunk.model_validate(line) for line in lines]
    return [ANY.validate_python(line) for line in lines]


def told(chat: openchatml.Conversation) -> list[tuple[Any, ...]]:
    return [(it.role, it.effective_channel, it.recipient, it.text, it.is_call) for it in chat]


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize(("api", "kind"), [("chat", ChatReader), ("responses", ResponsesReader)])
def test_whole_streams(api: str, kind: type[Any], completion: str) -> None:
    expected = openchatml.parse(completion, "harmony", completion=True).conversation
    reader = kind()
    pieces = list(reader.read(streamed(api, completion)))
    assert reader.is_complete
    assert told(reader.conversation) == told(expected)
    for words, channel in (("content", "final"), ("reasoning", "analysis")):
        text = "".join(piece.text for piece in pieces if piece.kind == words)
        assert text == "".join(it.text for it in expected if it.effective_channel == channel)

    async def source() -> AsyncIterator[Any]:
        for chunk in streamed(api, completion):
            yield chunk

    async def read() -> list[Any]:
        other = kind()
        found = [piece async for piece in other.read_async(source())]
        assert told(other.conversation) == told(expected)
        return found

    assert asyncio.run(read()) == pieces


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize(("api", "kind"), [("chat", ChatReader), ("responses", ResponsesReader)])
def test_streams_that_break_off(api: str, kind: type[Any], completion: str) -> None:
    chunks = streamed(api, completion)
    for end in range(len(chunks) - 1):
        reader = kind()
        pieces = list(reader.read(chunks[:end]))
        chat = reader.conversation
        if len(chat) and not reader.is_complete:
            assert chat[-1].end == "open"
        # What has arrived is there, and reasoning is nothing else.
        for piece in pieces:
            channels = {"content": "final", "reasoning": "analysis"}
            if piece.kind in channels:
                assert any(
                    piece.text in it.text and it.effective_channel == channels[piece.kind]
                    for it in chat
                )
        router = openchatml.Router([])
        assert not [it for it in router.answer(chat) if it.json()["ok"]]


def test_several_calls_and_choices() -> None:
    def chunk(index: int, delta: Any, reason: str | None = None) -> Any:
        choice = {"index": index, "delta": delta, "finish_reason": reason}
        return {"id": "1", "choices": [choice], "created": 0, "model": "m", "object": "x"}

    reader = ChatReader(choice=1)
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    reader.push(chunk(0, {"content": "other"}, "stop"))
    reader.push(chunk(1, {"reasoning": "Hm."}))
    reader.push(chunk(1, {"tool_calls": [{"index": 0, **call}, {"index": 1, **call, "id": "b"}]}))
    assert reader.push(chunk(1, {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}))
    reader.push(chunk(1, {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]}))
    reader.push(chunk(1, {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}))
    assert not reader.is_complete
    reader.push(chunk(1, {}, "tool_calls"))
    assert reader.is_complete
    found = [(it.is_reasoning, it.call_id, it.text) for it in reader.conversation]
    assert found == [(True, None, "Hm."), (False, "a", '{"a":1}'), (False, "b", "{}")]


@pytest.mark.parametrize("kind", [ChatReader, ResponsesReader])
def test_bad_input(kind: type[Any]) -> None:
    for bad in (None, 3, "data: {}", b"", [1]):
        with pytest.raises(openchatml.ArgumentTypeError):
            kind().push(bad)
    with pytest.raises(openchatml.ArgumentTypeError):
        list(kind().read(3))
    with pytest.raises(openchatml.ArgumentTypeError):
        ChatReader(choice="0")  # type: ignore[arg-type]
    assert len(kind().conversation) == 0
