"""Reads mutated outputs with a parser, and counts its faults.

    compare.py READER FAMILY COUNT SEED OUT.json

READER is `ours`, `vllm`, `plug-in` or `sglang`. The result has the counts, and for each rule the
outputs that show it, shortest first. With the variable `READS`, a folder, what the parser returns is
kept there, and read from there the next time, so that the rules can be changed without it.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from mutations import Output, mutated, unmutated
from rules import RULES, Call, Fault, Read, faults
from sources import sources

EXAMPLES = 40
Reads = tuple[Read, list[Read]]


class Reader(Protocol):
    """A parser."""

    @property
    def name(self) -> str:
        """The name of the parser."""

    def version(self) -> str:
        """The version of the parser."""

    def read(self, output: Output) -> Reads:
        """The result for the whole output, and those for streams."""


class Kept:
    """A parser whose results are kept in a file. It is loaded for what is not there."""

    def __init__(self, name: str, path: Path) -> None:
        self._reader, self._path = name, path
        self._made: Reader | None = None
        self._known: dict[str, Any] = {"name": "", "version": "", "reads": {}}
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as file:
                self._known = json.load(file)

    @property
    def name(self) -> str:
        """The name of the parser."""
        return str(self._known["name"])

    def version(self) -> str:
        """The version of the parser."""
        return str(self._known["version"])

    def read(self, output: Output) -> Reads:
        """The result for the whole output, and those for streams."""
        reads = self._known["reads"]
        key = f"{output.source.id}\n{output.stop}\n{output.text}"
        if key not in reads:
            if self._made is None:
                self._made = reader(self._reader)
                self._known.update(name=self._made.name, version=self._made.version())
            whole, streams = self._made.read(output)
            reads[key] = [asdict(it) for it in (whole, *streams)]
        whole, *streams = (_read(it) for it in reads[key])
        return whole, streams

    def save(self) -> None:
        """Writes the file."""
        with gzip.open(self._path, "wt", encoding="utf-8") as file:
            json.dump(self._known, file)


def _read(data: dict[str, Any]) -> Read:
    calls = tuple(Call(**it) for it in data["calls"])
    return Read(data["reasoning"], data["content"], calls, data["error"])


def reader(name: str) -> Reader:
    """The reader of this name."""
    if name == "ours":
        from read_ours import Ours

        return Ours()
    if name == "sglang":
        from read_sglang import Sglang

        return Sglang()
    from read_vllm import PlugIn, Vllm

    return PlugIn() if name == "plug-in" else Vllm()


def own_calls(made: Reader, family: str) -> dict[str, list[Call]]:
    """The calls that a parser returns for each source as it is."""
    found: dict[str, list[Call]] = {}
    for output in unmutated(family):
        found[output.source.id] = list(made.read(output)[0].calls)
    return found


class Tally:
    """Counts faults and keeps examples."""

    def __init__(self) -> None:
        self.outputs = 0
        self.faulty = 0
        self.counts: Counter[str] = Counter()
        self.by_kind: dict[str, Counter[str]] = defaultdict(Counter)
        self.examples: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def add(self, output: Output, found: Iterable[Fault], reads: Reads) -> None:
        """Counts the faults of an output."""
        found = list(found)
        self.outputs += 1
        self.faulty += any(it.rule in RULES for it in found)
        for fault in found:
            self.counts[fault.rule] += 1
            self.by_kind[fault.rule]["+".join(sorted(output.kinds))] += 1
            kept = self.examples[fault.rule]
            kept.append({"detail": fault.detail, **described(output), **shown(reads)})
            kept.sort(key=lambda it: (len(it["kinds"]), len(it["text"])))
            del kept[EXAMPLES:]

    def data(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "outputs": self.outputs,
            "faulty": self.faulty,
            "counts": dict(self.counts),
            "by_kind": {rule: dict(it.most_common(8)) for rule, it in self.by_kind.items()},
            "examples": dict(self.examples),
        }


def described(output: Output) -> dict[str, Any]:
    """An output, for JSON."""
    return {
        "number": output.number,
        "source": output.source.id,
        "donor": output.donor.id if output.donor else None,
        "model": output.source.setting.model,
        "kinds": list(output.kinds),
        "text": output.text,
        "stop": output.stop,
        "prompt": output.source.setting.prompt,
    }


def shown(reads: Reads) -> dict[str, Any]:
    """What a parser returned for the whole output, and for a stream if that is something else."""
    whole, streams = reads
    differing = [it for it in streams if it != whole]
    return {"whole": _data(whole), "stream": _data(differing[0]) if differing else None}


def _data(read: Read) -> dict[str, Any]:
    calls = [f"{it.name}({it.arguments})" for it in read.calls]
    known = {
        "reasoning": read.reasoning,
        "content": read.content,
        "calls": calls,
        "error": read.error,
    }
    return {key: value for key, value in known.items() if value}


def compare(made: Reader, family: str, count: int, seed: int) -> dict[str, Any]:
    """The faults of a parser with the outputs of a family: as they are, and mutated."""
    own = own_calls(made, family)
    result: dict[str, Any] = {
        "reader": made.name,
        "version": made.version(),
        "family": family,
        "count": count,
        "seed": seed,
        "sources": len(sources(family)),
    }
    begin = time.monotonic()
    groups = {"fixtures": unmutated(family), "mutated": mutated(family, count, seed)}
    for name, outputs in groups.items():
        tally = Tally()
        for output in outputs:
            if not output.text.strip():
                continue
            reads = made.read(output)
            tally.add(output, faults(output, *reads, own), reads)
        result[name] = tally.data()
    result["seconds"] = round(time.monotonic() - begin)
    return result


def main() -> None:
    """Runs the program."""
    name, family, count, seed, path = sys.argv[1:]
    if folder := os.environ.get("READS"):
        kept = Kept(name, Path(folder) / f"{name}-{family}-{seed}.json.gz")
        result = compare(kept, family, int(count), int(seed))
        kept.save()
    else:
        result = compare(reader(name), family, int(count), int(seed))
    if Path(path).exists():
        result["shrunk"] = json.loads(Path(path).read_text(encoding="utf-8")).get("shrunk", {})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, ensure_ascii=False, indent=1)
    print(name, family, result["seconds"], "s", result["mutated"]["counts"])


if __name__ == "__main__":
    main()
