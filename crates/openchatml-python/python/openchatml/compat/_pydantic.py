"""pydantic, or an error that says how to install it."""

from __future__ import annotations

try:
    from pydantic import BaseModel, Field
except ImportError as error:
    raise ImportError(
        "the messages of `openai_harmony` are models of pydantic: pip install 'openchatml[harmony]'"
    ) from error

__all__ = ["BaseModel", "Field"]
