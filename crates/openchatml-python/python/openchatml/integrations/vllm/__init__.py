"""Parsers of completions for vLLM 0.32.

Start the server with the plug-in, and name a format::

    python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B \\
        --reasoning-parser-plugin openchatml.integrations.vllm \\
        --reasoning-parser openchatml-qwen3 \\
        --enable-auto-tool-choice --tool-call-parser openchatml-qwen3

There is a parser for each text format: ``openchatml-harmony``, ``openchatml-apertus``,
``openchatml-qwen3``, ``openchatml-deepseek-v3.1`` and more; :data:`NAMES` lists them. Importing this
module registers them. If a reasoning parser or a tool parser of this module is selected, one
:class:`CompletionParser` reads the whole completion, by its token ids.
"""

from __future__ import annotations

try:
    import vllm  # noqa: F401
except ImportError as error:
    raise ImportError("this module requires vLLM: pip install vllm") from error

from ._harmony import HarmonyCompletionParser
from ._pair import reasoning_parser, tool_parser
from ._parser import CompletionParser
from ._register import NAMES, register

__all__ = [
    "NAMES",
    "CompletionParser",
    "HarmonyCompletionParser",
    "reasoning_parser",
    "register",
    "tool_parser",
]

register()
