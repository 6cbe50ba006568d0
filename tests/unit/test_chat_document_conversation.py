"""When a chat document and its session say the same."""

from __future__ import annotations

from oi_engine.messages import Message
from oi_lsp.chat_document.conversation import gist

CODE = Message("assistant", "code", "print(1)", "python", id="m1")
RAN = Message("computer", "console", "1\n", parent="m1")


def test_blank_space_and_an_edit_in_place_make_no_difference() -> None:
    edited = Message("user", "code", "print(2)", "python", parent="m1")
    assert gist([CODE, edited, RAN]) == gist([Message("assistant", "code", "print(2)\n", "python"), RAN])
    assert gist([CODE, edited, RAN]) != gist([CODE, RAN])


def test_what_is_for_the_person_alone_does_not_count() -> None:
    policy = Message("computer", "message", "What runs without asking has changed", recipient="user")
    review = Message("assistant", "review", "Line 1: It deletes files.", recipient="user", parent="m1")
    assert gist([policy, CODE, review, RAN]) == gist([CODE, RAN])
    told = Message("computer", "message", "The person declined.", parent="m1")
    assert gist([CODE, told]) != gist([CODE])
