"""`openchatml.integrations.vllm`, against the classes of vLLM."""

from __future__ import annotations

import json
from typing import Any

import openchatml
import pytest

pytest.importorskip("vllm")

from openchatml.integrations import vllm as plugin
from tiny_tokenizers import tiny
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser import ParserManager
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager

TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
]
CALL = '{"city": "Paris"}'
QUESTION = openchatml.Conversation([openchatml.Message.user("Weather?")])
# What the assistant says: reasoning, commentary, and calls.
SAID = [
    openchatml.Message.reasoning("Let me\nsee 日本."),
    openchatml.Message.call("weather", json.loads(CALL)),
]
ANSWER = [openchatml.Message.reasoning("Easy."), openchatml.Message.answer("It is sunny 😀.")]
SECTIONS = ["qwen3", "deepseek-v3.1", "apertus", "openchatml-2.2"]


def request(**fields: Any) -> ChatCompletionRequest:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": TOOLS, **fields}
    return ChatCompletionRequest.model_validate(asked)


def completion(format: str, messages: list[openchatml.Message]) -> tuple[list[int], list[int]]:
    """The ids of a prompt, and those of a completion with these messages."""
    tokenizer = openchatml.Tokenizer(format, tiny(format))
    prompt = tokenizer.prompt(QUESTION, enable_thinking=True).tolist()
    whole = tokenizer.sample(QUESTION + messages, enable_thinking=True).tolist()
    assert whole[: len(prompt)] == prompt
    return prompt, whole[len(prompt) :]


def parser(format: str, is_harmony: bool = False, reasons: bool = True, calls: bool = True) -> Any:
    name = next(key for key, value in plugin.NAMES.items() if value == format)
    made = ParserManager.get_parser(
        tool_parser_name=name if calls else None,
        reasoning_parser_name=name if reasons else None,
        enable_auto_tools=True,
        is_harmony=is_harmony,
        tokenizer=tiny(format),
    )
    assert made is not None
    return made(tiny(format), None)


def streamed(made: Any, prompt: list[int], ids: list[int], asked: Any, step: int = 1) -> Any:
    """Reasoning, content and calls of a streamed completion, and the ids of the calls."""
    reasoning, content = "", ""
    calls: dict[int, list[str]] = {}
    names: list[str] = []
    for at in range(0, len(ids), step):
        delta = made.parse_delta(
            "", ids[at : at + step], asked, prompt, finished=at + step >= len(ids)
        )
        if delta is None:
            continue
        reasoning += delta.reasoning or ""
        content += delta.content or ""
        for call in delta.tool_calls:
            if call.id is not None:
                assert call.index == len(calls)
                calls[call.index] = [call.function.name, ""]
                names.append(call.id)
            calls[call.index][1] += call.function.arguments or ""
    assert len(set(names)) == len(names)
    return reasoning or None, content or None, [tuple(call) for call in calls.values()]


def whole(made: Any, prompt: list[int], ids: list[int], asked: Any) -> Any:
    made.set_prompt_token_ids(prompt)
    reasoning, content, calls = made.parse("", asked, True, ids)
    return reasoning, content, [(it.name, it.arguments) for it in calls or []]


@pytest.mark.parametrize("format", SECTIONS)
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_streams_and_whole_completions_are_the_same(format: str, step: int) -> None:
    for said in (SAID, ANSWER):
        prompt, ids = completion(format, said)
        read = whole(parser(format), prompt, ids, request())
        assert read == streamed(parser(format), prompt, ids, request(), step)
        assert read[0] == said[0].text
        if said is ANSWER:
            assert read[1:] == ("It is sunny 😀.", [])
        else:
            assert read[1] is None
            assert [(name, json.loads(text)) for name, text in read[2]] == [
                ("weather", json.loads(CALL))
            ]


@pytest.mark.parametrize("format", SECTIONS)
def test_what_the_request_does_not_want(format: str) -> None:
    prompt, ids = completion(format, SAID)
    for asked in (request(tool_choice="none"), request(tools=None)):
        for read in (
            whole(parser(format), prompt, ids, asked),
            streamed(parser(format), prompt, ids, asked),
        ):
            assert read == (SAID[0].text, None, [])
    asked = request(include_reasoning=False)
    assert whole(parser(format), prompt, ids, asked)[0] is None
    assert streamed(parser(format), prompt, ids, asked)[0] is None
    without = parser(format, calls=False)
    assert whole(without, prompt, ids, request()) == (SAID[0].text, None, [])


