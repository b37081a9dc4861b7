"""Conversations in columns of Arrow tables."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openchatml
import openchatml.arrow
import pyarrow
import pytest
from openchatml import Tokenizer

CHATS = [
    [{"role": "user", "content": f"{number} + 2?"}, {"role": "assistant", "content": f"{number + 2}."}]
    for number in range(20)
]
TABLE = pyarrow.table(
    {
        "id": list(range(21)),
        "messages": pyarrow.array([json.dumps(chat) for chat in CHATS] + ["no chat"]),
    }
)


def test_each_row_has_a_row_in_any_partition() -> None:
    kernel = openchatml.arrow.convert("chatml", column="messages", keep=["id"])
    whole = kernel(TABLE)
    assert whole.column_names == kernel.column_names == ["id", "text", "error"]
    assert whole["id"].to_pylist() == list(range(21))
    texts = [openchatml.convert(chat, "chatml", format="openai").output for chat in CHATS]
    assert whole["text"].to_pylist() == [*texts, None]
    errors = whole["error"].to_pylist()
    assert errors[:-1] == [None] * 20
    assert [found["code"] for found in json.loads(errors[-1])] == ["E-FORMAT-UNKNOWN"]
    for size in (1, 7, 100):
        batches = list(kernel(iter(TABLE.to_batches(max_chunksize=size))))
        assert all(isinstance(batch, pyarrow.RecordBatch) for batch in batches)
        assert pyarrow.Table.from_batches(batches) == whole
    reader = kernel(pyarrow.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()))
    assert reader.read_all() == whole
    assert kernel(TABLE.slice(3, 5)) == whole.slice(3, 5)
    own = pyarrow.schema(kernel.schema)
    assert own == pyarrow.schema([whole.schema.field("text"), whole.schema.field("error")])


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()])
def test_kinds_of_strings(kind: pyarrow.DataType) -> None:
    kernel = openchatml.arrow.convert("chatml", column="messages")
    assert kernel(TABLE.set_column(1, "messages", TABLE["messages"].cast(kind))) == kernel(TABLE)


def test_lists_of_structs_are_conversations() -> None:
    kernel = openchatml.arrow.convert("chatml", column="messages", format="openai")
    structs = pyarrow.table({"messages": CHATS})
    assert kernel(structs) == kernel(TABLE.slice(0, 20))


def test_ids_are_those_of_the_tokenizer() -> None:
    tokenizer = Tokenizer("harmony")
    kernel = openchatml.arrow.tokenize(tokenizer, column="messages", format="openai")
    rows = kernel(TABLE).to_pylist()
    for chat, row in zip(CHATS, rows):
        sample = tokenizer.sample(chat, bare=True)
        assert row["ids"] == sample.ids.tolist()
        assert row["mask"] == [int(trained) for trained in sample.mask.tolist()]
    short = openchatml.arrow.tokenize(tokenizer, column="messages", format="openai", max_length=3)
    assert {row["ids"] is None for row in short(TABLE).to_pylist()} == {True}


def test_findings_of_rows() -> None:
    kernel = openchatml.arrow.check(column="messages", ignore=["W-EMPTY-MESSAGE"])
    chats = [[{"role": "user", "content": ""}], CHATS[0]]
    rows = kernel(pyarrow.table({"messages": chats})).to_pylist()
    assert [[found["code"] for found in row["findings"]] for row in rows] == [["W-NO-ASSISTANT"], []]


def test_pickled_kernels_have_the_content_of_files(tmp_path: Path) -> None:
    import tokenizers

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    letters = {letter: at for at, letter in enumerate(alphabet)}
    fast = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=letters, merges=[]))
    fast.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = tokenizers.decoders.ByteLevel()
    fast.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    path = tmp_path / "tokenizer.json"
    fast.save(str(path))
    kernel = openchatml.arrow.tokenize(Tokenizer("chatml", str(path)), column="messages")
    data = pickle.dumps(kernel)
    rows = kernel(TABLE)
    path.unlink()
    assert pickle.loads(data)(TABLE) == rows
    kernel = openchatml.arrow.convert("chatml", column="messages", keep=["id"])
    assert pickle.loads(pickle.dumps(kernel))(TABLE) == kernel(TABLE)
    assert repr(kernel).startswith("openchatml.arrow.convert('chatml', column='messages'")


def test_losses_are_refused_unless_they_are_allowed() -> None:
    chat = [{"role": "user", "content": "Hi!", "mood": "good"}]
    table = pyarrow.table({"messages": [json.dumps(chat)]})

    def text(**options: Any) -> Any:
        kernel = openchatml.arrow.convert("chatml", column="messages", format="openai", **options)
        return kernel(table)["text"].to_pylist()[0]

    assert text() == "<|im_start|>user\nHi!<|im_end|>\n"
    assert text(no_loss=True) is None
    assert text(no_loss=True, allow_loss=["field"]) == text()


def test_threads_share_a_kernel() -> None:
    kernel = openchatml.arrow.tokenize(Tokenizer("harmony"), column="messages")
    rows = kernel(TABLE)
    with ThreadPoolExecutor(4) as pool:
        assert all(other == rows for other in pool.map(kernel, [TABLE] * 20))


def test_other_libraries_give_and_take_rows() -> None:
    class Frame:
        """Any object with the Arrow interface."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return TABLE.__arrow_c_stream__(requested_schema)

    kernel = openchatml.arrow.convert("chatml", column="messages")
    rows = kernel(Frame())
    assert pyarrow.table(rows) == kernel(TABLE)
    with pytest.raises(openchatml.StreamError, match="read already"):
        pyarrow.table(rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"column": "chat"}, "column `chat`: there is no such column; the columns are `id`, `messages`"),
        ({"column": "id"}, "column `id`: values of type Int64 are no conversations"),
        ({"column": "messages", "keep": ["chat"]}, "column `chat`: there is no such column"),
    ],
)
def test_columns_are_named_in_errors(options: dict[str, Any], words: str) -> None:
    kernel = openchatml.arrow.convert("chatml", **options)
    for data in (TABLE, TABLE.to_batches()[0]):
        with pytest.raises(openchatml.ArgumentValueError, match=words):
            kernel(data)


def test_a_column_of_the_output_is_not_kept() -> None:
    kernel = openchatml.arrow.convert("chatml", column="messages", keep=["text"])
    with pytest.raises(openchatml.ArgumentValueError, match="column `text`: the output has a column"):
        kernel(TABLE.append_column("text", pyarrow.array(["x"] * 21)))


@pytest.mark.parametrize(
    "options",
    [{"format": "harmny"}, {"keep": 3}, {"colum": "messages"}, {"allow_loss": ["nothing"]}, {"train": "all"}],
)
def test_options_are_checked_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(openchatml.Error):
        openchatml.arrow.convert("chatml", **options)


def test_objects_without_the_interface_are_refused() -> None:
    kernel = openchatml.arrow.convert("chatml", column="messages")
    for data in (None, 3, "text", [1], {"messages": []}):
        with pytest.raises(openchatml.ArgumentTypeError):
            kernel(data)


def test_spark_declares_the_columns() -> None:
    tokenize = openchatml.arrow.tokenize(Tokenizer("harmony"))
    assert tokenize.spark_schema == (
        "ids array<int>, mask array<tinyint>, weights array<float>, "
        "spans array<struct<message:int,start:int,end:int,header:int,body:int,body_end:int,"
        "role:string,channel:string>>, error string"
    )
    assert openchatml.arrow.check().spark_schema.startswith("findings array<struct<code:string,")
