"""Hugging Face ``datasets``: conversations in the columns of a data set, through Arrow."""

from __future__ import annotations

from typing import Any

from ..arrow import Kernel

try:
    import datasets  # noqa: F401
except ImportError as error:
    raise ImportError("this module requires the package `datasets`: pip install datasets") from error

__all__ = ["map_batches"]


def map_batches(dataset: Any, kernel: Kernel, **options: Any) -> Any:
    """Returns the data set that a kernel makes of each row.

    Args:
        dataset: A ``Dataset``.
        kernel: The kernel.
        **options: Options of ``Dataset.map``, such as `num_proc` and `batch_size`.

    >>> import datasets, openchatml.arrow
    >>> chats = [[{"role": "user", "content": "Hi!"}]]
    >>> data = datasets.Dataset.from_dict({"messages": chats})
    >>> map_batches(data, openchatml.arrow.convert("chatml", column="messages"))[0]["text"]
    '<|im_start|>user\\nHi!<|im_end|>\\n'
    """
    given = dataset.format
    made = dataset.with_format("arrow").map(
        kernel, batched=True, remove_columns=dataset.column_names, **options
    )
    kind = None if given["type"] == "arrow" else given["type"]
    return made.with_format(kind)
