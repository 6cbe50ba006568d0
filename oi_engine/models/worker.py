"""The model worker: LiteLLM in a process of its own, asked in JSON lines.

``python -m oi_engine.models.worker PARENT_PID`` reads requests on its standard input and writes events to its
standard output, one JSON object a line. This is the only module that imports LiteLLM. The first line is no request
but the provider keys, ``{"OPENAI_API_KEY": …}``: what a process is started with, other programs can read. Requests,
with ``id`` a number that the client chooses::

    {"id": 1, "op": "stream", "model": …, "messages": […], "tools": bool, "languages": […], "temperature": …,
     "max_tokens": …, "api_base": …, "api_key": …, "api_version": …, "context_window": …,
     "after": {"id": 7, "count": 3}, "forget": [7]}   # where they begin with 3 messages of request 7: see resending
    {"id": 2, "op": "info", "model": …, "api_base": …}
    {"id": 3, "op": "count", "model": …, "texts": […]}
    {"id": 4, "op": "models", "model": "", "everything": bool}
    {"id": 5, "op": "names", "model": "", "api_base": …}
    {"id": 6, "op": "fit", "model": "", "messages": […]}
    {"id": 1, "op": "cancel"}

and events; ``done``, ``error`` and ``answer`` are a request's last, a cancelled request gets none::

    {"id": 1, "deltas": [{"content": …, "reasoning_content": …, "tool_calls": […]}, …]}
    {"id": 1, "usage": {"prompt_tokens": …, "completion_tokens": …, "cost": …}}
    {"id": 1, "notice": "text"}
    {"id": 1, "done": true}
    {"id": 1, "error": {"kind": …, "message": …, "remedy": …, "retry_after": …}}
    {"id": 2, "answer": {"supports_functions": …, …}}           # the fields of ModelInfo, and "certain"
    {"id": 3, "answer": [tokens of each text]}
    {"id": 4, "answer": [{"model": …, "provider": …, …}, …]}    # the fields of catalog.Offer
    {"id": 5, "answer": [names of models]}
    {"id": 6, "answer": {"messages": […], "left_out": number of images}}    # the images as a stream would send them

It ends at the end of its input, and when its parent dies. Importing it does nothing and does not import LiteLLM.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import attrs

from oi_engine.models import knowledge
from oi_engine.models.failures import Asked, Failure, content_filtered, cut_off, explain, no_key
from oi_engine.models.resending import Received
from oi_engine.models.shrink import Shrinker
from oi_engine.models.tokens import images_in
from oi_engine.models.tool_call_parser import TOOL
from oi_engine.safety.secrets import is_provider_key

_CHUNKS_IN_A_ROW = 16
"""A fast stream never suspends by itself: after so many chunks the others get their turn."""

_GC_THRESHOLD = 50_000
_CONNECT_TIMEOUT = 20.0
_SILENCE_TIMEOUT = 600.0
"""Seconds without a byte after which a request fails: a local model may load for minutes before its first word."""

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until standard input ends."""
    # No garbage collection while importing: it saves a third of the start.
    gc.disable()
    _die_with_parent(int(sys.argv[1]))
    requests, events = _take_wire()
    keys: dict[str, str] = json.loads(requests.readline() or "{}")
    os.environ.update(keys)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    worker = _Worker(_Wire(events, loop), loop, tuple(keys.values()))
    # Before the import, so that a parent that leaves meanwhile is noticed.
    threading.Thread(target=_read, args=(requests, worker, loop), name="requests", daemon=True).start()
    litellm = _import_litellm()
    loop.run_until_complete(worker.serve(litellm))


def _die_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent dies; Linux only, elsewhere the end of the input does it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            # It died before the call above.
            os._exit(0)


def _take_wire() -> tuple[IO[bytes], IO[bytes]]:
    """Move the pipes away from descriptors 0 and 1, which LiteLLM prints to, and put harmless ones there."""
    requests, events = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), os.fdopen(events, "wb")


