"""Registers the parsers of this package with vLLM."""

from __future__ import annotations

from functools import cache
from typing import Any

from vllm.parser.parser_manager import ParserManager
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

from ..._openchatml import formats
from ._harmony import HarmonyCompletionParser
from ._pair import reasoning_parser, tool_parser
from ._parser import CompletionParser

__all__ = ["NAMES", "register"]

NAMES = {
    f"openchatml-{it.name.removeprefix('openchatml-')}": it.name
    for it in formats()
    if "text" in it.carriers
}
"""The names of the parsers, and the formats that they read."""


def register() -> None:
    """Registers a reasoning parser and a tool parser for each text format. Importing
    :mod:`openchatml.integrations.vllm` does it; a second call changes nothing.

    vLLM has no registry for parsers that read everything at once, so this also replaces the function
    of vLLM that puts a reasoning parser and a tool parser together. It is called for other parsers.
    """
    for name, format in NAMES.items():
        ReasoningParserManager.register_module(name, module=reasoning_parser(format))
        ToolParserManager.register_module(name, module=tool_parser(format))
    compose = ParserManager._compose_parser
    if getattr(compose, "openchatml", False):
        return

    def composed(*args: Any, **options: Any) -> Any:
        names = (options.get("reasoning_parser_name"), options.get("tool_parser_name"))
        ours = {NAMES[name] for name in names if name in NAMES}
        others = [name for name in names if name and name not in NAMES]
        # A pair with a parser of someone else is put together by vLLM.
        if len(ours) != 1 or others:
            return compose(*args, **options)
        return _parser(
            ours.pop(),
            bool(options.get("is_harmony")),
            bool(names[0]),
            bool(names[1] and options.get("enable_auto_tools")),
            options.get("tool_strict_level", "auto"),
        )

    composed.openchatml = True  # type: ignore[attr-defined]
    ParserManager._compose_parser = composed  # type: ignore[method-assign,assignment]


@cache
def _parser(format: str, is_harmony: bool, reasons: bool, calls: bool, strict: str | None) -> type[Any]:
    """Returns a class of parsers with these parts."""
    fields: dict[str, Any] = {
        "reasoning_parser_cls": reasoning_parser(format) if reasons else None,
        "tool_parser_cls": tool_parser(format) if calls else None,
    }
    # Newer versions of vLLM give no level if the server sets none.
    if strict is not None:
        fields["tool_strict_level"] = ToolStrictLevel.from_name(strict)
    if is_harmony:
        return type("HarmonyCompletionParser", (HarmonyCompletionParser,), fields)
    return type("CompletionParser", (CompletionParser,), {**fields, "format": format})
