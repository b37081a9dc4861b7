"""The blocks of the guide and of the README show current results. `UPDATE_DOCS=1` prints them."""

from __future__ import annotations

import doctest
import os
import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(os.environ["OPENCHATML_REPOSITORY"])
PAGES = ["docs/guide/python.md", "README.md", "crates/openchatml-python/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert examples.examples
    result = doctest.DocTestRunner().run(examples)
    assert result.failed == 0


def test_every_function_is_in_the_guides() -> None:
    """The page names what people need first."""
    text = (REPOSITORY / PAGES[0]).read_text(encoding="utf-8")
    for name in ("parse", "convert", "Stream", "Tokenizer", "sample", "run", "Router", "check"):
        assert name in text
