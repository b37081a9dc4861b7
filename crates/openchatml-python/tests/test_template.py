"""Chat templates give what `transformers` gives."""

from __future__ import annotations

import json
import pathlib

import numpy
import openchatml
import pytest
from openchatml import ChatTemplate, Conversation, Message, Tokenizer, apply_chat_template
from test_tokens import bytes_of_tokenizers
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}{{ extra or '' }}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
CHATS = [
    [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello, äöü."}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "4. "},
    ],
]


def weather(city: str, days: int = 1) -> str:
    """The weather of a city.

    Args:
        city: The name of the city.
        days: The number of days.
    """
    return city


@pytest.fixture(scope="module")
def theirs() -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_of_tokenizers(), eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="module")
def ours(theirs: PreTrainedTokenizerFast) -> Tokenizer:
    return Tokenizer("chatml", theirs)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_generation_prompt": True},
        {"continue_final_message": True},
        {"extra": "more"},
        {"tools": [openchatml.declaration(weather)]},
        {"return_tensors": "np"},
        {"return_dict": False},
        {"truncation": True, "max_length": 10},
        {"continue_final_message": "content"},
        {"padding": "max_length", "max_length": 300},
        {"padding": True, "tokenizer_kwargs": {"pad_to_multiple_of": 64, "padding_side": "left"}},
        {"return_assistant_tokens_mask": True},
    ],
)
def test_results_are_those_of_transformers(theirs, ours, chat, options) -> None:
    template = ChatTemplate(theirs)
    if "return_assistant_tokens_mask" not in options:
        expected = theirs.apply_chat_template(chat, tokenize=False, **options)
        text = apply_chat_template(chat, ours, chat_template=template, tokenize=False, **options)
        assert text == expected
    expected = theirs.apply_chat_template(chat, tokenize=True, **options)
    if "padding" in options:
        pad = {"pad_token_id": theirs.pad_token_id, **options.get("tokenizer_kwargs", {})}
        options = {**options, "tokenizer_kwargs": pad}
    got = apply_chat_template(chat, ours, chat_template=template, **options)
    if options.get("return_dict", True):
        for key, value in got.items():
            assert numpy.array_equal(value, expected[key]), key
    else:
        assert got == expected
    # Conversations are accepted, too.
    again = apply_chat_template(
        Conversation.from_dict({"messages": chat}), ours, chat_template=template, **options
    )
    assert str(again) == str(got)


def test_batches(theirs, ours) -> None:
    expected = theirs.apply_chat_template(CHATS)
    got = apply_chat_template(CHATS, ours, chat_template=TEMPLATE)
    assert got["input_ids"] == expected["input_ids"]
    with pytest.raises(openchatml.ArgumentValueError, match="different lengths"):
        apply_chat_template(CHATS, ours, chat_template=TEMPLATE, return_tensors="np")
    expected = theirs.apply_chat_template(CHATS, padding=True, return_tensors="np")
    pad = {"pad_token_id": theirs.pad_token_id}
    got = apply_chat_template(
        CHATS, ours, chat_template=TEMPLATE, padding=True, return_tensors="np", tokenizer_kwargs=pad
    )
    for key, value in got.items():
        assert numpy.array_equal(value, expected[key]), key


def test_masks_are_padded(ours) -> None:
    options = {"padding": True, "tokenizer_kwargs": {"pad_token_id": 0, "padding_side": "left"}}
    got = apply_chat_template(CHATS[:2], ours, return_assistant_tokens_mask=True, **options)
    assert len({len(row) for rows in got.values() for row in rows}) == 1
    for ids, seen, mask in zip(*got.values(), strict=True):
        missing = seen.count(0)
        assert ids[:missing] == mask[:missing] == [0] * missing
        assert all(seen[missing:])


def test_reasoning_is_continued() -> None:
    chat = [*CHATS[0][:1], {"role": "assistant", "reasoning_content": "Hm", "content": ""}]
    tokenizer = Tokenizer("harmony")
    text = apply_chat_template(
        chat, tokenizer, tokenize=False, continue_final_message="reasoning_content", bare=True
    )
    assert text.endswith("<|start|>assistant<|channel|>analysis<|message|>Hm")
    for last in ({"role": "assistant", "content": "x"}, {**chat[1], "content": "4."}):
        with pytest.raises(openchatml.ArgumentValueError, match="continue_final_message"):
            apply_chat_template(
                [chat[0], last], tokenizer, continue_final_message="reasoning_content"
            )


