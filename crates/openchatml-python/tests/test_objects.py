"""Conversations and messages as objects of Python."""

from __future__ import annotations

import copy
import pickle

import openchatml
import pytest
from openchatml import Conversation, Message

IMAGE = {
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            ],
        }
    ]
}

FULL = Conversation(
    [
        Message.system("Be brief."),
        Message("user", "Hi!", name="Eric"),
        Message.reasoning([("text", "Hm. "), ("marker", "reflect"), ("literal", "<|end|>")]),
        Message.call("weather", {"city": "Paris"}, call_id="c1"),
        Message.reply("weather", {"degrees": 20}, call_id="c1"),
        Message.answer("Sunny.", weight=0.5, ids=[1, 2, 3]),
        Message("user", "Guessed", recovered=True),
        Message("assistant", "Half", end="open"),
    ],
    tools=[{"type": "function", "function": {"name": "weather"}}],
    header={"version": "2.2", "model": "m", "deep": {"list": [1, 2.5, True, None]}},
)


def test_fields_can_be_read_back() -> None:
    message = Message(
        "assistant",
        "{}",
        name="a",
        recipient="functions.f",
        channel="commentary",
        call_id="c",
        intent="status",
        content_type="json",
        constrained=True,
        end="call",
        weight=2,
        ids=[7],
        foreign=True,
        unread="x",
    )
    assert message.name == "a" and message.recipient == "functions.f" and message.tool == "f"
    assert message.channel == "commentary" and message.call_id == "c"
    assert message.intent == "status" and message.content_type == "json"
    assert message.constrained and message.end == "call" and message.weight == 2.0
    assert message.ids == [7] and message.foreign and message.unread == "x"
    assert not message.recovered and message.is_hidden


def test_header_and_tools() -> None:
    assert FULL.header == {
        "version": "2.2",
        "model": "m",
        "deep": {"list": [1, 2.5, True, None]},
    }
    assert FULL.tools[0]["function"]["name"] == "weather"
    assert FULL.answers[4] == 3


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "responses", "json"])
def test_dicts_of_every_format(name: str) -> None:
    chat = Conversation([Message.user("Hi!"), Message.answer("Hello.")])
    data = chat.to_dict(name)
    assert Conversation.from_dict(data, name) == chat


def test_canonical_json_has_everything() -> None:
    assert Conversation.from_dict(FULL.to_dict("json"), "json", open_prompt=True) == FULL


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    restored = pickle.loads(pickle.dumps(FULL, protocol))
    assert restored == FULL
    assert restored[5].ids == [1, 2, 3]
    for message in FULL:
        assert pickle.loads(pickle.dumps(message, protocol)) == message


def test_pickle_keeps_parts_of_other_formats() -> None:
    chat = Conversation.from_dict(IMAGE)
    assert pickle.loads(pickle.dumps(chat)).to_dict() == IMAGE


def test_errors_can_be_pickled() -> None:
    with pytest.raises(openchatml.LossError) as caught:
        openchatml.convert(FULL, "sharegpt")
    restored = pickle.loads(pickle.dumps(caught.value))
    assert type(restored) is openchatml.LossError
    assert restored.losses == caught.value.losses and str(restored) == str(caught.value)
    with pytest.raises(openchatml.ParseError) as failed:
        openchatml.parse("<|im_start|>user\nHi", "chatml").strict()
    again = pickle.loads(pickle.dumps(failed.value))
    assert (again.code, again.line, again.column) == ("E-STREAM-TRUNCATED", 2, 3)


def test_copy_equality_hash() -> None:
    same = Conversation(list(FULL), tools=FULL.tools, header=FULL.header)
    assert same == FULL and hash(same) == hash(FULL) and same != FULL + Message.user("x")
    assert copy.copy(FULL) is FULL and copy.deepcopy(FULL) is FULL
    assert {Message.user("x"), Message.user("x")} == {Message.user("x")}
    assert Message.user("x") != "x" and Message.user("x") != Message.system("x")


