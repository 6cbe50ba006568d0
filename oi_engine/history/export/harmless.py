"""What an export may show as it is: nothing that runs, and nothing that is fetched when somebody merely looks at it.

A model can be talked into writing a picture whose address carries what it has read; to show the picture would be to
send it. The dialect is CommonMark with tables; of HTML what is listed below is known to be harmless.
"""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TAGS = frozenset(
    {
        "b", "big", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details", "div", "dl", "dt",
        "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "ol", "p", "pre", "s", "small", "span",
        "strong", "style", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
    }
)  # fmt: skip
_ATTRIBUTES = frozenset(
    {
        "align", "border", "class", "colspan", "dir", "halign", "id", "lang", "open", "rowspan", "scope", "scoped",
        "style", "title", "valign",
    }
)  # fmt: skip
_FETCHES = re.compile(r"url|image|import|expression|behavior|binding|\\|/\*|<", re.IGNORECASE)
"""In a style: what loads something, or what hides that from this very look."""
_HALF_A_TAG = re.compile(r"<[A-Za-z/!?]")
_SCHEME = re.compile(r"[^/?#]*:")
_SCHEMES = ("http:", "https:", "mailto:")
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp)[;,]", re.IGNORECASE)


def is_harmless_markdown(text: str) -> bool:
    """Whether rendering it runs nothing and loads nothing from elsewhere, wherever its links lead."""
    return all(_is_harmless(token) for token in _parser().parse(text))


def is_harmless_html(text: str) -> bool:
    """The same of HTML."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.harmless


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # late, as it takes a while

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    # Its own check would make text of a link that another program makes a link of.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def _is_harmless(token: Token) -> bool:
    if token.type in ("html_block", "html_inline"):
        return is_harmless_html(token.content)
    if token.type == "link_open":
        scheme = _SCHEME.match(str(token.attrGet("href")))
        return scheme is None or scheme[0].lower() in _SCHEMES
    if token.type == "image":
        address = str(token.attrGet("src"))
        is_path = not _SCHEME.match(address) and not address.startswith(("//", "/%5C", "%5C"))
        return is_path or _PICTURE.match(address) is not None
    return all(_is_harmless(child) for child in token.children or ())


class _Reader(HTMLParser):
    """Looks for anything that is not in the lists."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.harmless = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag with its attributes."""
        known = tag in _TAGS and all(name in _ATTRIBUTES for name, _ in attrs)
        styles = [value or "" for name, value in attrs if name == "style"]
        self.harmless = self.harmless and known and not any(map(_FETCHES.search, styles))

    def handle_data(self, data: str) -> None:
        """Text, or the content of a style."""
        pattern = _FETCHES if self.cdata_elem else _HALF_A_TAG
        self.harmless = self.harmless and not pattern.search(data)

    def unknown_decl(self, data: str) -> None:
        """What is no HTML, and comments, of which programs find the end in different places."""
        self.harmless = False

    def handle_comment(self, data: str) -> None:
        """See ``unknown_decl``."""
        self.harmless = False

    def handle_decl(self, decl: str) -> None:
        """See ``unknown_decl``."""
        self.harmless = False

    def handle_pi(self, data: str) -> None:
        """See ``unknown_decl``."""
        self.harmless = False
