"""What is read from files: settings, conversations, rules of what is ignored, and the differences between two texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from attrs import NOTHING
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from oi_engine.changes.diff import bytes_of, difference, text_of, without
from oi_engine.changes.entries import FileChange
from oi_engine.changes.ignore import Patterns, _in_time, _patterns_in, ignored
from oi_engine.errors import InvalidMessage, ProfileError
from oi_engine.history.export import to_json, to_markdown, to_notebook, to_scripts
from oi_engine.history.export.notebook import KEY
from oi_engine.history.importing import read_messages
from oi_engine.profiles.files import _parse_json, parse_yaml
from oi_engine.settings.layers import KINDS, Layer, resolve
from oi_engine.settings.tree import all_settings, find_setting
from oi_engine.settings.values import described, fit, from_text, shown
from tests.fuzz.fuzzing import Dice, dice, fuzzed, property_of, texts
from tests.unit import test_settings

NAMES = (*all_settings(), "llm", "computer", "policy", "auto_run", "custom_instructions", "version", "<<", "model", "")
VALUES: tuple[Any, ...] = (
    *(
        "off",
        "on",
        "ask",
        "auto",
        "sandboxed",
        "workspace",
        "strict",
        "true",
        "1",
        "rm",
        ["rm"],
        ["git *"],
        "1e999",
        "[1",
    ),
    *("9" * 5000, "[" * 5000, '["a"]', "a,b", " ", "null", "http://x", 3, -1, 0.1, ["a", 5], {"model": 5}, "نعم"),
)


def layer(drawn: Dice) -> dict[Any, object]:
    """What one place says: settings of any value, nested and dotted."""
    found: dict[Any, object] = {}
    for _ in range(drawn.below(6)):
        value: object = drawn.pick(VALUES) if drawn.below(3) else drawn.json(2)
        name = drawn.pick(NAMES)
        group, _, last = name.rpartition(".")
        if group and drawn.below(2):
            inner = found.setdefault(group, {})
            if isinstance(inner, dict):
                inner[last] = value
        else:
            found[name if drawn.below(9) else drawn.pick([5, None, True, (1, 2), "\ud800"])] = value
    return found


@fuzzed(dice(120), 4000)
def test_settings_of_any_value(drawn: Dice) -> None:
    layers = [Layer(drawn.pick(KINDS[:2] + KINDS[3:]), layer(drawn)) for _ in range(1 + drawn.below(2))]
    property_of(test_settings.test_whatever_layers_say_the_settings_fit)(layers)
    property_of(test_settings.test_no_workspace_loosens_anything)(layers, [layer(drawn)])


@fuzzed(texts(*NAMES[:40], *map(str, VALUES), *"\"'[]{}:,.-", "sandbox", length=4), 3000)
def test_texts_as_values_of_settings(text: str) -> None:
    for setting in list(all_settings().values())[:: max(1, len(text) % 7)]:
        value = fit(from_text(text, setting), setting)
        assert value is NOTHING or fit(value, setting) == value
        assert len(shown(from_text(text, setting))) < 1000
        assert described(setting)
    find_setting(text)


YAML = texts(
    *(
        "auto_run",
        "llm",
        "model",
        "policy",
        "allow",
        ": ",
        ":\n",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
    ),
    *(
        "&a ",
        "*a",
        "<<: *a",
        "!!python/object/apply:os.system ['touch canary']",
        "!!binary ",
        "!!set ",
        "!x ",
        "? ",
        "| ",
        ">",
    ),
    *(
        "|\n",
        "'",
        '"',
        "#",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "true",
        "yes",
        "0x1F",
        "1e9",
        "2024-01-01",
        "~",
        "=",
        "\t",
        "\\x",
    ),
    *("[" * 40, "a: " * 20, "1:2:3", "\\u0041", "null", "@", "`", "\ufeff", "é"),
    length=16,
)


@fuzzed(YAML, 5000)
def test_a_file_of_settings_is_read_or_refused(text: str) -> None:
    for trusted in (True, False):
        try:
            parsed = parse_yaml(text, "profile.yaml", trusted=trusted)
        except ProfileError:
            pass
        else:
            resolve([Layer("workspace" if not trusted else "profile", parsed.data, positions=parsed.positions)])
    try:
        _parse_json(text, "profile.json")
    except ProfileError:
        pass
    assert not Path("canary").exists()


ROLES, TYPES = (
    ("user", "assistant", "computer", "server", 5),
    ("message", "code", "console", "image", "file", "review", 5),
)
CELLS = ("code", "markdown", "raw", 5)
SAID = (
    "text",
    "",
    ["a\n", "b"],
    None,
    5,
    {"a": 1},
    [5],
    "```",
    "%%bash\nls",
    "aGk=",
    {"deep": {"deeper": [1]}},
    "# You\n",
)
OUTPUTS = ("stream", "error", "display_data", "execute_result", "x", None)


def record(drawn: Dice, **options: tuple[Any, ...]) -> dict[str, Any]:
    """An object with some of these keys, mostly of the values that fit them."""
    found = {key: drawn.pick(values) for key, values in options.items() if drawn.below(8)}
    if drawn.below(6) == 0:
        found[drawn.pick([*options, "content", "x"])] = drawn.json(2)
    return found


def message(drawn: Dice) -> Any:
    """A message in one of the documented forms, or nearly."""
    if drawn.below(4) == 0:
        return record(drawn, role=ROLES, message=SAID, code=SAID, language=("python", "r", 5), output=SAID)
    forms = ("python", "output", "base64.png", "active_line", "html", None, 5)
    ids = ("a", "b", 5, "")
    return record(
        drawn, role=ROLES, type=TYPES, format=forms, content=SAID, id=ids, parent=ids, recipient=("user", "x")
    )


def cell(drawn: Dice) -> Any:
    """A cell of a notebook, or nearly."""
    found = record(drawn, cell_type=CELLS, source=SAID, metadata=({}, None, 5))
    if drawn.below(3):
        data = ({"image/png": "aGk="}, {"text/plain": ["1"]}, {"text/html": 5}, None)
        kinds: dict[str, Any] = {
            "text": SAID,
            "data": data,
            "traceback": (["a", "b"], [5], "x", None),
            "ename": ("E", 5),
        }
        outputs = [record(drawn, output_type=OUTPUTS, **kinds) for _ in range(drawn.below(3))]
        found["outputs"] = drawn.pick([outputs, outputs, outputs, [5], 5, None, {}, "x"])
    if drawn.below(2):
        entry = [{**record(drawn, at=(0, 1, -1, True)), **message(drawn)} for _ in range(drawn.below(3))]
        found["metadata"] = {KEY: {"messages": drawn.pick([entry, entry, entry, 5, [5]])}}
    return found


FOUND = (
    '{"cells": [{"cell_type": "code", "source": "x", "outputs": 5}]}',
    '{"cells": [{"cell_type": "code", "source": "x", "outputs": [5]}]}',
    '{"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "error", "traceback": [5]}]}]}',
    '[{"role": "user", "code": {"a": 1}}]',
)
"""What was once read wrongly, or not refused."""
DEEP = '{"role":"user","type":"message","content":' + '{"a":' * 970 + "1" + "}" * 971


@fuzzed(dice(160), 5000)
def test_a_conversation_is_imported_or_refused(drawn: Dice) -> None:
    kind = drawn.below(8)
    if kind < 3:
        data: Any = [message(drawn) for _ in range(drawn.below(4))]
    elif kind < 7:
        data = {"cells": [cell(drawn) for _ in range(drawn.below(4))], "metadata": {}, "nbformat": 4}
    else:
        data = drawn.json(3)
    imported(json.dumps(data))


TEXTS = texts(
    '[{"role":"user",', '"type":"message",', '"content":"x"}]', "[", "{", '"', ":", ",", "}", "]", "NaN", "\\", "5"
)


@fuzzed(TEXTS, 2000, examples=["[" * 100_000, f"[{DEEP}]", '{"cells":' + "[" * 2000, "9" * 5000, *FOUND])
def test_a_text_is_imported_or_refused(text: str) -> None:
    imported(text)


def imported(text: str) -> None:
    """Read it; what was read can be written in every form, and read again from two of them."""
    try:
        messages = read_messages(text)
    except InvalidMessage:
        return
    assert read_messages(to_json(messages)) == messages
    assert read_messages(to_notebook(messages, "t")) == messages
    to_markdown(messages, "t")
    to_scripts(messages)


CHANGE = FileChange("a.txt", None, None)


@fuzzed(dice(60), 4000)
def test_a_difference_taken_out_gives_the_text_before(drawn: Dice) -> None:
    pieces = ("a\n", "b\n", "a", "\n", "\r\n", "\r", "  a\n", "\udce9\n", "é\n", "c\n")
    before, after = drawn.text(pieces, 12), drawn.text(pieces, 12)
    assert without(before, after, after) == before
    made = difference(CHANGE, before, after)
    assert all(before[hunk.start : hunk.end] == hunk.old for hunk in made.hunks)
    assert made.added >= 0
    data = after.encode("utf-8", "surrogateescape")
    again = text_of(data)
    assert again is None or bytes_of(again) == data


IGNORE = texts(
    *("*", "**", "/", "!", "?", "[ab]", "[!a]", "[", "]", "\\", "\\ ", " ", "#", "a", "b", ".log", "\n", "\n", "[^-]"),
    *("[[:alpha:]]", "\\\\", "\ufeff", "\x00", "(", ")", "+", "|", "$", "^", "{a,b}", "\udce9", "**/**/**/", "a/**/b"),
    *("[z-a]", "*a*a", "**/a/"),
    length=14,
)
PATHS = ("a", "a/", "a/b/a.log", "a" * 60, "a/" * 60, "\udce9\n")


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")  # of ``re``, of sets such as ``[[:alpha:]]``
@fuzzed(IGNORE, 4000, examples=["**/" + "a/**/" * 40 + "b", "*a" * 60 + "b", "[" * 2000, "*[(?:]" * 20 + "b", "*[z-a]"])
def test_patterns_of_what_is_ignored_are_read_and_asked_in_time(text: str) -> None:
    patterns = _patterns_in(text, "/w/.gitignore")
    for path in (*PATHS, "a/" * 2000, "a" * 255):
        ignored((Patterns("/w/", patterns),), f"/w/{path}")


GLOBS, NODES = (
    texts("*", "**", "/", "/", "a", "b", "?", "[!a]", "[ab]", "\\*", length=8),
    texts("a", "b", "/", "*", length=8),
)


@fuzzed(st.tuples(GLOBS, NODES), 6000)
def test_the_patterns_that_take_no_time_match_what_they_did(given: tuple[str, str]) -> None:
    glob, path = given
    try:
        patterns = GitIgnoreSpec.from_lines([glob]).patterns
    except ValueError:
        return
    for pattern in patterns:
        if pattern.regex is not None and "\n" not in path + glob:
            usual, quick = pattern.regex.search(path), re.search(_in_time(pattern.regex.pattern), path)
            assert (usual and usual.span()) == (quick and quick.span())