def test_sequence() -> None:
    assert len(FULL) == 8 and FULL[-1].text == "Half" and FULL[1:3] == (FULL[1], FULL[2])
    assert [message.role for message in FULL][:2] == ["system", "user"]
    with pytest.raises(IndexError):
        FULL[8]
    with pytest.raises(IndexError):
        FULL[-9]
    assert (FULL + [Message.user("a"), Message.user("b")])[-1].text == "b"


def test_repr_is_readable_and_short() -> None:
    assert repr(Message.user("it's\n")) == r"Message('user', 'it\'s\n')"
    assert len(repr(Message.user("x" * 1000))) < 100
    assert repr(Conversation([Message.user("x")] * 20)).endswith("… 12 more])")


def test_html_shows_roles_marks_hidden_messages_and_escapes() -> None:
    html = (FULL + Message.user("<script>alert(1)</script>"))._repr_html_()
    assert "<b>user</b>" in html and "[hidden]" in html and "[recovered]" in html
    assert "<script>" not in html and "&lt;script&gt;" in html
    # The reply is beside its call.
    beside = html.index("display:flex")
    assert beside < html.index("Paris") < html.index("degrees") < html.index("Sunny.")


def test_html_has_a_limited_size() -> None:
    long = Conversation([Message.user(f"m{at}, " + "x" * 20_000) for at in range(1000)])
    html = long._repr_html_()
    assert "… 900 more messages" in html and len(html) < 2_000_000
    assert "m49, " in html and "m50, " not in html and "m949, " not in html and "m950, " in html
    assert "… 10004 more characters" in html
    short = Conversation([Message.user("x")] * 100)._repr_html_()
    assert "more" not in short and short.count("<pre") == 100


def test_user_view_has_no_hidden_text() -> None:
    view = FULL.user_view()
    assert [(it.role, it.text) for it in view] == [
        ("user", "Hi!"),
        ("assistant", "Sunny."),
        ("user", "Guessed"),
        ("assistant", "Half"),
    ]
    assert view.message(1).text == "Hi!"
    with pytest.raises(openchatml.HiddenError) as caught:
        view.message(2)
    assert caught.value.code == "E-PERM-VISIBILITY"
    with pytest.raises(IndexError):
        view.message(99)


def test_preambles_can_be_hidden() -> None:
    plan = Message("assistant", "First I search.", channel="commentary", intent="preamble")
    chat = Conversation([plan])
    assert chat.user_view().messages[0].is_preamble
    assert len(chat.user_view(preambles="hide")) == 0


def test_other_documents() -> None:
    infill = openchatml.Infill("def f():\n", "\n", "    pass")
    text = openchatml.render(infill, "openchatml-0.1")
    assert openchatml.parse(text, "openchatml-0.1").document == infill
    files = openchatml.Files(("a", "b"))
    text = openchatml.render(files, "openchatml-0.1")
    assert openchatml.parse(text, "openchatml-0.1").document == files
    pair = openchatml.Pair(
        Conversation([Message.user("q"), Message.answer("good")]),
        Conversation([Message.user("q"), Message.answer("bad")]),
    )
    json = openchatml.render(pair, "json")
    assert openchatml.parse(json, "json").document == pair
    with pytest.raises(openchatml.ParseError):
        openchatml.parse(json, "json").conversation


def test_functions_become_tools() -> None:
    def weather(city: str, days: int = 1, units: list[str] | None = None) -> str:
        """The weather of a city.

        Args:
            city: The name
                of the city.
        """
        return city

    chat = FULL.replace(tools=[weather])
    declared = chat.tools[0]["function"]
    assert declared["description"] == "The weather of a city."
    assert declared["parameters"]["required"] == ["city"]
    assert declared["parameters"]["properties"]["city"]["description"] == "The name of the city."
    assert declared["parameters"]["properties"]["days"] == {"type": "integer", "default": 1}
    with pytest.raises(openchatml.ToolError, match="no type hint"):
        Conversation([], tools=[lambda x: x])
