"""Which models there are to talk to: provider keys, and model servers on this machine.

Nothing is sent anywhere but to loopback, and no key leaves this process: a key that is there counts as found, whether
it is good shows at the first reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

PROBE_TIMEOUT = 0.5
"""Seconds that a server on loopback gets to list its models."""

_MAX_ANSWER = 4 * 1024 * 1024


@frozen
class Candidate:
    """A model that can be chosen: ``model`` and ``api_base`` are what the settings of that name would be.

    ``source`` is the environment variable that holds the key, or the server's name; ``why`` a sentence for the person.
    """

    model: str
    source: str
    why: str
    api_base: str | None = None


@frozen
class Discovery:
    """What was found: one model for each provider key, every model of the local servers; the best first."""

    hosted: tuple[Candidate, ...] = ()
    local: tuple[Candidate, ...] = ()

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them, in the order in which they would be chosen."""
        return self.hosted + self.local

    def choose(self, *, local_only: bool = False) -> Candidate | None:
        """The best: a provider's model, unless it must be local, else a local one, else ``None``."""
        return next(iter(self.local if local_only else self.candidates), None)


@frozen
class LocalServer:
    """A kind of model server, and where it listens unless told otherwise.

    ``prefix`` goes before its models' names for LiteLLM; ``listing`` is the path that lists them, in Ollama's form
    (``{"models": [{"name": …}]}``) or OpenAI's (``{"data": [{"id": …}]}``); ``base`` is the path of its API.
    """

    name: str
    port: int
    prefix: str = "openai/"
    listing: str = "/v1/models"
    base: str = "/v1"
    variable: str = field(default="")


_HERE = ("ollama", "ollama_chat", "lm_studio", "llamafile")
"""LiteLLM's names of servers that run on this machine where no other address is given."""


def is_local(model: str, api_base: str | None, environ: Mapping[str, str]) -> bool:
    """Whether a model, as LiteLLM names it, is answered on this machine or in its own network.

    Without ``api_base`` the address is the one that LiteLLM takes from ``environ``.
    """
    provider, slash, _ = model.partition("/")
    provider = provider if slash else "openai"
    base = api_base or environ.get(f"{provider.upper()}_API_BASE") or environ.get(f"{provider.upper()}_BASE_URL")
    if not base:
        return provider in _HERE
    try:
        host = urlsplit(base if "://" in base else f"//{base}").hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:  # it is a name
        return "." not in host.removesuffix(".local").removesuffix(".localhost") and host != ""


PROVIDERS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Anthropic", ("ANTHROPIC_API_KEY",), "anthropic/claude-sonnet-5"),
    ("OpenAI", ("OPENAI_API_KEY",), "openai/gpt-4.1"),
    ("Google Gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini/gemini-flash-latest"),
    ("OpenRouter", ("OPENROUTER_API_KEY",), "openrouter/anthropic/claude-sonnet-5"),
    ("DeepSeek", ("DEEPSEEK_API_KEY",), "deepseek/deepseek-v4-flash"),
    ("xAI", ("XAI_API_KEY",), "xai/grok-4.5-latest"),
    ("Mistral", ("MISTRAL_API_KEY",), "mistral/mistral-large-latest"),
    ("Groq", ("GROQ_API_KEY",), "groq/openai/gpt-oss-120b"),
)
"""Name, variables that hold the key, and one model: good at code, calls tools, likely to be open to any account."""

SERVERS: tuple[LocalServer, ...] = (
    LocalServer("Ollama", 11434, "ollama_chat/", "/api/tags", "", "OLLAMA_HOST"),
    LocalServer("LM Studio", 1234),
    LocalServer("Jan", 1337),
    LocalServer("llamafile", 8080),
    LocalServer("vLLM", 8000),
)


