"""Any object of Python into any function: an exception of ours, never a crash."""

from __future__ import annotations

import decimal
import enum
import os
from collections.abc import Callable

import numpy
import openchatml
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openchatml import ChatTemplate, Conversation, Message, PromptCache, Stream, Tokenizer

CASES = int(os.environ.get("OPENCHATML_CASES", 60))


class Hostile:
    """An object whose every method fails."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(name)

    def __iter__(self) -> object:
        raise ValueError("no iteration")

    def __index__(self) -> int:
        raise ValueError("no index")

    def __len__(self) -> int:
        return -1

    def __repr__(self) -> str:
        return "Hostile()"

    def __str__(self) -> str:
        raise ValueError("no text")


class Color(enum.IntEnum):
    RED = 3


endless: list[object] = []
endless.append(endless)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.text(alphabet=st.characters(categories=["Cs", "Cc", "Lu"])),
    st.binary(),
    st.sampled_from(
        [
            *["harmony", "chatml", "openai", "json", "auto", "user", "assistant", "all"],
            *["<|start|>", "<|im_start|>user\n", "{", "[]", "text", "marker", "/dev/null"],
            *[object(), Hostile(), Color.RED, decimal.Decimal("1"), 10**400, float("nan")],
            *[Message, Message.user("x"), Conversation([Message.user("x")]), endless, print],
            *[numpy.array([1, 2]), numpy.array([[1]]), numpy.array(["x"]), numpy.float32(1)],
            *[openchatml.Infill("a", "b"), openchatml.Files(("a", 3)), openchatml.Pair(1, 2)],
            *[range(3), {1: 2}, iter([1]), b"\xff", bytearray(b"x"), memoryview(b"x")],
        ]
    ),
)
OBJECTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=6), inner, max_size=4),
        st.tuples(inner, inner),
    ),
    max_leaves=8,
)
HARMONY = Tokenizer("harmony")
CHAT = Conversation([Message.user("Hi!"), Message.answer("Hello.")])
TEMPLATE = ChatTemplate("{{ messages }}{{ x }}")
KEYWORDS = [
    *["format", "completion", "continues", "limits", "mode", "recover", "allow_loss", "date"],
    *["profile", "response_format", "builtin_tools", "tools", "add_generation_prompt", "bare"],
    *["train", "turns", "skip_messages", "lints", "select", "user", "keep", "nonsense", "x"],
    *["weight", "ids", "channel", "text", "role", "messages", "header", "tool_choice", "answer"],
]
#: Functions of one, two or more arguments.
TARGETS: dict[str, Callable[..., object]] = {
    "parse": openchatml.parse,
    "check": openchatml.check,
    "fix": openchatml.fix,
    "detect": openchatml.detect,
    "explain": openchatml.explain,
    "render": openchatml.render,
    "convert": openchatml.convert,
    "prompt": openchatml.prompt,
    "grammar": openchatml.grammar,
    "apply_chat_template": openchatml.apply_chat_template,
    "Message": Message,
    "Message.user": Message.user,
    "Message.call": Message.call,
    "Message.reply": Message.reply,
    "Message.from_dict": Message.from_dict,
    "Message.replace": Message.user("x").replace,
    "Message.to_dict": Message.user("x").to_dict,
    "Conversation": Conversation,
    "Conversation.from_dict": Conversation.from_dict,
    "Conversation.to_dict": CHAT.to_dict,
    "Conversation.replace": CHAT.replace,
    "Conversation.user_view": CHAT.user_view,
    "UserView.message": CHAT.user_view().message,
    "Stream": Stream,
    "Stream.feed": lambda it: Stream("harmony").feed(it),
    "Stream.feed ids": lambda it: Stream(HARMONY).feed(it),
    "Stream.read": lambda it: list(Stream("harmony").read(it)),
    "Tokenizer": Tokenizer,
    "Tokenizer.encode": HARMONY.encode,
    "Tokenizer.decode": HARMONY.decode,
    "Tokenizer.parse": HARMONY.parse,
    "Tokenizer.render": HARMONY.render,
    "Tokenizer.prompt": HARMONY.prompt,
    "Tokenizer.sample": HARMONY.sample,
    "Tokenizer.truncate": HARMONY.truncate,
    "Tokenizer.count": HARMONY.count,
    "PromptCache": PromptCache,
    "PromptCache.prompt": PromptCache(HARMONY).prompt,
    "ChatTemplate": ChatTemplate,
    "ChatTemplate.render": TEMPLATE.render,
    "ChatTemplate.ids": TEMPLATE.ids,
}


def is_expected(error: Exception) -> bool:
    """Whether an exception is one of ours, or says that the call itself is malformed."""
    if isinstance(error, openchatml.InternalError):
        return False
    if isinstance(error, (openchatml.Error, IndexError)):
        return True
    # The number or the names of the arguments, or an exception of the object itself.
    text = str(error)
    return isinstance(error, (TypeError, ValueError)) and (
        "argument" in text or "no iteration" in text or "no index" in text
    )


@pytest.mark.parametrize("name", TARGETS)
@settings(
    max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
@given(
    arguments=st.lists(OBJECTS, min_size=1, max_size=3),
    keywords=st.dictionaries(st.sampled_from(KEYWORDS), OBJECTS, max_size=2),
)
def test_any_object(name: str, arguments: list[object], keywords: dict[str, object]) -> None:
    try:
        TARGETS[name](*arguments, **keywords)
    except Exception as error:
        assert is_expected(error), f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("bad", [3, None, object(), b"\xff", "\ud800", [], {}, 1.5, print])
def test_the_argument_is_named(bad: object) -> None:
    for call, name in [
        (lambda: openchatml.parse(bad, "chatml"), "text"),
        (lambda: openchatml.parse("", bad), "format"),
        (lambda: openchatml.render(CHAT, bad), "to"),
        (lambda: Message("user", "x", name=bad), "name"),
        (lambda: Message(bad, "x"), "role"),
        (lambda: HARMONY.encode(bad), "text"),
    ]:
        if bad is None and name in ("name", "format"):
            # The default.
            continue
        with pytest.raises(openchatml.Error, match=f"argument `{name}`") as caught:
            call()
        assert isinstance(caught.value, (TypeError, ValueError))


def test_wrong_data_has_a_path() -> None:
    with pytest.raises(openchatml.ArgumentValueError, match="`/messages/0/content`: JSON has no `set`"):
        Conversation.from_dict({"messages": [{"role": "user", "content": {1}}]})
    with pytest.raises(openchatml.ArgumentValueError, match="nested deeper"):
        Conversation.from_dict({"messages": endless})
    with pytest.raises(openchatml.ArgumentTypeError, match="unexpected keyword argument `formt`"):
        openchatml.parse("", formt="chatml")


def test_a_panic_is_an_exception_with_a_report_line() -> None:
    with pytest.raises(openchatml.InternalError, match=r"report this line: openchatml \S+: for a test"):
        openchatml._openchatml._panic("for a test")  # Only in wheels for tests.
