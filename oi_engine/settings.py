"""One tree of settings: every name and every default, in one place.

Names and defaults are Open Interpreter's where its documentation has them (``settings/all-settings``). ``read`` takes
the shape of a profile (nested mappings, or the older dotted and flat keys) and reports what it could not use: a bad
value keeps the default and is said; a bad *safety* value falls to the strictest.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import Attribute, Factory, define, field

SafeMode = Literal["off", "ask", "auto"]


def _setting(default: Any, doc: str, *, strictest: Any = attrs.NOTHING, secret: bool = False) -> Any:
    """One setting: its default, its documentation and, where it guards safety, its strictest value."""
    metadata = {"doc": doc, "strictest": strictest, "secret": secret}
    return field(default=default, metadata=metadata, repr=not secret)


@define
class LlmSettings:
    """Settings of the language model (``llm.*``)."""

    model: str = _setting("", "The model, as LiteLLM names it. Empty: the one that is found (see `oi-lsp doctor`).")
    temperature: float | None = _setting(0.0, "Randomness of the replies, 0 to 1; null for the provider's default.")
    context_window: int | None = _setting(None, "Tokens that the model can read; null: as LiteLLM's table says.")
    max_tokens: int | None = _setting(None, "Tokens that the model may write in one reply.")
    max_output: int = _setting(2800, "Characters of a program's output that the model sees.")
    api_base: str | None = _setting(None, "Base URL of the provider's API.")
    api_key: str | None = _setting(None, "Key for the provider's API. Handed to the model worker only.", secret=True)
    api_version: str | None = _setting(None, "Version of the provider's API.")
    supports_functions: bool | None = _setting(None, "Whether the model calls tools; null: as LiteLLM's table says.")
    supports_vision: bool | None = _setting(None, "Whether the model sees images; null: as LiteLLM's table says.")
    execution_instructions: str | bool = _setting(
        "To run code on the person's machine, write a Markdown code block and name the language after the opening "
        "fence. Stop after the block: the output comes back as the next message.",
        "Added to the system message where the model calls no tools; empty or false: nothing is added.",
    )


@define
class ComputerSettings:
    """Settings of the computer (``computer.*``)."""

    python: str | None = _setting(None, "Python interpreter of the kernel; null: the workspace's own environment.")
    shell: str | None = _setting(None, "Shell that runs shell code; null: bash, else zsh.")
    env_allow: tuple[str, ...] = _setting((), "Provider keys that kernels may see, by name of the variable.")


@define
class Settings:
    """All settings of one session."""

    llm: LlmSettings = Factory(LlmSettings)
    computer: ComputerSettings = Factory(ComputerSettings)
    auto_run: bool = _setting(False, "Run code without asking. Loosens safety.", strictest=False)
    safe_mode: SafeMode = _setting("off", "Scan code before it runs: `off`, `ask` or `auto`.", strictest="auto")
    offline: bool = _setting(False, "Do nothing that needs the network, the model's own API excepted.")
    verbose: bool = _setting(False, "Log in detail.")
    loop: bool = _setting(False, "Keep the model going until it says that the task is done or cannot be done.")
    loop_message: str = _setting(
        "Go on. You can run code on this machine. If the whole task is done, say exactly 'The task is done.' If you "
        "need something from me, say exactly 'Please provide more information.' If it cannot be done, say exactly "
        "'The task is impossible.' If there is no task, say exactly 'Let me know what you'd like to do next.'",
        "What the model is told in a loop when it wrote no code.",
    )
    loop_breakers: tuple[str, ...] = _setting(
        (
            "The task is done.",
            "The task is impossible.",
            "Let me know what you'd like to do next.",
            "Please provide more information.",
        ),
        "Sentences of the model that end a loop.",
    )
    max_budget: float | None = _setting(None, "US dollars that a session may cost; null: no limit.")
    system_message: str = _setting("", "Replaces the built-in system message; empty: the built-in one.")
    custom_instructions: str = _setting("", "Added to the system message.")
    user_message_template: str = _setting("{content}", "Applied to the person's message before it is sent.")
    always_apply_user_message_template: bool = _setting(
        False, "Apply the template to every message of the person, not to the last alone."
    )
    code_output_template: str = _setting(
        "Code output: {content}\n\nWhat does this output mean, and what is next (if anything, or are we done)?",
        "How output is told to a model that calls no tools.",
    )
    empty_code_output_template: str = _setting(
        "The code above was executed on my machine. It produced no text output. What is next (if anything, or are "
        "we done)?",
        "What a model is told when code printed nothing.",
    )
    code_output_sender: Literal["user", "assistant"] = _setting(
        "user", "Who tells output to a model that calls no tools."
    )


_OLD_NAMES = {
    "model": "llm.model",
    "temperature": "llm.temperature",
    "context_window": "llm.context_window",
    "max_tokens": "llm.max_tokens",
    "max_output": "llm.max_output",
    "api_base": "llm.api_base",
    "api_key": "llm.api_key",
    "api_version": "llm.api_version",
    "llm_supports_functions": "llm.supports_functions",
    "llm_supports_vision": "llm.supports_vision",
}


def read(data: Mapping[str, object], base: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from the shape of a profile, laid over ``base``; and a sentence for each key that was not used."""
    settings = attrs.evolve(base) if base else Settings()
    settings.llm, settings.computer = attrs.evolve(settings.llm), attrs.evolve(settings.computer)
    problems: list[str] = []
    for name, value in _flat(data):
        target, key = _find(settings, _OLD_NAMES.get(name, name))
        if target is None:
            problems.append(_unknown(name))
        else:
            problems.extend(_assign(target, key, name, value))
    return settings, problems