def _import_litellm() -> Any:
    # The table of models that comes with the package: fetching the newest would need the network, while importing.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # Else it reads a .env file, which may belong to whoever wrote the workspace and point keys at another server.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    # Its own HTTP client for OpenAI too: the OpenAI package takes 450 ms to check 3,000 messages, on the event loop.
    os.environ["EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"] = "True"
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    # It would fetch vocabularies, to count tokens, from the network.
    litellm.disable_hf_tokenizer_download = True
    _mend_lines()
    # What was imported stays: the collector need never look at it again.
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)
    gc.enable()
    return litellm


def _mend_lines() -> None:
    """Keep LiteLLM from taking text that mentions ``[DONE]`` for the end of the stream, and dropping it.

    As of 1.106 it looks for the mark anywhere in a line; the mark is the whole of the line's data.
    """
    from litellm.llms.base_llm.base_model_iterator import BaseModelResponseIterator as Lines

    original = Lines._handle_string_chunk

    def handle(self: Any, str_line: str) -> Any:
        if "[DONE]" in str_line and str_line.removeprefix("data:").strip() != "[DONE]":
            parsed = self._string_to_dict_parser(str_line=str_line)
            if parsed:
                return self.chunk_parser(chunk=parsed)
        return original(self, str_line=str_line)

    Lines._handle_string_chunk = handle