async def discover(
    keys: Mapping[str, str],
    environ: Mapping[str, str],
    *,
    servers: Sequence[LocalServer] = SERVERS,
    timeout: float = PROBE_TIMEOUT,
) -> Discovery:
    """Look for models.

    ``keys`` are the provider keys (``safety.secrets.take_provider_keys``); of ``environ`` only what is not secret is
    read: Azure's endpoint and deployment, and the port in ``OLLAMA_HOST`` where it names this machine. All servers
    are asked at once, each for ``timeout`` seconds at most. Never raises.
    """
    found = await asyncio.gather(*(_probe(server, environ, timeout) for server in servers))
    return Discovery(_hosted(keys, environ), tuple(candidate for candidates in found for candidate in candidates))


def _hosted(keys: Mapping[str, str], environ: Mapping[str, str]) -> tuple[Candidate, ...]:
    found = []
    for name, variables, model in PROVIDERS:
        variable = next((variable for variable in variables if keys.get(variable)), None)
        if variable is not None:
            found.append(Candidate(model, variable, f"{variable} is set: {name}'s {model.split('/', 1)[1]}."))
    base, deployment = environ.get("AZURE_API_BASE"), environ.get("AZURE_DEPLOYMENT_NAME")
    if keys.get("AZURE_API_KEY") and base and deployment:
        why = f"AZURE_API_KEY, AZURE_API_BASE and AZURE_DEPLOYMENT_NAME are set: Azure's deployment {deployment}."
        found.append(Candidate(f"azure/{deployment}", "AZURE_API_KEY", why, base))
    return tuple(found)


async def _probe(server: LocalServer, environ: Mapping[str, str], timeout: float) -> list[Candidate]:
    port = _port(environ.get(server.variable, "")) or server.port
    try:
        async with asyncio.timeout(timeout):
            answer = await _get(port, server.listing)
        names = _names(answer)
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return []
    base = f"http://127.0.0.1:{port}{server.base}"
    why = f"{server.name} runs on port {port} of this machine."
    return [Candidate(f"{server.prefix}{name}", server.name, why, base) for name in names]


def _port(host: str) -> int | None:
    """The port of ``[scheme://]host:port`` where the host is this machine: a server elsewhere is not asked unbidden."""
    name, _, port = host.rpartition("://")[2].rstrip("/").rpartition(":")
    return int(port) if name in ("127.0.0.1", "localhost", "0.0.0.0", "") and port.isdecimal() else None


async def _get(port: int, path: str) -> Any:
    """The JSON that a server on loopback answers with. Raises ``OSError`` or ``ValueError`` where it does not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_MAX_ANSWER)
    try:
        # HTTP/1.0: the body ends with the connection, or as the header says, but need not be in chunks.
        writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if not head.startswith("http/1.") or head.split(" ", 2)[1] != "200":
            raise ValueError("no list of models")
        return json.loads(await _body(reader, head))
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _body(reader: asyncio.StreamReader, head: str) -> bytes:
    headers = dict(line.split(":", 1) for line in head.splitlines()[1:] if ":" in line)
    if "chunked" in headers.get("transfer-encoding", ""):
        return await _unchunked(reader)
    if "content-length" in headers:
        return await reader.readexactly(min(int(headers["content-length"]), _MAX_ANSWER))
    body = bytearray()
    while part := await reader.read(65536):
        body += part
        if len(body) > _MAX_ANSWER:
            raise ValueError("too much")
    return bytes(body)


async def _unchunked(reader: asyncio.StreamReader) -> bytes:
    """Some servers send chunks whatever the version (https://www.rfc-editor.org/rfc/rfc9112#section-7.1)."""
    body = bytearray()
    while size := int((await reader.readuntil(b"\n")).split(b";")[0], 16):
        if size < 0 or len(body) + size > _MAX_ANSWER:
            raise ValueError("too much")
        body += await reader.readexactly(size)
        await reader.readuntil(b"\n")
    return bytes(body)


def _names(answer: Any) -> list[str]:
    """The models' names in a list of Ollama's or OpenAI's form; models that only embed are left out."""
    if not isinstance(answer, dict):
        raise ValueError("no list of models")  # noqa: TRY004 -- it is the server's value that is wrong
    listed = answer.get("models") if "models" in answer and "data" not in answer else answer.get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    names = [entry.get("name") or entry.get("id") for entry in entries]
    return [name for name in names if isinstance(name, str) and name and "embed" not in name.lower()]
