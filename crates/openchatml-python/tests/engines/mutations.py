"""Mutated outputs: what models write when they do not follow their format.

The mutations work on the text and on the list of control spellings of the family. They know nothing of
any parser. An output has one mutation, or two in one of three cases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sources import Source, sources
from spellings import REASONING, control, stops

UNKNOWN = "no_such_tool"
# Text that is hard for incremental readers: of several code points, of several code units, without
# width, of the other direction, and beside the control characters.
UNICODE = [
    "é",
    "日本語",
    "😀",
    "👩‍👩‍👧",
    "\u200b",
    "\u202eabc\u202c",
    "e\u0301\u0323",
    "\ufeff",
    "｜",
    "▁",
    "\u00a0",
    "𝔘",
    "\ufffd",
]
CLIPS = re.compile(r"[/｜|]|end|close")


@dataclass(frozen=True)
class Output:
    """A mutated output."""

    number: int
    source: Source
    donor: Source | None
    kinds: tuple[str, ...]
    text: str
    stop: str | None
    """The token at which the server ended the output; `None` if it was cut off."""


Mutation = Callable[[random.Random, Source, str], str | None]


def _places(source: Source, text: str, rng: random.Random) -> list[tuple[int, int]]:
    pattern = control(source.setting.family, rng.random() < 0.5)
    return [match.span() for match in pattern.finditer(text)]


def _delete(rng: random.Random, source: Source, text: str) -> str | None:
    if not (places := _places(source, text, rng)):
        return None
    begin, end = rng.choice(places)
    return text[:begin] + text[end:]


def _double(rng: random.Random, source: Source, text: str) -> str | None:
    if not (places := _places(source, text, rng)):
        return None
    begin, end = rng.choice(places)
    return text[:end] + text[begin:]


def _move(rng: random.Random, source: Source, text: str) -> str | None:
    if not (places := _places(source, text, rng)):
        return None
    begin, end = rng.choice(places)
    what, rest = text[begin:end], text[:begin] + text[end:]
    # To the side of another control spelling, or to the end of a line.
    stops = [it.start() for it in re.finditer(r"\n|$", rest)]
    stops += [at for span in _places(source, rest, rng) for at in span]
    at = rng.choice(stops)
    return rest[:at] + what + rest[at:]


def _swap(rng: random.Random, source: Source, text: str) -> str | None:
    places = _places(source, text, rng)
    if len({text[begin:end] for begin, end in places}) < 2:
        return None
    (a, b), (c, d) = sorted(rng.sample(places, 2))
    if text[a:b] == text[c:d]:
        return None
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def _cut(rng: random.Random, source: Source, text: str) -> str | None:
    return text[: rng.randrange(1, len(text))] if len(text) > 1 else None


def _clip(rng: random.Random, source: Source, text: str) -> str | None:
    places = [it for it in _places(source, text, rng) if CLIPS.search(text[slice(*it)])]
    if not places:
        return None
    begin, end = rng.choice(places)
    at = rng.choice([begin, end - 1])
    return text[:at] + text[at + 1 :]


def _json(rng: random.Random, source: Source, text: str) -> str | None:
    what = rng.choice(["{", "}", '"', ",", ":", "'", "trail", "brace"])
    if what == "'":
        return text.replace('"', "'")
    at = {"trail": "}", "brace": "}"}.get(what, what)
    places = [match.start() for match in re.finditer(re.escape(at), text)]
    if not places:
        return None
    place = rng.choice(places)
    if what == "trail":
        return f"{text[: place + 1]} and more{text[place + 1 :]}"
    if what == "brace":
        return f"{text[:place]}}}{text[place:]}"
    return text[:place] + text[place + 1 :]


def _name(rng: random.Random, source: Source, text: str) -> str | None:
    places = [
        m.span() for name in source.names for m in re.finditer(rf"\b{re.escape(name)}\b", text)
    ]
    if not places:
        return None
    begin, end = rng.choice(places)
    return text[:begin] + rng.choice(["", UNKNOWN]) + text[end:]


def _think(rng: random.Random, source: Source, text: str) -> str | None:
    pairs = REASONING[source.setting.family]
    if not pairs:
        return None
    pair = rng.choice(pairs)
    found = re.search(f"(?:{pair.begin}|^)(.*?){pair.end}", text, re.S)
    if found is None or rng.random() < 0.3:
        return re.sub(pair.end, "", text, count=1) if re.search(pair.end, text) else None
    # The same block again, behind itself or at the end; or its text without an end.
    begin = re.search(pair.begin, text[: found.end()])
    block = found[0] if begin else f"{_plain(pair.begin)}{found[0]}"
    at = rng.choice([found.end(), len(text)])
    return text[:at] + block + text[at:]


def _plain(pattern: str) -> str:
    return pattern.replace("\\n", "\n").replace("\\", "")


def _spell(rng: random.Random, source: Source, text: str) -> str | None:
    """A control spelling as text: between two letters or spaces of text."""
    places = [match.start() + 1 for match in re.finditer(r"[a-z ][a-z ]", text)]
    if not places:
        return None
    at = rng.choice(places)
    family = source.setting.family
    known = sorted(
        {it[0] for other in sources(family) for it in control(family).finditer(other.text)}
    )
    return text[:at] + rng.choice(known) + text[at:]


def _unicode(rng: random.Random, source: Source, text: str) -> str | None:
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(UNICODE) + text[at:]
    return text


MUTATIONS: dict[str, Mutation] = {
    "delete": _delete,
    "double": _double,
    "move": _move,
    "swap": _swap,
    "cut": _cut,
    "clip": _clip,
    "json": _json,
    "name": _name,
    "think": _think,
    "spell": _spell,
    "unicode": _unicode,
}
WEIGHTS = {"delete": 3, "double": 2, "move": 2, "swap": 2, "cut": 3, "json": 2, "clip": 2}


def _splice(rng: random.Random, source: Source, text: str) -> tuple[str, Source] | None:
    """The beginning of one output and the end of another one, at control spellings."""
    known = [
        it for it in sources(source.setting.family) if it.setting.model == source.setting.model
    ]
    donor = rng.choice([it for it in known if it.setting.prompt == source.setting.prompt])
    ends = [0, *(end for _, end in _places(source, text, rng))]
    begins = [len(donor.text), *(begin for begin, _ in _places(donor, donor.text, rng))]
    taken = donor.text[rng.choice(begins) :]
    if not taken:
        return None
    # The markers of the two are told apart.
    taken = re.sub(r"(z(?:hid|vis|arg))0(\d\dz)", r"\g<1>5\2", taken)
    return text[: rng.choice(ends)] + taken, donor


def mutated(family: str, count: int, seed: int) -> Iterator[Output]:
    """The mutated outputs of a family. Each one depends on its number and the seed alone."""
    known = sources(family)
    for number in range(count):
        rng = random.Random(f"{seed}/{family}/{number}")
        source = rng.choice(known)
        yield _mutate(rng, number, source)


def _mutate(rng: random.Random, number: int, source: Source) -> Output:
    text = source.text
    donor: Source | None = None
    kinds: list[str] = []
    names = [*MUTATIONS, "splice"]
    weights = [WEIGHTS.get(it, 1) for it in names[:-1]] + [2]
    wanted = 2 if rng.random() < 0.3 else 1
    for _ in range(30):
        if len(kinds) == wanted:
            break
        kind = rng.choices(names, weights)[0]
        if kind == "splice":
            spliced = _splice(rng, source, text) if donor is None else None
            changed, donor = spliced if spliced else (None, donor)
        else:
            changed = MUTATIONS[kind](rng, source, text)
        if changed is not None and changed != text:
            text = changed
            kinds.append(kind)
    text, stop = stopped(source, text, "cut" in kinds or source.truncated)
    return Output(number, source, donor, tuple(kinds), text, stop)


def stopped(source: Source, text: str, is_cut: bool) -> tuple[str, str | None]:
    """The text up to the first token at which the server stops, and that token."""
    setting = source.setting
    known = stops(setting.family, setting.model)
    at = min((text.find(it) for it in known if it in text), default=-1)
    if at >= 0:
        return text[:at], next(it for it in known if text.startswith(it, at))
    if is_cut or not known:
        return text, None
    if setting.family == "gpt-oss":
        # A message to a tool ends with another token.
        last = text.rsplit("<|start|>", 1)[-1].split("<|message|>", 1)[0]
        return text, "<|call|>" if " to=" in f" {last}" else "<|return|>"
    return text, known[0]


def unmutated(family: str) -> Iterator[Output]:
    """The marked outputs as they are."""
    for number, source in enumerate(sources(family)):
        text, stop = stopped(source, source.text, source.truncated)
        yield Output(number, source, None, (), text, stop)
