"""``apply_chat_template``, with the arguments that users of ``transformers`` know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._batches import Padding, is_batch, without_content
from ._errors import ArgumentTypeError, ArgumentValueError
from ._openchatml import ChatTemplate, Conversation, Rendered, Tokenizer, prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ._openchatml import Parsed

    _Chat = Conversation | Parsed | dict[str, Any] | list[Any] | tuple[Any, ...]
    _Tool = dict[str, Any] | Callable[..., Any]

__all__ = ["apply_chat_template"]


def apply_chat_template(
    conversation: _Chat | Sequence[_Chat],
    tokenizer: Tokenizer | str,
    *,
    chat_template: ChatTemplate | str | None = None,
    tools: Sequence[_Tool] | None = None,
    documents: Sequence[dict[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    tokenize: bool = True,
    return_dict: bool = True,
    return_tensors: str | None = None,
    return_assistant_tokens_mask: bool = False,
    padding: bool | str = False,
    truncation: bool = False,
    max_length: int | None = None,
    tokenizer_kwargs: Mapping[str, Any] | None = None,
    **variables: Any,
) -> Any:
    """Writes conversations as prompts: with a chat template, or in one of our formats.

    With `chat_template`, the result is that of ``transformers`` with this template, with these
    differences: text of a message never becomes a control token. The template gets the conversation
    as it was read, not the dicts: known names of roles become those of OpenAI's API (``human`` is
    ``user``), an unknown role is an error, text parts are one text, arguments of calls are objects,
    and images and other fields of messages are left out. A template that asks for the date gets
    `date`, which must be given. Without `chat_template`, the result is the prompt of
    :meth:`Tokenizer.prompt` in the format of the tokenizer, and the mask is that of
    :meth:`Tokenizer.sample`.

    Args:
        conversation: A conversation or the messages of one as dicts; or a list of such conversations.
        tokenizer: The tokenizer; or the name of a format, if `tokenize` is false.
        chat_template: The template or its source.
        tools: Functions of Python with type hints, or declarations as OpenAI's API has them. A
            function is declared by :func:`declaration`; ``transformers`` omits the defaults of
            parameters and adds the type of the result, so pass declarations for the same prompt.
        documents: A variable of templates.
        add_generation_prompt: Ends the prompt where the assistant speaks.
        continue_final_message: Leaves the last message open. Not with `add_generation_prompt`. The name
            of a field leaves its text open: ``"content"``, or ``"reasoning_content"`` for a message
            without an answer. With a chat template, only ``"content"``.
        tokenize: Returns token ids, and not text.
        return_dict: Returns a dict with ``input_ids`` and ``attention_mask``. Otherwise returns the
            ids.
        return_tensors: ``"np"`` or ``"pt"``: arrays of NumPy (``int64``) or tensors of PyTorch, of
            the shape (conversations, ids). Without `padding`, all conversations must then have the same
            length.
        return_assistant_tokens_mask: Adds ``assistant_masks`` to the dict: 1 for each id that the
            assistant generates.
        padding: ``True`` or ``"longest"`` makes all conversations as long as the longest one,
            ``"max_length"`` as long as `max_length`. ``attention_mask`` and ``assistant_masks`` are 0
            for the added ids.
        truncation: Cuts the ids after `max_length`.
        max_length: The maximum number of ids. The unit is one token.
        tokenizer_kwargs: More options: ``padding_side`` (``"left"`` or ``"right"``, the default),
            ``pad_to_multiple_of`` (a number of ids) and ``pad_token_id``. The default for the last one
            is the id of ``<|endoftext|>``, if the tokenizer has it.
        **variables: Variables of the template, or options of :meth:`Tokenizer.prompt`.

    Raises:
        ArgumentTypeError: An argument has the wrong type.
        ArgumentValueError: Arguments contradict each other.
        TemplateError: The template is invalid, or rejects the conversation.
        RenderError: The format cannot express the conversation.

    >>> import openchatml
    >>> chat = [{"role": "user", "content": "Hi!"}]
    >>> openchatml.apply_chat_template(chat, "chatml", tokenize=False, add_generation_prompt=True)
    '<|im_start|>user\\nHi!<|im_end|>\\n<|im_start|>assistant\\n'
    >>> template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"
    >>> openchatml.apply_chat_template(chat, "chatml", chat_template=template, tokenize=False)
    '[user] Hi!'
    """
    if return_assistant_tokens_mask:
        if not (tokenize and return_dict):
            raise ArgumentValueError(
                "argument `return_assistant_tokens_mask`: it requires `tokenize` and `return_dict`"
            )
        if continue_final_message:
            raise ArgumentValueError(
                "argument `return_assistant_tokens_mask`: it cannot be combined with "
                "`continue_final_message`"
            )
    if return_tensors not in (None, "np", "pt"):
        raise ArgumentValueError(
            f"argument `return_tensors`: `{return_tensors}` is not `np` or `pt`"
        )
    if (truncation or padding == "max_length") and max_length is None:
        name = "truncation" if truncation else "padding"
        raise ArgumentValueError(f"argument `{name}`: it requires `max_length`")
    # Text has no ids to add.
    pad = Padding.of(padding, max_length, tokenizer_kwargs, tokenizer) if tokenize else None
    if isinstance(continue_final_message, str) and continue_final_message != "content":
        if chat_template is not None:
            raise ArgumentValueError(
                "argument `continue_final_message`: with a chat template, only `content` is continued"
            )
        conversation = without_content(conversation, continue_final_message)
    options: dict[str, Any] = dict(
        variables,
        tools=tools,
        add_generation_prompt=add_generation_prompt,
        continue_final_message=bool(continue_final_message),
    )
    if chat_template is not None:
        if not isinstance(chat_template, ChatTemplate):
            chat_template = ChatTemplate(chat_template)
        if documents is not None:
            options["documents"] = documents
    elif documents is not None:
        raise ArgumentValueError("argument `documents`: only a chat template uses them")
    if tokenize and not isinstance(tokenizer, Tokenizer):
        raise ArgumentTypeError(
            f"argument `tokenizer`: expected a `Tokenizer`, not `{type(tokenizer).__name__}`; "
            "the name of a format suffices if `tokenize` is false"
        )
    has_many = is_batch(conversation)
    chats: Any = conversation if has_many else [conversation]
    if not tokenize:
        texts = [_text(chat, tokenizer, chat_template, options) for chat in chats]
        return texts if has_many else texts[0]
    assert isinstance(tokenizer, Tokenizer)
    rendered = [
        _ids(chat, tokenizer, chat_template, options, return_assistant_tokens_mask)
        for chat in chats
    ]
    most = max_length if truncation else None
    ids = [one.tolist()[:most] for one in rendered]
    output: dict[str, Any] = {
        "input_ids": ids,
        "attention_mask": [[1] * len(row) for row in ids],
    }
    if return_assistant_tokens_mask:
        output["assistant_masks"] = [(one.mask_list() or [])[:most] for one in rendered]
    if pad is not None:
        pad.fill(output)
    if return_tensors is not None:
        output = {key: _tensor(rows, return_tensors) for key, rows in output.items()}
    elif not has_many:
        output = {key: rows[0] for key, rows in output.items()}
    return output if return_dict else output["input_ids"]


def _text(
    chat: _Chat, target: Tokenizer | str, template: ChatTemplate | None, options: dict[str, Any]
) -> str:
    if template is not None:
        return template.render(chat, **options)
    return prompt(chat, target if isinstance(target, str) else target.format, **options).output


def _ids(
    chat: _Chat,
    tokenizer: Tokenizer,
    template: ChatTemplate | None,
    options: dict[str, Any],
    masked: bool,
) -> Rendered:
    if template is not None:
        return template.ids(chat, tokenizer, **options)
    if masked:
        if options["add_generation_prompt"]:
            raise ArgumentValueError(
                "argument `return_assistant_tokens_mask`: a training sample has no open message, so "
                "it cannot be combined with `add_generation_prompt`"
            )
        ours = ("add_generation_prompt", "continue_final_message")
        return tokenizer.sample(chat, **{key: it for key, it in options.items() if key not in ours})
    return tokenizer.prompt(chat, **options)


def _tensor(rows: list[list[int]], kind: str) -> Any:
    if len({len(row) for row in rows}) > 1:
        raise ArgumentValueError(
            "argument `return_tensors`: the conversations have different lengths; use `padding`"
        )
    if kind == "np":
        import numpy

        return numpy.array(rows, dtype=numpy.int64)
    import torch  # type: ignore[import-not-found,unused-ignore]

    return torch.tensor(rows, dtype=torch.int64)
