"""The rules: what counts as a fault, for every parser alike.

They look at the mutated text, at the markers in it and at what was returned, with no parser of their
own. Several were made more exact after results were seen, for all parsers alike. `RULES` says why each one is a fault.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mutations import Output
from sources import MARKER, Source
from spellings import begins_call, control, in_call, opens_reasoning, others_turn, spans

RULES: dict[str, str] = {
    "raises": "The parser raises an exception: the server answers with an error instead of the output.",
    "endless": "The parser does not end within two seconds of the processor's time. Such a loop stops a "
    "server, and some take memory until there is none.",
    "stream: text": "The content or the reasoning of a stream, put together, is another one than that of the "
    "whole output (white space at the ends does not count). A client gets another answer when it sets "
    "`stream`.",
    "stream: calls": "The complete calls of a stream are other ones than those of the whole output.",
    "hidden": "A word of the reasoning at the beginning of the output is in the content: it stands between "
    "an intact opener of reasoning and an intact closer, with no other control token between them.",
    "hidden later": "The same with a second block of reasoning, or one behind other text.",
    "markup": "A control spelling is in the content, next to a call that was returned, or one of those "
    "that begin and end reasoning or messages. Outputs in which a mutation has written a spelling into "
    "text are left out.",
    "no name": "The name of a call is empty.",
    "invented": "A call of a tool that was neither offered nor called, whose name has characters that no "
    "name of a tool can have, or in an output without the beginning of a call: it is made of other text.",
    "altered": "A call has a name or a value that the output does not have.",
    "swallowed": "A value or the name of a call contains control tokens, which were not written into a string: the "
    "call, or its value, went on behind its end.",
    "cut": "An output that was cut off has a call with a part of a value, or with a part of the arguments, "
    "returned as a complete one.",
    "dropped": "A call is returned without an argument whose text the output has, next to one broken "
    "control token.",
    "lost": "A word of the reasoning or of the content is in nothing that was returned. Words inside of a "
    "call that did not end, and those of a message of another role, are left out.",
    "broken": "A character was replaced by U+FFFD.",
}
CHOICES: dict[str, str] = {
    "unread call as content": "No call was returned, and the text of one is in the content, with its "
    "markup. Some engines do this by intention.",
    "no object": "The arguments of a call in the whole result are no JSON object. OpenAI's interface allows "
    "that, and its clients must expect it.",
    "lost call": "A word of the arguments of a call is in nothing that was returned: a call that could "
    "not be read has left no trace.",
    "rest of a tag": "A value contains the rest of a tag that a mutation has broken.",
    "in reasoning": "A call is returned although all calls of the output stand inside of an intact pair of "
    "reasoning. Some formats let a call end the reasoning.",
    "piece of a call": "A stream has a call whose arguments are no JSON object. A server that sends "
    "arguments while they are written cannot always know.",
}
# Mutations that leave the text of arguments as it is.
OF_STRUCTURE = frozenset({"delete", "double", "move", "swap", "cut", "clip", "think", "splice"})


# Control spellings of calls.
OF_CALLS = re.compile(r"tool|arg_|function|parameter|DSML|ARGS|CALL|python|\"")


# Names of tools, in OpenAI's interface; and with dots, which some models use.
NAME = re.compile(r"[\w.-]+", re.A)


@dataclass(frozen=True)
class Call:
    """A returned call."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Read:
    """What a parser has returned."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = field(default=())
    error: str | None = None


class _Endless(BaseException):
    """The time is over. Parsers catch exceptions, but not this one."""


ENDLESS = "does not end"
SECONDS = 2


def limited(read: Callable[[], Read]) -> Read:
    """What a parser returns, unless it takes too long."""

    def end(*_: object) -> None:
        raise _Endless

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return read()
    except _Endless:
        return Read(error=ENDLESS)
    except Exception as error:
        return Read(error=f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@dataclass(frozen=True)
class Fault:
    """What a rule has found."""

    rule: str
    detail: str


def faults(
    output: Output, whole: Read, streams: Iterable[Read], own: dict[str, list[Call]]
) -> list[Fault]:
    """The faults of a parser with an output, at most one for each rule.

    Args:
        output: The output.
        whole: The result for the whole output.
        streams: The results for streams.
        own: The calls that the same parser returns for each source as it is.
    """
    streams = list(streams)
    found: dict[str, Fault] = {}
    for fault in _all(output, whole, streams, own):
        found.setdefault(fault.rule, fault)
    return list(found.values())


def _all(
    output: Output, whole: Read, streams: list[Read], own: dict[str, list[Call]]
) -> Iterator[Fault]:
    for name, read in [("whole", whole), *(("stream", it) for it in streams)]:
        if read.error is not None:
            rule = "endless" if read.error == ENDLESS else "raises"
            yield Fault(rule, f"{name}: {read.error[:200]}")
    if whole.error is None:
        yield from _calls(output, whole, own)
        for stream in streams:
            if stream.error is None:
                yield from _difference(whole, stream)
    for name, read in [("whole", whole), *(("stream", it) for it in streams)]:
        if read.error is None:
            yield from _texts(output, read, name)


# ---------------------------------------------------------------------------- streams


def _object(call: Call) -> dict[str, Any] | None:
    try:
        value = json.loads(call.arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _difference(whole: Read, stream: Read) -> Iterator[Fault]:
    pieces = [it for it in stream.calls if _object(it) is None]
    if pieces and not [it for it in whole.calls if _object(it) is None]:
        yield Fault("piece of a call", str(pieces[0]))
        return
    if _complete(whole) != _complete(stream):
        yield Fault("stream: calls", f"{whole.calls} / {stream.calls}"[:400])
    for name in ("content", "reasoning"):
        one, other = getattr(whole, name).strip(), getattr(stream, name).strip()
        if one != other:
            yield Fault("stream: text", f"{name}: {one!r} / {other!r}"[:400])


def _complete(read: Read) -> list[tuple[str, Any]]:
    calls = [(it.name, _object(it)) for it in read.calls]
    return [it for it in calls if it[1] is not None]


# ---------------------------------------------------------------------------- texts


def _texts(output: Output, read: Read, name: str) -> Iterator[Fault]:
    hidden = hidden_words(output)
    for word, is_first in hidden.items():
        if word in read.content:
            yield Fault("hidden" if is_first else "hidden later", f"{name}: {read.content!r}"[:300])
    yield from _markup(output, read, name)
    returned = "\n".join(
        [read.content, read.reasoning, *(f"{it.name} {it.arguments}" for it in read.calls)]
    )
    family = output.source.setting.family
    own = output.text[: others_turn(family, output.text)]
    for match in MARKER.finditer(own):
        if match[0] not in returned:
            is_in_call = match[1] == "arg" or in_call(family, own[: match.start()])
            yield Fault("lost call" if is_in_call else "lost", f"{name}: {match[0]}")
    if "\ufffd" in returned and "\ufffd" not in output.text:
        yield Fault("broken", name)


def hidden_words(output: Output) -> dict[str, bool]:
    """The markers between intact pairs of reasoning, and whether the output begins with the pair."""
    family, text = output.source.setting.family, output.text
    known = spans(family, text)
    first_call = begins_call(family).search(text)
    is_open = opens_reasoning(family, output.source.setting.prompt)
    found: dict[str, bool] = {}
    visible = set()
    for match in MARKER.finditer(text):
        before = [it for it in known if it.end <= match.start()]
        after = [it for it in known if it.begin >= match.end()]
        is_hidden, is_first = is_open and not before, True
        if before and before[-1].kind == "begin":
            begin = before[-1].begin
            is_hidden = first_call is None or first_call.start() > begin
            is_first = not re.sub(r"<\|start\|>assistant", "", text[:begin]).strip()
        if match[1] == "hid" and is_hidden and after and after[0].kind == "end":
            found[match[0]] = is_first and found.get(match[0], True)
        else:
            visible.add(match[0])
    return {word: is_first for word, is_first in found.items() if word not in visible}


def _markup(output: Output, read: Read, name: str) -> Iterator[Fault]:
    if "spell" in output.kinds:
        return
    family = output.source.setting.family
    known = {*control(family).findall(read.content)}
    for source in (output.source, output.donor):
        if source is not None:
            # Text that the suite wants to be content or a value, with a spelling in it.
            texts = [source.content, *(arguments for _, arguments in source.calls or ())]
            known -= {it for text in texts for it in control(family).findall(text)}
    if not known:
        return
    detail = f"{name}: {read.content!r}"[:300]
    is_call = all(OF_CALLS.search(it) for it in known) or begins_call(family).search(read.content)
    yield Fault("unread call as content" if is_call and not read.calls else "markup", detail)


# ---------------------------------------------------------------------------- calls


def leaves(value: Any) -> Iterator[str]:
    """The scalars of a value as text. A string of JSON has those of its value."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        inner = _loads(value) if value.strip()[:1] in ("{", "[") else None
        if isinstance(inner, dict | list):
            yield from leaves(inner)
        else:
            yield value.strip()
    else:
        yield json.dumps(value)


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _allowed(output: Output, own: dict[str, list[Call]]) -> list[tuple[str, dict[str, Any]]] | None:
    """The calls that the sources have; `None` if the suite does not say, or if a value contains a
    control spelling, so that one in a result says nothing."""
    found = []
    family = output.source.setting.family
    for source in (output.source, output.donor):
        if source is None:
            continue
        if source.calls is None or control(family).search(str(source.calls)):
            return None
        found += [Call(*it) for it in _renamed(source, source is output.donor)]
        found += own.get(source.id, []) if source is output.source else []
    return [(it.name, value) for it in found if (value := _object(it)) is not None]


def _renamed(source: Source, is_donor: bool) -> Iterator[tuple[str, str]]:
    for name, arguments in source.calls or ():
        if is_donor:
            arguments = re.sub(r"(z(?:hid|vis|arg))0(\d\dz)", r"\g<1>5\2", arguments)
        yield name, arguments


def _calls(output: Output, whole: Read, own: dict[str, list[Call]]) -> Iterator[Fault]:
    family, text = output.source.setting.family, output.text
    allowed = _allowed(output, own)
    is_of_structure = set(output.kinds) <= OF_STRUCTURE and allowed is not None
    known = {leaf for _, value in allowed or () for leaf in leaves(value)}
    # Engines can leave control tokens out of texts.
    bare = control(family).sub("", text)
    plain = f"{_unescaped(text)}\n{bare}\n{_unescaped(bare)}"
    for call in whole.calls:
        yield from _name(output, call, allowed, plain)
        value = _object(call)
        if value is None:
            yield Fault("no object", str(call))
            continue
        for leaf in leaves(value):
            if leaf in known or leaf in ("", "null", "true", "false"):
                continue
            if control(family).search(leaf):
                if is_of_structure and not _is_literal(leaf, text):
                    yield Fault("swallowed", str(call))
            elif not _has(leaf, text, plain):
                yield Fault("altered", f"{leaf!r} in {call}")
            elif is_of_structure:
                is_cut = output.kinds == ("cut",)
                yield Fault("cut" if is_cut else "rest of a tag", f"{leaf!r} in {call}")
        if len(output.kinds) == 1 and allowed is not None:
            yield from _fewer(output, call, value, allowed)
    if whole.calls and _all_in_reasoning(output):
        yield Fault("in reasoning", str(whole.calls[0]))


def _name(
    output: Output,
    call: Call,
    allowed: list[tuple[str, dict[str, Any]]] | None,
    plain: str,
) -> Iterator[Fault]:
    """The name of a call."""
    sources = [it for it in (output.source, output.donor) if it is not None]
    known = {name for source in sources for name in source.names}
    known |= {name for name, _ in allowed or ()}
    if not call.name.strip():
        yield Fault("no name", str(call))
    elif "spell" not in output.kinds and control(output.source.setting.family).search(call.name):
        yield Fault("swallowed", str(call))
    elif call.name not in output.text and call.name not in plain:
        yield Fault("altered", f"name: {call}")
    elif set(output.kinds) <= OF_STRUCTURE and allowed is not None and call.name not in known:
        family = output.source.setting.family
        has_begun = begins_call(family).search(output.text) or family == "llama"
        if not NAME.fullmatch(call.name) or not has_begun:
            yield Fault("invented", str(call))


def _fewer(
    output: Output, call: Call, value: dict[str, Any], allowed: list[tuple[str, dict[str, Any]]]
) -> Iterator[Fault]:
    """A call that has some of the arguments that the source has."""
    same = [other for name, other in allowed if name == call.name]
    if value in same or not any(_Items(value).items() < it.items() for it in _comparable(same)):
        return
    kind = output.kinds[0]
    if kind == "cut":
        yield Fault("cut", str(call))
    elif kind in ("delete", "clip"):
        yield Fault("dropped", str(call))


class _Items(dict[str, Any]):
    """A dict whose items can be compared as a set, whatever its values are."""

    def items(self) -> Any:
        return {(key, json.dumps(value, sort_keys=True)) for key, value in super().items()}


def _comparable(values: list[dict[str, Any]]) -> list[_Items]:
    return [_Items(it) for it in values]


def _is_literal(leaf: str, text: str) -> bool:
    """Whether the text has this value between quotes."""
    for spelled in (leaf, json.dumps(leaf, ensure_ascii=False)[1:-1], json.dumps(leaf)[1:-1]):
        if f'"{spelled}"' in text or f"'{spelled}'" in text:
            return True
    return False


_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt\'])')
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        what = match[1]
        return chr(int(what[1:], 16)) if len(what) == 5 else _LETTERS.get(what, what)

    joined = _ESCAPE.sub(one, text)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _has(leaf: str, text: str, plain: str) -> bool:
    return leaf in text or leaf in plain or _as_number(leaf, text)


def _as_number(leaf: str, text: str) -> bool:
    """Whether the text has a number of this value in another spelling."""
    try:
        number = float(leaf)
    except ValueError:
        return leaf.lower() in text.lower() and leaf.lower() in ("true", "false", "null")
    spelled = re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", text)
    return any(float(it) == number for it in spelled)


def _all_in_reasoning(output: Output) -> bool:
    """Whether each beginning of a call stands inside of an intact pair of reasoning."""
    family, text = output.source.setting.family, output.text
    known = [it for it in spans(family, text) if it.kind != "other"]
    is_open = opens_reasoning(family, output.source.setting.prompt)
    begins = list(begins_call(family).finditer(text))
    for match in begins:
        before = [it for it in known if it.end <= match.start()]
        after = [it for it in known if it.begin >= match.end()]
        begun = before[-1].kind == "begin" if before else is_open
        if not (begun and after and after[0].kind == "end"):
            return False
    return bool(begins) and family != "gpt-oss"
