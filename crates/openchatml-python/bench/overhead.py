"""Measures what a call from Python costs beside the work in Rust.

Build a wheel with `maturin build --release --features internals`, install it with NumPy, and run

    python crates/openchatml-python/bench/overhead.py

The yardsticks are `_empty`, a function that takes the arguments of `parse` and returns nothing, and
a method that takes one argument and does nothing. The work in Rust is measured by repeating it inside
of one call (`_repeat_parse`, `_repeat_feed`). Each figure is the minimum of 15 rounds.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable

import openchatml
from openchatml import Stream, Tokenizer, _openchatml

ROUNDS = 15
TEXT = "<|im_start|>user\nHi!<|im_end|>\n"
WORDS = Tokenizer("harmony").encode("the quick brown fox jumps over the lazy dog " * 200)


def nanoseconds(run: Callable[[], object], count: int) -> float:
    """Returns the time of one of `count` steps."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        run()
        best = min(best, time.perf_counter_ns() - begin)
    return best / count


def calls() -> tuple[float, float, float]:
    """An empty function, `parse`, and the work of `parse`."""
    count = 20_000

    def empty() -> None:
        call = _openchatml._empty
        for _ in range(count):
            call(TEXT, "chatml")

    def parse() -> None:
        call = openchatml.parse
        for _ in range(count):
            call(TEXT, "chatml")

    work = nanoseconds(lambda: _openchatml._repeat_parse(TEXT, "chatml", count), count)
    return nanoseconds(empty, count), nanoseconds(parse, count), work


def ids() -> tuple[float, float, float]:
    """An empty method, `feed` of an id, and the work of `feed`."""
    tokenizer = Tokenizer("harmony")
    begin = [200005, 17196, 200008]

    def empty() -> None:
        call = _openchatml._Empty().feed
        for id in WORDS:
            call(id)

    def feed() -> None:
        stream = Stream(tokenizer, completion=True, keep="nothing")
        stream.feed(begin)
        call = stream.feed
        for id in WORDS:
            call(id)

    def work() -> None:
        stream = Stream(tokenizer, completion=True, keep="nothing")
        stream.feed(begin)
        _openchatml._repeat_feed(stream, WORDS)

    count = len(WORDS)
    return nanoseconds(empty, count), nanoseconds(feed, count), nanoseconds(work, count)


def main() -> None:
    print(f"openchatml {openchatml.__version__}, Python {platform.python_version()}")
    print(f"{'':24} {'empty':>8} {'call':>8} {'work':>8}  (call - work) / empty")
    for name, (empty, call, work) in {"parse(text, format)": calls(), "feed(id)": ids()}.items():
        print(f"{name:24} {empty:6.0f}ns {call:6.0f}ns {work:6.0f}ns  {(call - work) / empty:.2f}")


if __name__ == "__main__":
    main()
