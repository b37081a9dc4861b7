"""Tokenizers of `transformers` with one id for each byte, and one for each control token of a format."""

from __future__ import annotations

from functools import cache
from typing import Any

import openchatml
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers


@cache
def tiny(format: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: id for id, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    info = next(it for it in openchatml.formats() if it.name == format)
    tokenizer.add_special_tokens([AddedToken(it, special=True) for it in info.control_tokens])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
