"""The tokenizers of vLLM as those of this package."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

from ..._openchatml import Tokenizer

__all__ = ["tokenizer_for"]

_MOST = 8

_lock = Lock()
# The tokenizer of vLLM is part of the value so that its id stays its own.
_known: OrderedDict[tuple[int, str], tuple[Any, Tokenizer]] = OrderedDict()


def tokenizer_for(format: str, tokenizer: Any) -> Tokenizer:
    """Returns the tokenizer for a format. vLLM creates a parser for each request, so it is kept.

    Raises:
        EncodingError: The vocabulary has no ids for control tokens of the format.
    """
    key = (id(tokenizer), format)
    with _lock:
        found = _known.get(key)
        if found is None:
            found = (tokenizer, Tokenizer(format, tokenizer))
            _known[key] = found
            if len(_known) > _MOST:
                _known.popitem(last=False)
        else:
            _known.move_to_end(key)
    return found[1]
