"""Mutated outputs of models, as in `engines`: a few of each family, and the page about them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("canitoolcall")

sys.path.insert(0, str(Path(__file__).parent / "engines"))

import page
from compare import compare, reader
from rules import CHOICES, RULES
from sources import families

# What a small number of outputs may show: these are known, and told on the page.
KNOWN = {"swallowed", "markup", "no name", "lost", *CHOICES}


@pytest.mark.parametrize("family", families())
def test_this_reader(family: str) -> None:
    result = compare(reader("ours"), family, count=20, seed=2)
    assert result["mutated"]["outputs"] >= 19
    assert not result["mutated"]["counts"].keys() - KNOWN, result["mutated"]["examples"]
    assert not result["fixtures"]["counts"].keys() & RULES.keys(), result["fixtures"]["examples"]


def test_the_section_of_the_page_is_that_of_the_results() -> None:
    results = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    text = page.page().read_text(encoding="utf-8")
    assert page.BEGIN + page.section(results) + page.END in text
