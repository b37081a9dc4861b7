"""Puts the results of `compare.py` together, and writes them into `docs/tool-calls.md`.

page.py collect FOLDER DATE     results.json from FOLDER/READER-FAMILY.json
page.py write                   the section of the page from results.json
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from mutations import mutated
from sources import MARKER

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
READERS = {
    "ours": "openchatml {}",
    "vllm": "vLLM {}",
    "sglang": "SGLang {}",
    "plug-in": "openchatml {} in vLLM {}",
}
BEGIN = "<!-- The comparison, written by tests/engines/page.py. -->\n"
END = "<!-- The end of the comparison. -->\n"
WORDS = {"hid": "secret", "vis": "answer", "arg": "value"}
EXAMPLES = 2
# Outputs of these lengths are shown as they are.
LENGTH = (12, 135)


def collect(folder: Path, date: str) -> dict[str, Any]:
    """The counts and the shortest examples of all results in a folder."""
    old = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    whole: dict[str, Any] = {"date": date, "readers": {}}
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        name = path.stem.removesuffix("-" + data["family"])
        if name not in READERS:
            continue
        reader = whole["readers"].setdefault(name, {"version": data["version"], "families": {}})
        whole.update(count=data["count"], seed=data["seed"])
        groups = {
            it: {key: data[it][key] for key in ("outputs", "faulty", "counts")}
            for it in ("fixtures", "mutated")
        }
        reader["families"][data["family"]] = groups
        for rule in data["mutated"]["counts"]:
            example = _shortest(data, rule)
            if example is not None:
                kept = reader.setdefault("examples", {}).setdefault(rule, [])
                kept.append({"family": data["family"], **_shown(example)})
                kept.sort(key=lambda it: len(it["text"]))
                del kept[EXAMPLES:]
    # Readers that were not run again keep their results.
    is_same = all(old.get(it) == whole[it] for it in ("count", "seed"))
    if is_same:
        whole["readers"] = {**old["readers"], **whole["readers"]}
    families = sorted({it for reader in whole["readers"].values() for it in reader["families"]})
    known = old.get("distinct", {}) if is_same else {}
    whole["distinct"] = {
        it: known.get(it) or _distinct(it, whole["count"], whole["seed"]) for it in families
    }
    return whole


def _distinct(family: str, count: int, seed: int) -> int:
    """The number of different mutated outputs: short ones occur more than once."""
    made = mutated(family, count, seed)
    return len({(it.source.id, it.stop, it.text) for it in made if it.text.strip()})


def _shortest(data: dict[str, Any], rule: str) -> dict[str, Any] | None:
    """An output as the mutations made it if that is short, otherwise a shortened one."""
    found = data["mutated"]["examples"].get(rule, [])
    # What makes these depends on the rest of the output.
    is_whole = rule in ("cut", "dropped")
    longest = 2 * LENGTH[1] if is_whole else LENGTH[1]
    short = [it for it in found if LENGTH[0] <= len(it["text"]) <= longest]
    shrunk = [] if is_whole else data.get("shrunk", {}).get(rule, [])
    examples: list[dict[str, Any]] = [*short, *shrunk]
    return examples[0] if examples else None


def _shown(example: dict[str, Any]) -> dict[str, Any]:
    """An example with plain words in the places of markers."""
    kept = {key: example[key] for key in ("model", "prompt", "text", "stop", "whole", "stream")}
    shown: dict[str, Any] = json.loads(MARKER.sub(lambda it: WORDS[it[1]], json.dumps(kept)))
    return shown


def section(results: dict[str, Any]) -> str:
    """The section of the page."""
    from rules import CHOICES, RULES

    names = [it for it in READERS if it in results["readers"]]
    titles = [READERS[it].format(*results["readers"][it]["version"].split(" in ")) for it in names]
    distinct = sum(results["distinct"].values())
    total = results["count"] * len(results["distinct"])
    lines = [
        f"Measured on {results['date']}, with seed {results['seed']}. Of {total:,} outputs, {distinct:,} "
        "are different.",
        "",
    ]
    lines += ["Outputs with at least one fault:", ""]
    lines += _by_family(results, names, titles)
    lines += ["", "Outputs that show each fault, all families:", ""]
    lines += _by_rule(results, names, titles, RULES)
    lines += ["", "What is counted, but is no fault by itself:", ""]
    lines += _by_rule(results, names, titles, CHOICES)
    lines += ["", "### What the rules are, and examples", ""]
    for rule, meaning in {**RULES, **CHOICES}.items():
        lines += [f"**{rule}**: {meaning}", ""]
        lines += _examples(results, names, rule)
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(first: str, titles: list[str]) -> list[str]:
    return [f"| {first} | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]


def _by_family(results: dict[str, Any], names: list[str], titles: list[str]) -> list[str]:
    lines = _head("family", titles)
    families = sorted({it for name in names for it in results["readers"][name]["families"]})
    sums = {name: [0, 0] for name in names}
    for family in families:
        cells = []
        for name in names:
            found = results["readers"][name]["families"].get(family)
            if found is None:
                cells.append("not run")
                continue
            counted = found["mutated"]
            sums[name][0] += counted["faulty"]
            sums[name][1] += counted["outputs"]
            cells.append(f"{counted['faulty']:,} of {counted['outputs']:,}")
        lines.append(f"| {family} | {' | '.join(cells)} |")
    totals = [f"{faulty:,} of {outputs:,}" for faulty, outputs in sums.values()]
    fixtures = [_sum(results, name, "faulty") for name in names]
    lines.append(f"| all | {' | '.join(totals)} |")
    lines.append(f"| the outputs as they are | {' | '.join(fixtures)} |")
    return lines


def _sum(results: dict[str, Any], name: str, key: str) -> str:
    found = [it["fixtures"] for it in results["readers"][name]["families"].values()]
    return f"{sum(it[key] for it in found)} of {sum(it['outputs'] for it in found)}"


def _by_rule(
    results: dict[str, Any], names: list[str], titles: list[str], rules: dict[str, str]
) -> list[str]:
    lines = _head("", titles)
    for rule in rules:
        cells = []
        for name in names:
            families = results["readers"][name]["families"].values()
            cells.append(f"{sum(it['mutated']['counts'].get(rule, 0) for it in families):,}")
        lines.append(f"| {rule} | {' | '.join(cells)} |")
    return lines


def _examples(results: dict[str, Any], names: list[str], rule: str) -> list[str]:
    lines = []
    for name in names:
        for example in results["readers"][name].get("examples", {}).get(rule, []):
            family, text = example["family"], _code(example["text"])
            answer = _code(_result(example["whole"]))
            if example["stream"] is not None:
                answer = f"as a whole {answer}, as a stream {_code(_result(example['stream']))}"
            title = READERS[name].replace(" {}", "")
            lines.append(f"- {title}, {family}: {text} gives {answer}")
    return [*lines, ""] if lines else []


def _result(read: dict[str, Any]) -> str:
    parts = []
    for key in ("reasoning", "content", "error"):
        if key in read:
            parts.append(f"{key} {json.dumps(read[key], ensure_ascii=False)}")
    # A bracket before a parenthesis would be a link.
    parts += [f"call {it.replace('](', '] (')}" for it in read.get("calls", [])]
    return ", ".join(parts) or "nothing"


def _code(text: str) -> str:
    """A text as code of Markdown, in one line."""
    text = text.replace("\n", "\\n").replace("\t", "\\t")
    text = "".join(it if it.isprintable() else f"\\u{ord(it):04x}" for it in text)
    ticks = "`" * (max((len(it) for it in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def page() -> Path:
    """The page."""
    root = os.environ.get("OPENCHATML_REPOSITORY")
    return (Path(root) if root else HERE.parents[3]) / "docs" / "tool-calls.md"


def write() -> None:
    """Writes the section into the page."""
    before, rest = page().read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    made = section(json.loads(RESULTS.read_text(encoding="utf-8")))
    page().write_text(before + BEGIN + made + END + after, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "collect":
        found = collect(Path(sys.argv[2]), sys.argv[3])
        RESULTS.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    else:
        write()
