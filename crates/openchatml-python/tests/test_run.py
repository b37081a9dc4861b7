"""Tools that are functions of Python, and the loop with a model."""

from __future__ import annotations

import asyncio
import contextvars
import enum
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator

import openchatml
import pytest
from openchatml import Conversation, Message, Router, Tokenizer, run, run_async

QUESTION = Conversation([Message.user("How is the weather?")])
CALL = '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>'
ANSWER = "<|channel|>final<|message|>It is sunny.<|return|>"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


def model(prompt: str) -> str:
    """Calls the tool, and answers when the prompt has its reply."""
    return ANSWER if "Sunny in Paris." in prompt else CALL


def called(name: str, arguments: object, call_id: str = "c1") -> Conversation:
    return QUESTION + Message.call(name, arguments, call_id=call_id)


def test_the_loop() -> None:
    events: list[dict[str, object]] = []
    result = run(QUESTION, model, [weather], on_event=events.append)
    assert result.stop_reason == "answered"
    assert [message.role for message in result.conversation] == [
        *["user", "assistant", "tool", "assistant"]
    ]
    assert result.conversation.answers[2] == 1
    assert result.conversation.user_view().messages[-1].text == "It is sunny."
    kinds = [event["type"] for event in events]
    assert "message.done" in kinds and any("tool" in str(kind) for kind in kinds)


def test_the_model_is_told_about_the_tools() -> None:
    prompts: list[str] = []

    def listening(prompt: str) -> str:
        prompts.append(prompt)
        return model(prompt)

    run(QUESTION, listening, [weather], reasoning_effort="high")
    assert "The weather of a city." in prompts[0] and "Reasoning: high" in prompts[0]
    assert prompts[0].endswith("<|start|>assistant")


def test_completions_of_every_kind() -> None:
    def pieces(prompt: str) -> Iterator[str]:
        yield from model(prompt)

    async def later(prompt: str) -> str:
        await asyncio.sleep(0)
        return model(prompt)

    async def stream(prompt: str) -> AsyncIterator[str]:
        for character in model(prompt):
            await asyncio.sleep(0)
            yield character

    for kind in (pieces, later, stream, lambda prompt: list(model(prompt))):
        assert run(QUESTION, kind, [weather]).stop_reason == "answered"


def test_token_ids() -> None:
    tokenizer = Tokenizer("harmony")
    control = tokenizer.control_tokens

    def encoded(text: str) -> list[int]:
        ids: list[int] = []
        while text:
            token = next((it for it in control if text.startswith(it)), None)
            end = text.find("<|", 1)
            piece = token or (text if end < 0 else text[:end])
            ids += [control[token]] if token else tokenizer.encode(piece)
            text = text[len(piece) :]
        return ids

    def ids(prompt: list[int]) -> list[int]:
        assert isinstance(prompt, list) and isinstance(prompt[0], int)
        return encoded(model(tokenizer.decode(prompt)))

    result = run(QUESTION, ids, [weather], tokenizer=tokenizer)
    assert result.conversation[-1].text == "It is sunny."


def test_asynchronous_tools_run_in_the_loop_of_the_caller() -> None:
    loops: list[object] = []

    async def weather(city: str) -> str:
        """The weather of a city."""
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        return f"Sunny in {city}."

    async def main() -> None:
        result = await run_async(QUESTION, model, [weather])
        assert result.stop_reason == "answered"
        assert loops == [asyncio.get_running_loop()]
        replies = await openchatml.answer_async(Router([weather]), called("weather", {"city": "P"}))
        assert replies[0].json()["content"] == "Sunny in P."

    asyncio.run(main())
    assert run(QUESTION, model, [weather]).stop_reason == "answered"


