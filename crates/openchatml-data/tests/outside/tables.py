"""Tables of pyarrow give the same texts as JSONL, and pyarrow reads what `ocml data` writes."""
import json
import pathlib
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

OCML = pathlib.Path(sys.argv[1]).resolve()


def ocml(folder, *args, status=0):
    """Runs the command in a folder."""
    done = subprocess.run([OCML, "-q", *args], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (args, done)


def conversations(count):
    """Lists of messages with all that tables have trouble with."""
    texts = ["Hi", "é 😀", 'a "quote" \\', "line\nbreak", "", "<|im_end|>", "x" * 5000]
    for number in range(count):
        messages = [{"role": "user", "content": f"{number} {texts[number % len(texts)]}"}]
        if number % 3 == 0:
            messages.insert(0, {"role": "system", "content": "Be brief."})
        answer = {"role": "assistant", "content": texts[number % 5] + "."}
        if number % 4 == 0:
            arguments = json.dumps({"n": number})
            call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": arguments}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "7"})
        messages.append(answer)
        yield messages


def lines(folder, name):
    """The outputs in a folder, as JSON."""
    files = sorted((folder / name).glob("part-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def main():
    chats = list(conversations(2000))
    texts = [json.dumps({"messages": chat}) for chat in chats]
    ids = list(range(len(chats)))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in.jsonl").write_text("".join(text + "\n" for text in texts))
        to = ["-t", "openchatml-2.2"]
        ocml(folder, "data", "convert", *to, "in.jsonl", "-o", "expected")
        expected = [row["text"] for row in lines(folder, "expected")]
        assert len(expected) == len(chats)

        columns = {
            "string": pa.array(texts),
            "large_string": pa.array(texts, pa.large_string()),
            "string_view": pa.array(texts, pa.string_view()),
            "binary": pa.array([text.encode() for text in texts]),
            "dictionary": pa.array(texts).dictionary_encode(),
            "structs": pa.array(chats),
            "large": pa.array(chats).cast(pa.large_list(pa.array(chats).type.value_type)),
        }
        for kind, column in columns.items():
            table = pa.table({"chat": column, "id": pa.array(ids)})
            files = {
                f"{kind}.parquet": lambda path: pq.write_table(table, path, row_group_size=300),
                f"{kind}-zstd.parquet": lambda path: pq.write_table(table, path, compression="zstd"),
                f"{kind}-gzip.parquet": lambda path: pq.write_table(table, path, compression="gzip"),
                f"{kind}-lz4.parquet": lambda path: pq.write_table(table, path, compression="lz4"),
                f"{kind}-plain.parquet": lambda path: pq.write_table(
                    table, path, compression="none", use_dictionary=False, data_page_version="2.0"
                ),
                f"{kind}.arrow": lambda path: pa.feather.write_feather(table, path, compression="lz4"),
                f"{kind}-stream.arrow": lambda path: write_stream(table, path),
            }
            for file, write in files.items():
                write(str(folder / file))
                args = ["--column", "chat", "--keep", "id", file, "-o", f"out-{file}"]
                ocml(folder, "data", "convert", *to, *args, "--output-format", "jsonl", "--memory", "2M")
                found = lines(folder, f"out-{file}")
                assert [row["text"] for row in found] == expected, file
                assert [row["id"] for row in found] == ids, file

        # What the command writes is what pyarrow reads.
        tokenize = ["data", "tokenize", "-t", "harmony", "in.jsonl", "--shard-rows", "700"]
        ocml(folder, *tokenize, "-o", "ids")
        wanted = lines(folder, "ids")
        for kind in ["parquet", "arrow"]:
            ocml(folder, *tokenize, "--output-format", kind, "-o", f"ids-{kind}")
            files = sorted((folder / f"ids-{kind}").glob(f"part-*.{kind}"))
            assert len(files) == 3
            read = pq.read_table if kind == "parquet" else pa.feather.read_table
            table = pa.concat_tables(read(str(file)) for file in files)
            table.validate(full=True)
            rows = table.to_pylist()
            assert [row["ids"] for row in rows] == [row["ids"] for row in wanted], kind
            assert [row["mask"] for row in rows] == [row["mask"] for row in wanted], kind
            assert all(row["weights"] is None for row in rows)
            spans = [[{k: v for k, v in span.items() if v is not None} for span in row["spans"]] for row in rows]
            assert spans == [row["spans"] for row in wanted], kind
        # And pyarrow writes it again for the command.
        ocml(folder, "data", "convert", *to, "in.jsonl", "--output-format", "parquet", "-o", "texts")
        table = pq.read_table(str(folder / "texts" / "part-00000.parquet"))
        assert table.column("text").to_pylist() == expected
        pq.write_table(table, str(folder / "again.parquet"))
        ocml(folder, "data", "convert", *to, "again.parquet", "--output-format", "jsonl", "-o", "again")
        assert [row["text"] for row in lines(folder, "again")] == expected
    print(f"tables: {len(columns) * 7} files of pyarrow, and 8 of the command")


def write_stream(table, path):
    """Writes a stream of batches, as `datasets` stores its files."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=170)


main()
