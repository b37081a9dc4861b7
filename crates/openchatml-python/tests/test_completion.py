"""Completions as the parts that servers return: reasoning, content and calls."""

from __future__ import annotations

import re

import openchatml
import pytest
from openchatml.integrations._completion import (
    Call,
    Completion,
    CompletionReader,
    is_in_reasoning,
)

THOUGHT = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant"
CALL = "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>{}<|call|>"
CASES = [
    (THOUGHT.format("a") + THOUGHT.format("b") + "<|channel|>final<|message|>c<|return|>", "a\nb", "c", []),
    ("<|channel|>commentary<|message|>Now.<|end|><|start|>assistant<|channel|>final<|message|>c", None, "Now.\nc", []),
    (THOUGHT.format("a") + CALL.format("f", "{}"), "a", None, [Call("f", "{}")]),
    ("<|channel|>commentary to=functions.f to=g<|message|>{}<|call|>", "{}", None, []),
    ("I must refuse<|end|>", "I must refuse", None, []),
    ("<|channel|>final<|message|>a<|end|><|start|>user<|message|>b<|end|>", None, "a", []),
    ("<|channel|>fin", None, None, []),
    ("", None, None, []),
]


@pytest.mark.parametrize(("text", "reasoning", "content", "calls"), CASES)
def test_parts(text: str, reasoning: str | None, content: str | None, calls: list[Call]) -> None:
    assert CompletionReader.whole("harmony", text) == Completion(reasoning, content, calls)
    # The same, character by character and id by id.
    tokenizer = openchatml.Tokenizer("harmony")
    controls = tokenizer.control_tokens
    ids: list[int] = []
    for part in re.split(r"(<\|[a-z]+\|>)", text):
        ids += [controls[part]] if part in controls else tokenizer.encode(part)
    assert CompletionReader.whole(tokenizer, ids) == Completion(reasoning, content, calls)
    reader = CompletionReader("harmony")
    pieces = [piece for letter in text for piece in reader.feed(letter)] + reader.finish()
    for kind, expected in (("reasoning", reasoning), ("content", content)):
        assert ("".join(it.text for it in pieces if it.kind == kind) or None) == expected
    assert [it.text for it in pieces if it.kind == "call"] == [call.tool for call in calls]
    assert reader.finish() == []


@pytest.mark.parametrize(
    ("format", "prompt", "expected"),
    [
        ("qwen3", "<|im_start|>assistant\n<think>\nHm", True),
        ("qwen3", "<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("qwen3", "<|im_start|>user\n<think>", False),
        ("harmony", "<|start|>assistant<|channel|>analysis<|message|>Hm", True),
        ("harmony", "<|start|>assistant<|channel|>analysis<|message|>Hm<|end|>", False),
        ("harmony", "", False),
    ],
)
def test_prompts(format: str, prompt: str, expected: bool) -> None:
    assert is_in_reasoning(format, prompt) is expected


def test_reasoning_ids_are_counted() -> None:
    tokenizer = openchatml.Tokenizer("harmony")
    chat = [openchatml.Message.reasoning("one two three"), openchatml.Message.answer("four")]
    ids = tokenizer.sample(openchatml.Conversation(chat), bare=True).tolist()
    reader = CompletionReader(tokenizer)
    reader.feed(ids[2:])
    assert reader.count == len(ids) - 2
    assert reader.reasoning_count == len(tokenizer.encode("one two three"))


@pytest.mark.parametrize(
    ("format", "text", "uncertain"),
    [
        ("qwen3", '<tool_call>\n{"name": "f", "arguments": {"a": 1}\n</tool_call>', 'f {"a": 1}\n'),
        ("qwen3", '<tool_call>\n{"name": "f", "arguments": {"a": }}\n</tool_call>', 'f {"a": }'),
        ("harmony", "<|channel|>commentary to=functions.f<|message|>[1]<|call|>", "f [1]"),
        ("harmony", "<|channel|>commentary to=functions.<|message|>{}<|call|>", "{}"),
    ],
)
def test_text_of_calls_that_are_not_returned(format: str, text: str, uncertain: str) -> None:
    kept = CompletionReader.whole(format, text, whole_calls=True)
    assert kept == Completion(uncertain, None, [])
    left_out = CompletionReader.whole(format, text, whole_calls=True, keep_uncertain=False)
    assert left_out.calls == [] and left_out.content is None
