"""`openchatml.integrations.openai`, with chunks that are dicts."""

from __future__ import annotations

from typing import Any

import openchatml
import pytest
from openchatml.integrations.openai import ChatReader, ResponsesReader


def test_errors_of_the_service_are_kept() -> None:
    text = {"index": 0, "delta": {"content": "4"}}
    error = {"message": "overloaded", "type": "server_error"}
    for given, kept in [(error, error), ("overloaded", {"message": "overloaded"})]:
        chat = ChatReader()
        chat.push({"choices": [text]})
        assert chat.error is None and chat.push({"error": given}) == []
        assert chat.error == kept and not chat.is_complete
        assert [(it.text, it.end) for it in chat.conversation] == [("4", "open")]
    chat = ChatReader()
    chat.push({"error": error})
    assert [it.code for it in chat.parsed.diagnostics] == ["E-STREAM-TRUNCATED"]

    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "4"}
    fields = {"code": "server_error", "message": "overloaded"}
    for event in (
        {"type": "error", **fields, "sequence_number": 3},
        {"type": "error", "error": fields},
        {"type": "response.failed", "response": {"error": fields, "output": []}},
    ):
        reader = ResponsesReader()
        reader.push(delta)
        assert reader.push(event) == [] and reader.error == fields
        assert reader.status == "failed" and not reader.is_complete
        assert [(it.text, it.end) for it in reader.conversation] == [("4", "open")]
        assert [it.code for it in reader.parsed.diagnostics] == ["E-STREAM-TRUNCATED"]


@pytest.mark.parametrize(
    ("kind", "chunk"),
    [
        (ChatReader, {"choices": 3}),
        (ChatReader, {"choices": [3]}),
        (ChatReader, {"choices": [{"delta": "x"}]}),
        (ChatReader, {"choices": [{"delta": {"content": 3}}]}),
        (ChatReader, {"choices": [{"delta": {"tool_calls": [{"function": "f"}]}}]}),
        (ChatReader, {"choices": [{"delta": {"tool_calls": [{"index": -1}]}}]}),
        (ResponsesReader, {"type": 3}),
        (ResponsesReader, {"type": "response.output_item.added", "item": "x"}),
        (ResponsesReader, {"type": "response.output_text.delta", "delta": 3}),
        (ResponsesReader, {"type": "response.output_text.delta", "content_index": 10**9, "delta": ""}),
        (ResponsesReader, {"type": "response.function_call_arguments.delta", "delta": None, "output_index": "0"}),
        (ResponsesReader, {"type": "response.completed", "response": {"output": ["x"]}}),
    ],
)
def test_malformed_chunks_are_named(kind: type[Any], chunk: Any) -> None:
    with pytest.raises(openchatml.ArgumentTypeError, match="argument `chunk`: `"):
        kind().push(chunk)
