"""What is found on this machine, against scripted servers."""

from __future__ import annotations

from attrs import evolve

from oi_engine.models.discovery import PROVIDERS, SERVERS, Candidate, Discovery, LocalServer, discover
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from tests.fakes.http_server import Hold, HttpServer, Recorded, Response, Send

OLLAMA, LM_STUDIO, JAN, LLAMAFILE, _ = SERVERS
TIMEOUT = 30.0


def at(kind: LocalServer, server: HttpServer) -> LocalServer:
    return evolve(kind, port=server.port)


def listing(request: Recorded) -> Response:
    if request.path == "/api/tags":
        return Response.json({"models": [{"name": "llama3.2:3b"}, {"name": "nomic-embed-text"}]})
    if request.path == "/v1/models":
        return Response.json({"object": "list", "data": [{"id": "qwen2.5"}, {"id": 7}, "odd"]})
    return Response.json({}, 404)


async def test_local_servers() -> None:
    async with HttpServer(listing) as server:
        found = await discover({}, {}, servers=[at(OLLAMA, server), at(LM_STUDIO, server)], timeout=TIMEOUT)
    assert [(one.model, one.source, one.api_base) for one in found.candidates] == [
        ("ollama_chat/llama3.2:3b", "Ollama", server.url),
        ("openai/qwen2.5", "LM Studio", f"{server.url}/v1"),
    ]
    assert found.choose() == found.local[0]
    assert str(server.port) in found.local[0].why


async def test_servers_that_are_no_model_servers() -> None:
    odd = [
        Response.json({}, 404),
        Response.json([1]),
        Response.json({"data": "text"}),
        Response((Send(b"<html>"),)),
        Response((Send(b"x"),), headers={"Content-Length": "-5"}),
        Response((Send(b""),)),
    ]
    for response in odd:
        async with HttpServer([response]) as server:
            assert await discover({}, {}, servers=[at(JAN, server)], timeout=TIMEOUT) == Discovery()


async def test_a_silent_server_costs_no_more_than_the_timeout() -> None:
    async with HttpServer([Response((Hold(),))]) as server:
        assert await discover({}, {}, servers=[at(LLAMAFILE, server)], timeout=0.05) == Discovery()


async def test_nothing_listens() -> None:
    async with HttpServer() as server:
        pass
    found = await discover({}, {}, servers=[at(OLLAMA, server)], timeout=TIMEOUT)
    assert found == Discovery()
    assert found.choose() is None


async def test_where_ollama_listens() -> None:
    async with HttpServer(listing) as server:
        for host in (f"127.0.0.1:{server.port}", f"http://localhost:{server.port}/", f":{server.port}"):
            found = await discover({}, {"OLLAMA_HOST": host}, servers=[evolve(OLLAMA, port=9)], timeout=TIMEOUT)
            assert found.local[0].api_base == server.url
        # A server elsewhere is not asked.
        for host in ("example.com:11434", "nonsense", "10.0.0.1"):
            found = await discover({}, {"OLLAMA_HOST": host}, servers=[evolve(OLLAMA, port=9)], timeout=TIMEOUT)
            assert found == Discovery()


async def test_keys_come_before_local_servers() -> None:
    async with HttpServer(listing) as server:
        keys = {"GROQ_API_KEY": "x", "OPENAI_API_KEY": "x", "SEARCH_API_KEY": "x", "GOOGLE_API_KEY": "x"}
        found = await discover(keys, {}, servers=[at(OLLAMA, server)], timeout=TIMEOUT)
    assert [one.source for one in found.candidates] == ["OPENAI_API_KEY", "GOOGLE_API_KEY", "GROQ_API_KEY", "Ollama"]
    chosen = found.choose()
    assert chosen is not None
    assert "OPENAI_API_KEY is set" in chosen.why


async def test_azure_needs_more_than_a_key() -> None:
    environ = {"AZURE_API_BASE": "https://here.example", "AZURE_DEPLOYMENT_NAME": "mine"}
    assert (await discover({"AZURE_API_KEY": "x"}, {}, servers=[])).choose() is None
    chosen = (await discover({"AZURE_API_KEY": "x"}, environ, servers=[])).choose()
    assert isinstance(chosen, Candidate)
    assert (chosen.model, chosen.api_base) == ("azure/mine", "https://here.example")


async def test_every_model_that_is_offered_calls_tools() -> None:
    worker = ModelWorker()
    try:
        for _, _, model in PROVIDERS:
            assert (await WorkerModel(worker).info(model)).supports_functions, model
    finally:
        await worker.close()
