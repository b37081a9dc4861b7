"""Where reasoning begins and ends, by the control tokens of a format alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..._openchatml import Tokenizer

__all__ = ["ReasoningPhase", "ends_after_reasoning"]


class ReasoningPhase:
    """Follows the ids of a completion until its reasoning is over.

    Args:
        tokenizer: The tokenizer of the format.
        in_reasoning: Whether the prompt ends inside of reasoning. Otherwise the first id decides.
    """

    def __init__(self, tokenizer: Tokenizer, in_reasoning: bool) -> None:
        self._marks = _marks(tokenizer)
        self._is_inside: bool | None = True if in_reasoning else None

    def feed(self, ids: Sequence[int]) -> list[int] | None:
        """Returns the ids behind the reasoning, or ``None`` if it goes on."""
        for at, id in enumerate(ids):
            if self._is_inside is False:
                return list(ids[at:])
            if self._is_inside is None:
                self._is_inside = id in self._marks.begins
                if not self._is_inside:
                    return list(ids[at:])
            elif id in self._marks.ends:
                self._is_inside = False
        return [] if self._is_inside is False else None


def ends_after_reasoning(tokenizer: Tokenizer, prompt: Sequence[int]) -> bool:
    """Returns whether a prompt ends after reasoning, so that the completion has none."""
    marks = _marks(tokenizer)
    for id in reversed(prompt):
        if id in marks.ends:
            return True
        if id in marks.controls:
            return False
    return False


class _Marks(NamedTuple):
    controls: frozenset[int]
    begins: frozenset[int]
    ends: frozenset[int]


@cache
def _marks(tokenizer: Tokenizer) -> _Marks:
    """The control tokens that begin reasoning, and those that end it."""
    text = tokenizer.encode("a")
    controls = frozenset(tokenizer.control_tokens.values())
    begins, ends = set(), set()
    for id in controls:
        begun = tokenizer.parse([id, *text], completion=True)
        chat = begun.conversation
        is_clean = all(it.code == "E-STREAM-TRUNCATED" for it in begun.diagnostics)
        if is_clean and len(chat) == 1 and chat[0].is_reasoning:
            begins.add(id)
        ended = tokenizer.parse([*text, id, *text], completion=True, in_reasoning=True)
        chat = ended.conversation
        if len(chat) == 2 and chat[0].is_reasoning and chat[1].is_answer:
            ends.add(id)
    return _Marks(controls, frozenset(begins), frozenset(ends))
