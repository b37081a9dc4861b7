"""Reads and writes with the names of ``transformers``, in the formats of this package."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from .._batches import is_batch
from .._chat_template import apply_chat_template
from .._errors import ArgumentTypeError, ArgumentValueError
from .._openchatml import Tokenizer
from ._completion import Completion, CompletionReader, is_in_reasoning

__all__ = ["masking", "parse_response"]


def parse_response(
    tokenizer: Tokenizer,
    response: Any,
    *,
    prefix: Any = None,
    tools: Sequence[Any] | None = None,
) -> Any:
    """Reads what a model generated as a message, as the method of tokenizers of this name does.

    It requires no response template. Reading never fails: text whose meaning is uncertain becomes
    reasoning, and a call with a guessed part is left out.

    Args:
        tokenizer: The tokenizer with the format.
        response: The text, or the token ids: a list, an array or a tensor. Or a batch of them. Control
            tokens must be in the text: decode with ``skip_special_tokens=False``.
        prefix: The prompt before it, as text or ids, or one for each response. It tells whether the
            response begins inside of reasoning. ``""`` is no prompt.
        tools: The tools that the model can call. In formats whose calls do not say which arguments are
            strings, such as qwen3-coder, their schemas do.

    Returns:
        A dict, or a list of dicts for a batch: ``role``, ``content``, and if there are some,
        ``reasoning_content`` and ``tool_calls``. The arguments of a call are a dict, or a text if they
        are not JSON.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid, or `prefix` is missing.

    >>> import openchatml
    >>> tokenizer = openchatml.Tokenizer("harmony")
    >>> text = "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>4."
    >>> parse_response(tokenizer, text, prefix="")
    {'role': 'assistant', 'content': '4.', 'reasoning_content': 'Easy.'}
    """
    if not isinstance(tokenizer, Tokenizer):
        raise ArgumentTypeError(
            f"argument `tokenizer`: expected a `Tokenizer`, not `{type(tokenizer).__name__}`"
        )
    if prefix is None:
        raise ArgumentValueError(
            "argument `prefix`: pass the prompt, which can end inside of reasoning, or an empty text"
        )
    responses, is_many = _sequences(response)
    prefixes, has_prefixes = _sequences(prefix)
    if has_prefixes and len(prefixes) != len(responses):
        raise ArgumentValueError(
            f"argument `prefix`: {len(prefixes)} prompts for {len(responses)} responses"
        )
    if not has_prefixes:
        prefixes = prefixes * len(responses)
    pairs = zip(responses, prefixes, strict=True)
    messages = [_message(_read(tokenizer, said, prompt, tools)) for said, prompt in pairs]
    return messages if is_many else messages[0]


def _sequences(value: Any) -> tuple[list[Any], bool]:
    """The texts or lists of ids of an argument, and whether it is a batch."""
    if isinstance(value, str):
        return [value], False
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, (list, tuple)):
        raise ArgumentTypeError(
            f"expected a text, token ids, or a batch of them, not `{type(value).__name__}`"
        )
    if plain and not isinstance(plain[0], int):
        return list(plain), True
    return [list(plain)], False


def _read(
    tokenizer: Tokenizer, said: Any, prompt: Any, tools: Sequence[Any] | None
) -> Completion:
    in_reasoning = bool(prompt) and is_in_reasoning(tokenizer, prompt)
    source = tokenizer.format if isinstance(said, str) else tokenizer
    return CompletionReader.whole(source, said, in_reasoning=in_reasoning, tools=tools)


def _message(read: Completion) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": read.content or ""}
    if read.reasoning is not None:
        message["reasoning_content"] = read.reasoning
    if read.calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": call.tool, "arguments": _data(call.arguments)}}
            for call in read.calls
        ]
    return message


def _data(arguments: str) -> Any:
    try:
        data = json.loads(arguments)
    except ValueError:
        return arguments
    return data if isinstance(data, dict) else arguments


def masking(tokenizer: Any, format: str, **options: Any) -> Any:
    """Returns a copy of a tokenizer of ``transformers`` that writes and reads a format.

    Its ``apply_chat_template`` writes the format instead of the chat template, with a mask if
    ``return_assistant_tokens_mask`` is true; its ``parse_response`` reads the format. Everything else
    is that of the tokenizer, so it can be the ``processing_class`` of a trainer.

    Args:
        tokenizer: A fast tokenizer.
        format: The name of the text format.
        **options: Options of :meth:`Tokenizer.prompt` and :meth:`Tokenizer.sample` for all
            conversations, such as ``bare=True``.

    Raises:
        EncodingError: The vocabulary has no ids for control tokens of the format.
    """
    own = Tokenizer(format, tokenizer)

    def write(self: Any, conversation: Any, tools: Any = None, **given: Any) -> Any:
        given.pop("chat_template", None)
        if given.get("padding") and getattr(self, "pad_token_id", None) is not None:
            known = {"pad_token_id": self.pad_token_id, "padding_side": self.padding_side}
            given["tokenizer_kwargs"] = {**known, **(given.get("tokenizer_kwargs") or {})}
        has_many = is_batch(conversation)
        chats = conversation if has_many else [conversation]
        clean = [[_given(message) for message in chat] for chat in chats]
        chat = clean if has_many else clean[0]
        return apply_chat_template(chat, own, tools=tools, **{**options, **given})

    def read(
        self: Any, response: Any, schema: Any = None, *, prefix: Any = None, tools: Any = None
    ) -> Any:
        return parse_response(own, response, prefix=prefix, tools=tools)

    made = copy.copy(tokenizer)
    methods = {"apply_chat_template": write, "parse_response": read}
    made.__class__ = type("Masking", (type(tokenizer),), methods)
    return made


def _given(data: Any) -> Any:
    """A message without the keys that have no value, which data sets add."""
    if isinstance(data, dict):
        return {key: _given(value) for key, value in data.items() if value is not None}
    return [_given(value) for value in data] if isinstance(data, list) else data