def test_runs_leave_the_threads_of_the_loop_to_others() -> None:
    """Coroutines need them, for example to look up a host."""

    async def waiting(prompt: str) -> str:
        await asyncio.to_thread(time.sleep, 0)
        return ANSWER

    async def waits(city: str) -> str:
        """Waits."""
        return await asyncio.to_thread(str.upper, city)

    async def main() -> None:
        runs = [run_async(QUESTION, waiting) for _ in range(100)]
        for result in await asyncio.gather(*runs):
            assert result.stop_reason == "answered"
        answers = [
            openchatml.answer_async(Router([waits]), called("waits", {"city": "p"}))
            for _ in range(100)
        ]
        for replies in await asyncio.gather(*answers):
            assert replies[0].json()["content"] == "P"

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("answers", [False, True])
def test_a_cancelled_task_cancels_the_run(answers: bool) -> None:
    begun = threading.Event()
    cancelled = threading.Event()

    async def slow(city: str) -> str:
        """Waits."""
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return city

    slow.__name__ = "weather"

    async def main() -> None:
        job = (
            openchatml.answer_async(Router([slow]), called("weather", {"city": "P"}))
            if answers
            else run_async(QUESTION, model, [slow])
        )
        task = asyncio.ensure_future(job)
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begin = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begin < 10 and cancelled.wait(5)


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


def test_arguments_have_the_types_of_the_hints() -> None:
    seen: list[object] = []

    def measure(unit: Unit, at: tuple[float, int], tags: set[str], more: list[Unit] | None) -> int:
        """Measures."""
        seen.extend([unit, at, tags, more])
        return 1

    arguments = {"unit": "F", "at": [1, 2], "tags": ["a", "a"], "more": ["C"]}
    assert Router([measure]).answer(called("measure", arguments))[0].json()["ok"]
    assert seen == [Unit.FAHRENHEIT, (1.0, 2), {"a"}, [Unit.CELSIUS]]
    assert isinstance(seen[1], tuple) and type(seen[1][0]) is float


def test_a_failed_model_keeps_what_the_tools_did() -> None:
    def failing(prompt: str) -> str:
        if "Sunny in Paris." in prompt:
            raise ValueError("broken")
        return CALL

    with pytest.raises(openchatml.ModelError, match="broken") as caught:
        run(QUESTION, failing, [weather])
    chat = caught.value.conversation
    assert chat is not None and chat[-1].role == "tool"


def test_ids_need_a_tokenizer() -> None:
    with pytest.raises(openchatml.ModelError, match="tokenizer"):
        run(QUESTION, lambda prompt: [200005, 17196])


def test_tools_see_the_context_of_the_caller() -> None:
    variable = contextvars.ContextVar("variable", default="none")
    seen: list[str] = []

    def weather(city: str) -> str:
        """The weather of a city."""
        seen.append(variable.get())
        return f"Sunny in {city}."

    async def later(city: str) -> str:
        """The weather of a city."""
        return weather(city)

    later.__name__ = "weather"
    variable.set("mine")
    run(QUESTION, model, [weather])
    run(QUESTION, model, [later])
    asyncio.run(run_async(QUESTION, model, [later]))
    assert seen == ["mine"] * 3


def reply(function: object, arguments: object, **options: object) -> dict[str, object]:
    function.__name__ = "weather"  # type: ignore[attr-defined]
    (message,) = Router([function], **options).answer(called("weather", arguments))
    assert message.role == "tool" and message.call_id == "c1"
    return message.json()


def test_results() -> None:
    def data(city: str) -> object:
        """Data."""
        return {"degrees": [20, 20.5, None, True]}

    assert reply(data, {"city": "P"})["content"] == {"degrees": [20, 20.5, None, True]}

    def unusable(city: str) -> object:
        """Not data."""
        return {city}

    failed = reply(unusable, {"city": "P"})
    assert failed["ok"] is False and "JSON has no `set`" in str(failed["error"])


