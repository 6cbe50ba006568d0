"""Keys and other secrets taken out of text that is logged or shown.

Two ways: exact values that are known to be secret, and the forms in which providers hand out keys, which each of them
documents so that scanners can find them. What only looks like a key is redacted too: a log that says too little can be
asked for again.

Every pattern begins with a fixed text and repeats single characters, a bounded number of times, and without
backtracking where the bound is high: no text makes it slow.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

MARK = "[redacted]"
PIECE = 2_048
"""Characters, and the rest of a line, that are searched in one go."""

SHORTEST = 8
"""Characters that a known value must have: replacing a shorter one would tear words apart."""

_WORD = r"A-Za-z0-9_\-"
_TOKEN = f"[{_WORD}]"


def _begins(*words: str, within: str = "A-Za-z0-9") -> str:
    """One of the words (patterns of a fixed width), but not within another.

    An escape before it (``\\n``, ``\\u003d``, ``%20``) is no part of a word. The word is looked for first, which is
    fast, and then what stands before it.
    """
    digit = "[0-9A-Fa-f]"
    before = (
        f"(?<![{within}]",
        r"(?<=\\[bfnrt]",
        rf"(?<=\\u{digit}{{4}}",
        rf"(?<=\\x{digit}{{2}}",
        f"(?<=%{digit}{{2}}",
    )
    found = (f"{word}(?:{'|'.join(f'{each}{word})' for each in before)})" for word in words)
    return f"(?:{'|'.join(found)})"


_QUOTE = r"\\{0,3}[\"']"
_NAME = (
    r"api[_-]?key|secret[_-]?key|access[_-]?key(?:[_-]?id)?|client[_-]?secret|private[_-]?key"
    r"|(?:access|auth|refresh|session|id|bearer|api)[_-]?token|passw(?:or)?d|authorization"
)
_VALUE = r"(?!\[redacted\]|(?:none|null|true|false|bearer|basic|str|self)\b)"

# PEM (RFC 7468). The body ends at the next five hyphens, be they its own end or not: a cut key is one too.
_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^\-]|-(?!----)){0,65536}+(?:-----END [A-Z0-9 ]{0,60}+-----)?"
)
# Whole matches go.
_KEYS = (
    _PEM,
    _begins("sk-") + rf"{_TOKEN}{{16,512}}+",  # OpenAI, Anthropic, OpenRouter, DeepSeek
    _begins("AIza") + rf"{_TOKEN}{{30,64}}+",  # Google
    _begins("gh[pousr]_") + r"[A-Za-z0-9]{20,255}+",  # GitHub
    _begins("github_pat_") + r"[A-Za-z0-9_]{20,255}+",
    _begins("glpat-") + rf"{_TOKEN}{{16,255}}+",  # GitLab
    _begins("xox[abeoprs]-") + rf"{_TOKEN}{{10,512}}+",  # Slack
    _begins("AKIA", "ASIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
    _begins("hf", "gsk", "r8", "nvapi", "pplx", "xai", "tgp_v1") + rf"[_-]{_TOKEN}{{24,512}}+",  # other model providers
    # JSON Web Token (RFC 7519): three parts in base64url, the first of which begins a JSON object.
    _begins("eyJ", within=_WORD) + rf"{_TOKEN}{{8,8192}}+\.{_TOKEN}{{4,8192}}+(?:\.{_TOKEN}{{0,8192}}+)?",
)
# What is in the first group stays.
_VALUES = (
    # RFC 6750, RFC 7617
    f"({_begins('Bearer', 'Basic', within='A-Za-z0-9_')}" + rf"\s{{1,4}}+){_VALUE}[A-Za-z0-9._~+/=\-]{{8,8192}}+",
    rf"((?:{_NAME})(?:{_QUOTE})?\s{{0,4}}+[:=]\s{{0,4}}+\\{{0,3}}[\"']){_VALUE}[^\"'\\\n]{{1,8192}}+",
    rf"((?:{_NAME})(?:{_QUOTE})?\s{{0,4}}+[:=]\s{{0,4}}+){_VALUE}[^\s\"'\\,;&<>(){{}}\[\]]{{4,8192}}+",
    r"(://[^\s/:@]{0,255}+:)(?!\[redacted\])[^\s/@]{1,255}+(?=@)",  # a password in a URL (RFC 3986)
)


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Each pattern with what stands in its place; compiled when first needed, as a server logs little or nothing."""
    whole = tuple((re.compile(pattern), MARK) for pattern in _KEYS)
    return whole + tuple((re.compile(pattern, re.IGNORECASE), rf"\1{MARK}") for pattern in _VALUES)


def redact(text: str, extra: Iterable[str] = ()) -> str:
    """``text`` with ``[redacted]`` in the place of every secret.

    ``extra`` are values known to be secret; those under eight characters are left, as they would tear words apart.
    Redacting twice changes nothing more.
    """
    for value in sorted({value for value in extra if len(value) >= SHORTEST}, key=len, reverse=True):
        text = text.replace(value, MARK)
    return "".join(map(_redacted, _pieces(text)))


def _redacted(text: str) -> str:
    for pattern, instead in _patterns():
        text = pattern.sub(instead, text)
    return text


def _pieces(text: str) -> Iterator[str]:
    """Long text in pieces, each of which is searched by itself: other threads wait while a pattern goes over one.

    A piece ends at a line's end across which no secret reaches; text with a private key, which does, is left whole.
    """
    start = 0
    if "PRIVATE KEY" not in text:
        while len(text) - start > PIECE:
            cut = text.find("\n", start + PIECE)
            while cut >= 0 and not _parts_nothing(text, cut):
                cut = text.find("\n", cut + 1)
            if cut < 0:
                break
            yield text[start : cut + 1]
            start = cut + 1
    yield text[start:]


def _parts_nothing(text: str, cut: int) -> bool:
    """Whether the line ends of ``cut`` stand neither after a name or a scheme that waits for its value, nor before."""
    before, after = text[max(0, cut - 80) : cut].rstrip().lower(), text[cut + 1 : cut + 81].lstrip()
    waits = before.endswith((":", "=", "bearer", "basic", '"', "'")) or not before
    return not waits and not after.startswith((":", "="))
