"""Images on their way to a model."""

from __future__ import annotations

import base64
import io
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from oi_engine.messages import Message
from oi_engine.models.images import MAX_BYTES, Picture, kind_of, load, size_of
from oi_engine.models.model import ModelInfo
from oi_engine.models.shrink import GOOD_SIDE, Shrinker
from oi_engine.models.shrink import MAX_BYTES as SENT_BYTES
from oi_engine.models.tokens import images_in
from oi_engine.models.units import MAX_IMAGES
from oi_engine.settings import ComputerSettings, Settings
from tests.unit.prompting import build_request
from tests.unit.test_trim import Rig, Summarizer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 300, 200) + b"\x08\x06\0\0\0"
GIF = b"GIF89a" + struct.pack("<HH", 30, 20) + b"\0\0\0"
JPEG = (
    b"\xff\xd8"
    b"\xff\xe1" + struct.pack(">H", 6) + b"Exif"
    b"\xff\xc4" + struct.pack(">H", 3) + b"x"
    b"\xff\xc2" + struct.pack(">HBHH", 11, 8, 480, 640) + b"\x01\x01\x11\0"
)
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "
SEES = ModelInfo(supports_functions=True, supports_vision=True)
CODE = Message("assistant", "code", "plot()", "python", id="c1")


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def image(raw: bytes, form: str = "base64", role: Any = "user", **more: Any) -> Message:
    return Message(role, "image", b64(raw), form, id=more.pop("id", "i1"), **more)


@pytest.mark.parametrize(
    ("raw", "kind", "size"),
    [
        (PNG, "png", (300, 200)),
        (GIF, "gif", (30, 20)),
        (JPEG, "jpeg", (640, 480)),
        (WEBP, "webp", (None, None)),
        (PNG[:18], "png", (None, None)),
        (JPEG[:9], "jpeg", (None, None)),
    ],
)
def test_what_an_image_is_goes_by_its_bytes(raw: bytes, kind: str, size: tuple[Any, Any]) -> None:
    assert (kind_of(raw), size_of(raw)) == (kind, size)
    assert load(image(raw, "base64.jpeg"), "/") == Picture(kind, b64(raw), *size)


