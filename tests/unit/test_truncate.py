"""What the model sees of long output."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.models.truncate import truncate_for_model


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("", 0, ""),
        ("", -1, ""),
        ("abc", 3, "abc"),
        ("abc", 0, "… 3 characters left out …"),
        ("abc", -5, "… 3 characters left out …"),
        ("abc", 1, "… 2 characters left out …\nc"),
        ("0123456789", 6, "01\n… 4 characters left out …\n6789"),
        ("a\nb\nc\nd\ne\n", 6, "a\n… 4 characters left out …\nd\ne\n"),
        ("a\ud83d\ude00b" + "c" * 8, 6, "a\n… 7 characters left out …\ncccc"),
        ("c" * 6 + "\ud83d\ude00b", 3, "c\n… 7 characters left out …\nb"),
    ],
)
def test_truncation(text: str, limit: int, expected: str) -> None:
    assert truncate_for_model(text, limit) == expected


@given(st.text(), st.integers(-3, 50))
def test_truncation_keeps_its_limit(text: str, limit: int) -> None:
    told = truncate_for_model(text, limit)
    if len(text) <= max(limit, 0):
        assert told == text
    else:
        before, gap, after = re.split(r"\n?(… [\d,]+ characters left out …)\n?", told, maxsplit=1)
        assert int(re.sub(r"\D", "", gap)) == len(text) - max(limit, 0)
        assert len(before) + len(after) <= max(limit, 0)
        assert text.startswith(before)
        assert text.endswith(after)
