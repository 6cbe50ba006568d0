"""How much of a program's output the model sees."""

from __future__ import annotations


def truncate_for_model(text: str, max_output: int) -> str:
    """``text`` with at most ``max_output`` of its characters: a third from its head, the rest from its tail.

    Between them stands a line of ours, not counted, that says how many characters were left out. Where nothing may be
    shown (``max_output`` of 0 or less), the line stands alone. No surrogate pair is split.
    """
    if len(text) <= max(max_output, 0):
        return text
    head = max(max_output, 0) // 3
    tail = len(text) - (max(max_output, 0) - head)
    if _splits_pair(text, head):
        head -= 1
    if _splits_pair(text, tail):
        tail += 1
    before, after = text[:head], text[tail:]
    gap = f"… {tail - head:,} characters left out …"
    return "\n".join(part for part in (before.removesuffix("\n"), gap, after.removeprefix("\n")) if part)


def _splits_pair(text: str, at: int) -> bool:
    return 0 < at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"