def names() -> list[str]:
    """Every setting's dotted name, in the order of the tree."""
    found = []
    for attribute in attrs.fields(Settings):
        section = _SECTIONS.get(attribute.name)
        if section is None:
            found.append(attribute.name)
        else:
            found.extend(f"{attribute.name}.{inner.name}" for inner in attrs.fields(section))
    return found


_SECTIONS: dict[str, type] = {"llm": LlmSettings, "computer": ComputerSettings}


def _flat(data: Mapping[str, object], prefix: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name in _SECTIONS:
            found.extend(_flat(value, f"{name}."))
        else:
            found.append((name, value))
    return found


def _find(settings: Settings, name: str) -> tuple[Any, str]:
    section, _, key = name.rpartition(".")
    target: Any = settings if not section else getattr(settings, section, None) if section in _SECTIONS else None
    if target is None or name in _SECTIONS or not any(a.name == key for a in attrs.fields(type(target))):
        return None, key
    return target, key


def _unknown(name: str) -> str:
    close = get_close_matches(name, [*names(), *_OLD_NAMES], n=1)
    return f"Unknown setting {name!r}." + (f" Did you mean {close[0]!r}?" if close else "")


def _assign(target: Any, key: str, name: str, value: object) -> list[str]:
    attribute: Attribute[Any] = getattr(attrs.fields(type(target)), key)
    wanted = get_type_hints(type(target))[key]
    fitted = _fit(value, wanted)
    if fitted is not attrs.NOTHING:
        setattr(target, key, fitted)
        return []
    must = f"{name} must be {_described(wanted)}" + ("" if attribute.metadata["secret"] else f", not {value!r}")
    strictest = attribute.metadata["strictest"]
    if strictest is attrs.NOTHING:
        kept = "as it was" if attribute.metadata["secret"] else repr(getattr(target, key))
        return [f"{must}; it stays {kept}."]
    setattr(target, key, strictest)
    return [f"{must}; the strictest value, {strictest!r}, is taken."]


def _fit(value: object, wanted: Any) -> Any:
    """The value as the wanted type, or ``attrs.NOTHING``. No text is read as a number or a truth value."""
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        fits = (_fit(value, option) for option in get_args(wanted))
        return next((fitted for fitted in fits if fitted is not attrs.NOTHING), attrs.NOTHING)
    if origin is Literal:
        return (
            value if any(value is o or (isinstance(o, str) and value == o) for o in get_args(wanted)) else attrs.NOTHING
        )
    if origin is tuple:
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return attrs.NOTHING
    if wanted is type(None):
        return value if value is None else attrs.NOTHING
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) and wanted is not bool:
        return attrs.NOTHING
    return value if isinstance(value, wanted) else attrs.NOTHING


def _described(wanted: Any) -> str:
    if get_origin(wanted) is Literal:
        return "one of " + ", ".join(repr(option) for option in get_args(wanted))
    if get_origin(wanted) in (Union, types.UnionType):
        return " or ".join(_described(option) for option in get_args(wanted))
    plain = {bool: "true or false", str: "text", int: "a whole number", float: "a number", type(None): "null"}
    return plain.get(wanted, "a list of texts")
