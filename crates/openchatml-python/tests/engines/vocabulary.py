"""Tokenizers for the models of the suite: the vocabulary of gpt-oss, and each model's control tokens.

The models' own tokenizers are not needed: parsers look for control tokens, and read the rest as text.
With the variable `VOCABULARY`, the `tokenizer.json` of `make-tiny-hf.py`, text has the ids that a real
vocabulary gives it; without it, each byte is an id.
"""

from __future__ import annotations

import json
import os
import random
from functools import cache
from typing import Any

import openchatml
from openchatml.integrations.canitoolcall import _format
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

# Control tokens that the models' tokenizers do not mark as special: a detokenizer keeps them. Those
# whose names begin like these.
KEPT = (
    "<tool_",
    "</tool_",
    "<think",
    "</think",
    "<arg_",
    "</arg_",
    "<｜tool",
    "｜DSML",
    "<｜U",
    "<｜A",
    "<|tool_call",
)
TOKEN_STEPS = (1, 8)
TOKENS = 30_000


def format_of(model: str) -> str:
    """The text format of a model."""
    name = _format(model)
    assert name is not None, model
    return name


@cache
def tokenizer_json(format: str) -> str:
    """A `tokenizer.json` for a text format."""
    path = os.environ.get("VOCABULARY")
    if path is not None and format == "harmony":
        return json.dumps(_read(path))
    whole = _bytes() if path is None else _smaller(path)
    controls = next(it.control_tokens for it in openchatml.formats() if it.name == format)
    first = len(whole["model"]["vocab"])
    added = [_added(first + at, name) for at, name in enumerate(controls)]
    return json.dumps({**whole, "added_tokens": added})


def _bytes() -> dict[str, Any]:
    made = Tokenizer(models.BPE(vocab=_letters(), merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    whole: dict[str, Any] = json.loads(made.to_str())
    return whole


def _letters() -> dict[str, int]:
    return {letter: id for id, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


@cache
def _read(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@cache
def _smaller(path: str) -> dict[str, Any]:
    """The first tokens of a vocabulary: loading all of them for each format takes long."""
    whole = _read(path)
    model = whole["model"]
    kept = {token: id for token, id in model["vocab"].items() if id < TOKENS}
    merges = [it for it in model["merges"] if {*it, "".join(it)} <= kept.keys()]
    return {**whole, "model": {**model, "vocab": kept, "merges": merges}}


def _added(id: int, name: str) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": name, "special": not name.startswith(KEPT), **flags}


@cache
def tokenizer(format: str) -> Any:
    """The tokenizer, of the package `tokenizers`."""
    return Tokenizer.from_str(tokenizer_json(format))


def encode(format: str, text: str) -> list[int]:
    """The ids of a text with control tokens."""
    ids: list[int] = tokenizer(format).encode(text, add_special_tokens=False).ids
    return ids


def chunkings(ids: list[int], seed: str) -> list[list[list[int]]]:
    """The ids one by one, and in steps of random lengths."""
    rng = random.Random(seed)
    steps: list[list[int]] = []
    at = 0
    while at < len(ids):
        end = at + rng.randint(*TOKEN_STEPS)
        steps.append(ids[at:end])
        at = end
    return [[[id] for id in ids], steps]
