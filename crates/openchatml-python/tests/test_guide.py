"""The blocks of the guides and of the README show current results. `UPDATE_DOCS=1` prints them."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(os.environ["OPENCHATML_REPOSITORY"])
BLOCK = re.compile(r"^```python\n(>>> .*?)^```$", flags=re.MULTILINE | re.DOTALL)
GUIDES = [
    *(REPOSITORY / "docs").glob("**/*.md"),
    REPOSITORY / "README.md",
    REPOSITORY / "crates/openchatml-python/README.md",
]
PAGES = sorted(
    str(page.relative_to(REPOSITORY)) for page in GUIDES if BLOCK.search(page.read_text("utf-8"))
)


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page: str) -> None:
    """Each page runs in its own process: a page may change what an import means."""
    command = [sys.executable, __file__, page]
    ran = subprocess.run(command, capture_output=True, text=True)
    if "ModuleNotFoundError: No module named" in ran.stdout or "pip install" in ran.stdout:
        # `plugins/run` tests these pages, where all packages are installed.
        pytest.skip("the page requires a package that is not installed")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def run(page: str) -> int:
    """Runs the blocks of a page as one program, and returns the number of failures."""
    blocks = BLOCK.findall((REPOSITORY / page).read_text(encoding="utf-8"))
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    return doctest.DocTestRunner().run(examples).failed


def test_every_function_is_in_the_guides() -> None:
    """The page names what people need first."""
    text = (REPOSITORY / "docs/guide/python.md").read_text(encoding="utf-8")
    for name in ("parse", "convert", "Stream", "Tokenizer", "sample", "run", "Router", "check"):
        assert name in text


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
