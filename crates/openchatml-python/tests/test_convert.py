"""Reading, writing and converting, with consent to losses."""

from __future__ import annotations

import datetime

import openchatml
import pytest
from openchatml import Conversation, Message

SAMPLED = (
    "<|channel|>analysis<|message|>Easy.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>4.<|return|>"
)


def test_losses_need_consent() -> None:
    parsed = openchatml.parse(SAMPLED, "harmony", completion=True)
    with pytest.raises(openchatml.LossError) as caught:
        openchatml.convert(parsed, "chatml")
    assert [loss.name for loss in caught.value.losses] == ["analysis", "return"]
    assert caught.value.help and "allow_loss" in caught.value.help
    with pytest.raises(openchatml.LossError) as caught:
        openchatml.convert(parsed, "chatml", allow_loss=["analysis"])
    assert [loss.name for loss in caught.value.losses] == ["return"]
    for allowed in ("all", ["analysis", "return"], ("all",)):
        converted = openchatml.convert(parsed, "chatml", allow_loss=allowed)
        assert [loss.message_index for loss in converted.losses] == [0, 1]
        assert "Easy." not in converted.output


def test_dropped_input_needs_consent() -> None:
    data = {"messages": [{"role": "user", "content": "Hi!", "conten": "good"}]}
    with pytest.raises(openchatml.LossError) as caught:
        openchatml.convert(data, "chatml", format="openai")
    assert caught.value.code == "W-UNKNOWN-KEY" or caught.value.code == "E-UNKNOWN-KEY"
    assert caught.value.line == 1 and caught.value.column is not None
    converted = openchatml.convert(data, "chatml", format="openai", allow_loss=["unknown-key"])
    assert converted.output == "<|im_start|>user\nHi!<|im_end|>\n"
    assert converted.diagnostics[0].dropped == "unknown-key"
    with pytest.raises(openchatml.LossError):
        openchatml.prompt(data, "chatml", allow_loss=())


def test_render_refuses_what_a_format_cannot_express() -> None:
    chat = Conversation([Message.user("a"), Message.user("<|im_end|>")])
    with pytest.raises(openchatml.RenderError) as caught:
        openchatml.render(chat, "chatml")
    assert caught.value.message_index == 1 and caught.value.code == "E-RENDER-CONTROL"
    assert caught.value.user_summary


def test_layout_is_kept() -> None:
    text = "<|im_start|>user\nHi.<|im_end|>\n\n\n"
    parsed = openchatml.parse(text, "chatml")
    assert openchatml.render(parsed, "chatml") == text
    assert openchatml.render(parsed.conversation, "chatml") == text
    assert openchatml.render(parsed, "chatml", layout="canonical") == text.rstrip() + "\n"


def test_prompts() -> None:
    chat = Conversation(
        [Message.user("2 + 2?"), Message.reasoning("Easy."), Message.answer("4."), Message.user("?")]
    )
    written = openchatml.prompt(chat, "harmony", date=datetime.date(2026, 1, 31))
    assert "Current date: 2026-01-31" in written.output and "Easy." not in written.output
    assert written.output.endswith("<|start|>assistant")
    assert [loss.message_index for loss in written.losses] == [1]
    today = openchatml.prompt(chat, "harmony").output
    assert f"Current date: {datetime.date.today()}" in today
    high = openchatml.prompt(chat, "harmony", reasoning_effort="high", keep_reasoning=True).output
    assert "Reasoning: high" in high and "Easy." in high
    bare = openchatml.prompt(chat, "harmony", bare=True).output
    assert bare.startswith("<|start|>user")
    with pytest.raises(openchatml.ArgumentValueError):
        openchatml.prompt(chat, "harmony", bare=True, date="2026-01-31")
    with pytest.raises(openchatml.ArgumentValueError):
        openchatml.prompt(chat, "harmony", date="31.1.2026")


