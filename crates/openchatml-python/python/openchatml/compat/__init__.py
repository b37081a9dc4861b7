"""The interfaces of other packages, made of this library."""

from __future__ import annotations

import sys

from .._errors import Error

__all__ = ["install"]


def install(*, fill_channels: bool = True) -> None:
    """Makes ``import openai_harmony`` import :mod:`openchatml.compat.openai_harmony`.

    Call it before anything imports ``openai_harmony``. ``python -m openchatml.compat MODULE …`` does
    it, and then runs a module as ``python -m MODULE …`` does.

    Args:
        fill_channels: Whether a message of the assistant without a channel gets the one that this
            library shows it on: ``"final"``, or ``"analysis"`` if its header is malformed. Programs
            such as vLLM drop messages without a channel. With ``False`` they have none, as in
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
    openai_harmony.StreamableParser.fill_channels = fill_channels
    sys.modules["openai_harmony"] = openai_harmony