def _read(requests: IO[bytes], worker: _Worker, loop: asyncio.AbstractEventLoop) -> None:
    """Hand requests to the loop until the client leaves.

    A plain thread: a worker that is blocked in Python would never run an asynchronous reader.
    """
    for line in requests:
        request = json.loads(line)
        if b"\\ud" in line:
            # Half a surrogate pair (a program's output may hold one) is no text that can be sent on.
            wide = json.dumps(request, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
            request = json.loads(wide.decode("utf-16-le", "replace"))
        loop.call_soon_threadsafe(worker.take, request)
    os._exit(0)


class _Wire:
    """Events on their way out: gathered, and written once in every turn of the loop.

    The write blocks while the client does not read, which in turn stops reading from the providers.
    """

    def __init__(self, file: IO[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self._file = file
        self._loop = loop
        self._events: list[dict[str, Any]] = []
        self._deltas: dict[int, list[dict[str, Any]]] = {}

    def delta(self, request: int, delta: dict[str, Any]) -> None:
        """More of a reply; the deltas of one turn of the loop share an event."""
        gathered = self._deltas.get(request)
        if gathered is None:
            gathered = self._deltas[request] = []
            self.send(request, deltas=gathered)
            self._deltas[request] = gathered
        gathered.append(delta)

    def send(self, request: int, **event: Any) -> None:
        """One event."""
        self._deltas.pop(request, None)
        if not self._events:
            self._loop.call_soon(self._flush)
        self._events.append({"id": request, **event})

    def _flush(self) -> None:
        events, self._events = self._events, []
        self._deltas.clear()
        try:
            for event in events:
                self._file.write(json.dumps(event, separators=(",", ":")).encode())
                self._file.write(b"\n")
            self._file.flush()
        except BrokenPipeError:
            os._exit(0)


class _Worker:
    """The requests under way."""

    def __init__(self, wire: _Wire, loop: asyncio.AbstractEventLoop, keys: tuple[str, ...]) -> None:
        self._wire = wire
        self._loop = loop
        self._keys = keys
        self._litellm: Any = None
        self._timeout: Any = None
        self._shrinker = Shrinker()
        self._received = Received()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self, litellm: Any) -> None:
        """Answer requests for ever."""
        import httpx

        self._litellm = litellm
        self._timeout = httpx.Timeout(_SILENCE_TIMEOUT, connect=_CONNECT_TIMEOUT)
        warming = self._loop.create_task(self._warm_up())
        await asyncio.Event().wait()
        warming.cancel()

    def take(self, request: dict[str, Any]) -> None:
        """Begin, or cancel, a request."""
        number = request["id"]
        if request["op"] == "cancel":
            if task := self._tasks.get(number):
                task.cancel()
            return
        if request["op"] == "stream":
            request["messages"] = self._received.whole(request)
        task = self._loop.create_task(self._answer(number, request))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _answer(self, number: int, request: dict[str, Any]) -> None:
        try:
            if request["op"] == "stream":
                await self._stream(number, request)
            else:
                self._wire.send(number, answer=await self._know(request))
        except _Failed as failed:
            self._wire.send(number, error=attrs.asdict(failed.failure))
        except Exception as error:  # noqa: BLE001 -- a defect must reach the person as this request's failure
            self._wire.send(number, error=attrs.asdict(explain(error, Asked(request["model"]))))

    async def _warm_up(self) -> None:
        """One call to a port where nobody listens: what LiteLLM does only once, it does now."""
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            base = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
            with contextlib.suppress(Exception):  # any failure will do; BLE does not see suppress
                await self._litellm.acompletion(
                    model="openai/warm-up",
                    messages=[{"role": "user", "content": ""}],
                    api_base=base,
                    api_key="none",
                    stream=True,
                    num_retries=0,
                    max_retries=0,
                )

    async def _stream(self, number: int, request: dict[str, Any]) -> None:
        call, asked = self._prepare(request)
        if images_in(request["messages"]):
            call["messages"], left_out = await asyncio.to_thread(self._shrinker.fit, request["messages"])
            if left_out:
                self._wire.send(number, notice="An image is too large for the provider and was not sent.")
        stream: Any = None
        received = False
        try:
            stream = await self._litellm.acompletion(**call)
            count = 0
            async for chunk in stream:
                for delta in _deltas(chunk):
                    received = True
                    self._wire.delta(number, delta)
                if usage := getattr(chunk, "usage", None):
                    self._wire.send(number, usage=self._usage(usage, call))
                count += 1
                if count % _CHUNKS_IN_A_ROW == 0:
                    await asyncio.sleep(0)
        except Exception as error:
            raise _Failed(explain(error, attrs.evolve(asked, received=received))) from error
        finally:
            # Closes the connection to the provider where the reply is not over; LiteLLM shields it from cancelling.
            if stream is not None:
                await stream.aclose()
        self._end(number, _finish_reason(stream), attrs.evolve(asked, received=received))

    def _end(self, number: int, finish: str | None, asked: Asked) -> None:
        if finish is None:
            raise _Failed(cut_off(asked))
        if finish == "content_filter":
            raise _Failed(content_filtered(asked))
        if finish == "length":
            self._wire.send(
                number, notice="The reply reached the model's limit of tokens (llm.max_tokens) and ends here."
            )
        self._wire.send(number, done=True)

    def _prepare(self, request: dict[str, Any]) -> tuple[dict[str, Any], Asked]:
        """LiteLLM's arguments for a request, and what to say of it where it fails. Raises ``_Failed`` for no key."""
        base, key = _base(request["api_base"]), request["api_key"]
        model, provider = self._provider(request["model"], base)
        missing = self._missing_keys(model, provider)
        secrets = (*self._keys, *_secrets(key))
        asked = Asked(request["model"], provider, base, missing or _set_keys(provider), secrets=secrets)
        if missing and not key:
            if base is None:
                raise _Failed(no_key(asked))
            # Servers of one's own mostly want no key; LiteLLM always wants one.
            key = "none"
        call: dict[str, Any] = {
            "model": model,
            "custom_llm_provider": provider or None,
            "messages": request["messages"],
            "tools": [_tool(request["languages"])] if request["tools"] else None,
            "stream": True,
            "stream_options": {"include_usage": True},
            "num_retries": 0,
            "max_retries": 0,
            # Else LiteLLM looks at every tool for whether its proxy serves it, which needs a package of the proxy's.
            "_skip_mcp_handler": True,
            "timeout": self._timeout,
            "temperature": request["temperature"],
            "max_tokens": request["max_tokens"],
            "api_base": base,
            "api_key": key,
            "api_version": request["api_version"],
            # Ollama loads a model with as much context as is asked for.
            "num_ctx": request["context_window"] if provider in knowledge.OLLAMA else None,
        }
        return {name: value for name, value in call.items() if value is not None}, asked

    def _provider(self, model: str, base: str | None) -> tuple[str, str]:
        """The model's name without its provider, and the provider; an unknown one at a base URL speaks OpenAI's."""
        try:
            name, provider, _, _ = self._litellm.get_llm_provider(model=model, api_base=base)
        except self._litellm.exceptions.BadRequestError:
            return model, "openai" if base else ""
        # Ollama's older API has no messages and no tools.
        return name, "ollama_chat" if provider == "ollama" else provider

    def _missing_keys(self, model: str, provider: str) -> tuple[str, ...]:
        """The variables of which the provider needs one, where none is set.

        Empty where the provider needs more than a key (a region, an endpoint): LiteLLM has other ways to those.
        """
        found = self._litellm.validate_environment(model=f"{provider}/{model}")
        names = found["missing_keys"]
        return tuple(names) if all(name.endswith("_API_KEY") for name in names) else ()

    def _usage(self, usage: Any, call: Mapping[str, Any]) -> dict[str, Any]:
        cost = knowledge.cost(self._litellm, usage, call["model"], call.get("custom_llm_provider"))
        return {
            "prompt_tokens": usage.prompt_tokens or 0,
            "completion_tokens": usage.completion_tokens or 0,
            "cost": cost,
        }

    async def _know(self, request: Mapping[str, Any]) -> Any:
        """What is asked of models beside their replies; in threads where it takes a while."""
        if request["op"] == "count":
            model, _ = self._provider(request["model"], None)
            return await asyncio.to_thread(knowledge.counts, self._litellm, model, request["texts"])
        if request["op"] == "fit":
            messages, left_out = await asyncio.to_thread(self._shrinker.fit, request["messages"])
            return {"messages": messages, "left_out": left_out}
        if request["op"] == "models":
            found = knowledge.models(self._litellm, everything=request["everything"])
            return await asyncio.to_thread(list, found)
        base = _base(request["api_base"])
        if request["op"] == "names":
            return await knowledge.names_at(base or "")
        model, provider = self._provider(request["model"], base)
        return await knowledge.info(self._litellm, model, provider, base)


class _Failed(Exception):
    """A request failed in a way that is known already."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.kind)
        self.failure = failure


def _deltas(chunk: Any) -> Iterator[dict[str, Any]]:
    """What the client needs of a chunk's deltas, in OpenAI's form."""
    for choice in chunk.choices:
        delta = choice.delta
        found: dict[str, Any] = {}
        if delta.content:
            found["content"] = delta.content
        if reasoning := getattr(delta, "reasoning_content", None):
            found["reasoning_content"] = reasoning
        if delta.tool_calls:
            found["tool_calls"] = [
                {
                    "index": call.index,
                    "id": call.id,
                    "function": {"name": call.function.name, "arguments": call.function.arguments},
                }
                for call in delta.tool_calls
            ]
        if found:
            yield found


def _finish_reason(stream: Any) -> str | None:
    """Why the provider ended the reply; ``None`` where it did not say, though LiteLLM then says ``stop`` for it.

    A stream that ends with ``[DONE]`` and no reason counts as ``stop``: some servers send no reason.
    """
    reason = getattr(stream, "received_finish_reason", "stop") or getattr(stream, "intermittent_finish_reason", None)
    return reason if isinstance(reason, str) else None


def _tool(languages: Sequence[str]) -> dict[str, Any]:
    """The one tool, as OpenAI's API has tools."""
    language: dict[str, Any] = {"type": "string", "description": "The language of the code."}
    if languages:
        language["enum"] = list(languages)
    return {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Run code on the person's machine, after they approve it; the output is the result.",
            "parameters": {
                "type": "object",
                "properties": {"language": language, "code": {"type": "string", "description": "The code to run."}},
                "required": ["language", "code"],
            },
        },
    }


def _base(url: str | None) -> str | None:
    """A base URL as typed or pasted, without the space around it."""
    return (url or "").strip() or None


def _set_keys(provider: str) -> tuple[str, ...]:
    """The variable that the provider's key came from, as far as its name tells."""
    name = f"{provider.upper()}_API_KEY"
    return (name,) if name in os.environ else ()


def _secrets(key: str | None) -> Iterator[str]:
    """Every value that no message may contain."""
    if key:
        yield key
    for name, value in os.environ.items():
        if is_provider_key(name):
            yield value


if __name__ == "__main__":
    main()
