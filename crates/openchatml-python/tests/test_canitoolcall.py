"""The score of `openchatml.integrations.canitoolcall` in the conformance suite of that name."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

pytest.importorskip("canitoolcall")

from canitoolcall.results import Status
from canitoolcall.runner import RunConfig, run
from openchatml.integrations.canitoolcall import FORMATS, OpenchatmlAdapter

ENGINE = "openchatml.integrations.canitoolcall:OpenchatmlAdapter"
BEGIN, END = "<!-- The score, written by a test. -->\n", "<!-- The end of the score. -->\n"


def test_the_score_is_that_of_the_page() -> None:
    page = Path(os.environ["OPENCHATML_REPOSITORY"]) / "docs" / "tool-calls.md"
    results = run(RunConfig(engine=ENGINE, include_observed="none", jobs=2))
    families: dict[str, Counter[Status]] = defaultdict(Counter)
    for case in results.cases:
        families[case.family][case.status] += 1
    rows = ["family", "fixtures", "pass", "pass but for white space", "fail", "no format"]
    lines = [f"| {' | '.join(rows)} |", "|---|" + "---:|" * 5]
    total: Counter[Status] = Counter()
    for family, counts in sorted(families.items()):
        lines.append(_row(family, counts))
        total += counts
    lines.append(_row("all", total))
    score = "\n".join(lines) + "\n"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    if os.environ.get("UPDATE_DOCS") and old != score:
        page.write_text(before + BEGIN + score + END + after)
    else:
        assert old == score
    readme = (page.parent.parent / "README.md").read_text()
    read = sum(total.values()) - total[Status.UNSUPPORTED]
    assert f"| {total[Status.PASS]} | {read} |" in readme
    # What does not pass has a reason.
    assert total[Status.ERROR] == 0, [case for case in results.cases if case.harness_error]
    failed = [it for it in results.cases if it.status in (Status.FAIL, Status.SOFT_PASS)]
    for case in failed:
        print(case.fixture_id, {check.detail for check in case.checks if check.detail})
    assert [it.fixture_id for it in failed if f"`{it.fixture_id}`" not in text] == []


def _row(name: str, counts: Counter[Status]) -> str:
    all = [Status.PASS, Status.SOFT_PASS, Status.FAIL, Status.UNSUPPORTED]
    numbers = [sum(counts.values()), *(counts[status] for status in all)]
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def test_the_longest_name_counts() -> None:
    adapter = OpenchatmlAdapter()
    assert adapter.supports("", "Qwen/Qwen3-8B") and not adapter.supports("", "nobody/none")
    assert FORMATS["Qwen/Qwen3-Coder"] == "qwen3-coder"
