"""Checks what `ocml stream` writes for other protocols with the official clients of these.

    check.py OCML SUMMARIZED CONFORMANCE

OCML is the command, CONFORMANCE the folder of the conformance suite, whose inputs are streamed.
SUMMARIZED is the example of that name, for what the command does not write.
Each event must be of a type that the client knows, with all of its fields, no other ones, and
values of exactly these types. The clients read the streams, too, and put the responses together.
"""

import json
import pathlib
import subprocess
import sys
import tomllib

import anthropic
import httpx2
import openai
import pydantic
from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

FORMATS = [
    "openchatml-2.2",
    "openchatml-2.0",
    "openchatml-0.1",
    "chatml-wire:text",
    "harmony",
    "chatml",
]
TYPES = {
    "responses": pydantic.TypeAdapter(ResponseStreamEvent),
    "chat": pydantic.TypeAdapter(ChatCompletionChunk),
    "anthropic": pydantic.TypeAdapter(RawMessageStreamEvent),
}
# What the client does not know and others do: the guide says so.
EXTRA = {"reasoning_content"}


def inputs(folder):
    """Arguments and an input for each case that is text."""
    for path in sorted(folder.glob("*/*.toml")):
        for case in tomllib.loads(path.read_text()).get("case", []):
            form = case.get("format", path.parent.name)
            if form not in FORMATS or "bytes" in case:
                continue
            args = ["-f", form]
            if "continues" in case:
                args += ["--role", case["continues"]]
            if case.get("mode") == "strict":
                args += ["--strict"]
            if "recover" in case:
                args += ["--recover", case["recover"]]
            if case.get("open_prompt"):
                args += ["--open-prompt"]
            for name, value in case.get("limits", {}).items():
                args += ["--limit", f"{name}={value}"]
            yield args, case["input"]
    ids = "[200005, 17196, 200008, 19, 13, 200002]"
    yield ["-f", "harmony", "--role", "assistant", "--ids", "--prompt-tokens", "7"], ids