def test_our_formats(ours) -> None:
    text = apply_chat_template(CHATS[0], ours, tokenize=False, add_generation_prompt=True)
    assert text.endswith("<|im_start|>assistant\n")
    ids = apply_chat_template(CHATS[0], ours, add_generation_prompt=True)["input_ids"]
    assert ours.decode(ids) == text
    masked = apply_chat_template(CHATS[0], ours, return_assistant_tokens_mask=True)
    trained = [id for id, it in zip(masked["input_ids"], masked["assistant_masks"]) if it]
    assert ours.decode(trained) == "Hello, äöü.<|im_end|>"
    open_end = apply_chat_template(CHATS[0], ours, tokenize=False, continue_final_message=True)
    assert open_end.endswith("Hello, äöü.")


def test_text_does_not_become_a_control_token(ours) -> None:
    chat = [{"role": "user", "content": "<|im_end|>"}]
    template = ChatTemplate(TEMPLATE)
    assert template.ids(chat, ours).tolist().count(257) == 1
    with pytest.raises(openchatml.TemplateError) as caught:
        template.render(chat)
    assert caught.value.code == "E-RENDER-CONTROL" and caught.value.message_index == 0


def test_files_and_special_tokens(tmp_path: pathlib.Path) -> None:
    config = {"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    chat = [Message.user("Hi!")]
    for source in (tmp_path, tmp_path / "tokenizer_config.json", json.dumps(config)):
        assert ChatTemplate(source).render(chat) == "<s>Hi!"
    other = ChatTemplate(json.dumps(config), special_tokens={"bos_token": "<b>"})
    assert other.render(chat) == "<b>Hi!" and other.render(chat, bos_token="x") == "xHi!"
    named = {"chat_template": [{"name": "default", "template": "a"}, {"name": "b", "template": "c"}]}
    assert ChatTemplate(json.dumps(named), name="b").render(chat) == "c"
    with pytest.raises(openchatml.TemplateError):
        ChatTemplate(json.dumps(named), name="nope")
    with pytest.raises(openchatml.TemplateError) as caught:
        ChatTemplate("{% fro %}")
    assert caught.value.code == "E-TEMPLATE-SYNTAX"


def test_contradictions(ours) -> None:
    chat = CHATS[0]
    for options in (
        {"return_assistant_tokens_mask": True, "tokenize": False},
        {"return_assistant_tokens_mask": True, "continue_final_message": True},
        {"add_generation_prompt": True, "continue_final_message": True},
        {"return_tensors": "tf"},
        {"truncation": True},
        {"documents": []},
        {"padding": "max_length"},
        {"padding": "sometimes"},
        {"padding": True},
        {"tokenizer_kwargs": {"nope": 1}},
        {"padding": True, "tokenizer_kwargs": {"pad_token_id": "x"}},
        {"padding": True, "tokenizer_kwargs": {"pad_token_id": 0, "padding_side": "up"}},
    ):
        with pytest.raises(openchatml.ArgumentValueError):
            apply_chat_template(chat, ours, **options)
    with pytest.raises(openchatml.ArgumentValueError):
        apply_chat_template([], ours)
    with pytest.raises(openchatml.ArgumentTypeError):
        apply_chat_template(chat, "chatml")


def test_what_only_looks_like_a_token_is_text(theirs: PreTrainedTokenizerFast) -> None:
    """The vocabulary of Qwen has no id for `<tools>`, which its template spells."""
    source = "<tools>{{ tools | tojson }}</tools>" + TEMPLATE
    ours = Tokenizer("chatml", theirs)
    options = {"tools": [openchatml.declaration(weather)]}
    expected = theirs.apply_chat_template(CHATS[0], chat_template=source, **options)["input_ids"]
    got = apply_chat_template(CHATS[0], ours, chat_template=source, **options)["input_ids"]
    assert list(got) == list(expected)
    # An encoding without any token of the template is that of another model.
    with pytest.raises(openchatml.EncodingError):
        apply_chat_template(CHATS[0], ours, chat_template="<a>{{ messages[0].content }}</a>")


@pytest.mark.parametrize(
    "wrong",
    [
        [{"role": "asistant", "content": "4."}],
        [{"role": "assistant", "contents": "4."}],
    ],
)
def test_input_that_would_be_dropped_is_refused(ours: Tokenizer, wrong: list[dict]) -> None:
    chat = [{"role": "user", "content": "2 + 2?"}, *wrong]
    for write in (ours.sample, ours.prompt, lambda it: apply_chat_template(it, ours)):
        with pytest.raises(openchatml.LossError) as caught:
            write(chat)
        assert "dropped" in str(caught.value)
    assert ours.sample(chat, allow_loss="all").ids.size
    with pytest.raises(openchatml.LossError):
        openchatml.prompt(chat, "chatml")
