"""Reads outputs with SGLang's own parsers, as its server for chat completions calls them.

The parsers of each model are those that `canitoolcall` names. Reasoning is separated first, then calls,
with the methods of `sglang.srt.entrypoints.openai.serving_chat`. Whether a model reasons is the default
of the parser, or what the request says: chat templates are not needed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import sglang
from canitoolcall.adapters.sglang import StreamAccumulator, resolve_parsers
from mutations import Output
from rules import Call, Read, limited
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest
from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sources import Setting
from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerFast
from vocabulary import chunkings, encode, format_of, tokenizer

logging.disable(logging.CRITICAL)
# What the configurations of models say, where the server asks for it.
CONFIGURATIONS = {
    "harmony": ("GptOssForCausalLM", "gpt_oss"),
    "gemma-4": ("Gemma4ForConditionalGeneration", "gemma4"),
    "kimi-k3": ("KimiK3ForConditionalGeneration", "kimi_k3"),
}


@cache
def _tokenizer(format: str) -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer(format))


def _parsers(setting: Setting) -> tuple[str, str | None]:
    # The suite names those of version 0.5.20, which had none for this model.
    if "DeepSeek-V4.1" in setting.model:
        return "deepseekv41", "deepseek-v41"
    # It names no parser of reasoning for these, although they reason.
    if "Ministral-3" in setting.model and "Reasoning" in setting.model:
        return "mistral", "mistral"
    rule = resolve_parsers(setting.family, setting.model)
    assert rule is not None and rule.tool_call_parser is not None, setting.model
    return rule.tool_call_parser, rule.reasoning_parser


@cache
def _server(setting: Setting) -> Any:
    """What of a server the parsing of an output needs."""
    made = object.__new__(OpenAIServingChat)
    format = format_of(setting.model)
    made.tool_call_parser, made.reasoning_parser = _parsers(setting)
    architecture, kind = CONFIGURATIONS.get(format, (None, None))
    config = SimpleNamespace(
        architectures=[architecture] if architecture else None, model_type=kind
    )
    made.tokenizer_manager = SimpleNamespace(
        tokenizer=_tokenizer(format), model_config=SimpleNamespace(hf_config=config)
    )
    made.template_manager = SimpleNamespace(force_reasoning=False, reasoning_config=None)
    made.default_chat_template_kwargs = {}
    made.is_gpt_oss, made.is_gemma4 = kind == "gpt_oss", kind == "gemma4"
    made._encoding_adapter = made._reasoning_detector = None
    if made.reasoning_parser:
        made._reasoning_detector = ReasoningParser(
            model_type=made.reasoning_parser, stream_reasoning=True, tokenizer=_tokenizer(format)
        ).detector
    made.chat_encoding_spec = made._resolve_chat_encoding_spec()
    return made


class Sglang:
    """SGLang's parsers of reasoning and calls."""

    name = "sglang"

    def version(self) -> str:
        """The version of SGLang."""
        return str(sglang.__version__)

    def read(self, output: Output) -> tuple[Read, list[Read]]:
        """The result for the whole output, and those for streams."""
        format = format_of(output.source.setting.model)
        kept = output.stop if output.stop == "<|call|>" else ""
        ids = encode(format, output.text + (kept or ""))
        if not ids:
            return Read(), []
        # Loaded before the time is taken.
        _tokenizer(format)
        chunked = chunkings(ids, output.text)
        streams = [limited(partial(self._stream, output, format, it)) for it in chunked]
        return limited(partial(self._whole, output, format, ids)), streams

    def _whole(self, output: Output, format: str, ids: list[int]) -> Read:
        server = _server(output.source.setting)
        asked = _request(server, output.source.setting, False)
        (text,) = _detokenized(format, asked, [ids])
        reasoning = None
        if server.reasoning_parser and asked.separate_reasoning:
            parser = ReasoningParser(
                model_type=server.reasoning_parser,
                stream_reasoning=False,
                force_reasoning=server._get_reasoning_from_request(asked),
                request=asked,
                tokenizer=_tokenizer(format),
                tool_call_parser_active=server._tool_call_parsing_active(asked),
            )
            reasoning, text = parser.parse_non_stream(text)
        calls: Any = ()
        if server._tool_call_parsing_active(asked):
            calls, text, _ = server._process_tool_calls(
                text, server._effective_tools(asked), _reason(output), asked.tool_choice, 0
            )
        found = tuple(
            Call(it.function.name or "", it.function.arguments or "") for it in calls or ()
        )
        return Read(reasoning or "", text or "", found)

    def _stream(self, output: Output, format: str, chunks: list[list[int]]) -> Read:
        server = _server(output.source.setting)
        sum = StreamAccumulator()
        asked = _request(server, output.source.setting, True)
        texts = _detokenized(format, asked, chunks)
        asyncio.run(_streamed(server, asked, texts, _reason(output)["type"], sum))
        read = sum.result()
        calls = tuple(Call(it.name, it.arguments_raw or "") for it in read.tool_calls)
        return Read(read.reasoning_content or "", read.content or "", calls)


def _reason(output: Output) -> dict[str, Any]:
    if output.stop is None:
        return {"type": "length", "length": 1}
    return {"type": "stop", "matched": output.stop}


def _request(server: Any, setting: Setting, stream: bool) -> Any:
    tools = json.loads(setting.tools)
    messages = [{"role": "user", "content": "Use the tools."}]
    asked = ChatCompletionRequest(model="m", messages=messages, tools=tools or None, stream=stream)
    if setting.thinking is not None and server.reasoning_parser:
        server.apply_reasoning_enabled(asked, setting.thinking)
    if server.is_gpt_oss or server.is_gemma4 or tools:
        asked.skip_special_tokens = False
    server._patch_reasoning_skip_special_tokens(asked)
    return asked


def _detokenized(format: str, asked: Any, chunks: list[list[int]]) -> list[str]:
    """The text of each chunk. What is left of a character at the end is told with the last one."""
    decoder = DecodeStream(skip_special_tokens=bool(asked.skip_special_tokens))
    source = tokenizer(format)
    return ["".join(decoder.step(source, id) or "" for id in chunk) for chunk in chunks]


async def _streamed(
    server: Any, asked: Any, texts: list[str], reason: str, sum: StreamAccumulator
) -> None:
    """What `OpenAIServingChat._generate_stream_content` does with each step."""
    reasoning: dict[int, Any] = {}
    parsers: dict[int, Any] = {}
    called: dict[int, bool] = {}
    content: dict[str, Any] = {"meta_info": {"id": "x"}, "text": ""}
    for at, text in enumerate(texts):
        end = reason if at == len(texts) - 1 else None
        content["text"] += text
        delta: Any = text
        if server.reasoning_parser and asked.separate_reasoning:
            thought, delta = server._process_reasoning_stream(
                0, delta, reasoning, content, asked, end
            )
            sum.add_reasoning(thought)
        if not server._tool_call_parsing_active(asked) or server._answer_started(reasoning.get(0)):
            sum.add_content(delta)
            continue
        async for chunk in server._process_tool_call_stream(
            0, delta, parsers, content, asked, called, created=0, flush=end is not None
        ):
            if chunk:
                sum.add_sse(chunk)
        if end is not None and 0 in parsers:
            rest = server._check_for_unstreamed_tool_args(parsers[0], content, asked, 0, created=0)
            if rest:
                sum.add_sse(rest)
