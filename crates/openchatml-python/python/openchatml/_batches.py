"""Batches of conversations: what is one, and padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ._errors import ArgumentTypeError, ArgumentValueError
from ._openchatml import Conversation, Tokenizer

__all__ = ["Padding", "is_batch", "without_content"]

_END_OF_TEXT = "<|endoftext|>"


def is_batch(conversation: Any) -> bool:
    """Whether this is a list of conversations, and not one."""
    if not isinstance(conversation, (list, tuple)):
        return False
    if not conversation:
        raise ArgumentValueError("argument `conversation`: it has no messages")
    return isinstance(conversation[0], (list, tuple, Conversation))


def without_content(conversation: Any, field: str) -> Any:
    """Returns conversations whose last messages end with the text of this field."""
    if is_batch(conversation):
        return [without_content(one, field) for one in conversation]
    last = conversation[-1] if isinstance(conversation, (list, tuple)) else None
    if not isinstance(last, dict) or not isinstance(last.get(field), str):
        raise ArgumentValueError(
            f"argument `continue_final_message`: the last message has no text `{field}`"
        )
    others = ("content", "tool_calls")
    if found := next((key for key in others if last.get(key)), None):
        raise ArgumentValueError(
            f"argument `continue_final_message`: the last message has `{found}` after `{field}`"
        )
    return [*conversation[:-1], {key: it for key, it in last.items() if key not in others}]


class Padding(NamedTuple):
    """How the rows of a batch get the same length."""

    id: int
    least: int
    """The smallest length."""
    multiple: int
    """The length is a multiple of this number."""
    is_left: bool

    @classmethod
    def of(
        cls,
        padding: bool | str,
        max_length: int | None,
        options: Mapping[str, Any] | None,
        tokenizer: Tokenizer | str,
    ) -> Padding | None:
        """Reads the arguments of ``apply_chat_template``. ``None`` is no padding."""
        if not isinstance(padding, (bool, str)):
            raise ArgumentTypeError(
                f"argument `padding`: expected a `bool` or a `str`, not `{type(padding).__name__}`"
            )
        given = dict(options or {})
        side = given.pop("padding_side", "right")
        multiple = given.pop("pad_to_multiple_of", None) or 1
        id = given.pop("pad_token_id", None)
        if given:
            raise ArgumentValueError(f"argument `tokenizer_kwargs`: `{next(iter(given))}` is unknown")
        if side not in ("left", "right"):
            raise ArgumentValueError(f"argument `padding_side`: `{side}` is not `left` or `right`")
        for name, number in (("pad_to_multiple_of", multiple), ("pad_token_id", id)):
            if number is not None and (not isinstance(number, int) or number < 0):
                raise ArgumentValueError(f"argument `{name}`: `{number}` is not a number")
        if padding in (False, "do_not_pad"):
            return None
        if padding not in (True, "longest", "max_length"):
            raise ArgumentValueError(
                f"argument `padding`: `{padding}` is not `longest`, `max_length` or `do_not_pad`"
            )
        if id is None and isinstance(tokenizer, Tokenizer):
            id = tokenizer.control_tokens.get(_END_OF_TEXT)
        if id is None:
            raise ArgumentValueError(
                "argument `padding`: it requires `tokenizer_kwargs={'pad_token_id': …}`"
            )
        least = (max_length or 0) if padding == "max_length" else 0
        return cls(id, least, multiple, side == "left")

    def fill(self, rows: dict[str, list[list[int]]]) -> None:
        """Makes the rows of all lists equally long."""
        length = max([self.least, *map(len, rows["input_ids"])])
        length += -length % self.multiple
        for key, lists in rows.items():
            value = self.id if key == "input_ids" else 0
            for at, row in enumerate(lists):
                added = [value] * (length - len(row))
                lists[at] = added + row if self.is_left else row + added