def test_format_detection() -> None:
    assert openchatml.parse('{"messages":[{"role":"user","content":"Hi!"}]}').format == "openai"
    with pytest.raises(openchatml.FormatError) as caught:
        openchatml.parse("Hello, how are you?")
    assert caught.value.help
    with pytest.raises(openchatml.FormatError):
        openchatml.Stream("openai")


def test_places_are_bytes_lines_and_characters() -> None:
    text = "<|im_start|>user\näöü<|im_end|>\nö Oops"
    found = openchatml.parse(text, "chatml").diagnostics[0]
    assert text.encode()[slice(*found.span)].decode().strip() == "ö Oops"
    assert found.line == 3


def test_bytes_and_limits() -> None:
    assert openchatml.parse(b"<|im_start|>user\nHi<|im_end|>\n", "chatml").conversation[0].text == "Hi"
    parsed = openchatml.parse("<|im_start|>user\nHi<|im_end|>\n" * 3, "chatml", limits={"messages": 1})
    assert len(parsed.conversation) == 1 and parsed.diagnostics[0].code == "E-LIMIT"
    with pytest.raises(openchatml.ArgumentValueError, match="unknown limit"):
        openchatml.parse("", "chatml", limits={"nope": 1})


def test_check_and_fix() -> None:
    text = "<|im_start|>user\nHi!"
    found = openchatml.check(text, "chatml")
    assert [it.code for it in found] == ["E-STREAM-TRUNCATED"]
    assert found[0].fix is not None and found[0].fix.applicability == "unsafe"
    assert openchatml.fix(text, "chatml").applied == 0
    fixed = openchatml.fix(text, "chatml", unsafe_fixes=True)
    assert fixed.applied == 1 and not openchatml.check(fixed.text, "chatml")
    empty = "<|im_start|>user\n<|im_end|>\n"
    assert [it.code for it in openchatml.check(empty, "chatml")] == ["W-EMPTY-MESSAGE"]
    assert openchatml.check(empty, "chatml")[0].line == 1
    assert openchatml.check(empty, "chatml", ignore=["W-EMPTY-MESSAGE"]) == ()
    call = {"function": {"name": "f", "arguments": "{}"}, "type": "function", "id": "c"}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "Never mind."},
    ]
    codes = [found.code for found in openchatml.check({"messages": messages}, "openai")]
    assert codes == ["E-CALL-UNANSWERED"]
    assert openchatml.check({"messages": messages}, "openai", ignore=codes) == ()
    assert openchatml.check(empty, "chatml", lints="none") == ()


def test_formats_and_codes() -> None:
    names = {format.name for format in openchatml.formats()}
    assert {"harmony", "chatml", "openai", "json"} <= names
    assert openchatml.explain("E-PARSE-FRAME").text
    with pytest.raises(openchatml.ArgumentValueError):
        openchatml.explain("E-NOPE")


def test_grammars() -> None:
    made = openchatml.grammar("harmony", "lark", tools=[{"function": {"name": "f"}}])
    assert "functions.f" in made.text and made.unenforced == ()
    with pytest.raises(openchatml.GrammarError):
        openchatml.grammar("harmony", "gbnf", tool_choice="nope")


def test_arguments_that_are_almost_json_are_repaired_on_request() -> None:
    text = "[TOOL_CALLS]weather[ARGS]{'city': 'Bern'}</s>"
    plain = openchatml.parse(text, "mistral-v11", completion=True)
    assert plain.conversation[0].text == "{'city': 'Bern'}"
    for repair, recovered in (("mark", True), ("accept", False)):
        parsed = openchatml.parse(text, "mistral-v11", completion=True, repair=repair)
        call = parsed.conversation[0]
        assert (call.text, call.recovered) == ('{"city": "Bern"}', recovered)
        assert [it.code for it in parsed.diagnostics][-1] == "W-CALL-REPAIRED"
    with pytest.raises(TypeError):
        openchatml.Stream("mistral-v11", repair="mark")  # type: ignore[call-arg]
