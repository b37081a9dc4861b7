"""Functions of Python in the threads and event loops of a run."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from ._declare import typed_arguments
from ._errors import ArgumentTypeError

if TYPE_CHECKING:
    from ._openchatml import Cancellation, Conversation, Message, Router
    from ._records import RunResult

__all__ = ["Runtime", "answer_async", "run_async"]

_LOGGER = logging.getLogger("openchatml")

_T = TypeVar("_T")


class Runtime:
    """Where functions run: in threads with the context of the caller, and in an event loop.

    Asynchronous functions run in the loop of the caller, or, without one, in a loop of its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._context = contextvars.copy_context()
        self._loop = loop
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Returns the event loop, and starts one if the caller has none."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="openchatml-loop", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """Ends the loop, if it is not that of the caller."""
        if self._thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def job(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Job:
        """Returns a call of a function, which a thread can run."""
        return Job(self, self._context, function, arguments, named)

    def pieces(self, completion: Any) -> Job:
        """Returns a call that returns the iterator of the pieces of a completion."""
        return self.job(_pieces, self, completion)


class Job:
    """A call of a function. Another thread can cancel it, if the function is asynchronous."""

    def __init__(
        self,
        runtime: Runtime,
        context: contextvars.Context,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> None:
        self._runtime = runtime
        self._context = context
        self._function = function
        self._arguments = arguments
        self._named = named
        self._future: Future[Any] | None = None
        self._cancelled = False

    def run(self) -> Any:
        """Runs the function, and returns its result."""
        # A context can be entered only once at a time.
        named = typed_arguments(self._function, self._named) if self._named else {}
        result = self._context.copy().run(self._function, *self._arguments, **named)
        return self.wait(result) if inspect.isawaitable(result) else result

    def wait(self, awaitable: Any) -> Any:
        """Waits for an awaitable in the event loop."""

        async def wait() -> Any:
            return await awaitable

        # The loop runs it in the context in which it is handed over.
        submit = asyncio.run_coroutine_threadsafe
        self._future = self._context.copy().run(submit, wait(), self._runtime.loop())
        if self._cancelled:
            self._future.cancel()
        return self._future.result()

    def logged(self, name: str) -> Any:
        """Runs a tool or a model. An exception is logged, because only its text goes on."""
        try:
            return self.run()
        except Exception:
            _LOGGER.warning("`%s` raised an exception", name, exc_info=True)
            raise

    def cancel(self) -> None:
        """Cancels an asynchronous function. Nothing ends another one."""
        self._cancelled = True
        if self._future is not None:
            self._future.cancel()


_END = object()


def _pieces(runtime: Runtime, completion: Any) -> Iterator[Any]:
    """Returns the pieces of a completion: texts and lists of ids."""
    if isinstance(completion, (str, bytes)):
        return iter([completion])
    if isinstance(completion, AsyncIterable):
        return _from_async(runtime, completion.__aiter__())
    if isinstance(completion, Iterable):
        items = list(completion) if isinstance(completion, (list, tuple)) else None
        if items is not None and all(isinstance(it, int) for it in items):
            return iter([items])
        return iter(completion if items is None else items)
    raise ArgumentTypeError(
        f"the model returned `{type(completion).__name__}`, not a completion: a `str`, token ids, or "
        "an iterable of them"
    )


def _from_async(runtime: Runtime, source: AsyncIterator[Any]) -> Iterator[Any]:
    async def step() -> Any:
        try:
            return await source.__anext__()
        except StopAsyncIteration:
            return _END

    while (piece := runtime.job(step).run()) is not _END:
        yield piece


async def run_async(
    conversation: Conversation, model: Any, tools: Any = None, **options: Any
) -> RunResult:
    """Runs a model with tools, as :func:`run` does, without blocking the event loop.

    Asynchronous tools and models run in this event loop. Cancelling the task cancels the run.

    >>> import asyncio
    >>> from openchatml import Conversation, Message
    >>> async def model(prompt: str) -> str:
    ...     return "<|channel|>final<|message|>4.<|return|>"
    >>> chat = Conversation([Message.user("2 + 2?")])
    >>> asyncio.run(run_async(chat, model)).conversation[-1].text
    '4.'
    """
    from ._openchatml import Cancellation, run

    runtime = Runtime(asyncio.get_running_loop())
    cancellation = Cancellation()
    # The stub has no options that only this function gives.
    call: Callable[..., RunResult] = run
    job = functools.partial(
        call, conversation, model, tools, runtime=runtime, cancellation=cancellation, **options
    )
    return await _cancellable(job, cancellation)


async def _cancellable(job: Callable[[], _T], cancellation: Cancellation) -> _T:
    """Waits for a job in a thread of its own. If the task is cancelled, so is the job.

    The threads of the loop are for others: coroutines of the caller need them to look up a host or to
    read a file, and would wait forever for the jobs that wait for them.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def run() -> None:
        try:
            result = job()
        except BaseException as error:  # It is raised in the task.
            loop.call_soon_threadsafe(done.set_exception, error)
        else:
            loop.call_soon_threadsafe(done.set_result, result)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="openchatml-run", daemon=True)
    thread.start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        cancellation.cancel()
        # The job ends soon, and the loop is needed until then.
        await asyncio.wait([done])
        done.exception()
        raise


async def answer_async(router: Router, conversation: Conversation) -> tuple[Message, ...]:
    """Runs the calls of a conversation, as :meth:`Router.answer` does, in this event loop.

    >>> import asyncio
    >>> from openchatml import Conversation, Message, Router
    >>> async def now() -> str:
    ...     return "noon"
    >>> chat = Conversation([Message.user("?"), Message.call("now", {}, call_id="c1")])
    >>> asyncio.run(answer_async(Router([now], envelope="raw"), chat))[0].text
    'noon'
    """
    from ._openchatml import Cancellation

    runtime = Runtime(asyncio.get_running_loop())
    cancellation = Cancellation()
    job = functools.partial(router._answer, conversation, runtime, cancellation)
    return await _cancellable(job, cancellation)
