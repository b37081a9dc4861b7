"""Objects are safe to share between threads, and long work does not hold the interpreter lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import openchatml
import pytest
from openchatml import Conversation, Message, PromptCache, Stream, Tokenizer

CHAT = Conversation([Message.user("question " * 50), Message.answer("answer " * 50)] * 50)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer("harmony")


def test_shared_objects(tokenizer: Tokenizer) -> None:
    cache = PromptCache(tokenizer)
    sample = tokenizer.sample(CHAT)
    expected = cache.prompt(CHAT).tolist()
    text = openchatml.render(CHAT, "chatml")

    def work(number: int) -> None:
        assert openchatml.parse(text, "chatml").conversation.messages[number].role
        assert cache.prompt(CHAT).tolist() == expected
        assert len(sample.ids) == len(sample) and sample.ids is sample.ids
        assert hash(CHAT) == hash(CHAT) and CHAT[number].text

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))


def test_a_shared_stream_loses_nothing() -> None:
    stream = Stream("chatml", completion=True)
    counts: list[int] = []

    def feed() -> None:
        count = 0
        for _ in range(500):
            count += sum(len(event.text or "") for event in stream.feed("x"))
        counts.append(count)

    threads = [threading.Thread(target=feed) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rest = sum(len(event.text or "") for event in stream.finish())
    assert sum(counts) + rest == 8 * 500


@pytest.mark.parametrize("name", ["parse", "convert", "sample", "detect", "check"])
def test_long_work_lets_other_threads_run(name: str, tokenizer: Tokenizer) -> None:
    long = Conversation(list(CHAT) * 100)
    text = openchatml.render(long, "chatml")
    work: dict[str, Callable[[], object]] = {
        "parse": lambda: openchatml.parse(text, "chatml"),
        "convert": lambda: openchatml.convert(long, "openai", allow_loss="all"),
        "sample": lambda: tokenizer.sample(long),
        "detect": lambda: openchatml.detect(text),
        "check": lambda: openchatml.check(text, "chatml"),
    }
    done = threading.Event()
    began = threading.Event()

    def run() -> None:
        began.set()
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            work[name]()
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    steps = 0
    while not done.is_set():
        # This thread can do this only while the other one does not hold the lock.
        steps += 1
        time.sleep(0)
    thread.join()
    assert steps > 20
