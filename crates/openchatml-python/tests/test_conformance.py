"""The conformance suite of the repository through Python: it gives what Rust gives."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any

import openchatml
import pytest
from openchatml import ApiWriter, Conversation, Event, Stream, Tokenizer

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

SUITE = pathlib.Path(os.environ["OPENCHATML_REPOSITORY"], "conformance")
FILES = sorted(it for it in SUITE.glob("*/*.toml") if it.name != "clauses.toml")
CASES = [
    {"format": file.parent.name, **case}
    for file in FILES
    for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]
]


class ByteEncoding:
    """As an `Encoding` of tiktoken: an id for each byte, and those of the control tokens."""

    def __init__(self, controls: list[str]) -> None:
        self._mergeable_ranks = {bytes([it]): it for it in range(256)}
        self._pat_str = "(?s:.)"
        self._special_tokens = {it: 256 + at for at, it in enumerate(controls)}


def tokenizer(format: str, controls: list[str]) -> Tokenizer:
    return Tokenizer(format, ByteEncoding(controls), spell_control_tokens=True)


def reading(case: dict[str, Any]) -> dict[str, Any]:
    keys = ("mode", "recover", "open_prompt", "continues", "past_stop", "in_reasoning")
    keys += ("split_reasoning", "limits")
    return {key: case[key] for key in keys if key in case}


def parsed(case: dict[str, Any]) -> openchatml.Parsed:
    return openchatml.parse(case["input"], case["format"], **reading(case))


def canonical(document: object) -> Any:
    return json.loads(openchatml.convert(document, "json", allow_loss="all").output)


def is_json(format: str) -> bool:
    info = {name: it for it in openchatml.formats() for name in (it.name, *it.aliases)}
    dialect, _, carrier = format.partition(":")
    return (carrier or info[dialect].carriers[0]) == "json"


def same(format: str, text: str) -> Any:
    return json.loads(text) if is_json(format) else text


def cases(*keys: str) -> list[Any]:
    """The cases with one of these keys."""
    found = [case for case in CASES if any(key in case for key in keys)]
    assert found
    return [pytest.param(case, id=case["name"]) for case in found]


@pytest.mark.parametrize("case", cases("expect"))
def test_document(case: dict[str, Any]) -> None:
    assert canonical(parsed(case)) == json.loads(case["expect"])


@pytest.mark.parametrize("case", cases("diagnostics", "rejected_as"))
def test_diagnostics(case: dict[str, Any]) -> None:
    data = case["input"].encode()
    found = parsed(case).diagnostics
    for it in found:
        before = data[: it.span[0]].decode(errors="ignore")
        assert it.line == before.count("\n") + 1
        assert it.user_summary and openchatml.explain(it.code).user_summary == it.user_summary
    left = [
        (it.code, it.severity, data[slice(*it.span)].decode(), it.span[0], it.dropped)
        for it in found
    ]
    for expected in case.get("diagnostics", []):
        fits = [
            it
            for it in left
            if it[:2] == (expected["code"], expected["severity"])
            and expected.get("text", it[2]) == it[2]
            and expected.get("start", it[3]) == it[3]
            and expected.get("dropped", it[4]) == it[4]
        ]
        assert fits, expected
        left.remove(fits[0])
    assert not left or "diagnostics" not in case
    if "rejected_as" in case:
        strict = openchatml.parse(case["input"], case["format"], **{**reading(case), "mode": "strict"})
        errors = {it.code for it in strict.diagnostics if it.severity == "error"}
        assert case["rejected_as"] in errors
        with pytest.raises(openchatml.ParseError) as caught:
            strict.strict()
        assert caught.value.code in errors and caught.value.line is not None


@pytest.mark.parametrize("case", cases("fixed", "suggested"))
def test_fixes(case: dict[str, Any]) -> None:
    data = case["input"].encode()
    found = parsed(case).diagnostics
    for key, allowed in [("fixed", ["safe"]), ("suggested", ["safe", "unsafe"])]:
        if key not in case:
            continue
        edits = [
            edit
            for it in found
            if it.fix and it.fix.applicability in allowed
            for edit in it.fix.edits
        ]
        text, end = b"", 0
        for edit in sorted(set(edits), key=lambda it: it.span):
            text += data[end : edit.span[0]] + edit.replacement.encode()
            end = edit.span[1]
        text += data[end:]
        assert same(case["format"], text.decode()) == same(case["format"], case[key])


@pytest.mark.parametrize("case", cases("renders", "canonical"))
def test_rendering(case: dict[str, Any]) -> None:
    document = parsed(case)

    def rendered(**options: str) -> str:
        # Other documents are written with their layout only by what parsed them.
        if isinstance(document.document, Conversation):
            return openchatml.render(document.conversation, case["format"], **options)
        return openchatml.convert(document, case["format"], allow_loss="all", **options).output

    if "renders" in case:
        expected = case["input"] if case["renders"] is True else case["renders"]
        assert rendered() == expected
    if "canonical" in case:
        assert rendered(layout="canonical") == case["canonical"]


@pytest.mark.parametrize("case", cases("user_view", "next_prompt", "answers", "hierarchy"))
def test_views(case: dict[str, Any]) -> None:
    chat = parsed(case).conversation
    if "user_view" in case:
        expected = [(it["role"], it["text"], it.get("preamble", False)) for it in case["user_view"]]
        assert [(it.role, it.text, it.is_preamble) for it in chat.user_view()] == expected
    if "next_prompt" in case:
        kept = [chat[at] for at in case["next_prompt"]]
        kept = [it.replace(end="end") if it.end == "return" else it for it in kept]
        assert chat.next_prompt().messages == tuple(kept)
    if "answers" in case:
        answers = [[reply, call] for reply, call in enumerate(chat.answers) if call is not None]
        assert answers == case["answers"]
    if "hierarchy" in case:
        order = ["system", "developer", "user", "assistant", "tool"]
        assert sorted({it.role for it in chat}, key=order.index) == case["hierarchy"]


@pytest.mark.parametrize("case", cases("converts"))
def test_conversions(case: dict[str, Any]) -> None:
    document = parsed(case)
    for it in case["converts"]:
        options: dict[str, Any] = {
            "layout": it.get("layout", "keep"),
            "sanitize": it.get("values") == "sanitize",
            "compact": it.get("close") == "compact",
            "infill_order": it.get("infill_order"),
            "add_generation_prompt": it.get("generation_prompt", False),
            "continue_final_message": it.get("continue_final", False),
            "profile": it.get("profile", "default"),
            "enable_thinking": it.get("thinking"),
            "date": it.get("date"),
            "reasoning_effort": it.get("effort"),
            "response_format": json.loads(it.get("response_formats", "null")),
        }
        names = [*(loss.split(": ")[-1] for loss in it.get("losses", []))]
        dropped = [found.dropped for found in document.diagnostics if found.dropped]
        if "error" in it:
            with pytest.raises(openchatml.RenderError) as caught:
                if it.get("no_loss"):
                    openchatml.convert(document, it["to"], allow_loss=dropped, **options)
                else:
                    openchatml.convert(document, it["to"], allow_loss="all", **options)
            if not isinstance(caught.value, openchatml.LossError):
                assert caught.value.code == it["error"]["code"]
                assert caught.value.message_index == it["error"].get("message")
            if "text" in it["error"] and caught.value.span:
                place = case["input"].encode()[slice(*caught.value.span)].decode()
                assert place == it["error"]["text"]
            continue
        got = openchatml.convert(document, it["to"], allow_loss="all", **options)
        assert sorted(str(loss) for loss in got.losses) == sorted(it.get("losses", []))
        if "output" in it:
            assert same(it["to"], got.output) == same(it["to"], it["output"])
        # Exactly the losses need consent.
        allowed = [*dropped, *(loss.name for loss in got.losses)]
        again = openchatml.convert(document, it["to"], allow_loss=allowed, **options)
        assert again.output == got.output
        if got.losses:
            with pytest.raises(openchatml.LossError) as caught:
                openchatml.convert(document, it["to"], allow_loss=dropped, **options)
            assert len(caught.value.losses) == len(got.losses) == len(names)


@pytest.mark.parametrize("case", cases("detect"))
def test_detection(case: dict[str, Any]) -> None:
    found = openchatml.detect(case["input"])
    if case["detect"] == "none":
        assert not found or not found[0].is_certain
    else:
        assert found[0].format == case["detect"]


def told(events: list[Event], user: bool = False) -> list[Any]:
    """The events with adjacent deltas joined, and without the texts for people."""
    out: list[Any] = []
    for event in events:
        it = event.to_dict()
        if out and "delta" in it and out[-1]["type"] == it["type"]:
            if out[-1]["message_id"] == it["message_id"]:
                out[-1]["delta"] += it["delta"]
                continue
        out.append(it)
    return [normal(it) for it in out]


def normal(event: dict[str, Any]) -> dict[str, Any]:
    if event["type"] == "diagnostic":
        summary = event.pop("summary", None)
        if event.pop("message", None) is None and summary:
            event["summary"] = True
        event.pop("help", None)
    return event


def run(case: dict[str, Any], stream: Stream, chunks: list[bytes]) -> list[Event]:
    events = [event for chunk in chunks for event in stream.feed(chunk)]
    if "tool_cancelled" in case:
        it = case["tool_cancelled"]
        events.append(Event.tool_cancel(it["call_id"], it["reason"]))
    return events + (stream.cancel() if case.get("cancelled") else stream.finish())


def input_of(case: dict[str, Any]) -> bytes:
    return bytes.fromhex(case["bytes"]) if "bytes" in case else case["input"].encode()


@pytest.mark.parametrize("case", cases("events", "user_events"))
def test_events(case: dict[str, Any]) -> None:
    data = input_of(case)
    for key in ("events", "user_events"):
        is_user = key == "user_events"
        # The events of a runtime are not those of the stream of a user.
        if key not in case or (is_user and "tool_cancelled" in case):
            continue
        lines = [line for line in case[key].splitlines() if line.strip()]
        expected = [normal(json.loads(line)) for line in lines]
        for chunks in ([data], [bytes([it]) for it in data]):
            stream = Stream(case["format"], user=is_user, **reading(case))
            assert told(run(case, stream, chunks)) == expected


def core(api: str, event: dict[str, Any]) -> dict[str, Any]:
    """What is compared of an event of another protocol."""
    event.pop("sequence_number", None)
    if api == "responses" and "response" in event:
        keys = ("status", "output", "incomplete_details", "error")
        event["response"] = {
            key: value
            for key, value in event["response"].items()
            if key in keys and value not in (None, [])
        }
    if api == "messages":
        event = {key: value for key, value in event.items() if key not in ("message", "usage")}
    if api == "chat" and event.get("choices"):
        choice = event["choices"][0]
        keys = ("delta", "finish_reason")
        event = {key: choice[key] for key in keys if choice.get(key)}
    return event


def text_of(event: dict[str, Any]) -> tuple[list[str], str] | None:
    """The path to the text of a delta, and the text."""
    path: list[str] = []
    here: Any = event
    while isinstance(here, dict) and "delta" in here or path:
        if path and isinstance(here, str):
            return path, here
        keys = ["delta", "content", "reasoning_content", "text", "thinking"]
        key = next((it for it in keys if isinstance(here, dict) and it in here), None)
        if key is None:
            return None
        path, here = [*path, key], here[key]
    return None


def joined(events: list[dict[str, Any]]) -> list[Any]:
    """Joins adjacent deltas of the same text."""
    out: list[Any] = []
    for event in events:
        now = text_of(event)
        before = text_of(out[-1]) if out else None
        if now and before and now[0] == before[0]:
            # The same event but for the text.
            blank = [json.loads(json.dumps(it)) for it in (out[-1], event)]
            for it in blank:
                here = it
                for key in now[0][:-1]:
                    here = here[key]
                here[now[0][-1]] = ""
            if blank[0] == blank[1]:
                here = out[-1]
                for key in now[0][:-1]:
                    here = here[key]
                here[now[0][-1]] += now[1]
                continue
        out.append(event)
    return out


@pytest.mark.parametrize("case", cases("writes"))
def test_other_protocols(case: dict[str, Any]) -> None:
    for it in case["writes"]:
        reasoning: Any = it.get("reasoning", "drop")
        if reasoning == "summary":
            reasoning = lambda text: (text.split() or [""])[0]  # noqa: E731
        ids = {"responses": "resp_1", "chat": "chatcmpl-1", "messages": "msg_1"}
        writer = ApiWriter(it["to"], ids[it["to"]], "m", framing="lines", reasoning=reasoning)
        stream = Stream(case["format"], user=it.get("user", False), **reading(case))
        text = writer.start()
        for event in run(case, stream, [input_of(case)]):
            text += writer.push(event)
        text += writer.finish()
        got = [core(it["to"], json.loads(line)) for line in text.splitlines()]
        expected = [json.loads(line) for line in it["output"].splitlines() if line.strip()]
        assert joined([it for it in got if it]) == joined([it for it in expected if it])


@pytest.mark.parametrize("case", cases("ids", "truncates"))
def test_ids(case: dict[str, Any]) -> None:
    document = parsed(case)
    for it in case.get("ids", []):
        encoding = tokenizer(case["format"], it["controls"])
        assert encoding.render(document.document).tolist() == it["ids"]
        assert canonical(encoding.parse(it["ids"])) == canonical(document)
    for it in case.get("truncates", []):
        encoding = tokenizer(case["format"], it["controls"])
        options = {"message": it["message"]} if "message" in it else {}
        if "left" in it:
            left = encoding.truncate(document.conversation, it["budget"], **options)
            assert canonical(left.conversation) == json.loads(it["left"])
        else:
            with pytest.raises(openchatml.TruncateError):
                encoding.truncate(document.conversation, it["budget"], **options)


@pytest.mark.parametrize("case", cases("trains"))
def test_training(case: dict[str, Any]) -> None:
    for it in case["trains"]:
        encoding = tokenizer(it["to"], it["controls"])
        sample = encoding.sample(
            parsed(case).conversation,
            as_is=True,
            train=it.get("speech", "all"),
            turns=it.get("turns", "all"),
            headers=it.get("headers", "sampled"),
        )
        assert sample.mask is not None and sample.weights is not None
        runs: list[tuple[bytes, float]] = []
        before = None
        spelling = {256 + at: control.encode() for at, control in enumerate(it["controls"])}
        for id, trained, weight in zip(sample.tolist(), sample.mask, sample.weights, strict=True):
            now = float(weight) if trained else None
            if now is not None:
                if now != before:
                    runs.append((b"", now))
                runs[-1] = (runs[-1][0] + spelling.get(id, bytes([id % 256])), now)
            before = now
        assert [text.decode() for text, _ in runs] == it["trained"]
        assert [weight for _, weight in runs] == it.get("weights", [1.0] * len(runs))
        # The weights are part of the result, except for those of joined messages.
        losses = [str(loss) for loss in sample.losses]
        expected = it.get("losses", [])
        others = [loss for loss in expected if "weight" not in loss]
        assert [loss for loss in losses if "weight" not in loss] == others
        assert set(losses) <= set(expected)


@pytest.mark.parametrize("case", cases("negotiate"))
def test_negotiation(case: dict[str, Any]) -> None:
    it = case["negotiate"]
    other = openchatml.parse(it["with"], case["format"]).conversation
    agreed = parsed(case).conversation.negotiate(other)
    assert agreed.common == it.get("common", {})
    assert list(agreed.missing) == it.get("missing", [])
    assert list(agreed.unused) == it.get("unused", [])


def test_every_key_is_checked() -> None:
    known = {
        *["name", "clause", "why", "format", "input", "bytes", "mode", "recover", "open_prompt"],
        *["continues", "past_stop", "in_reasoning", "limits", "cancelled", "tool_cancelled"],
        "split_reasoning",
        *["expect", "diagnostics", "rejected_as", "fixed", "suggested", "renders", "canonical"],
        *["user_view", "next_prompt", "answers", "hierarchy", "converts", "detect", "events"],
        *["user_events", "writes", "ids", "truncates", "trains", "negotiate"],
    }
    assert {key for case in CASES for key in case} <= known
    assert len(CASES) > 500
