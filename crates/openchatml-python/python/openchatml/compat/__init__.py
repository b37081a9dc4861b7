"""The interfaces of other packages, made of this library."""

from __future__ import annotations

import sys

from .._errors import Error

__all__ = ["install"]


def install(*, guard: bool = True) -> None:
    """Makes ``import openai_harmony`` import :mod:`openchatml.compat.openai_harmony`.

    Call it before anything imports ``openai_harmony``. ``python -m openchatml.compat MODULE …`` does
    it, and then runs a module as ``python -m MODULE …`` does.

    Args:
        guard: Whether a message of the assistant has the channel that this library shows it on, if
            its header has none: ``"final"``, or ``"analysis"`` if the header is malformed. And whether
            a call with a guessed part is on ``"analysis"``, without a recipient. Programs such as vLLM
            drop messages without a channel, and run any call. With ``False``, both are as in
            ``openai_harmony``.

    Raises:
        Error: ``openai_harmony`` was imported before.

    >>> import openchatml.compat
    >>> openchatml.compat.install()
    >>> import openai_harmony
    >>> openai_harmony.__name__
    'openchatml.compat.openai_harmony'
    """
    from . import openai_harmony

    found = sys.modules.get("openai_harmony")
    if found is not None and found is not openai_harmony:
        raise Error("`openai_harmony` was imported before: call `install` first")
    openai_harmony.StreamableParser.guard = guard
    sys.modules["openai_harmony"] = openai_harmony
