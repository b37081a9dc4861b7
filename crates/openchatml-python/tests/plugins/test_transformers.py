"""`openchatml.integrations.transformers`, against tokenizers of `transformers`."""

from __future__ import annotations

import json
from typing import Any

import openchatml
import pytest

pytest.importorskip("transformers")

from openchatml.integrations.transformers import masking, parse_response
from tiny_tokenizers import tiny

CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Paris"}}}
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "Sunny.", "reasoning_content": "Easy."},
]
FORMATS = ["harmony", "qwen3", "deepseek-v3.1", "apertus"]


def completion(format: str, message: dict[str, Any]) -> tuple[list[int], list[int]]:
    """The ids of a prompt, and those of an answer."""
    tokenizer = openchatml.Tokenizer(format, tiny(format))
    prompt = tokenizer.prompt(CHAT[:1], enable_thinking=True).tolist()
    if "tool_calls" in message:
        call = json.dumps(CALL["function"]["arguments"])  # type: ignore[index]
        function = {"name": "weather", "arguments": call}
        message = {**message, "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    whole = tokenizer.sample([*CHAT[:1], message], enable_thinking=True).tolist()
    assert whole[: len(prompt)] == prompt
    return prompt, whole[len(prompt) :]


@pytest.mark.parametrize("format", FORMATS)
def test_responses_are_messages(format: str) -> None:
    tokenizer = openchatml.Tokenizer(format, tiny(format))
    called = {"role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [CALL]}
    for message in (CHAT[1], called):
        prompt, ids = completion(format, message)
        assert parse_response(tokenizer, ids, prefix=prompt) == message
        text = tokenizer.decode(ids)
        assert parse_response(tokenizer, text, prefix=tokenizer.decode(prompt)) == message
        assert parse_response(tokenizer, [ids, ids], prefix=[prompt, prompt]) == [message] * 2
        assert parse_response(tokenizer, [text], prefix=prompt) == [message]


def test_what_is_uncertain_is_reasoning() -> None:
    tokenizer = openchatml.Tokenizer("harmony", tiny("harmony"))
    read = parse_response(tokenizer, "I must refuse<|end|>", prefix="")
    assert read == {"role": "assistant", "content": "", "reasoning_content": "I must refuse"}
    text = "<|channel|>commentary to=functions.f to=g<|message|>{}<|call|>"
    assert "tool_calls" not in parse_response(tokenizer, text, prefix="")


def test_bad_arguments() -> None:
    tokenizer = openchatml.Tokenizer("harmony")
    with pytest.raises(openchatml.ArgumentValueError, match="prefix"):
        parse_response(tokenizer, "x")
    with pytest.raises(openchatml.ArgumentValueError, match="prompts"):
        parse_response(tokenizer, ["x", "y"], prefix=["a", "b", "c"])
    with pytest.raises(openchatml.ArgumentTypeError):
        parse_response("harmony", "x", prefix="")  # type: ignore[arg-type]
    with pytest.raises(openchatml.ArgumentTypeError):
        parse_response(tokenizer, 3, prefix="")
    with pytest.raises(openchatml.EncodingError):
        masking(tiny("qwen3"), "harmony")


@pytest.mark.parametrize("format", FORMATS)
def test_a_tokenizer_that_masks(format: str) -> None:
    made = masking(tiny(format), format)
    own = openchatml.Tokenizer(format, tiny(format))
    assert isinstance(made, type(tiny(format)))
    assert made("Hi").input_ids == tiny(format)("Hi").input_ids
    masked = made.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)
    sample = own.sample(CHAT)
    assert masked["input_ids"] == sample.tolist()
    assert masked["assistant_masks"] == sample.mask_list()
    # `datasets` adds keys without a value.
    rows = [{**message, "tool_calls": None} for message in CHAT]
    assert made.apply_chat_template(rows, return_dict=True)["input_ids"]
    prompt = made.apply_chat_template(CHAT[:1], add_generation_prompt=True, tokenize=False)
    assert prompt == openchatml.prompt(CHAT[:1], format).output
    _, ids = completion(format, CHAT[1])
    prompt_ids = own.prompt(CHAT[:1], enable_thinking=True).tolist()
    assert made.parse_response(ids, prefix=prompt_ids) == CHAT[1]
    # The tokenizer itself is not changed.
    assert "Masking" not in type(tiny(format)).__name__


def test_batches_are_padded() -> None:
    pad = tiny("qwen3")
    made = masking(pad, "qwen3")
    made.pad_token = "<|endoftext|>"
    made.padding_side = "left"
    chats = [CHAT, CHAT[:1]]
    got = made.apply_chat_template(chats, padding=True, return_dict=True)
    lengths = [len(row) for row in got["input_ids"]]
    assert lengths[0] == lengths[1]
    missing = got["attention_mask"][1].count(0)
    assert missing > 0 and got["input_ids"][1][:missing] == [made.pad_token_id] * missing
