"""Reads outputs with vLLM's own parsers, as its server for chat completions calls them.

The parsers of each model are those that `canitoolcall` names. Requests are adjusted, prompts told,
tokens detokenized and deltas put together as in `vllm/entrypoints/openai/chat_completion`.
"""

from __future__ import annotations

import json
import logging
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import vllm
from canitoolcall.adapters.vllm import chat_template_kwargs_for, resolve_parsers
from canitoolcall.results import StreamAccumulator
from mutations import Output
from rules import Call, Read, limited
from sources import Setting
from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager
from vllm.v1.engine.detokenizer import IncrementalDetokenizer
from vocabulary import chunkings, encode, format_of, tokenizer

# Parsers log the exceptions that they catch.
logging.disable(logging.CRITICAL)


@cache
def _tokenizer(format: str) -> Any:
    from vllm.tokenizers.hf import get_cached_tokenizer

    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer(format))
    # Mistral's tokenizers of version 11 have reasoning in text, and support grammars.
    if format == "mistral-v11":
        made.supports_grammar = True
    return get_cached_tokenizer(made)


class Vllm:
    """vLLM's parsers of reasoning and calls."""

    name = "vllm"

    def version(self) -> str:
        """The version of vLLM."""
        return str(vllm.__version__)

    def _names(self, setting: Setting) -> tuple[str, str | None]:
        rule = resolve_parsers(setting.family, setting.model)
        assert rule is not None and rule.choice is not None
        return rule.choice.tool_parser, rule.choice.reasoning_parser

    @cache  # noqa: B019 - one reader lives as long as the program
    def _parser_class(self, setting: Setting) -> Any:
        tool, reasoning = self._names(setting)
        return ParserManager.get_parser(
            tool_parser_name=tool,
            reasoning_parser_name=reasoning,
            enable_auto_tools=True,
            model_name=setting.model,
            is_harmony=setting.family == "gpt-oss",
            tool_strict_level="auto",
        )

    def read(self, output: Output) -> tuple[Read, list[Read]]:
        """The result for the whole output, and those for streams."""
        format = format_of(output.source.setting.model)
        ids = encode(format, output.text + (output.stop or ""))
        if not ids:
            return Read(), []
        # Loaded before the time is taken.
        _tokenizer(format)
        prompt = _prompt(format, output.source.setting.prompt)
        chunked = chunkings(ids, output.text)
        streams = [limited(partial(self._stream, output, format, prompt, it)) for it in chunked]
        return limited(partial(self._whole, output, format, prompt, ids)), streams

    def _request(self, output: Output, format: str, prompt: list[int], stream: bool) -> Any:
        """A request, adjusted as the renderer does, and a parser for it."""
        setting = output.source.setting
        made = self._parser_class(setting)
        asked = ChatCompletionRequest.model_validate(_fields(setting, stream))
        options = chat_template_kwargs_for(setting.thinking)
        tok = _tokenizer(format)
        if made.reasoning_parser_cls is not None or asked.tool_choice != "none":
            first = made(tok, asked.tools, model_config=None, chat_template_kwargs=options)
            first.set_prompt_token_ids(prompt)
            asked = first.adjust_request(request=asked)
        return asked, made(tok, asked.tools, model_config=None, chat_template_kwargs=options)

    def _whole(self, output: Output, format: str, prompt: list[int], ids: list[int]) -> Read:
        asked, parser = self._request(output, format, prompt, False)
        parser.set_prompt_token_ids(prompt)
        (text,) = _detokenized(format, asked, prompt, [ids], output.stop is not None)
        reasoning, content, calls = parser.parse(
            text, asked, enable_auto_tools=True, model_output_token_ids=ids
        )
        found = tuple(Call(it.name, it.arguments) for it in calls or ())
        return Read(reasoning or "", content or "", found)

    def _stream(
        self, output: Output, format: str, prompt: list[int], chunks: list[list[int]]
    ) -> Read:
        sum = StreamAccumulator()
        asked, parser = self._request(output, format, prompt, True)
        texts = _detokenized(format, asked, prompt, chunks, output.stop is not None)
        for at, (text, ids) in enumerate(zip(texts, chunks, strict=True)):
            is_last = at == len(chunks) - 1
            delta = parser.parse_delta(text, ids, asked, prompt_token_ids=prompt, finished=is_last)
            _add(sum, delta)
        read = sum.result()
        calls = tuple(Call(it.name, it.arguments_raw or "") for it in read.tool_calls)
        return Read(read.reasoning_content or "", read.content or "", calls)


class PlugIn(Vllm):
    """The parsers of this package in vLLM: `openchatml.integrations.vllm`."""

    name = "openchatml in vllm"

    def version(self) -> str:
        """The versions of both."""
        import openchatml

        return f"{openchatml.__version__} in {vllm.__version__}"

    def _names(self, setting: Setting) -> tuple[str, str | None]:
        from openchatml.integrations.vllm import NAMES

        format = format_of(setting.model)
        name = next(key for key, value in NAMES.items() if value == format)
        return name, name


@cache
def _prompt(format: str, text: str) -> list[int]:
    return encode(format, text)


def _fields(setting: Setting, stream: bool) -> dict[str, Any]:
    tools = json.loads(setting.tools)
    return {
        "model": setting.model,
        "messages": [{"role": "user", "content": "Use the tools."}],
        "stream": stream,
        "chat_template_kwargs": chat_template_kwargs_for(setting.thinking) or None,
        # Without tools, clients send neither.
        **({"tools": tools, "tool_choice": "auto"} if tools else {}),
    }


def _detokenized(
    format: str, asked: Any, prompt: list[int], chunks: list[list[int]], stopped: bool
) -> list[str]:
    """The text of each chunk; a server keeps the token at which it stops out of the text."""
    wanted = asked.to_sampling_params(4096, {})
    engine = SimpleNamespace(
        request_id="x",
        external_req_id="x",
        sampling_params=wanted,
        prompt_token_ids=prompt,
        prompt_embeds=None,
    )
    detokenizer = IncrementalDetokenizer.from_new_request(_tokenizer(format), engine)
    texts = []
    for at, ids in enumerate(chunks):
        is_last = at == len(chunks) - 1
        detokenizer.update(list(ids), stopped and is_last)
        texts.append(detokenizer.get_next_output_text(is_last, True))
    return texts


def _add(sum: StreamAccumulator, delta: Any) -> None:
    if delta is None:
        return
    sum.add_content(getattr(delta, "content", None))
    sum.add_reasoning(getattr(delta, "reasoning", None))
    for call in getattr(delta, "tool_calls", None) or []:
        function = call.function
        name = function.name if function else None
        sum.add_tool_call(int(call.index), name, function.arguments if function else None)
