"""What comes from elsewhere into a document that is none yet: whatever it begins with, each thing gets its place."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.messages import Chunk
from oi_engine.session.state import Ticket
from oi_engine.stream import Stream
from oi_lsp.chat_document.answers import Answers
from oi_lsp.chat_document.document import Section
from oi_lsp.chat_document.framing import Framing
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.spots import beside
from tests.fakes.editors import EXACT, THEIRS, VSCODE, Profile
from tests.unit.chat_documents import NONCE, odd_text
from tests.unit.writing import Desk, closing, run

_KEYS = ["title: A chat\n", "tags: [a, b]\n", "oi:\n", "oi: none\n", "# no key\n", "\n", "key: |\n  ---\n", "## You\n"]
front_matters = st.builds(
    lambda mark, opening, keys, closing: mark + opening + "".join(keys) + closing,
    st.sampled_from(["", "", "\ufeff"]),
    st.sampled_from(["---\n", "---\n", "--- \n", "----\n", "", "\n---\n"]),
    st.lists(st.sampled_from(_KEYS), max_size=3),
    st.sampled_from(["---\n", "---\n", "...\n", "---", "--- \n\n", "\n---\n", ""]),
)
_WORDS = ["", "\n", "Words\n", "\nWords", "\n## You\n\nWords\n", "\n## You\n\nOne\n\n## Assistant\n\nTwo\n"]


def _contents(sections: tuple[Section, ...]) -> list[str]:
    return [part.content for section in sections for part in section.parts]


async def _run_twice(text: str, profile: Profile) -> None:
    """Two cells are run from elsewhere at once, before the client has said a word of the front matter."""
    with closing(Desk(profile, text)) as desk:
        framing = Framing(desk.writer, lambda: parse(desk.editor.mirror.text))
        answers = Answers(desk.writer, lambda spot: None, lambda: None, lambda block, chunk: None)
        for number in (1, 2):
            spot = beside(framing, lambda form, content: "")
            answers.ask(spot, partial(Ticket, f"t{number}", False))
        stream = Stream()
        stream.subscribe(lambda entry: answers.follow(entry, lambda: pytest.fail("there is a spot")))
        for number in (1, 2):
            stream.turn_id = f"t{number}"
            stream.open("user", "code", "python")
            stream.write(f"run {number}")
            stream.close()
            stream.put(Chunk("server", "status", content="complete", id="x"))
        assert await desk.writer.written()
        await desk.told()
        theirs = "".join(char for char, mark in zip(desk.text, desk.editor.marks, strict=True) if mark == THEIRS)
        assert theirs == text
        before, after = parse(text), parse(desk.text)
        own = before.sections[:-1] if before.sections[-1].kind == "you" else before.sections
        last = before.sections[len(own) :]
        assert _contents(after.sections) == [*_contents(own), "run 1", "run 2", *_contents(last)]
        assert after.nonce is not None
        assert after.nonce in desk.text[slice(*after.front_matter)]
        assert desk.text.count(f"oi: 1 {after.nonce}") == 1
        answers.close()


@given(front_matters, st.sampled_from(_WORDS) | odd_text, st.sampled_from(["\n", "\r\n"]))
def test_each_thing_gets_its_place(front_matter: str, said: str, newline: str) -> None:
    text = (front_matter + said).replace(NONCE, "").replace("\n", newline)
    run(lambda: _run_twice(text, VSCODE))


@pytest.mark.parametrize("profile", EXACT, ids=lambda profile: profile.name)
@pytest.mark.parametrize("text", ["---\ntitle: A chat\n---\n\nWords\n", "\ufeffWords\n", "---\r\na: b\r\n---\r\n", ""])
def test_in_each_editor(profile: Profile, text: str) -> None:
    run(lambda: _run_twice(text, profile))
