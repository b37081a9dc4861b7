"""Daft: conversations in the columns of a ``DataFrame``, on one machine or on Ray."""

from __future__ import annotations

from typing import Any

from ..arrow import Kernel

try:
    import daft
    import pyarrow
except ImportError as error:
    raise ImportError("this module requires Daft: pip install daft pyarrow") from error

__all__ = ["map_batches"]


def map_batches(frame: Any, kernel: Kernel) -> Any:
    """Returns the ``DataFrame`` that a kernel makes of each row.

    The wheel of this package must be on every worker.

    Args:
        frame: A ``daft.DataFrame``.
        kernel: The kernel.
    """
    own = pyarrow.schema(kernel.schema)
    kept = kernel.kept
    names = frame.column_names
    if kernel.column is not None:
        names = list(dict.fromkeys([kernel.column, *kept]))
    types = {field.name: daft.DataType.from_arrow_type(field.type) for field in own}

    def process(*columns: Any) -> Any:
        table = pyarrow.table({name: it.to_arrow() for name, it in zip(names, columns)})
        rows = kernel(table).select(own.names).combine_chunks()
        arrays = [column.combine_chunks() for column in rows.columns]
        return daft.Series.from_arrow(pyarrow.StructArray.from_arrays(arrays, fields=list(own)))

    made_of = daft.func.batch(return_dtype=daft.DataType.struct(types))(process)
    made = frame.select(*kept, made_of(*[frame[name] for name in names]).alias("_made"))
    return made.select(*kept, *[made["_made"].get(field.name).alias(field.name) for field in own])
