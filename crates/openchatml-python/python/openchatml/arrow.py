"""Conversations in columns of Arrow tables: for pyarrow, Ray Data, Spark, Daft, datasets, Polars, DuckDB.

A :class:`Kernel` turns a table into a table, with one row for each row. It reads and writes through the
Arrow interface, without an object of Python for each row, and it releases the global lock.

>>> import pyarrow, openchatml.arrow
>>> kernel = openchatml.arrow.convert("chatml", column="messages", keep=["id"])
>>> chat = '[{"role": "user", "content": "Hi!"}]'
>>> kernel(pyarrow.table({"id": [1, 2], "messages": [chat, "no chat"]})).to_pydict()["text"]
['<|im_start|>user\\nHi!<|im_end|>\\n', None]
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ._openchatml import Tokenizer, _Kernel

__all__ = ["Kernel", "check", "convert", "tokenize"]


class Kernel:
    """What is made of each conversation in a table. :func:`convert`, :func:`tokenize` and :func:`check`
    create kernels.

    The options are checked when the kernel is created. It can be pickled, with the content of a file that
    its tokenizer was read from, and used by several threads.

    The output has, in this order, the columns that are kept, those of the kernel, and ``error``. A row
    that cannot be written has null in the columns of the kernel, and in ``error`` the reasons as a JSON
    list of objects with ``code``, ``severity``, ``message``, ``span``, ``line`` and ``column``. So the
    rows do not depend on how an engine cuts a table into batches, and no row is lost.
    """

    __slots__ = ("_native", "_options", "_target", "_task")

    def __init__(self, task: str, target: Any, options: dict[str, Any]) -> None:
        self._task = task
        self._target = target
        self._options = options
        self._native = _Kernel(task, target, options)

    def __call__(self, data: Any) -> Any:
        """Processes data.

        Args:
            data: A ``Table`` or ``RecordBatch`` of pyarrow, or an iterator of batches: the result is of
                the same kind. Or any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, such as
                a data frame of Polars: the result is an object with ``__arrow_c_stream__``, which is
                read once, and whose rows are made while they are read.

        Raises:
            ArgumentTypeError: The data has no Arrow interface.
            ArgumentValueError: A column is missing, has a type that is not supported, or the name of a
                column of the kernel.
        """
        if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
            return map(self, data)
        rows = self._native.rows(data)
        if not type(data).__module__.startswith("pyarrow"):
            return rows
        import pyarrow

        if isinstance(data, pyarrow.RecordBatch):
            (batch,) = pyarrow.RecordBatchReader.from_stream(rows)
            return batch
        if isinstance(data, pyarrow.RecordBatchReader):
            return pyarrow.RecordBatchReader.from_stream(rows)
        return pyarrow.table(rows)

    @property
    def schema(self) -> Any:
        """The columns of the kernel, without those that are kept: an object with ``__arrow_c_schema__``,
        for ``pyarrow.schema(kernel.schema)``.
        """
        return self._native.schema()

    @property
    def column_names(self) -> list[str]:
        """The names of the columns of the output."""
        return [*self.kept, *self._native.schema().names]

    @property
    def kept(self) -> list[str]:
        """The names of the columns that are kept."""
        return self._native.kept()

    @property
    def column(self) -> str | None:
        """The column with the conversations. ``None`` if each row is a record."""
        return self._options.get("column")

    @property
    def spark_schema(self) -> str:
        """The columns of the kernel as Spark declares them, without those that are kept.

        >>> convert("chatml").spark_schema
        'text string, error string'
        """
        return self._native.schema().ddl

    def __reduce__(self) -> tuple[Any, ...]:
        target = self._target
        if isinstance(target, Tokenizer):
            target = _portable(target)
        return (_restored, (self._task, target, self._options))

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        target = "" if self._target is None else repr(self._target)
        return f"openchatml.arrow.{self._task}({(target + options).removeprefix(', ')})"


def convert(
    to: str,
    *,
    column: str | None = None,
    keep: Sequence[str] = (),
    format: str = "auto",
    lines: bool = False,
    allow_loss: str | Sequence[str] = (),
    no_loss: bool = False,
    **options: Any,
) -> Kernel:
    """A kernel that writes each conversation in a format: the column ``text``.

    Args:
        to: The name of the format.
        column: The column with the conversations: strings, or lists and structs as data sets have
            them. Without one, each row is a record, whose keys are the columns.
        keep: The columns that are copied to the output. Without `column`, they are not part of the
            record.
        format: The name of their format. ``"auto"`` detects that of each row.
        lines: The strings of the column are lines of JSONL: a document as JSON, a JSON string with the
            text of one, or an object with this text as ``text``. Otherwise, they are documents.
        allow_loss: Names of input that may be dropped and of losses, or ``"all"`` for all that a reader
            can drop. As ``--allow-loss`` of the command.
        no_loss: Whether losses of the conversion reject a row, unless they are allowed.
        **options: Options of :func:`openchatml.convert` for reading and writing, and `tools`.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.
        FormatError: A format is unknown.
    """
    given = {"column": column, "keep": keep, "format": format, "lines": lines}
    return Kernel("convert", to, {**given, "allow_loss": allow_loss, "no_loss": no_loss, **options})


def tokenize(
    tokenizer: Tokenizer,
    *,
    column: str | None = None,
    keep: Sequence[str] = (),
    format: str = "auto",
    lines: bool = False,
    max_length: int | None = None,
    too_long: str = "reject",
    allow_loss: str | Sequence[str] = (),
    no_loss: bool = False,
    **options: Any,
) -> Kernel:
    """A kernel that writes each conversation as a training sample.

    The columns are ``ids`` (lists of ids), ``mask`` (1 for each id that is trained, 0 for others),
    ``weights`` (if a message has a weight other than 0 and 1) and ``spans`` (the ids of each message, by
    its number). The ids are those of ``ocml data tokenize``.

    Args:
        tokenizer: The tokenizer, with the format.
        max_length: The maximum number of ids.
        too_long: What happens to longer conversations: ``"reject"``, or ``"truncate"``, which drops their
            oldest exchanges.
        column, keep, format, lines, allow_loss, no_loss: As in :func:`convert`.
        **options: Options of :meth:`openchatml.Tokenizer.sample`, and for reading.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.

    >>> import pyarrow
    >>> tokenizer = Tokenizer("harmony")
    >>> chats = [[{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4."}]]
    >>> [row] = tokenize(tokenizer)(pyarrow.table({"messages": chats})).to_pylist()
    >>> tokenizer.decode([id for id, trained in zip(row["ids"], row["mask"]) if trained])
    '<|channel|>final<|message|>4.<|return|>'
    """
    given = {"column": column, "keep": keep, "format": format, "lines": lines}
    length = {"max_length": max_length, "too_long": too_long}
    losses = {"allow_loss": allow_loss, "no_loss": no_loss}
    return Kernel("tokenize", tokenizer, {**given, **length, **losses, **options})


def check(
    *,
    column: str | None = None,
    keep: Sequence[str] = (),
    format: str = "auto",
    lines: bool = False,
    ignore: Sequence[str] = (),
    **options: Any,
) -> Kernel:
    """A kernel that says what is wrong with each conversation: the column ``findings``, a list of structs
    with ``code``, ``severity``, ``message``, ``start`` and ``end``.

    Args:
        ignore: The codes of lints that are left out.
        column, keep, format, lines: As in :func:`convert`.
        **options: Options for reading.

    Raises:
        ArgumentTypeError, ArgumentValueError: An argument is invalid.

    >>> import pyarrow
    >>> question = [[{"role": "user", "content": "2 + 2?"}]]
    >>> [row] = check()(pyarrow.table({"messages": question})).to_pylist()
    >>> [found["code"] for found in row["findings"]]
    ['W-NO-ASSISTANT']
    """
    given = {"column": column, "keep": keep, "format": format, "lines": lines}
    return Kernel("check", None, {**given, "ignore": ignore, **options})


def _portable(tokenizer: Tokenizer) -> Any:
    """Returns what a tokenizer is made of, with the content of its file: another machine has no such
    file.
    """
    format, source, spells = tuple(tokenizer.__reduce__()[1])
    if isinstance(source, (str, os.PathLike)) and os.path.exists(source):
        path = os.path.join(source, "tokenizer.json") if os.path.isdir(source) else source
        with open(path, "rb") as file:
            source = file.read()
    if isinstance(source, (str, bytes)):
        return (format, source, spells)
    return tokenizer


@functools.lru_cache(maxsize=8)
def _tokenizer(format: str, source: str | bytes, spells: bool) -> Tokenizer:
    """Returns a tokenizer. Engines send a kernel with each task, and reading the file takes longer."""
    return Tokenizer(format, source, spell_control_tokens=spells)


def _restored(task: str, target: Any, options: dict[str, Any]) -> Kernel:
    """Restores a pickled kernel."""
    if isinstance(target, tuple):
        format, source, spells = target
        target = _tokenizer(format, source, spells)
    return Kernel(task, target, options)
