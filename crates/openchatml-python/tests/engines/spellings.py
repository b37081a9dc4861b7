"""The control spellings of the families of `canitoolcall`: what separates text from structure.

They are taken from the suite's `family.json` and from the formats' documentation. Nothing here is read
from a parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from canitoolcall.fixtures import load_families

# Spellings of `family.json` that are ordinary text to the models' tokenizers.
NO_TOKENS = frozenset({"<function=", "</function>", "<parameter=", "</parameter>"})


@dataclass(frozen=True)
class Reasoning:
    """A pair of spellings with reasoning between them."""

    begin: str
    end: str


THINK = Reasoning(r"<think>", r"</think>")
REASONING: dict[str, tuple[Reasoning, ...]] = {
    "deepseek": (THINK,),
    "gemma4": (Reasoning(r"<\|channel>thought\n", r"<channel\|>"),),
    "glm": (THINK,),
    "gpt-oss": (Reasoning(r"<\|channel\|>analysis<\|message\|>", r"<\|end\|>"),),
    "kimi": (THINK, Reasoning(r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>")),
    "llama": (),
    "mistral": (THINK, Reasoning(r"\[THINK\]", r"\[/THINK\]")),
    "qwen3-hermes": (THINK,),
    "qwen3-xml": (THINK,),
}

# Where a call or a list of calls begins and ends, as regular expressions.
CALLS: dict[str, tuple[str, str]] = {
    "deepseek": (
        r"<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>|<｜DSML｜ ?\w*calls>|<｜DSML｜invoke[^>]*>",
        r"<｜tool▁call▁end｜>|</｜DSML｜ ?\w+>",
    ),
    "gemma4": (r"<\|tool_call>", r"<tool_call\|>"),
    "glm": (r"<tool_call>", r"</tool_call>"),
    "gpt-oss": (r" to=\S+", r"<\|(?:call|end|start)\|>"),
    "kimi": (
        r"<\|tool_calls_section_begin\|>|<\|tool_call_begin\|>|<\|open\|>(?:tools|call)[^<]*<\|sep\|>",
        r"<\|tool_call_end\|>|<\|close\|>call<\|sep\|>",
    ),
    "llama": (r"<\|python_tag\|>|<\|python_start\|>", r"<\|python_end\|>"),
    "mistral": (r"\[TOOL_CALLS\]", r"$^"),
    "qwen3-hermes": (r"<tool_call>", r"</tool_call>"),
    "qwen3-xml": (r"<tool_call>|<function=[^>\n]*>", r"</tool_call>|</function>"),
}

# Tags that are a control token and text behind it: mutations also take them as one.
TAGS: dict[str, str] = {
    "deepseek": r"</?｜DSML｜[^>\n]*>",
    "gemma4": r"<\|channel>thought\n",
    "gpt-oss": r"<\|channel\|>\w+<\|message\|>|<\|start\|>assistant",
    "kimi": r"<\|(?:open|close)\|>[^<\n]*<\|sep\|>",
    "qwen3-xml": r"<(?:function|parameter)=[^>\n]*>",
}


@cache
def tokens(family: str) -> tuple[str, ...]:
    """The spellings of control tokens."""
    return tuple(it for it in load_families()[family].markers if it not in NO_TOKENS)


@cache
def control(family: str, tags: bool = False) -> re.Pattern[str]:
    """Matches a control spelling: the longest one, with `tags` whole tags."""
    spelled = sorted(load_families()[family].markers, key=len, reverse=True)
    parts = [re.escape(it) for it in spelled]
    if tags:
        whole = [pair for it in REASONING[family] for pair in (it.begin, it.end)]
        parts = [*([TAGS[family]] if family in TAGS else []), *whole, *parts]
    return re.compile("|".join(parts))


@cache
def begins_call(family: str) -> re.Pattern[str]:
    """Matches the beginning of a call."""
    return re.compile(CALLS[family][0])


def in_call(family: str, text: str) -> bool:
    """Whether a text ends inside of a call."""
    begin, end = CALLS[family]
    last = [match.start() for match in re.finditer(begin, text)][-1:]
    ends = [match.start() for match in re.finditer(end, text)][-1:]
    return bool(last) and last > ends


def stops(family: str, model: str) -> tuple[str, ...]:
    """The tokens at which a server ends the output of a model."""
    known = load_families()[family].reference_for(model)
    return known.stop_tokens if known else ()


# What begins a message of another role. A model that writes it goes on in the place of somebody else.
TURNS: dict[str, str] = {
    "deepseek": "<｜User｜>|<｜Assistant｜>",
    "gemma4": r"<\|turn>|<\|tool_response>",
    "glm": r"<\|(?:system|user|assistant|observation)\|>|<tool_response>",
    "gpt-oss": r"<\|start\|>(?!assistant)",
    "kimi": r"<\|im_\w+\|>|<\|open\|>message",
    "llama": r"<\|start_header_id\|>|<\|header_start\|>",
    "mistral": r"\[/?INST\]|\[/?TOOL_RESULTS\]|\[AVAILABLE_TOOLS\]",
    "qwen3-hermes": r"<\|im_start\|>",
    "qwen3-xml": r"<\|im_start\|>",
}


def others_turn(family: str, text: str) -> int:
    """Where a message of another role begins, or the end of the text."""
    found = re.search(TURNS[family], text)
    return found.start() if found else len(text)


@dataclass(frozen=True)
class Span:
    """A control spelling in a text, and what it is to reasoning."""

    begin: int
    end: int
    kind: str
    """`"begin"`, `"end"` (of reasoning) or `"other"`."""


def spans(family: str, text: str) -> list[Span]:
    """The control spellings of a text, with whole tags."""
    found = []
    for match in control(family, True).finditer(text):
        kind = "other"
        for pair in REASONING[family]:
            if re.fullmatch(pair.begin, match[0]):
                kind = "begin"
            elif re.fullmatch(pair.end, match[0]):
                kind = "end"
        found.append(Span(match.start(), match.end(), kind))
    return found


def opens_reasoning(family: str, prompt: str | None) -> bool:
    """Whether a prompt ends inside of reasoning."""
    text = (prompt or "").rstrip()
    return any(re.search(f"(?:{it.begin.rstrip()})$", text) for it in REASONING[family])