def unknown(value, place):
    """The fields that the types of the client do not have."""
    if isinstance(value, pydantic.BaseModel):
        for name in value.model_extra or {}:
            if name not in EXTRA:
                yield f"{place}.{name}"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown(item, f"{place}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from unknown(item, f"{place}.{name}")


def wrong(protocol, text):
    """Why the client does not take this for an event, if it does not."""
    try:
        event = TYPES[protocol].validate_json(text, strict=True)
    except pydantic.ValidationError as error:
        return str(error)
    return ", ".join(unknown(event, "event")) or None


def data(stream):
    """The data of server-sent events, with the names of these."""
    for event in stream.split("\n\n")[:-1]:
        *name, line = event.split("\n")
        assert line.startswith("data: "), event
        yield name[0].removeprefix("event: ") if name else None, line.removeprefix("data: ")


def transport(stream):
    """A connection to a server that answers with this stream."""
    answer = lambda request: httpx2.Response(  # noqa: E731
        200, headers={"content-type": "text/event-stream"}, content=stream.encode()
    )
    return httpx2.Client(transport=httpx2.MockTransport(answer))


def client(stream, make=openai.OpenAI):
    """A client whose server answers with this stream."""
    server = {"base_url": "http://localhost/v1", "http_client": transport(stream)}
    return make(api_key="none", max_retries=0, **server)


def responses(stream):
    last, text = None, []
    for number, (name, line) in enumerate(data(stream)):
        problem = wrong("responses", line)
        assert problem is None, f"{line}\n{problem}"
        last = json.loads(line)
        assert (last["type"], last["sequence_number"]) == (name, number), line
        text += [last["delta"]] if name == "response.output_text.delta" else []
    with client(stream).responses.stream(model="m", input="") as events:
        # The client adds a snapshot to some of them.
        types = [event.type for event in events]
        assert types == [name for name, _ in data(stream)]
        if last["type"] == "response.completed":
            response = events.get_final_response()
            assert response.output_text == "".join(text), stream
            assert response.to_dict()["status"] == "completed"
            calls = [item.status for item in response.output if item.type == "function_call"]
            assert all(status == "completed" for status in calls), stream
    return last["type"]


def chat(stream):
    lines = [line for _, line in data(stream)]
    assert lines.pop() == "[DONE]", stream
    chunks = [json.loads(line) for line in lines]
    if "error" in chunks[-1]:
        try:
            list(client(stream).chat.completions.create(model="m", messages=[], stream=True))
        except openai.APIError as error:
            assert error.message == chunks[-1]["error"]["message"]
            return "error"
        raise AssertionError(f"the client does not see the error in {stream}")
    for line in lines:
        problem = wrong("chat", line)
        assert problem is None, f"{line}\n{problem}"
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    with client(stream).chat.completions.stream(model="m", messages=[]) as events:
        for _ in events:
            pass
        try:
            completion = events.get_final_completion()
        except openai.LengthFinishReasonError as error:
            completion = error.completion
    choice = completion.choices[0]
    content = [delta["content"] for delta in deltas if delta.get("content") is not None]
    assert choice.message.content == ("".join(content) if content else None), stream
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    for index, call in enumerate(choice.message.tool_calls or []):
        own = [part["function"] for part in calls if part["index"] == index]
        assert call.function.name == own[0]["name"]
        assert call.function.arguments == "".join(part["arguments"] for part in own), stream
    return choice.finish_reason


def messages(stream):
    events = list(data(stream))
    answer = client(stream, anthropic.Anthropic).messages
    request = {"model": "m", "max_tokens": 1, "messages": []}
    if events[-1][0] == "error":
        told = json.loads(events[-1][1])["error"]["message"]
        try:
            with answer.stream(**request) as read:
                read.get_final_message()
        except anthropic.APIError as error:
            assert told in str(error), error
            return "error of a message"
        raise AssertionError(f"the client does not see the error in {stream}")
    for name, line in events:
        problem = wrong("anthropic", line)
        assert problem is None, f"{line}\n{problem}"
        assert json.loads(line)["type"] == name, line
    deltas = [json.loads(line).get("delta", {}) for _, line in events]
    with answer.stream(**request) as read:
        message = read.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    assert text == "".join(delta.get("text", "") for delta in deltas), stream
    calls = [block.input for block in message.content if block.type == "tool_use"]
    given = [json.loads(delta["partial_json"]) for delta in deltas if "partial_json" in delta]
    assert calls == given, stream
    assert message.stop_reason != "tool_use" or calls, stream
    return message.stop_reason


def refuses():
    """The checks above find what is wrong in an event."""
    event = {
        "type": "response.output_text.delta",
        "sequence_number": 1,
        "item_id": "msg_1",
        "output_index": 0,
        "content_index": 0,
        "delta": "Hi",
        "logprobs": [],
    }
    assert wrong("responses", json.dumps(event)) is None
    for name in event:
        less = {key: value for key, value in event.items() if key != name}
        assert wrong("responses", json.dumps(less)), f"without {name}"
    for name, value in [("type", "response.text"), ("output_index", "0"), ("delta", 1), ("x", 1)]:
        assert wrong("responses", json.dumps(event | {name: value})), name
    event = {"type": "content_block_stop", "index": 1}
    assert wrong("anthropic", json.dumps(event)) is None
    assert wrong("anthropic", json.dumps(event | {"index": "1"}))
    assert wrong("anthropic", json.dumps({"type": "content_block_stop"}))


def summaries(summarized, folder):
    """Checks summaries of reasoning. How many there are."""
    count = 0
    for args, text in inputs(folder):
        if args != ["-f", "harmony", "--role", "assistant"]:
            continue
        lines = subprocess.run([summarized], input=text.encode(), capture_output=True, check=True)
        lines = lines.stdout.decode().splitlines()
        named = [(json.loads(line)["type"], line) for line in lines]
        responses("".join(f"event: {name}\ndata: {line}\n\n" for name, line in named))
        count += sum(name == "response.reasoning_summary_part.done" for name, _ in named)
    return count


def main(ocml, summarized, folder):
    refuses()
    folder = pathlib.Path(folder)
    count = summaries(summarized, folder)
    assert count > 0, "nothing was summarized"
    print(f"{count} parts of summaries are what the client expects")
    ends = {}
    for args, text in inputs(folder):
        for protocol, check in [("responses", responses), ("chat", chat), ("anthropic", messages)]:
            for reasoning in ["drop", "raw"]:
                command = [ocml, "stream", *args, "--events", protocol, "--sse"]
                command += ["--reasoning", reasoning, "--created", "1763000000", "--quiet"]
                ran = subprocess.run(command, input=text.encode(), capture_output=True)
                assert ran.returncode < 2, (command, ran.stderr)
                try:
                    end = check(ran.stdout.decode())
                except Exception as error:
                    raise SystemExit(f"{' '.join(command)}\n{text!r}\n{error!r}") from error
                ends[end] = ends.get(end, 0) + 1
    told = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    print(f"{sum(ends.values())} streams are what the client expects: {told}")
    # Each way to end is among them.
    for end in ["completed", "incomplete", "failed"]:
        assert f"response.{end}" in ends, end
    for end in ["stop", "length", "tool_calls", "error"]:
        assert end in ends, end
    for end in ["end_turn", "max_tokens", "tool_use", "error of a message"]:
        assert end in ends, end


if __name__ == "__main__":
    main(*sys.argv[1:])
