"""The command ``ocml``: ``python -m openchatml``."""

from __future__ import annotations

import signal
import sys

from ._openchatml import _run_command

__all__ = ["main"]


def main() -> None:
    """Runs the command with the arguments of the process, and exits.

    The command is the same code as the program ``ocml`` without Python.
    """
    # Python handles Ctrl-C between its own instructions, and there are none while the command runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_run_command(["ocml", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
