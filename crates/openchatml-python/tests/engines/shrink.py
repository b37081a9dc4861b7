"""Shortens the examples of a result of `compare.py`, by deletion.

    shrink.py READER RESULT.json [COUNT]

COUNT (default: 1) examples of each rule and model, shortest first. The result gets the key `shrunk`.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from typing import Any

from compare import Reader, described, own_calls, reader, shown
from mutations import Output
from rules import Call, Fault, Read, faults
from sources import MARKER, sources
from spellings import control

TRIES = 400
# These compare a call with the source: the call has to stay as it is.
OF_CALLS = frozenset({"altered", "swallowed", "cut", "dropped"})


def output_of(family: str, data: dict[str, Any]) -> Output:
    """The output of an example."""
    known = {it.id: it for it in sources(family)}
    donor = known[data["donor"]] if data["donor"] else None
    source, kinds = known[data["source"]], tuple(data["kinds"])
    return Output(data["number"], source, donor, kinds, data["text"], data["stop"])


def found_by(
    made: Reader, output: Output, rule: str, own: dict[str, list[Call]]
) -> tuple[Fault, Read, list[Read]] | None:
    """The fault of this rule, and what was returned."""
    whole, streams = made.read(output)
    for fault in faults(output, whole, streams, own):
        if fault.rule == rule:
            return fault, whole, streams
    return None


def _atoms(family: str, text: str) -> list[str]:
    """Control spellings, markers, words and single other characters."""
    pattern = re.compile(rf"(?:{control(family).pattern})|{MARKER.pattern}|\w+|\s+|.", re.S)
    return [it[0] for it in pattern.finditer(text)]


def shrink(
    made: Reader, output: Output, rule: str, own: dict[str, list[Call]]
) -> dict[str, Any] | None:
    """A shorter output with the same fault."""
    first = found_by(made, output, rule, own)
    if first is None:
        return None
    kept, tries = _atoms(output.source.setting.family, output.text), 0
    step = max(1, len(kept) // 2)
    while True:
        at, has_changed = 0, False
        while at < len(kept) and tries < TRIES:
            fewer = kept[:at] + kept[at + step :]
            tries += 1
            now = found_by(made, replace(output, text="".join(fewer)), rule, own)
            if now is not None and (rule not in OF_CALLS or now[0].detail == first[0].detail):
                kept, has_changed = fewer, True
            else:
                at += step
        if tries >= TRIES or (step == 1 and not has_changed):
            break
        step = max(1, step // 2)
    shorter = replace(output, text="".join(kept))
    last = found_by(made, shorter, rule, own)
    assert last is not None
    fault, whole, streams = last
    return {"detail": fault.detail, **described(shorter), **shown((whole, streams))}


def main() -> None:
    """Runs the program."""
    name, path = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    made, family = reader(name), result["family"]
    own = own_calls(made, family)
    result["shrunk"] = {}
    for rule, examples in result["mutated"]["examples"].items():
        models: dict[str, int] = {}
        shorter = []
        for example in examples:
            model = example["model"]
            if models.get(model, 0) < count:
                models[model] = models.get(model, 0) + 1
                shorter.append(shrink(made, output_of(family, example), rule, own))
        result["shrunk"][rule] = sorted(
            (it for it in shorter if it), key=lambda it: len(it["text"])
        )
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
