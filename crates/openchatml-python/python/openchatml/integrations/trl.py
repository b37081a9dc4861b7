"""Data sets for TRL 1.16: token ids with masks, preference pairs, and packing.

TRL trains on a data set with ``input_ids`` and ``labels`` as it is, so no training template is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._errors import ArgumentTypeError, ArgumentValueError, Error
from .._openchatml import Conversation, Rendered, Tokenizer

try:
    import datasets
except ImportError as error:
    raise ImportError("this module requires the package `datasets`: pip install datasets") from error

__all__ = [
    "IGNORED",
    "PreparedPreferences",
    "pack",
    "tokenize_for_preference",
    "tokenize_for_sft",
]

IGNORED = -100
"""The label of an id that is not trained."""

_Data = Any
"""A `Dataset`, `DatasetDict`, `IterableDataset` or `IterableDatasetDict`."""


def tokenize_for_sft(
    dataset: _Data,
    tokenizer: Tokenizer,
    *,
    messages: str = "messages",
    tools: str | None = "tools",
    max_length: int | None = None,
    too_long: str = "drop",
    num_proc: int | None = None,
    **options: Any,
) -> _Data:
    """Writes conversations as token ids with labels, as ``SFTTrainer`` takes them.

    The new columns are lists of the same length: ``input_ids``, ``labels`` (the id, or -100 if it is
    not trained) and ``assistant_masks`` (1 if it is trained). All other columns are removed. Text of a
    message is never encoded as a control token.

    Train with ``SFTConfig(assistant_only_loss=False)``: the labels have the mask already.

    Args:
        dataset: A data set of ``datasets``, also a streamed one or one with splits.
        tokenizer: The tokenizer with the format.
        messages: The column with the messages, as dicts of OpenAI's API.
        tools: The column with the declared tools, if the data set has it.
        max_length: The maximum number of ids of a conversation.
        too_long: What happens to longer conversations: ``"drop"`` removes them, ``"cut"`` keeps the
            messages that fit as a whole.
        num_proc: The number of processes. Not for streamed data sets.
        **options: Options of :meth:`Tokenizer.sample`, such as ``train="answers"`` or ``bare=True``.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        Error: A conversation cannot be read or written; the text tells the row. Without `allow_loss`
            in the options, what the format cannot express is left out.

    >>> import datasets, openchatml
    >>> chats = [[{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4."}]]
    >>> data = datasets.Dataset.from_dict({"messages": chats})
    >>> tokenizer = openchatml.Tokenizer("harmony")
    >>> row = tokenize_for_sft(data, tokenizer, bare=True)[0]
    >>> tokenizer.decode([id for id in row["labels"] if id != -100])
    '<|channel|>final<|message|>4.<|return|>'
    """
    _checked(tokenizer, max_length)
    if too_long not in ("drop", "cut"):
        raise ArgumentValueError(f"argument `too_long`: `{too_long}` is not `drop` or `cut`")

    def row(example: dict[str, Any], index: int) -> dict[str, list[int]]:
        declared = _tools(example, tools)
        chat = _column(example, messages, index)
        sample = _sampled(tokenizer, chat, index, declared, options)
        ids, mask = sample.tolist(), sample.mask_list() or []
        end = len(ids)
        if max_length is not None and end > max_length:
            end = _whole_messages(sample, max_length) if too_long == "cut" else 0
        ids, mask = ids[:end], mask[:end]
        labels = [id if bit else IGNORED for id, bit in zip(ids, mask, strict=True)]
        return {"input_ids": ids, "labels": labels, "assistant_masks": mask}

    made = _mapped(dataset, row, num_proc)
    # A row without a label teaches nothing, and its loss is not a number.
    return made.filter(_has_labels, **_processes(dataset, num_proc))


def _has_labels(example: dict[str, Any]) -> bool:
    return any(label != IGNORED for label in example["labels"])


def _whole_messages(sample: Rendered, most: int) -> int:
    """The number of ids of the messages at the beginning that fit."""
    ends = [span.end[1] for span in sample.span_list() if span.end[0] < span.end[1] <= most]
    return max(ends, default=0)


def tokenize_for_preference(
    dataset: _Data,
    tokenizer: Tokenizer,
    *,
    prompt: str = "prompt",
    chosen: str = "chosen",
    rejected: str = "rejected",
    tools: str | None = "tools",
    max_length: int | None = None,
    num_proc: int | None = None,
    **options: Any,
) -> _Data:
    """Writes preference pairs as token ids, for ``DPOTrainer`` with :class:`PreparedPreferences`.

    The new columns are ``prompt_ids``, ``chosen_ids`` and ``rejected_ids``. The prompt ends where both
    conversations begin to differ, before the first message of the assistant that is not the same. All
    other columns are removed.

    Args:
        dataset: A data set with two conversations in each row: whole ones, or ends of the prompt.
        tokenizer: The tokenizer with the format.
        prompt: The column with the common messages, if the data set has it.
        chosen: The column with the preferred messages.
        rejected: The column with the other messages.
        tools: The column with the declared tools, if the data set has it.
        max_length: The maximum number of ids of the prompt with an answer. Longer pairs are removed.
        num_proc: The number of processes. Not for streamed data sets.
        **options: Options of :meth:`Tokenizer.sample`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid, or a pair has no difference.
        Error: A conversation cannot be read or written; the text tells the row.

    >>> import datasets, openchatml
    >>> def said(text):
    ...     return [{"role": "assistant", "content": text}]
    >>> pair = {"prompt": [[{"role": "user", "content": "2 + 2?"}]], "chosen": [said("4.")],
    ...         "rejected": [said("5.")]}
    >>> tokenizer = openchatml.Tokenizer("harmony")
    >>> row = tokenize_for_preference(datasets.Dataset.from_dict(pair), tokenizer, bare=True)[0]
    >>> tokenizer.decode(row["prompt_ids"]), tokenizer.decode(row["rejected_ids"])
    ('<|start|>user<|message|>2 + 2?<|end|><|start|>assistant', '<|channel|>final<|message|>5.<|return|>')
    """
    _checked(tokenizer, max_length)

    def row(example: dict[str, Any], index: int) -> dict[str, list[int]]:
        declared = _tools(example, tools)
        common = list(example.get(prompt) or [])
        sides = [
            _sampled(tokenizer, [*common, *example[side]], index, declared, options)
            for side in (chosen, rejected)
        ]
        ids = [side.tolist() for side in sides]
        if ids[0] == ids[1]:
            raise ArgumentValueError(f"row {index}: the conversations are the same")
        begin = _first_difference(sides)
        if max_length is not None and max(map(len, ids)) > max_length:
            return {"prompt_ids": [], "chosen_ids": [], "rejected_ids": []}
        return {
            "prompt_ids": ids[0][:begin],
            "chosen_ids": ids[0][begin:],
            "rejected_ids": ids[1][begin:],
        }

    made = _mapped(dataset, row, num_proc)
    return made.filter(_has_answers, **_processes(dataset, num_proc))


class PreparedPreferences:
    """Makes a ``DPOTrainer`` take the data sets of :func:`tokenize_for_preference` as they are.

    ``DPOTrainer`` 1.16 writes every data set as token ids itself, with its chat template. Put this
    class before it: ``class Trainer(PreparedPreferences, DPOTrainer): pass``.
    """

    def _prepare_dataset(self, dataset: _Data, *args: object, **options: object) -> _Data:
        return dataset


def _has_answers(example: dict[str, Any]) -> bool:
    return bool(example["chosen_ids"] or example["rejected_ids"])


def _first_difference(sides: Sequence[Rendered]) -> int:
    """The number of ids before the answers: the trained ids that follow the last common message."""
    ids = [side.tolist() for side in sides]
    common = next(
        (at for at, pair in enumerate(zip(*ids, strict=False)) if pair[0] != pair[1]),
        min(map(len, ids)),
    )
    ends = [span.end[1] for span in sides[0].span_list() if span.end[0] < span.end[1] <= common]
    begin = max(ends, default=0)
    # What the model does not generate, such as `<|start|>assistant`, is part of the prompt.
    masks = [side.mask_list() or [] for side in sides]
    while begin < common and not any(mask[begin] for mask in masks):
        begin += 1
    return begin


def pack(dataset: _Data, length: int) -> _Data:
    """Puts short samples together, in rows of at most `length` ids. No sample is cut.

    The rows have ``input_ids``, ``labels`` and ``seq_lengths``, the lengths of the samples, from which
    TRL makes positions. Train with ``SFTConfig(padding_free=True, packing=False, max_length=None)``.
    Longer samples than `length` are removed.

    Args:
        dataset: What :func:`tokenize_for_sft` returns, not streamed and without splits.
        length: The maximum number of ids of a row.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.

    >>> import datasets
    >>> rows = {"input_ids": [[1, 2, 3], [4], [5, 6]], "labels": [[1, 2, 3], [4], [5, -100]]}
    >>> packed = pack(datasets.Dataset.from_dict(rows), 4)
    >>> packed["input_ids"][:], packed["seq_lengths"][:]
    ([[1, 2, 3, 4], [5, 6]], [[3, 1], [2]])
    """
    if not isinstance(dataset, datasets.Dataset):
        raise ArgumentTypeError(
            f"argument `dataset`: expected a `Dataset`, not `{type(dataset).__name__}`"
        )
    if not isinstance(length, int) or isinstance(length, bool):
        raise ArgumentTypeError(f"argument `length`: expected an `int`, not `{length!r}`")
    missing = {"input_ids", "labels"} - set(dataset.column_names)
    if length < 1 or missing:
        why = f"the column `{missing.pop()}` is missing" if missing else "it must be 1 or more"
        raise ArgumentValueError(f"argument `{'dataset' if missing else 'length'}`: {why}")
    sizes = [len(ids) for ids in dataset["input_ids"]]
    bins = _bins(sizes, length)
    rows = dataset.select_columns(["input_ids", "labels"])

    def packed() -> Any:
        for samples in bins:
            parts = rows[samples]
            yield {
                "input_ids": [id for ids in parts["input_ids"] for id in ids],
                "labels": [label for labels in parts["labels"] for label in labels],
                "seq_lengths": [sizes[sample] for sample in samples],
            }

    return datasets.Dataset.from_generator(packed)


def _bins(sizes: list[int], length: int) -> list[list[int]]:
    """Best fit, the longest first: each sample goes where the least room is left."""
    by_room: dict[int, list[list[int]]] = {}
    bins: list[list[int]] = []
    for at in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        size = sizes[at]
        if not 0 < size <= length:
            continue
        room = next((room for room in range(size, length + 1) if by_room.get(room)), None)
        if room is None:
            samples: list[int] = []
            bins.append(samples)
            room = length
        else:
            samples = by_room[room].pop()
        samples.append(at)
        by_room.setdefault(room - size, []).append(samples)
    return bins


def _checked(tokenizer: object, max_length: object) -> None:
    if not isinstance(tokenizer, Tokenizer):
        raise ArgumentTypeError(
            f"argument `tokenizer`: expected a `Tokenizer`, not `{type(tokenizer).__name__}`"
        )
    if max_length is None:
        return
    if not isinstance(max_length, int) or isinstance(max_length, bool):
        raise ArgumentTypeError(f"argument `max_length`: expected an `int`, not `{max_length!r}`")
    if max_length < 1:
        raise ArgumentValueError("argument `max_length`: it must be 1 or more")


def _column(example: dict[str, Any], column: str, index: int) -> Any:
    if column not in example:
        columns = ", ".join(f"`{name}`" for name in example)
        raise ArgumentValueError(
            f"argument `messages`: there is no column `{column}`; the columns are {columns}"
        )
    if example[column] is None:
        raise ArgumentValueError(f"row {index}: the column `{column}` is null")
    return example[column]


def _tools(example: dict[str, Any], column: str | None) -> Any:
    return example.get(column) if column is not None else None


def _sampled(
    tokenizer: Tokenizer, chat: Any, index: int, tools: Any, options: dict[str, Any]
) -> Rendered:
    if not isinstance(chat, Conversation):
        # `datasets` gives every message the keys of all of them, with `None`.
        chat = [_given(message) for message in chat]
    declared = {} if tools is None else {"tools": _given(tools)}
    try:
        return tokenizer.sample(chat, **declared, **options)
    except Error as error:
        error.args = (f"row {index}: {error}",)
        raise


def _given(data: Any) -> Any:
    """Data without the keys that have no value."""
    if isinstance(data, dict):
        return {key: _given(value) for key, value in data.items() if value is not None}
    return [_given(value) for value in data] if isinstance(data, list) else data


def _mapped(dataset: _Data, row: Any, num_proc: int | None) -> _Data:
    if isinstance(dataset, (datasets.DatasetDict, datasets.IterableDatasetDict)):
        kind = type(dataset)
        return kind({name: _mapped(split, row, num_proc) for name, split in dataset.items()})
    if not isinstance(dataset, (datasets.Dataset, datasets.IterableDataset)):
        raise ArgumentTypeError(
            f"argument `dataset`: expected a data set, not `{type(dataset).__name__}`"
        )
    options = _processes(dataset, num_proc)
    return dataset.map(row, with_indices=True, remove_columns=dataset.column_names, **options)


def _processes(dataset: _Data, num_proc: int | None) -> dict[str, Any]:
    has_processes = isinstance(dataset, (datasets.Dataset, datasets.DatasetDict))
    return {"num_proc": num_proc} if has_processes and num_proc is not None else {}
