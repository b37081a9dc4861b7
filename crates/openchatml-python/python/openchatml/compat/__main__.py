"""Runs a module with this library in the place of ``openai_harmony``: ``python -m openchatml.compat MODULE …``."""

from __future__ import annotations

import runpy
import sys

from . import install


def main() -> None:
    """Runs the module that the first argument names, with the other arguments."""
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m openchatml.compat MODULE [ARGUMENT…]")
    install()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
