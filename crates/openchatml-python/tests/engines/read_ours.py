"""Reads outputs with this package, as the plug-in for vLLM does, but with calls as a whole."""

from __future__ import annotations

import json
from functools import cache, partial

import openchatml
from mutations import Output
from openchatml.integrations._completion import CompletionReader, is_in_reasoning
from rules import Call, Read, limited
from vocabulary import chunkings, encode, format_of, tokenizer_json


@cache
def _tokenizer(format: str) -> openchatml.Tokenizer:
    return openchatml.Tokenizer(format, tokenizer_json(format).encode())


class Ours:
    """`openchatml.integrations._completion.CompletionReader`, which all plug-ins use."""

    name = "openchatml"

    def version(self) -> str:
        """The version of the package."""
        return openchatml.__version__

    def read(self, output: Output) -> tuple[Read, list[Read]]:
        """The result for the whole output, and those for streams."""
        format = format_of(output.source.setting.model)
        ids = encode(format, output.text + (output.stop or ""))
        chunked = chunkings(ids, output.text)
        # Loaded before the time is taken.
        _tokenizer(format)
        reads = [limited(partial(self._read, output, format, it)) for it in [[ids], *chunked]]
        return reads[0], reads[1:]

    def _read(self, output: Output, format: str, chunks: list[list[int]]) -> Read:
        reader = CompletionReader(
            _tokenizer(format),
            in_reasoning=is_in_reasoning(format, output.source.setting.prompt),
            tools=json.loads(output.source.setting.tools),
            whole_calls=True,
        )
        pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
        pieces += reader.finish()
        texts = {"reasoning": "", "content": ""}
        calls: list[Call] = []
        for piece in pieces:
            if piece.kind == "call":
                calls.append(Call(piece.text, ""))
            elif piece.kind == "arguments":
                calls[piece.call] = Call(
                    calls[piece.call].name, calls[piece.call].arguments + piece.text
                )
            else:
                texts[piece.kind] += piece.text
        return Read(texts["reasoning"], texts["content"], tuple(calls))
