"""A callable as a model: the reference's custom models (``language-models/custom-models``).

::

    def custom_language_model(messages, model, stream, max_tokens):
        for character in messages[-1]["content"]:
            yield {"choices": [{"delta": {"content": character}}]}
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from oi_engine.errors import ModelError
from oi_engine.models.deltas import chunk_events
from oi_engine.models.model import ModelEvent, ModelInfo, ModelRequest

Completions = Callable[..., Any]
"""Takes OpenAI's parameters by name, returns an iterator or an asynchronous iterator of OpenAI's streaming chunks."""

_AHEAD = 64
"""Chunks that the function may be ahead of whoever reads them."""


class CallableModel:
    """A ``Model`` that asks a function.

    It gets ``messages``, ``model``, ``stream`` (always true) and ``max_tokens``, and of ``temperature``, ``api_base``,
    ``api_key`` and ``api_version`` those that it has parameters for (all of them where it takes ``**kwargs``).
    Chunks are mappings, or objects with a ``model_dump`` as the OpenAI package has them. A plain generator runs on a
    thread of its own. What the function raises ends the reply as ``ModelError`` (``other``) with its text.
    """

    def __init__(self, function: Completions) -> None:
        self._function = function

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask for a reply; see ``Model.stream``."""
        call = _arguments(self._function, request)
        chunks = self._chunks(call)
        try:
            async for chunk in chunks:
                for event in chunk_events(_mapping(chunk)):
                    yield event
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                "other",
                f"The custom model failed: {type(error).__name__}: {error}".rstrip(": "),
                "Correct the function that is set as the model, then send your message again.",
            ) from error
        finally:
            await chunks.aclose()

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """Nothing is known of a function; it is told of no tools."""
        return ModelInfo()

    async def warm_up(self) -> None:
        """Nothing to get ready."""

    async def close(self) -> None:
        """Nothing to let go of."""

    async def _chunks(self, call: Mapping[str, Any]) -> AsyncGenerator[Any, None]:
        if inspect.isasyncgenfunction(self._function) or inspect.iscoroutinefunction(self._function):
            found = self._function(**call)
            found = await found if inspect.isawaitable(found) else found
        else:
            # Its first part may do all the work before it returns an iterator.
            found = await asyncio.to_thread(self._function, **call)
        if isinstance(found, AsyncIterator):
            try:
                async for chunk in found:
                    yield chunk
            finally:
                if isinstance(found, AsyncGenerator):
                    await found.aclose()
            return
        pump = _Pump(iter(found))
        try:
            async for chunk in pump:
                yield chunk
        finally:
            pump.stop()


class _Pump:
    """Runs an iterator on a thread, a few chunks ahead of the loop that takes them."""

    def __init__(self, chunks: Iterator[Any]) -> None:
        self._chunks = chunks
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[bool, Any]] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._stopped = False
        # A daemon: a function that never returns must not keep the program from ending.
        threading.Thread(target=self._run, name="custom-model", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            more, item = await self._queue.get()
            self._room.release()
            if not more:
                if item is not None:
                    raise item
                return
            yield item

    def stop(self) -> None:
        """Take no more chunks; the iterator is closed as soon as it yields again."""
        self._stopped = True
        self._room.release()

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            for chunk in self._chunks:
                self._room.acquire()
                if self._stopped:
                    break
                self._put(True, chunk)
            close = getattr(self._chunks, "close", None)
            if close is not None:
                close()
        except Exception as error:  # noqa: BLE001 -- whatever a stranger's function raises goes to the reader
            failure = error
        self._put(False, failure)

    def _put(self, more: bool, item: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (more, item))
        except RuntimeError:
            # The loop is closed: nobody reads any more.
            self._stopped = True


def _arguments(function: Completions, request: ModelRequest) -> dict[str, Any]:
    offered: dict[str, Any] = {
        "messages": [dict(message) for message in request.messages],
        "model": request.model,
        "stream": True,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "api_base": request.api_base,
        "api_key": request.api_key,
        "api_version": request.api_version,
    }
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return offered
    taken = {parameter.name for parameter in parameters}
    return {name: value for name, value in offered.items() if name in taken}


def _mapping(chunk: Any) -> Mapping[str, Any]:
    if isinstance(chunk, Mapping):
        return chunk
    dump = getattr(chunk, "model_dump", None)
    if dump is None:
        raise TypeError(f"it yielded {type(chunk).__name__} where a chunk in OpenAI's form was expected")
    dumped: Mapping[str, Any] = dump()
    return dumped
