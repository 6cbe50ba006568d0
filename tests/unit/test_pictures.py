"""Pictures of a chat document, in a repository that means harm."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from oi_engine.models.images import load
from oi_lsp.chat_document.conversation import messages
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.pictures import Pictures, _write

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
LINKS = (
    "---\noi: 1 7f3a\n---\n\n## You <!-- oi:7f3a.u1 -->\n\n![image]({}) <!-- oi:7f3a.image -->\n\n"
    "## Assistant <!-- oi:7f3a.a1 -->\n"
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    found = tmp_path / "repository"
    found.mkdir()
    (tmp_path / "private.png").write_bytes(PNG)
    return found


def pictures(repository: Path) -> Pictures:
    def spawn(work: Any) -> object:
        return work.close()

    return Pictures(str(repository / "talk.oi.md"), spawn)


@pytest.mark.parametrize(
    "address", ["{home}/private.png", "../private.png", "link.png", "talk.files/private.png", "a%00.png"]
)
def test_a_link_to_a_picture_elsewhere_is_not_followed(repository: Path, tmp_path: Path, address: str) -> None:
    (repository / "link.png").symlink_to(tmp_path / "private.png")
    (repository / "talk.files").symlink_to(tmp_path)
    text = LINKS.format(address.format(home=tmp_path))
    for said in messages(parse(text), pictures(repository).read):
        assert said.type != "image"


def test_pictures_of_the_document_are_read(repository: Path) -> None:
    (repository / "talk.files").mkdir()
    for name in ("talk.files/a.png", "b.png"):
        (repository / name).write_bytes(PNG)
        (first, *_) = messages(parse(LINKS.format(name)), pictures(repository).read)
        assert first.type == "image"
        assert not isinstance(load(first, "/"), str)


def test_none_is_written_through_a_link(repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "talk.files").symlink_to(outside)
    _write(repository / "talk.files" / "a.png", base64.b64encode(PNG).decode())
    assert list(outside.iterdir()) == []
