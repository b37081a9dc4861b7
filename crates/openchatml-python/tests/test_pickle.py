"""Results, events and tokenizers can be pickled, and malformed data is an exception of ours."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle
from typing import Any

import openchatml
import pytest
from openchatml import Conversation, Event, Message, Stream, Tokenizer, _openchatml

CHAT = Conversation([Message.user("2 + 2?"), Message.reasoning("Easy."), Message.answer("4.")])
TOKENIZER = Tokenizer("harmony")
INPUTS = [
    ("harmony", "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>4."),
    ("harmony", "<|channel|>commentary to=functions.f to=g<|message|>{}<|call|>more"),
    ("openchatml-2.2", "<|start|>user<|message|>Hi.\n\nThere.<|end|>\n<|start|>assistant<|message|>x<|end|>"),
    ("chatml", "<|im_start|>user\nHi!"),
]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_rendered(protocol: int) -> None:
    samples = [
        TOKENIZER.sample(CHAT, bare=True, train="answers"),
        TOKENIZER.prompt(CHAT),
        TOKENIZER.prompt(Conversation([Message.call("f", {}, call_id="c1")])),
        Tokenizer("chatml", spell_control_tokens=True).render(Conversation([Message.user("Hi")])),
    ]
    for sample in samples:
        again = pickle.loads(pickle.dumps(sample, protocol))
        assert again.tolist() == sample.tolist()
        assert again.mask_list() == sample.mask_list()
        assert again.span_list() == sample.span_list()
        assert (again.spans == sample.spans).all()
        assert again.losses == sample.losses
        assert again.spelled == sample.spelled
        if sample.weights is not None:
            assert (again.weights == sample.weights).all()
    assert any(sample.losses for sample in samples) and any(sample.spelled for sample in samples)


@pytest.mark.parametrize(("format", "text"), INPUTS)
def test_parsed(format: str, text: str) -> None:
    for parsed in (
        openchatml.parse(text, format, completion=format == "harmony"),
        openchatml.parse(text, format),
    ):
        again = pickle.loads(pickle.dumps(parsed))
        assert again.document == parsed.document
        assert again.diagnostics == parsed.diagnostics
        assert again.format == parsed.format
        assert copy.deepcopy(parsed).diagnostics == parsed.diagnostics


@pytest.mark.parametrize(("format", "text"), INPUTS)
def test_events(format: str, text: str) -> None:
    events: list[Event] = []
    for user in (False, True):
        for end in ("finish", "cancel"):
            stream = Stream(format, completion=format == "harmony", user=user)
            events += [*stream.feed(text), *getattr(stream, end)()]
    events.append(Event.tool_cancel("c1", "timeout"))
    for event in events:
        again = pickle.loads(pickle.dumps(event))
        assert again == event
        assert (again.index, again.text, again.code) == (event.index, event.text, event.code)
        assert again.message == event.message
        assert again.diagnostic == event.diagnostic
        assert (again.reason, again.call_id) == (event.reason, event.call_id)


def test_tokenizers(tmp_path: pathlib.Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    letters = {it: at for at, it in enumerate(tokenizers.pre_tokenizers.ByteLevel.alphabet())}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    made.save(str(tmp_path / "tokenizer.json"))
    for tokenizer in (
        TOKENIZER,
        Tokenizer("chatml", "bytes"),
        Tokenizer("openchatml-2.2", spell_control_tokens=True),
        Tokenizer("chatml", made),
        Tokenizer("chatml", tmp_path),
        Tokenizer("chatml", str(tmp_path / "tokenizer.json")),
        Tokenizer("chatml", (tmp_path / "tokenizer.json").read_bytes()),
    ):
        again = pickle.loads(pickle.dumps(tokenizer))
        assert repr(again) == repr(tokenizer)
        chat = Conversation([Message.user("Hi <|im_end|>!")])
        assert again.render(chat).tolist() == tokenizer.render(chat).tolist()


@pytest.mark.parametrize("bad", [None, 3, "x", (), ([1], [], ([True], []), [], []), [1, 2]])
def test_malformed_data(bad: Any) -> None:
    restore: list[Any] = [
        lambda: _openchatml._restore_rendered(bad),
        lambda: _openchatml._restore_event(bad, None),
        lambda: _openchatml._restore_parsed("json", "{}", bad or 3, "harmony", None),
        lambda: _openchatml._restore_parsed(bad, "{}", [], "harmony", None),
        lambda: _openchatml._restore_tokenizer(bad, "bytes", False),
    ]
    for call in restore:
        with pytest.raises(openchatml.Error):
            call()
    state = ("message.start", 0, None, False, None, None, None, None)
    with pytest.raises(openchatml.ParseError):
        _openchatml._restore_event(state, None)
    with pytest.raises(openchatml.ParseError):
        _openchatml._restore_event(("response.delta", None, "x", False, None, None, None, None), None)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_chat_templates(protocol: int) -> None:
    config = {
        "chat_template": [
            {"name": "default", "template": "{{ bos_token }}{{ messages[0].content }}<|end|>"},
            {"name": "tool_use", "template": "{{ bos_token }}{{ tools[0].function.name }}"},
        ],
        "bos_token": "<s>",
    }
    template = openchatml.ChatTemplate(json.dumps(config), special_tokens={"eos_token": "</s>"})
    again = pickle.loads(pickle.dumps(template, protocol))
    assert again.source == template.source and repr(again) == repr(template)
    chat = [{"role": "user", "content": "Hi!"}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    for options in ({}, {"tools": tools}):
        assert again.render(chat, **options) == template.render(chat, **options)
    assert again.render(chat, tools=tools) == "<s>f"
    # Control tokens are not lost: this is one of the template, and this one of its special tokens.
    for text in ("<|end|>", "</s>"):
        with pytest.raises(openchatml.TemplateError):
            again.render([{"role": "user", "content": text}])
    assert copy.deepcopy(template).source == template.source


@pytest.mark.parametrize("state", [None, 3, [], [1, 2], [("{% if", [], [])] * 2, [("", [("a",)], [])] * 2])
def test_malformed_chat_templates(state: Any) -> None:
    with pytest.raises(openchatml.Error, match="malformed"):
        _openchatml._restore_template(state)
