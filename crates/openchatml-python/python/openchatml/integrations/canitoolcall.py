"""An engine for ``canitoolcall``, the conformance suite for parsers of tool calls and reasoning.

With that package and this one installed::

    canitoolcall run --engine openchatml.integrations.canitoolcall:OpenchatmlAdapter

The suite records outputs of models as text, and as token ids of the models' tokenizers. If the
variable ``OPENCHATML_TOKENIZERS`` is a folder with these tokenizers, each in a folder with the name of
its model such as ``Qwen/Qwen3-8B``, the recorded ids are read. gpt-oss requires none. For all other
models, the text is split into control tokens and bytes, and these are the ids of the streams.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from canitoolcall.adapters.base import Adapter, ReplayInput, Support, ToolSpec
from canitoolcall.results import ParseResult, StreamAccumulator

from .._openchatml import Tokenizer, __version__, formats, parse
from ._completion import CompletionReader, Piece, is_in_reasoning

__all__ = ["FORMATS", "OpenchatmlAdapter"]

FORMATS = {
    "Qwen/Qwen3": "qwen3",
    "Qwen/Qwen3-Coder": "qwen3-coder",
    "Qwen/Qwen3.": "qwen3.8",
    "Qwen/Qwen3.5": "qwen3.5",
    "Qwen/Qwen3.6": "qwen3.6",
    "allenai/Olmo-3": "olmo-3",
    "deepseek-ai/DeepSeek-R1": "deepseek-v3",
    "deepseek-ai/DeepSeek-V3": "deepseek-v3",
    "deepseek-ai/DeepSeek-V3.1": "deepseek-v3.1",
    "deepseek-ai/DeepSeek-V3.2": "deepseek-v3.2",
    "deepseek-ai/DeepSeek-V4": "deepseek-v4",
    "deepseek-ai/DeepSeek-V4.1": "deepseek-v4.1",
    "google/gemma-4": "gemma-4",
    "LiquidAI/LFM2-": "lfm2",
    "LiquidAI/LFM2.5": "lfm2.5",
    "meta-llama/Llama-3": "llama-3",
    "meta-llama/Llama-4": "llama-4",
    "mistralai/": "mistral-v13",
    "mistralai/Devstral-Small-2507": "mistral-v11",
    "mistralai/Mistral-Small-3.2": "mistral-v11",
    "mistralai/Magistral-Small-2506": "mistral-v11",
    "mistralai/Mistral-7B": "mistral-v7",
    "ByteDance-Seed/Seed-OSS": "seed-oss",
    "ibm-granite/granite-4.0": "granite-4",
    "microsoft/Phi-4-mini": "phi-4-mini",
    "tencent/Hy3": "hy-3",
    "MiniMaxAI/MiniMax-M2": "minimax-m2",
    "MiniMaxAI/MiniMax-M3": "minimax-m3",
    "moonshotai/Kimi-K2": "kimi-k2",
    "moonshotai/Kimi-K3": "kimi-k3",
    "openai/gpt-oss": "harmony",
    "nvidia/NVIDIA-Nemotron-3": "nemotron-3",
    "zai-org/GLM": "glm-4.7",
    "zai-org/GLM-4.5": "glm-4.5",
    "zai-org/GLM-4.6": "glm-4.5",
}
"""The format of each model, by the beginning of its name. The longest one counts."""


class OpenchatmlAdapter(Adapter):
    """Reads the outputs of models with :class:`openchatml.Stream`.

    An output is read as a completion of the fixture's generation prompt, with its tools, up to its end:
    a stop token in the middle does not end it. A call is returned when it is complete. Text whose
    meaning is uncertain is left out.
    """

    name = "openchatml"
    supports_text_deltas = True
    pinned_version = __version__
    tokens_per_step = "many"

    def version(self) -> str:
        """The version of this package."""
        return __version__

    def supports(self, family: str, model: str) -> Support:
        """Whether there is a format for this model."""
        if _format(model) is None:
            return Support(False, f"there is no format for {model}")
        return Support(True)

    def parser_config(self, raw: ReplayInput) -> dict[str, Any]:
        """The format, the source of the ids, and whether the output begins inside of reasoning."""
        tokenizer, is_real = _tokenizer(raw.model)
        return {
            "format": tokenizer.format,
            "ids": "of the tokenizer" if is_real else "control tokens and bytes",
            "in_reasoning": _in_reasoning(raw),
        }

    def units(self, raw: ReplayInput) -> list[int]:
        """The ids of the output."""
        tokenizer, is_real = _tokenizer(raw.model)
        if is_real and raw.token_ids is not None:
            return list(raw.token_ids)
        return _ids(tokenizer, raw.text)

    def special_token_ids(self, raw: ReplayInput) -> Collection[int]:
        """The ids of control tokens."""
        tokenizer, _ = _tokenizer(raw.model)
        return set(tokenizer.control_tokens.values())

    def parse(self, raw: ReplayInput, tools: Sequence[ToolSpec]) -> ParseResult:
        """Reads the whole output."""
        tokenizer, _ = _tokenizer(raw.model)
        return _result(_reader(raw, tokenizer, tools), [self.units(raw)], _stop(raw, tokenizer))

    def parse_stream(
        self, raw: ReplayInput, chunks: Sequence[Sequence[int]], tools: Sequence[ToolSpec]
    ) -> ParseResult:
        """Reads the output in these chunks of ids."""
        tokenizer, _ = _tokenizer(raw.model)
        return _result(_reader(raw, tokenizer, tools), chunks, _stop(raw, tokenizer))

    def parse_stream_text(
        self, raw: ReplayInput, deltas: Sequence[str], tools: Sequence[ToolSpec]
    ) -> ParseResult:
        """Reads the output in these chunks of text."""
        tokenizer, _ = _tokenizer(raw.model)
        stop = tokenizer.decode(_stop(raw, tokenizer))
        return _result(_reader(raw, tokenizer.format, tools), deltas, stop)


def _format(model: str) -> str | None:
    known = [name for name in FORMATS if model.startswith(name)]
    return FORMATS[max(known, key=len)] if known else None


@cache
def _tokenizer(model: str) -> tuple[Tokenizer, bool]:
    """The tokenizer for a model, and whether it is that of the model."""
    format = _format(model)
    assert format is not None, f"{model} is not supported"
    if format == "harmony":
        return Tokenizer(format), True
    folder = os.environ.get("OPENCHATML_TOKENIZERS")
    if folder and (Path(folder) / model).is_dir():
        return Tokenizer(format, Path(folder) / model), True
    return Tokenizer(format, _bytes_and_control_tokens(format)), False


def _bytes_and_control_tokens(format: str) -> bytes:
    """A ``tokenizer.json`` with an id for each byte, and one for each control token of a format."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    letters = [chr(byte) for byte in plain] + [chr(0x100 + at) for at in range(len(others))]
    controls = next(it.control_tokens for it in formats() if it.name == format)
    added = [
        {"id": 0x100 + at, "content": spelling, "special": True}
        for at, spelling in enumerate(controls)
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    vocabulary = {letter: id for id, letter in enumerate(letters)}
    return json.dumps(
        {
            "added_tokens": added,
            "pre_tokenizer": level,
            "decoder": level,
            "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
        }
    ).encode()


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text in which control tokens are spelled."""
    controls = sorted(tokenizer.control_tokens.items(), key=lambda it: -len(it[0]))
    ids: list[int] = []
    begin = at = 0
    while at < len(text):
        found = next((it for it in controls if text.startswith(it[0], at)), None)
        if found is None:
            at += 1
            continue
        ids += [*tokenizer.encode(text[begin:at]), found[1]]
        begin = at = at + len(found[0])
    return ids + tokenizer.encode(text[begin:])


def _in_reasoning(raw: ReplayInput) -> bool:
    format = _format(raw.model)
    return bool(raw.generation_prompt) and is_in_reasoning(str(format), str(raw.generation_prompt))


def _reader(
    raw: ReplayInput, source: Tokenizer | str, tools: Sequence[ToolSpec]
) -> CompletionReader:
    return CompletionReader(
        source,
        in_reasoning=_in_reasoning(raw),
        tools=tools,
        past_stop=True,
        whole_calls=True,
        keep_uncertain=False,
    )


def _stop(raw: ReplayInput, tokenizer: Tokenizer) -> list[int]:
    """The token at which the model has stopped, which the outputs do not contain."""
    if raw.truncated:
        return []
    call = tokenizer.control_tokens.get("<|call|>")
    if call in tokenizer.stop_ids:
        said = parse(raw.text, tokenizer.format, completion=True, past_stop=True).conversation
        if len(said) > 0 and said[-1].tool is not None:
            return [call]
    return tokenizer.stop_ids[:1]


def _result(
    reader: CompletionReader, chunks: Sequence[Any], stop: Sequence[int] | str
) -> ParseResult:
    found = StreamAccumulator()
    for chunk in [*chunks, stop]:
        _add(found, reader.feed(chunk))
    _add(found, reader.finish())
    return found.result()


def _add(found: StreamAccumulator, pieces: list[Piece]) -> None:
    for piece in pieces:
        if piece.kind == "reasoning":
            found.add_reasoning(piece.text)
        elif piece.kind == "content":
            found.add_content(piece.text)
        elif piece.kind == "call":
            found.add_tool_call(piece.call, name=piece.text)
        else:
            found.add_tool_call(piece.call, arguments=piece.text)