@pytest.mark.parametrize("format", SECTIONS)
def test_a_completion_that_is_cut_off(format: str) -> None:
    prompt, ids = completion(format, SAID)
    for end in range(len(ids)):
        read = whole(parser(format), prompt, ids[:end], request())
        assert read == streamed(parser(format), prompt, ids[:end] or [], request()) or end == 0
        # Reasoning and calls never become visible.
        assert read[1] is None, end


@pytest.mark.parametrize("format", ["qwen3", "deepseek-v3.1"])
def test_reasoning_that_the_prompt_begins(format: str) -> None:
    tokenizer = openchatml.Tokenizer(format, tiny(format))
    ids = tokenizer.control_tokens
    prompt = tokenizer.prompt(QUESTION).tolist()
    prompt = [*prompt, ids["<think>"]] if ids["<think>"] not in prompt else prompt
    said = [*tokenizer.encode("Easy."), ids["</think>"], *tokenizer.encode("Yes.")]
    assert whole(parser(format), prompt, said, request()) == ("Easy.", "Yes.", [])
    assert streamed(parser(format), prompt, said, request()) == ("Easy.", "Yes.", [])
    made = parser(format)
    assert not made.is_reasoning_end(prompt)
    assert not made.is_reasoning_end([])
    assert made.is_reasoning_end([*prompt, ids["</think>"]])
    made.set_prompt_token_ids(prompt)
    assert made.count_reasoning_tokens(said) == len(tokenizer.encode("Easy."))
    made.parse("", request(), True, said)
    assert made.count_reasoning_tokens(said) == len(tokenizer.encode("Easy."))


def test_spelled_control_tokens_are_text() -> None:
    tokenizer = openchatml.Tokenizer("qwen3", tiny("qwen3"))
    text = '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'
    ids = tokenizer.encode(text)
    prompt = tokenizer.prompt(QUESTION).tolist()
    assert whole(parser("qwen3"), prompt, ids, request()) == (None, text, [])
    assert streamed(parser("qwen3"), prompt, ids, request()) == (None, text, [])


@pytest.mark.parametrize("format", SECTIONS)
def test_pairs_that_vllm_puts_together(format: str) -> None:
    """The classes work with parsers of someone else, which vLLM calls one after the other."""
    name = next(key for key, value in plugin.NAMES.items() if value == format)
    reasons = ReasoningParserManager.get_reasoning_parser(name)(tiny(format))
    calls = ToolParserManager.get_tool_parser(name)(tiny(format))
    tokenizer = openchatml.Tokenizer(format, tiny(format))
    for said in (SAID, ANSWER):
        prompt, ids = completion(format, said)
        reasoning, rest = reasons.extract_reasoning(tokenizer.decode(ids), request())
        assert reasoning == said[0].text
        found = calls.extract_tool_calls(rest or "", request())
        if said is ANSWER:
            assert (found.content, found.tool_calls) == ("It is sunny 😀.", [])
        else:
            assert [it.function.name for it in found.tool_calls] == ["weather"]
    asked = request()
    asked.skip_special_tokens = True
    assert not reasons.adjust_request(asked).skip_special_tokens


@pytest.mark.parametrize("format", ["qwen3", "deepseek-v3.1"])
def test_a_pair_in_a_stream(format: str) -> None:
    """vLLM gives the ids behind the reasoning to the parser of calls."""
    from vllm.parser.abstract_parser import DelegatingParser

    name = next(key for key, value in plugin.NAMES.items() if value == format)

    class Pair(DelegatingParser):
        reasoning_parser_cls = ReasoningParserManager.get_reasoning_parser(name)
        tool_parser_cls = ToolParserManager.get_tool_parser(name)

    for said in (SAID, ANSWER):
        prompt, ids = completion(format, said)
        read = streamed(Pair(tiny(format)), prompt, ids, request())
        assert read[0] == said[0].text
        assert [call[0] for call in read[2]] == (["weather"] if said is SAID else [])
        assert (read[1] or "").strip() == ("" if said is SAID else "It is sunny 😀.")


def test_parsers_of_someone_else_are_not_changed() -> None:
    made = ParserManager.get_parser(
        reasoning_parser_name="deepseek_r1", tokenizer=tiny("deepseek-v3.1")
    )
    assert made is not None and not issubclass(made, plugin.CompletionParser)
    plugin.register()
    assert issubclass(
        ParserManager.get_parser(
            reasoning_parser_name="openchatml-qwen3", tokenizer=tiny("qwen3")
        ),
        plugin.CompletionParser,
    )


def test_a_vocabulary_without_the_control_tokens() -> None:
    with pytest.raises(TypeError, match="no ids for"):
        ParserManager.get_parser(
            reasoning_parser_name="openchatml-qwen3", tokenizer=tiny("deepseek-v3.1")
        )
