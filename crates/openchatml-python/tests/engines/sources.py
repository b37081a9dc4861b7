"""The outputs of `canitoolcall`, with marker words in their reasoning, content and arguments.

A marker says where a piece of text was before a mutation, so that the rules need no parser to know
what became of it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from canitoolcall.adapters.base import ReplayInput
from canitoolcall.fixtures import Fixture, load_families, load_fixtures

MARKER = re.compile(r"z(hid|vis|arg)\d\d\dz")


@dataclass(frozen=True)
class Setting:
    """What a server knows of an output before it reads it."""

    family: str
    model: str
    prompt: str
    """The end of the prompt."""
    thinking: bool | None
    tools: str
    """The tools, as JSON."""


@dataclass(frozen=True)
class Source:
    """A marked output of the suite."""

    id: str
    setting: Setting
    text: str
    truncated: bool
    calls: tuple[tuple[str, str], ...] | None
    """The name and the arguments (JSON) of each expected call; `None` if the suite does not say."""
    content: str
    reasoning: str
    expected: bool = True
    names: tuple[str, ...] = field(default=())


class _Marks:
    def __init__(self) -> None:
        self.count = 0

    def next(self, kind: str) -> str:
        self.count += 1
        return f"z{kind}{self.count:03d}z"


def _mark_text(text: str, part: str, kind: str, marks: _Marks) -> str:
    """Writes markers into the place of `part` in `text`, if there is exactly one."""
    part = part.strip()
    if not part or text.count(part) != 1:
        return text
    at = text.index(part)
    words = part.split(" ")
    places = sorted({0, len(words) // 2, len(words)})
    for place in reversed(places):
        words.insert(place, marks.next(kind))
    return text[:at] + " ".join(words) + text[at + len(part) :]


def _mark_value(text: str, value: Any, marks: _Marks) -> tuple[str, Any]:
    """Writes markers into the strings of a value and into their places in `text`."""
    if isinstance(value, dict):
        marked = {}
        for key, item in value.items():
            text, marked[key] = _mark_value(text, item, marks)
        return text, marked
    if isinstance(value, list):
        items = []
        for item in value:
            text, item = _mark_value(text, item, marks)
            items.append(item)
        return text, items
    if not isinstance(value, str) or len(value) < 3 or value != value.strip():
        return text, value
    for spelled in (value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]):
        if text.count(spelled) == 1:
            mark = marks.next("arg")
            at = text.index(spelled) + len(spelled)
            return f"{text[:at]} {mark}{text[at:]}", f"{value} {mark}"
    return text, value


def _source(fixture: Fixture, raw: ReplayInput) -> Source:
    text, marks = fixture.raw_output, _Marks()
    tools = json.dumps([dict(it) for it in fixture.tools])
    setting = Setting(fixture.family, raw.model, raw.generation_prompt or "", raw.thinking, tools)
    names = tuple(it["function"]["name"] for it in fixture.tools)
    said = fixture.expected
    if said is None:
        return Source(fixture.id, setting, text, raw.truncated, None, "", "", False, names)
    for line in (said.reasoning_content or "").split("\n"):
        text = _mark_text(text, line, "hid", marks)
    for line in (said.content or "").split("\n"):
        text = _mark_text(text, line, "vis", marks)
    calls = []
    for call in said.tool_calls:
        text, arguments = _mark_value(text, dict(call.arguments), marks)
        calls.append((call.name, json.dumps(arguments, ensure_ascii=False)))
    content, reasoning = said.content or "", said.reasoning_content or ""
    return Source(
        fixture.id, setting, text, raw.truncated, tuple(calls), content, reasoning, True, names
    )


@cache
def sources(family: str) -> tuple[Source, ...]:
    """The marked outputs of a family."""
    described = load_families()[family]
    fixtures = sorted(load_fixtures(families=[family]), key=lambda it: it.id)
    return tuple(_source(it, ReplayInput.from_fixture(it, described)) for it in fixtures)


def families() -> list[str]:
    """The names of the families."""
    return sorted(load_families())