@pytest.mark.parametrize(
    ("content", "form", "said"),
    [
        (b64(b"<svg/>"), "base64.png", "no PNG"),
        ("a", "base64", "not valid base64"),
        ("x" * (MAX_BYTES * 4 // 3 + 5), "base64", "too large"),
        ("missing.png", "path", "missing.png cannot be read"),
        (".", "path", "is not a file"),
        ("a\0b", "path", "cannot be"),
    ],
)
def test_what_is_no_image_is_said(content: str, form: str, said: str, tmp_path: Path) -> None:
    found = load(Message("user", "image", content, form), str(tmp_path))
    assert isinstance(found, str)
    assert said in found


def test_paths_are_read_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(PNG)  # its name is wrong, its content counts
    found = load(Message("user", "image", "a.jpg", "path"), str(tmp_path))
    assert found == Picture("png", b64(PNG), 300, 200)
    (tmp_path / "big.png").write_bytes(PNG)
    with (tmp_path / "big.png").open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    big = load(Message("user", "image", "big.png", "path"), str(tmp_path))
    assert isinstance(big, str)
    assert "20 MB" in big


def test_an_image_and_words_are_one_message(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    messages = [
        Message("user", "image", "a.png", "path", id="i1"),
        image(JPEG, id="i2"),
        Message("user", "message", "Compare.", id="u1"),
    ]
    request = build_request(messages, Settings(), SEES, cwd=str(tmp_path), languages=())
    (said,) = request.messages[1:]
    assert [part["type"] for part in said["content"]] == ["text", "image_url", "image_url", "text"]
    assert said["content"][0]["text"] == "Attached image: a.png"
    assert said["content"][2]["image_url"]["url"] == f"data:image/jpeg;base64,{b64(JPEG)}"


@pytest.mark.parametrize(("emit", "sent"), [(None, 1), (True, 1), (False, 0)])
def test_images_of_code_are_sent_as_the_settings_say(emit: bool | None, sent: int) -> None:
    plot = image(PNG, role="computer", parent="c1")
    settings = Settings(computer=ComputerSettings(emit_images=emit))
    asked = [Message("user", "message", "Plot.", id="u1"), CODE, plot]
    assert images_in(build_request(asked, settings, SEES, cwd="/", languages=()).messages) == sent


def test_only_the_newest_of_many_images_are_sent() -> None:
    messages = [image(PNG + bytes([number]), id=f"i{number}") for number in range(MAX_IMAGES + 3)]
    request = build_request(messages, Settings(), SEES, cwd="/", languages=())
    assert images_in(request.messages) == MAX_IMAGES
    (said,) = request.messages[1:]
    assert [part["type"] for part in said["content"][:4]] == ["text", "text", "text", "image_url"]


async def test_a_model_without_vision_gets_a_word_and_so_does_the_person_once() -> None:
    rig = Rig()
    rig.messages += [image(PNG), Message("user", "message", "What is it?", id="u1")]
    request = await rig.ask()
    await rig.ask()
    assert "cannot see" in str(request.messages)
    assert b64(PNG) not in str(request.messages)
    assert rig.notices == ["m cannot see images (llm.supports_vision): yours was not sent."]


async def test_an_image_that_cannot_be_read_is_said_once() -> None:
    rig = Rig()
    rig.model = Summarizer(SEES)
    rig.messages += [
        Message("user", "image", "gone.png", "path", id="i1"),
        Message("user", "message", "Look.", id="u1"),
    ]
    request = await rig.ask()
    await rig.ask()
    assert "gone.png cannot be read" in str(request.messages)
    (said,) = rig.notices
    assert said.startswith("The image gone.png cannot be read")


def picture(width: int, height: int, kind: str = "PNG") -> bytes:
    pillow = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    pillow.effect_noise((width, height), 100).save(out, kind)
    return out.getvalue()


def fitted(raw: bytes, shrinker: Shrinker | None = None) -> tuple[Any, int]:
    url = f"data:image/png;base64,{b64(raw)}"
    part = {"type": "image_url", "image_url": {"url": url}}
    messages, left_out = (shrinker or Shrinker()).fit([{"role": "user", "content": [part]}, {"role": "system"}])
    assert messages[1] == {"role": "system"}
    return messages[0]["content"][0], left_out


def test_what_fits_is_left_alone() -> None:
    part, left_out = fitted(PNG)
    assert (part["image_url"]["url"], left_out) == (f"data:image/png;base64,{b64(PNG)}", 0)


@pytest.mark.parametrize("size", [(GOOD_SIDE + 500, 100), (2400, 2400)])
def test_with_pillow_what_is_too_large_is_made_smaller(size: tuple[int, int]) -> None:
    raw = picture(*size)
    shrinker = Shrinker()
    part, left_out = fitted(raw, shrinker)
    head, _, data = part["image_url"]["url"].partition(";base64,")
    made = base64.b64decode(data)
    assert left_out == 0
    assert len(made) <= SENT_BYTES
    assert max(side or 0 for side in size_of(made)) <= GOOD_SIDE
    assert head == f"data:image/{kind_of(made)}"
    again, _ = fitted(raw, shrinker)
    assert again["image_url"]["url"] is part["image_url"]["url"], "it is remembered"


def test_without_pillow_what_is_too_large_is_left_out_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    part, left_out = fitted(PNG + b"\0" * SENT_BYTES)
    assert left_out == 1
    assert "left out" in part["text"]
    wide = PNG[:16] + struct.pack(">II", GOOD_SIDE + 1, 10)
    assert fitted(wide)[1] == 0, "large, but within what providers take"


def test_a_damaged_image_is_left_out() -> None:
    pytest.importorskip("PIL.Image")
    assert fitted(PNG + b"\0" * SENT_BYTES)[1] == 1