def test_exceptions_are_replies_and_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    def failing(city: str) -> str:
        """Fails."""
        raise KeyError(city)

    with caplog.at_level(logging.WARNING, logger="openchatml"):
        failed = reply(failing, {"city": "Paris"})
    assert failed["ok"] is False and "KeyError: 'Paris'" in str(failed["error"])
    assert caplog.records[0].exc_info is not None


def test_arguments_are_checked() -> None:
    ran: list[str] = []

    def strict(city: str, days: int = 1) -> str:
        """Checks."""
        ran.append(city)
        return city

    for arguments in ({"city": 3}, {}, {"city": "P", "days": "x"}, "not JSON"):
        assert reply(strict, arguments)["ok"] is False
    assert not ran
    assert reply(strict, {"city": "P", "days": 2})["ok"] is True


def test_timeouts_do_not_wait_for_the_function() -> None:
    def hanging(city: str) -> str:
        """Hangs."""
        time.sleep(2)
        return city

    begin = time.monotonic()
    failed = reply(hanging, {"city": "P"}, timeout=0.1)
    assert time.monotonic() - begin < 1.5
    assert failed["error"]["code"] == "E-TOOL-TIMEOUT"  # type: ignore[index]


def test_approval() -> None:
    asked: list[tuple[str, str]] = []

    def approve(name: str, arguments: str) -> object:
        asked.append((name, arguments))
        return answers.pop(0)

    answers: list[object] = [True, False, "it costs money", {"city": "Rome"}, 3]
    router = Router([weather], approve=approve)
    replies = [router.answer(called("weather", {"city": "P"}))[0].json() for _ in range(5)]
    assert [it["ok"] for it in replies] == [True, False, False, True, False]
    assert "it costs money" in replies[2]["error"]["message"]
    assert replies[3]["content"] == "Sunny in Rome."
    assert asked[0] == ("functions.weather", '{"city":"P"}')

    async def later(name: str, arguments: str) -> bool:
        await asyncio.sleep(0)
        return True

    assert Router([weather], approve=later).answer(called("weather", {"city": "P"}))[0].json()["ok"]


def test_calls_run_concurrently_and_each_gets_one_reply() -> None:
    barrier = threading.Barrier(4, timeout=10)

    def weather(city: str) -> str:
        """Waits for the others."""
        barrier.wait()
        return city

    chat = QUESTION
    for at in range(4):
        chat = chat + Message.call("weather", {"city": str(at)}, call_id=f"c{at}")
    replies = Router([weather]).answer(chat)
    assert sorted(it.call_id or "" for it in replies) == ["c0", "c1", "c2", "c3"]
    assert Router([weather]).answer(chat + replies) == ()


def test_limits_and_failures() -> None:
    assert run(QUESTION, lambda prompt: CALL, [weather], max_steps=2).stop_reason == "step_limit"
    with pytest.raises(openchatml.ModelError, match="ZeroDivisionError"):
        run(QUESTION, lambda prompt: 1 / 0, [weather])
    with pytest.raises(openchatml.ModelError, match="not a completion"):
        run(QUESTION, lambda prompt: 3, [weather])
    with pytest.raises(openchatml.ArgumentTypeError, match="`model`"):
        run(QUESTION, 3, [weather])
    with pytest.raises(openchatml.ArgumentTypeError, match="unexpected keyword argument `stps`"):
        run(QUESTION, model, stps=3)
    # An event that cannot be handled ends the run with its exception.
    with pytest.raises(ZeroDivisionError):
        run(QUESTION, model, [weather], on_event=lambda event: 1 / 0)
    # Nobody listens there.
    with pytest.raises(openchatml.ModelError):
        run(QUESTION, "http://127.0.0.1:9", [weather], max_time=1)


def test_ctrl_c_ends_a_run() -> None:
    def slow(prompt: str) -> Iterator[str]:
        yield "<|channel|>final<|message|>"
        for _ in range(200):
            time.sleep(0.02)
            yield "."

    # A process in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(QUESTION, slow)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 3
