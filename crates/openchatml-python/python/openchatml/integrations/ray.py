"""Ray Data: conversations in the columns of a ``Dataset``, on any number of machines."""

from __future__ import annotations

from typing import Any

from ..arrow import Kernel

try:
    import ray.data  # noqa: F401
except ImportError as error:
    raise ImportError("this module requires Ray Data: pip install 'ray[data]'") from error

__all__ = ["map_batches"]


def map_batches(dataset: Any, kernel: Kernel, **options: Any) -> Any:
    """Returns the data set that a kernel makes of each row.

    The wheel of this package must be on every worker, for example with
    ``ray.init(runtime_env={"pip": ["openchatml"]})``.

    Args:
        dataset: A ``ray.data.Dataset``.
        kernel: The kernel.
        **options: Options of ``Dataset.map_batches``, such as `batch_size` and `num_cpus`.
    """

    def process(table: Any) -> Any:
        return kernel(table)

    return dataset.map_batches(process, batch_format="pyarrow", **options)
