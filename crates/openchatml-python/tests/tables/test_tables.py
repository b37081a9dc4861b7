"""The engines of tables give the same rows as the kernel alone, however they cut the table."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

import openchatml  # noqa: E402
import openchatml.arrow  # noqa: E402

COUNT = 2000
TOKENIZER = openchatml.Tokenizer("harmony")


def row(number: int) -> str:
    chat = [
        {"role": "user", "content": f"{number} + 2? " + "word " * (number % 30)},
        {"role": "assistant", "reasoning_content": "Easy.", "content": f"{number + 2}."},
    ]
    return "no chat" if number % 100 == 7 else json.dumps(chat)


TABLE = pyarrow.table({"id": list(range(COUNT)), "messages": [row(it) for it in range(COUNT)]})
KERNELS = {
    "convert": openchatml.arrow.convert("chatml", column="messages", keep=["id"], format="openai"),
    "tokenize": openchatml.arrow.tokenize(TOKENIZER, column="messages", keep=["id"], format="openai"),
    "check": openchatml.arrow.check(column="messages", keep=["id"], format="openai"),
}


def sorted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Any:
    return KERNELS[request.param]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table in files of different sizes."""
    folder = tmp_path_factory.mktemp("table")
    for name, (start, end) in {"a": (0, 10), "b": (10, 1500), "c": (1500, COUNT)}.items():
        parquet.write_table(TABLE.slice(start, end - start), folder / f"{name}.parquet")
    return str(folder)


@pytest.fixture(scope="session")
def ray() -> Any:
    os.environ["RAY_AUTH_MODE"] = "disabled"
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def spark() -> Any:
    sql = pytest.importorskip("pyspark.sql")
    import sys

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


@pytest.mark.parametrize("batch_size", [None, 7, 300])
def test_ray(ray: Any, files: str, kernel: Any, batch_size: int | None) -> None:
    from openchatml.integrations.ray import map_batches

    made = map_batches(ray.data.read_parquet(files), kernel, batch_size=batch_size)
    rows = pyarrow.concat_tables(ray.get(made.to_arrow_refs())).to_pylist()
    assert sorted_rows(rows) == kernel(TABLE).to_pylist()


def test_ray_without_a_worker(ray: Any, files: str, tmp_path: Path) -> None:
    """A worker that is killed in the middle changes nothing in the result."""
    kernel = KERNELS["tokenize"]
    mark = tmp_path / "killed"

    def process(table: Any) -> Any:
        if table["id"][0].as_py() > 500 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return kernel(table)

    data = ray.data.read_parquet(files)
    made = data.map_batches(process, batch_format="pyarrow", batch_size=100)
    rows = pyarrow.concat_tables(ray.get(made.to_arrow_refs())).to_pylist()
    assert mark.exists()
    assert sorted_rows(rows) == kernel(TABLE).to_pylist()


@pytest.mark.parametrize("parts", [1, 2, 9])
def test_spark(spark: Any, files: str, kernel: Any, parts: int) -> None:
    from openchatml.integrations.spark import map_in_arrow, schema

    frame = spark.read.parquet(files).repartition(parts)
    made = map_in_arrow(frame, kernel)
    assert schema(frame, kernel).startswith("`id` bigint, ")
    rows = [row.asDict(recursive=True) for row in made.collect()]
    assert sorted_rows(rows) == kernel(TABLE).to_pylist()


def test_daft(files: str, kernel: Any) -> None:
    daft = pytest.importorskip("daft")
    from openchatml.integrations.daft import map_batches

    rows = map_batches(daft.read_parquet(f"{files}/*.parquet"), kernel).to_arrow().to_pylist()
    assert sorted_rows(rows) == kernel(TABLE).to_pylist()


@pytest.mark.parametrize("num_proc", [None, 2])
def test_datasets(files: str, kernel: Any, num_proc: int | None, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    from openchatml.integrations.datasets import map_batches

    data = datasets.Dataset.from_parquet([f"{files}/{name}.parquet" for name in "abc"], cache_dir=tmp_path)
    made = map_batches(data, kernel, num_proc=num_proc, batch_size=64)
    assert made.with_format("arrow")[:].to_pylist() == kernel(TABLE).to_pylist()


def test_polars(kernel: Any) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(TABLE)
    made = polars.DataFrame(kernel(frame))
    assert made.to_arrow().to_pylist() == kernel(TABLE).to_pylist()


def test_duckdb(kernel: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    chats = TABLE  # noqa: F841
    made = pyarrow.table(kernel(duckdb.sql("select * from chats order by id")))
    assert made.to_pylist() == kernel(TABLE).to_pylist()


def test_an_error_of_a_column_is_named(ray: Any, files: str) -> None:
    from openchatml.integrations.ray import map_batches

    kernel = openchatml.arrow.convert("chatml", column="chat")
    with pytest.raises(Exception, match="there is no such column"):
        map_batches(ray.data.read_parquet(files), kernel).materialize()
