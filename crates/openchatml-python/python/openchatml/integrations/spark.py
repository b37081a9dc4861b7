"""Spark: conversations in the columns of a ``DataFrame``."""

from __future__ import annotations

from typing import Any

from ..arrow import Kernel

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError("this module requires Spark: pip install pyspark") from error

__all__ = ["map_in_arrow", "schema"]


def schema(frame: Any, kernel: Kernel) -> str:
    """Returns the columns that a kernel makes of a ``DataFrame``, as Spark declares them."""
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    kept = [f"`{name}` {types[name]}" for name in kernel.kept if name in types]
    return ", ".join([*kept, kernel.spark_schema])


def map_in_arrow(frame: Any, kernel: Kernel, **options: Any) -> Any:
    """Returns the ``DataFrame`` that a kernel makes of each row.

    The wheel of this package and pyarrow must be on every worker, and ``PYSPARK_PYTHON`` must name the
    Python that has them.

    Args:
        frame: A ``DataFrame``.
        kernel: The kernel.
        **options: Options of ``DataFrame.mapInArrow``.
    """
    return frame.mapInArrow(kernel, schema(frame, kernel), **options)
