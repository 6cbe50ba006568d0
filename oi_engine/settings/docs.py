"""Writes ``docs/settings.md`` from the tree of settings."""

from __future__ import annotations

import json
from collections.abc import Iterator

from oi_engine.settings.layers import KINDS
from oi_engine.settings.tree import MODES, NO_EFFECT, NOT_SETTINGS, Scope, Setting, all_settings
from oi_engine.settings.values import described

_HEAD = """\
# Settings

<!-- Made from oi_engine/settings_tree.py by oi_engine/settings_docs.py: change it there. -->

A setting can be given in several places. From the lowest to the highest, where a higher place counts more:

{layers}

## Profiles

A profile is a file in the folder `profiles` of the program's configuration: `~/.config/oi-lsp/profiles` on Linux,
`~/Library/Application Support/oi-lsp/profiles` on macOS, `%LOCALAPPDATA%\\oi-lsp\\profiles` on Windows. It is chosen by
its name, with or without its extension, or by its path. One that lies in a workspace is refused, whatever its form:
whoever changes the workspace would change it. `default.yaml` is made on first use and always read.

In YAML (`.yaml`, `.yml`) or JSON (`.json`), names are nested or dotted, and older spellings are read too:

```yaml
llm:
  model: gpt-4o
llm.temperature: 0.5
custom_instructions: "Be brief."
version: 0.2.5
```

In Python (`.py`), attributes of `interpreter` are set. Such a profile is a program: it runs in a process of its own,
for at most 20 seconds, what it prints goes to the log, and it can set text, numbers, truth values, null and lists of
text.

```python
from interpreter import interpreter  # or: from oi_engine import interpreter

interpreter.llm.model = "gpt-4o"
interpreter.custom_instructions += "Be brief."
```

Files are read again when they change. A file with an error is named with its line, and what it said before stays in
force; if it said nothing before, every guard (below) is at its strictest. An unknown name is told, with the one that
was probably meant. A value that does not fit is told, and the setting stays as it was; a guard falls to its strictest.

## Environment

Every setting has a variable, named below. Truth is `true`, `yes`, `on` or `1`, and `false`, `no`, `off` or `0`; `null`
is no value; a list is a JSON array, or names separated by commas. An empty variable counts as absent. Provider keys
are better given in the provider's own variable, such as `OPENAI_API_KEY`. `DISABLE_TELEMETRY` needs no attention: there
is no telemetry.

## Workspace

`.oi/settings.yaml` in a workspace has the shape of a profile. It came with the workspace, so it can do less:

- {guards} are **guards**. A workspace can only make them stricter, and that holds over every other place.
- {free} can be set; what you set yourself anywhere but in your default profile counts more.
- Everything else, {refused} for instance, is refused by name: it decides where your conversation goes, what runs, or
  what the model takes for your own words. For words to the model, a workspace has `AGENTS.md`.

It is at most 64 KiB, without anchors and tags.
"""

_LAYERS = {
    "defaults": "the defaults",
    "default profile": "the default profile",
    "workspace": "the workspace's `.oi/settings.yaml` (see [below](#workspace))",
    "profile": "the profile that is chosen, by `profile` in the editor or the session, or by `OI_PROFILE`",
    "environment": "environment variables",
    "editor": "the editor's settings",
    "session": "the session: flags of the command line, magic commands, the Python API",
}

_SCOPES: dict[Scope, str] = {
    "anyone": "every place",
    "tighten": "you; a workspace only to make it stricter",
    "user": "you",
    "choice": "environment, editor, session",
}


def markdown() -> str:
    """The whole of ``docs/settings.md``."""
    settings = all_settings().values()
    head = _HEAD.format(
        layers="\n".join(f"{number}. {_LAYERS[kind]}" for number, kind in enumerate(KINDS, 1)),
        guards=_listed(setting for setting in settings if setting.scope == "tighten"),
        free=_listed(setting for setting in settings if setting.scope == "anyone"),
        refused=_listed(all_settings()[name] for name in ("llm.model", "llm.api_base", "llm.api_key", "profile")),
    )
    groups = sorted(dict.fromkeys(setting.group for setting in settings), key=lambda group: group == NO_EFFECT)
    parts = [head, *(_group(name) for name in groups), _modes(), _elsewhere()]
    return "\n".join(parts)


def _listed(settings: Iterator[Setting]) -> str:
    *most, last = [f"`{setting.name}`" for setting in settings]
    return f"{', '.join(most)} and {last}"


def _group(name: str) -> str:
    entries = (_entry(setting) for setting in all_settings().values() if setting.group == name)
    return f"## {name}\n\n" + "\n".join(entries)


def _entry(setting: Setting) -> str:
    lines = [f"### `{setting.name}`", "", setting.doc, ""]
    if setting.note:
        lines += [setting.note, ""]
    lines.append(f"- Value: {_value(setting)}")
    lines.append(f"- Default: {_default(setting)}")
    if setting.order is not None:
        lines.append(f"- Guard: {_order(setting)}")
    lines.append(f"- Set by: {_SCOPES[setting.scope]}")
    lines.append(f"- Environment: `{setting.environment}`")
    if setting.old_names:
        lines.append(f"- Also spelled: {', '.join(f'`{name}`' for name in setting.old_names)}")
    return "\n".join([*lines, ""])


def _value(setting: Setting) -> str:
    return described(setting).replace("'", "`") + (" (secret: never shown)" if setting.secret else "")


def _default(setting: Setting) -> str:
    default = setting.default
    text = json.dumps(list(default) if isinstance(default, tuple) else default, ensure_ascii=False)
    if isinstance(default, str) and "\n" in default and len(default) > 200:
        return f"\n\n  {_quoted(default)}"
    return f"`{text}`"


def _quoted(text: str) -> str:
    return "\n  ".join(f"> {line}".rstrip() for line in text.splitlines())


def _order(setting: Setting) -> str:
    if isinstance(setting.order, str):
        return f"the lower, the stricter; a value that cannot be read counts as {setting.strictest:g}"
    words = [f"`{json.dumps(value)}`" for value in setting.order or ()]
    return f"from the loosest to the strictest, {', '.join(words)}; a value that cannot be read counts as the last"


def _modes() -> str:
    lines = ["## What the modes stand for", ""]
    for mode, values in MODES.items():
        said = ", ".join(f"`{name}: {json.dumps(value)}`" for name, value in values.items())
        lines.append(f"- `{mode}: true` is {said}, where the same place says nothing else of them.")
    return "\n".join([*lines, ""])


def _elsewhere() -> str:
    lines = ["## Names that are no settings", ""]
    lines += [f"- {words}" for words in NOT_SETTINGS.values()]
    lines.append("- `version` is the version of the profile's format, 0.2.5.")
    return "\n".join([*lines, ""])
