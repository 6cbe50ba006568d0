"""Settings with their origins, set and changed while the server runs; models; attachments; the prompt as it is."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from oi_lsp.attachments import TEXT_SIZE
from oi_lsp.protocol import ErrorCode
from tests.e2e.product import messages_shown, product, profiles, refused, workspace
from tests.fakes.lsp_client import PRODUCT, LspClient, server
from tests.fakes.openai_server import OpenAiServer, Reply

LITELLM = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def value(client: LspClient, name: str, /, **argument: object) -> dict[str, Any]:
    values = (await client.command("oi.settings.get", **argument))["values"]
    found: dict[str, Any] = next(each for each in values if each["name"] == name)
    return found


def diagnostics(client: LspClient, path: Path) -> list[list[dict[str, Any]]]:
    """What was published for a file, one list for each time."""
    return [
        params["diagnostics"]
        for method, params in client.notifications
        if method == "textDocument/publishDiagnostics" and params["uri"] == path.as_uri()
    ]


async def test_values_have_their_origin_and_secrets_are_not_told(tmp_path: Path) -> None:
    profile = profiles(tmp_path) / "default.yaml"
    profile.write_text("llm:\n  temperature: 0.5\n  api_key: sk-hidden\n")
    async with product(tmp_path, {"llm": {"model": "tour"}, "verbose": True}) as client:
        temperature = await value(client, "llm.temperature")
        assert temperature == {
            "name": "llm.temperature",
            "value": 0.5,
            "origin": "default profile",
            "where": str(profile),
            "line": 2,
        }
        assert (await value(client, "verbose"))["origin"] == "editor"
        assert (await value(client, "auto_run"))["origin"] == "defaults"
        assert (await value(client, "llm.api_key"))["secret"] is True
        assert "sk-hidden" not in json.dumps(await client.command("oi.settings.get"))


async def test_a_session_that_starts_from_a_profile(tmp_path: Path) -> None:
    folder = profiles(tmp_path)
    (folder / "default.yaml").write_text("llm:\n  temperature: 0.5\n  max_tokens: 70\n")
    (folder / "chosen.yaml").write_text("llm.temperature: 0.6\nmax_budget: 1\n")
    careful = folder / "careful.yaml"
    careful.write_text("llm:\n  temperature: 0.7\n  model: tour\n")
    async with product(tmp_path, {"profile": "chosen", "llm": {"model": "tour"}}) as client:
        with_profile = (await client.command("oi.session.new", profile="careful"))["sessionId"]
        plain = (await client.command("oi.session.new"))["sessionId"]
        temperature = await value(client, "llm.temperature", sessionId=with_profile)
        assert (temperature["value"], temperature["where"]) == (0.7, str(careful))
        assert (await value(client, "llm.max_tokens", sessionId=with_profile))["value"] == 70, (
            "the default is inherited"
        )
        assert (await value(client, "max_budget", sessionId=with_profile)).get("value") is None, "the chosen is not"
        assert (await value(client, "llm.temperature", sessionId=plain))["value"] == 0.6
        careful.write_text("llm:\n  temperature: 0.8\n  model: tour\n")
        await _until_set(client, "llm.temperature", 0.8, sessionId=with_profile)
        careful.write_text("llm: [\n")
        await client.until(lambda: any(diagnostics(client, careful)))
        assert (await value(client, "llm.temperature", sessionId=with_profile))["value"] == 0.8, "the last good one"
        careful.write_text("llm:\n  temperature: 0.7\n  model: tour\n")
        await _until_set(client, "llm.temperature", 0.7, sessionId=with_profile)
        # It outlives a change of what is under it, and what the person sets in the session counts more.
        await client.command("oi.settings.set", name="verbose", value=True)
        assert (await value(client, "llm.temperature", sessionId=with_profile))["value"] == 0.7
        await client.command("oi.settings.set", name="llm.temperature", value=0.1, sessionId=with_profile)
        assert (await value(client, "llm.temperature", sessionId=with_profile))["value"] == 0.1
        await client.turn(with_profile, "Hello")
        assert await client.proposal(with_profile), "the tour of the profile answers"
        missing = await refused(client, "oi.session.new", profile="carefull")
        assert "careful" in missing.message
        (folder / "broken.yaml").write_text("llm: [\n")
        assert "broken.yaml" in (await refused(client, "oi.session.new", profile="broken")).message


async def test_a_setting_of_one_session_outlives_a_change_of_the_files(tmp_path: Path) -> None:
    profile = profiles(tmp_path) / "default.yaml"
    profile.write_text("llm:\n  temperature: 0.5\n")
    async with product(tmp_path) as client:
        session, other = await client.new_session(), await client.new_session()
        answer = await client.command("oi.settings.set", name="max_output", value=100, sessionId=session)
        assert answer["setting"] == {"name": "llm.max_output", "value": 100, "origin": "session"}
        assert (await value(client, "llm.max_output", sessionId=other))["value"] == 2800
        profile.write_text("llm:\n  temperature: 0.7\n")
        await _until_set(client, "llm.temperature", 0.7)
        assert (await value(client, "llm.max_output", sessionId=session))["value"] == 100
        assert (await value(client, "llm.temperature", sessionId=session))["value"] == 0.7
        await client.command("oi.settings.set", name="llm.max_output", unset=True, sessionId=session)
        assert (await value(client, "llm.max_output", sessionId=session))["origin"] == "defaults"
        await client.command("oi.settings.set", name="custom_instructions", value="Be brief.")
        for each in ({}, {"sessionId": session}, {"sessionId": other}):
            assert (await value(client, "custom_instructions", **each))["value"] == "Be brief."


async def _until_set(client: LspClient, name: str, wanted: object, **argument: object) -> None:
    async with asyncio.timeout(60):
        while (await value(client, name, **argument))["value"] != wanted:
            pass


async def test_a_setting_is_checked_and_a_workspace_keeps_what_it_made_stricter(tmp_path: Path) -> None:
    (workspace(tmp_path) / ".oi").mkdir()
    (workspace(tmp_path) / ".oi" / "settings.yaml").write_text("safe_mode: ask\n")
    async with product(tmp_path) as client:
        session = await client.new_session()
        for name, given, field in (
            ("autorun", True, "name"),
            ("auto_run", "yes", "value"),
            ("llm.temperature", 9, "value"),
            ("custom_instructions", "\udc00", "value"),
            ("auto_run", {"jsonrpc": "2.0"}, "value"),
        ):
            error = await refused(client, "oi.settings.set", name=name, value=given, sessionId=session)
            assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, field)
        secret = await refused(client, "oi.settings.set", name="llm.api_key", value=["sk-hidden"])
        assert "sk-hidden" not in secret.message
        held = await client.command("oi.settings.set", name="safe_mode", value="off", sessionId=session)
        assert (held["setting"]["value"], held["setting"]["origin"]) == ("ask", "workspace")
        loosened = await client.command("oi.settings.set", name="auto_run", value=True, sessionId=session)
        assert loosened["setting"]["value"] is False
        assert "safe_mode" in " ".join(loosened["problems"])
        profile = await refused(client, "oi.settings.set", name="profile", value="fast", sessionId=session)
        assert profile.data["field"] == "name"


async def test_the_editors_settings_are_replaced(tmp_path: Path) -> None:
    async with product(tmp_path, {"llm": {"model": "tour"}, "verbose": True}) as client:
        session = await client.new_session()
        before = await value(client, "verbose", sessionId=session)
        assert before["value"] is True
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        client.notify("workspace/didChangeConfiguration", {"settings": {"other": {"verbose": False}}})
        changed = {"oi": {"llm": {"model": "tour", "temperature": 0.25}, "autorun": True}}
        client.notify("workspace/didChangeConfiguration", {"settings": changed})
        await _until_set(client, "llm.temperature", 0.25)
        assert (await value(client, "verbose", sessionId=session))["origin"] == "defaults"
        assert ["autorun" in message for message in messages_shown(client)] == [True]


async def test_what_is_wrong_in_a_file_is_shown_there_until_it_is_mended(tmp_path: Path) -> None:
    profile = profiles(tmp_path) / "default.yaml"
    profile.write_text("llm:\n  temperature: hot\nautorun: true\n")
    async with product(tmp_path) as client:
        await client.until(lambda: diagnostics(client, profile) and messages_shown(client))
        (found,) = diagnostics(client, profile)
        places = {(each["range"]["start"]["line"], each["range"]["start"]["character"]) for each in found}
        assert places == {(1, 2), (2, 0)}
        assert {each["source"] for each in found} == {"oi-lsp"}
        (message,) = messages_shown(client)
        assert "temperature" in message
        assert "'auto_run'" in message
        profile.write_text("llm:\n  temperature: 0.5\n")
        await client.until(lambda: len(diagnostics(client, profile)) > 1)
        assert diagnostics(client, profile)[-1] == []
        profile.write_text("llm: [\n")
        await client.until(lambda: diagnostics(client, profile)[-1] != [])
        (broken,) = diagnostics(client, profile)[-1]
        assert broken["severity"] == 1
        assert (await value(client, "llm.temperature"))["value"] == 0.5


async def test_models_are_listed_by_their_keys_and_another_one_answers(tmp_path: Path) -> None:
    async with OpenAiServer([Reply.text("I am the other one.")]) as provider:
        env = {**LITELLM, "OPENAI_API_KEY": "sk-found"}
        async with product(tmp_path, env=env) as client:
            listed = (await client.command("oi.models.list"))["models"]
            (found,) = (each for each in listed if each["source"] == "OPENAI_API_KEY")
            assert found["model"].startswith("openai/")
            assert found["apiBase"] == ""
            assert "sk-found" not in json.dumps(listed)
            offers = {each["model"]: each for each in (await client.command("oi.models.catalog"))["models"]}
            assert (
                offers["gpt-4o"] | {"provider": "openai", "local": False, "tools": True, "vision": True}
                == (offers["gpt-4o"])
            )
            assert offers["gpt-4o"]["contextWindow"] > 1000
            assert 0 < offers["gpt-4o"]["inputPrice"] < offers["gpt-4o"]["outputPrice"] < 1
            session = await client.new_session()
            chosen = {"sessionId": session, "model": "openai/gpt-4o", "apiBase": provider.base_url}
            assert (await client.command("oi.models.choose", **chosen))["model"] == "openai/gpt-4o"
            await client.until(lambda: client.of(session).state.get("model") == "openai/gpt-4o")
            assert (await value(client, "llm.model", sessionId=session))["origin"] == "session"
            await client.ended(session, await client.turn(session, "who are you?"))
            assert "I am the other one." in client.of(session).text("message", None)
            assert (await refused(client, "oi.models.choose", sessionId=session, model=" ")).code == ErrorCode.REFUSED


async def test_a_model_in_a_profile_that_changes_answers_next_but_where_one_was_chosen(tmp_path: Path) -> None:
    profile = profiles(tmp_path) / "default.yaml"
    profile.write_text("llm:\n  model: tour\n")
    async with (
        OpenAiServer([Reply.text("I am the new one.")]) as provider,
        product(tmp_path, {}, {**LITELLM, "OPENAI_API_KEY": "sk-found"}) as client,
    ):
        follows = await client.new_session()
        chosen = (await client.command("oi.session.new", model="tour"))["sessionId"]
        profile.write_text(f"llm:\n  model: openai/gpt-4o\n  api_base: {provider.base_url}\n")
        await _until_set(client, "llm.model", "openai/gpt-4o", sessionId=follows)
        await client.ended(follows, await client.turn(follows, "who are you?"))
        assert "I am the new one." in client.of(follows).text("message", None)
        await client.turn(chosen, "Hello")
        assert await client.proposal(chosen), "the tour answers"
        assert len(provider.requests) == 1


async def test_attachments_are_shown_and_the_prompt_is_what_the_provider_gets(tmp_path: Path) -> None:
    file = tmp_path / "notes of mine.py"  # not in the workspace: naming it is the permission
    file.write_bytes("first = 1\r\nduck = '🦆' + rest\r\nlast = 3\r\n".encode())
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    piece = {"start": {"line": 1, "character": 7}, "end": {"line": 1, "character": 11}}
    attachments = [
        {"uri": file.as_uri()},
        {"uri": file.as_uri(), "range": piece},
        {"text": "unsaved text", "title": "scratch buffer"},
        {"uri": picture.as_uri()},
        {"role": "user", "type": "file", "format": "path", "content": "/some/where"},
    ]
    async with OpenAiServer([Reply.text("One."), Reply.text("Two.")]) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-test"}
        async with product(tmp_path, {"llm": llm}, LITELLM) as client:
            session = await client.new_session()
            sent = await client.command("oi.chat.send", sessionId=session, content="look", attachments=attachments)
            follower = await client.ended(session, sent["turnId"])
            await client.state(session, "idle")
            messages = [message for message in follower.check() if message.role == "user"]
            assert [(m.type, m.format) for m in messages] == [
                ("message", None),
                ("file", "text"),
                ("file", "text"),
                ("file", "text"),
                ("image", "base64.png"),
                ("file", "path"),
            ]
            assert messages[1].text.startswith(f"{file}\n\n```py\nfirst = 1")
            assert messages[2].text == f"{file} (line 2)\n\n```py\n'🦆'\n```"
            assert messages[3].text == "scratch buffer\n\n```\nunsaved text\n```"
            assert base64.b64decode(messages[4].text) == PNG
            prompt = await client.command("oi.prompt.get", sessionId=session)
            assert prompt["tools"] is True
            assert prompt["model"] == "openai/gpt-4o"
            assert "sk-test" not in json.dumps(prompt)
            await client.ended(session, await client.turn(session, "again"))
        first, second = (request.json["messages"] for request in provider.requests)
    assert "unsaved text" in json.dumps(first)
    told = prompt["messages"]
    assert second[: len(told)] == told
    assert "again" in json.dumps(second[len(told) :])


def lines(first: int, last: int) -> dict[str, Any]:
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}


@pytest.mark.parametrize(
    ("attachment", "field"),
    [
        ({"uri": "file:///none"}, "uri"),
        ({"uri": "https://example.org/x"}, "uri"),
        ({"uri": "file:///dev/zero"}, "uri"),
        ({"uri": "file:///"}, "uri"),
        ({"uri": "FOLDER/pipe"}, "uri"),
        ({"uri": "FOLDER/binary"}, "uri"),
        ({"uri": "FOLDER/large"}, "uri"),
        (
            {
                "uri": "FOLDER/short",
                "range": {"start": {"line": 9, "character": 0}, "end": {"line": 9, "character": 1}},
            },
            "range",
        ),
        (
            {
                "uri": "FOLDER/short",
                "range": {"start": {"line": 1, "character": 0}, "end": {"line": 0, "character": 0}},
            },
            "range",
        ),
        ({"uri": "FOLDER/short", "rang": lines(0, 1)}, "rang"),
        ({"text": "x"}, "title"),
        ({"text": "x" * (TEXT_SIZE + 1), "title": "long"}, "text"),
        ({"role": "assistant", "content": "x"}, "role"),
    ],
)
async def test_what_cannot_be_attached_is_said_and_nothing_is_sent(
    tmp_path: Path, attachment: dict[str, Any], field: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"GIF89a\xff\xfe\x00")
    (tmp_path / "large").write_text("x" * (TEXT_SIZE + 1))
    (tmp_path / "short").write_text("one line\n")
    if "uri" in attachment:
        attachment = {**attachment, "uri": attachment["uri"].replace("FOLDER", tmp_path.as_uri())}
    async with product(tmp_path) as client:
        session = await client.new_session()
        error = await refused(client, "oi.chat.send", sessionId=session, content="look", attachments=[attachment])
        assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, f"attachments[0].{field}")
        assert (await client.command("oi.session.open", sessionId=session))["messages"] == []


async def test_a_key_given_for_one_provider_is_not_handed_to_another() -> None:
    async with (
        OpenAiServer([Reply.text("Hello.")]) as provider,
        server(PRODUCT, env={"OPENAI_API_KEY": "sk-own"}) as client,
    ):
        llm = {"model": "anthropic/claude-3-5-haiku-latest", "api_key": "sk-for-anthropic"}
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": llm}})
        session = await client.new_session()
        chosen = {"sessionId": session, "model": "openai/gpt-4o", "apiBase": provider.base_url}
        await client.command("oi.models.choose", **chosen)
        await client.ended(session, await client.turn(session, "who are you?"))
        assert [request.headers["authorization"] for request in provider.requests] == ["Bearer sk-own"]
