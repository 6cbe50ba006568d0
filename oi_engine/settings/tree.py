"""The tree of settings: every name, type, default and rule, in one place.

Names and defaults are Open Interpreter's where its documentation has them (``settings/all-settings``,
``usage/terminal/arguments``, ``usage/python/arguments``). What reads values into the tree is in ``settings``;
``docs/settings.md`` is made from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, get_type_hints

import attrs
from attrs import Factory, define, field, frozen

from oi_engine.settings.spellings import OLD_NAMES
from oi_engine.settings.system_message import SYSTEM_MESSAGE

SafeMode = Literal["off", "ask", "auto"]
AutoRun = bool | Literal["sandboxed"]
SandboxLevel = Literal["off", "container", "workspace", "strict"]
Scope = Literal["anyone", "tighten", "user", "choice"]
"""Who may set a setting: every layer; every layer, the workspace in the stricter direction alone; the person's own
layers; or the layers that choose a profile (environment, editor, session)."""

LIMIT: Final = "limit"
"""In place of an order: a number that is stricter the lower it is; null is no limit."""

NO_EFFECT = "Accepted, without effect"
"""The group of what is read and does nothing here."""


def _setting(
    default: Any,
    doc: str,
    *,
    group: str = "",
    scope: Scope | None = None,
    order: tuple[object, ...] | Literal["limit"] | None = None,
    strictest: Any = attrs.NOTHING,
    secret: bool = False,
    low: float = -math.inf,
    high: float = math.inf,
    note: str = "",
) -> Any:
    """One setting.

    ``order`` makes it a guard of safety: its values from the loosest to the strictest, or ``LIMIT``. A value that
    cannot be read falls to ``strictest`` where there is one (with an order: its end). ``low`` and ``high`` bound
    numbers. ``note`` is said when it is set to something other than its default: for what is accepted without effect.
    """
    if order is not None and strictest is attrs.NOTHING:
        strictest = 0.0 if order == LIMIT else order[-1]
    metadata = {
        "doc": doc,
        "group": NO_EFFECT if note else group,
        "scope": scope or ("tighten" if order is not None else "anyone"),
        "order": order,
        "strictest": strictest,
        "secret": secret,
        "low": low,
        "high": high,
        "note": note,
    }
    return field(default=default, metadata=metadata, repr=not secret)


_SAFETY = "Safety"


@define
class LlmSettings:
    """Settings of the language model (``llm.*``)."""

    model: str = _setting(
        "", "The model, as LiteLLM names it. Empty: the one that is found (see `oi-lsp doctor`).", scope="user"
    )
    temperature: float | None = _setting(
        0.0, "Randomness of the replies, 0 to 1 (some providers: 2); null: the provider's default.", low=0, high=2
    )
    context_window: int | None = _setting(None, "Tokens that the model can read; null: as LiteLLM's table says.", low=1)
    max_tokens: int | None = _setting(None, "Tokens that the model may write in one reply.", low=1)
    max_output: int = _setting(2800, "Characters of a program's output that the model sees.", low=1)
    api_base: str | None = _setting(
        None, "Base URL of the provider's API; null: the provider's own. The conversation goes there.", scope="user"
    )
    api_key: str | None = _setting(
        None, "Key for the provider's API. Handed to the model worker only.", secret=True, scope="user"
    )
    api_version: str | None = _setting(None, "Version of the provider's API.", scope="user")
    supports_functions: bool | None = _setting(None, "Whether the model calls tools; null: as LiteLLM's table says.")
    supports_vision: bool | None = _setting(None, "Whether the model sees images; null: as LiteLLM's table says.")
    execution_instructions: str | bool = _setting(
        "To run code on the person's machine, write a Markdown code block and name the language after the opening "
        "fence. Stop after the block: the output comes back as the next message.",
        "Added to the system message where the model calls no tools; empty or false: nothing is added.",
        scope="user",
    )


@define
class ComputerSettings:
    """Settings of the computer (``computer.*``)."""

    python: str | None = _setting(
        None, "Python interpreter of the kernel; null: the workspace's own environment.", scope="user"
    )
    shell: str | None = _setting(None, "Shell that runs shell code; null: bash, else zsh.", scope="user")
    env_allow: tuple[str, ...] = _setting(
        (), "Provider keys that kernels may see, by name of the variable.", scope="user", strictest=()
    )
    offline: bool | None = _setting(
        None, "As `offline`, for the computer alone; null: as `offline`.", order=(False, None, True)
    )
    verbose: bool | None = _setting(None, "As `verbose`, for the computer alone; null: as `verbose`.", scope="user")
    emit_images: bool | None = _setting(
        None, "Whether the model is sent the images that code makes; null: as `llm.supports_vision`."
    )
    import_computer_api: bool = _setting(
        False,
        "Open Interpreter's `computer` module for the model.",
        scope="user",
        note="oi-lsp has no computer API: code runs in ordinary kernels, without a `computer` object.",
    )


@define
class PolicySettings:
    """Rules for shell code (``policy.*``); see ``safety.rules``."""

    allow: tuple[str, ...] = _setting(
        (),
        "Shell commands that run without asking, such as `git status` or `ls -l *`: a program without a path, then its "
        "arguments word for word; a last `*` stands for any further ones that are no options. Such a rule holds for a "
        "block that is one plain command: anything more is asked about.",
        scope="user",
        strictest=(),
    )
    deny: tuple[str, ...] = _setting(
        (),
        "Shell commands that never run without asking, whatever else allows them, such as `rm` or `git push`: a "
        "program, then words that its arguments begin with; `*` is every command. With such a rule, shell code that is "
        "not fully understood is asked about too.",
        scope="user",
        strictest=("*",),
    )


@define
class SandboxSettings:
    """Bounds of the sandbox (``sandbox_limits.*``)."""

    network: bool = _setting(
        True, "Whether code in the sandbox `workspace` has the network; in `strict` it never has.", order=(True, False)
    )
    memory: int | None = _setting(
        8192, "Megabytes of memory that one runtime and all its processes may use.", order=LIMIT, low=256, strictest=256
    )
    processes: int | None = _setting(
        512, "Processes and threads that one runtime may have.", order=LIMIT, low=32, strictest=32
    )
    seconds: int | None = _setting(
        None, "Seconds that one run may take; null: no limit.", order=LIMIT, low=1, strictest=60
    )


@define
class ChatDocumentSettings:
    """Settings of chat documents (``chat_document.*``)."""

    send_on_save: bool = _setting(False, "Send what is written under the last heading when it is saved.", scope="user")
    stream: bool | None = _setting(
        None,
        "Whether answers are written while they come. Null: in Emacs' eglot not, where that is safe only with "
        "`eglot-send-changes-idle-time` at 0, and in other editors yes.",
        scope="user",
    )


@define
class ChangesSettings:
    """Settings of what is known of the changes that runs make on disk (``changes.*``)."""

    follow: bool = _setting(
        True,
        "List what each run changed in the session's folder, keep what was there before, and offer to take it back.",
        group=_SAFETY,
        order=(False, True),
    )
    max_file: float = _setting(
        5.0,
        "Megabytes of a file up to which it is kept; a larger one is listed only.",
        group=_SAFETY,
        scope="user",
        low=0,
    )
    max_total: float = _setting(
        500.0, "Megabytes that all that is kept of one folder may take.", group=_SAFETY, scope="user", low=0
    )
    wait: float = _setting(
        1.0,
        "Seconds that a run waits at most for the look at the folder before it; the one after it may take five times "
        "as long. That a run is not followed for it is said once.",
        group=_SAFETY,
        scope="user",
        low=0,
        high=3600,
    )
    keep_days: float = _setting(14.0, "Days that changes can be taken back.", group=_SAFETY, scope="user", low=0)


_MODES = "Modes"
_TOLD = "What the model is told"
_TALK = "The conversation"
_OTHER = "Other"


@define
class Settings:
    """All settings of one session."""

    llm: LlmSettings = Factory(LlmSettings)
    computer: ComputerSettings = Factory(ComputerSettings)
    chat_document: ChatDocumentSettings = Factory(ChatDocumentSettings)
    changes: ChangesSettings = Factory(ChangesSettings)
    policy: PolicySettings = Factory(PolicySettings)
    sandbox_limits: SandboxSettings = Factory(SandboxSettings)
    run_code: bool = _setting(
        True, "Whether code may run; if not, the model can be talked with.", group=_SAFETY, order=(True, False)
    )
    auto_run: AutoRun = _setting(
        False,
        "Run code without asking: `sandboxed` does so inside the sandbox alone, and is the better choice; `true` does "
        "so with all that you may do yourself.",
        group=_SAFETY,
        order=(True, "sandboxed", False),
    )
    sandbox: SandboxLevel = _setting(
        "off",
        "Where code runs: `off` with your own rights; `container` in a container that all of this program runs in (see "
        "docker.md), and nowhere else; `workspace` may write to the session's folder and to a temporary one alone, and "
        "reads no keys; `strict` has no network either. Where it is `off`, `auto_run: sandboxed` means `workspace`.",
        group=_SAFETY,
        order=("off", "container", "workspace", "strict"),
    )
    safe_mode: SafeMode = _setting(
        "off",
        "Scan code before it runs: `off`, `ask` (whether to scan) or `auto`. Any but `off` turns `auto_run` off.",
        group=_SAFETY,
        order=("off", "ask", "auto"),
    )
    safe_review: bool = _setting(
        False,
        "Where `safe_mode` looks at code, have the model review it too: one more request for each block, with the "
        "code alone in it.",
        group=_SAFETY,
        scope="user",
    )
    max_budget: float | None = _setting(
        None, "US dollars that a session may cost; null: no limit.", group=_SAFETY, order=LIMIT, low=0
    )
    offline: bool = _setting(
        False,
        "Do nothing that needs the network: a model that is chosen by itself is a local one, and of one in `llm.model` "
        "that is not it is said.",
        group=_SAFETY,
        order=(False, True),
    )
    loop: bool = _setting(
        False,
        "Keep the model going until it says that the task is done or cannot be done.",
        group=_TALK,
        order=(True, False),
    )
    loop_message: str = _setting(
        "Go on. You can run code on this machine. If the whole task is done, say exactly 'The task is done.' If you "
        "need something from me, say exactly 'Please provide more information.' If it cannot be done, say exactly "
        "'The task is impossible.' If there is no task, say exactly 'Let me know what you'd like to do next.'",
        "What the model is told in a loop when it wrote no code.",
        group=_TALK,
        scope="user",
    )
    loop_breakers: tuple[str, ...] = _setting(
        (
            "The task is done.",
            "The task is impossible.",
            "Let me know what you'd like to do next.",
            "Please provide more information.",
        ),
        "Sentences of the model that end a loop.",
        group=_TALK,
        scope="user",
    )
    conversation_history: bool = _setting(True, "Keep conversations.", group=_TALK, scope="user", strictest=False)
    conversation_history_path: str | None = _setting(
        None, "Folder in which conversations are kept; null: the platform's data folder.", group=_TALK, scope="user"
    )
    conversation_filename: str | None = _setting(
        None,
        "File of this conversation.",
        scope="user",
        note="Conversations are kept in one database, not in a file each: export one to have it as a file.",
    )
    system_message: str = _setting(
        SYSTEM_MESSAGE,
        "What the model is told about its task; empty: the built-in text. Better to add to it with "
        "`custom_instructions`, which keeps what later versions say.",
        group=_TOLD,
        scope="user",
    )
    custom_instructions: str = _setting("", "Added to the system message.", group=_TOLD, scope="user")
    user_message_template: str = _setting(
        "{content}", "Applied to the person's message before it is sent.", group=_TOLD, scope="user"
    )
    always_apply_user_message_template: bool = _setting(
        False, "Apply the template to every message of the person, not to the last alone.", group=_TOLD
    )
    code_output_template: str = _setting(
        "Code output: {content}\n\nWhat does this output mean, and what is next (if anything, or are we done)?",
        "How output is told to a model that calls no tools.",
        group=_TOLD,
        scope="user",
    )
    empty_code_output_template: str = _setting(
        "The code above was executed on my machine. It produced no text output. What is next (if anything, or are "
        "we done)?",
        "What a model is told when code printed nothing.",
        group=_TOLD,
        scope="user",
    )
    code_output_sender: Literal["user", "assistant"] = _setting(
        "user", "Who tells output to a model that calls no tools.", group=_TOLD
    )
    local: bool = _setting(
        False,
        "Use a model on this machine, and be offline. In the same place, `llm.model` says which model.",
        group=_MODES,
        scope="user",
        strictest=True,
    )
    vision: bool = _setting(
        False, "Use `gpt-4o`, with images and tools, where the same place names no model.", group=_MODES, scope="user"
    )
    fast: bool = _setting(
        False, "Use `gpt-3.5-turbo`, where the same place names no model.", group=_MODES, scope="user"
    )
    os: bool = _setting(
        False,
        "OS mode: control of screen, mouse and keyboard.",
        scope="user",
        note="oi-lsp has no OS mode: it does not control screen, mouse or keyboard.",
    )
    profile: str = _setting(
        "",
        "The profile: its name in the profiles folder, or a path. Empty: the default profile alone.",
        group=_OTHER,
        scope="choice",
    )
    verbose: bool = _setting(False, "Log in detail.", group=_OTHER, scope="user")
    multi_line: bool = _setting(
        False, "In the terminal, take messages of several lines between two lines of ```.", group=_OTHER, scope="user"
    )
    speak_messages: bool = _setting(
        False, "Read messages aloud.", scope="user", note="oi-lsp does not read messages aloud."
    )
    disable_telemetry: bool = _setting(
        True, "No telemetry.", scope="user", note="There is no telemetry in oi-lsp, so there is none to allow."
    )
    anonymized_telemetry: bool = _setting(
        False, "Telemetry.", scope="user", note="There is no telemetry in oi-lsp, so there is none to allow."
    )


SECTIONS: dict[str, type[Any]] = {
    "llm": LlmSettings,
    "computer": ComputerSettings,
    "chat_document": ChatDocumentSettings,
    "changes": ChangesSettings,
    "policy": PolicySettings,
    "sandbox_limits": SandboxSettings,
}
GROUPS = {
    "llm": "The language model",
    "computer": "The computer",
    "chat_document": "Chat documents",
    "policy": "Rules for shell code",
    "sandbox_limits": "Bounds of the sandbox",
}

"""Other documented spellings, old ones for the most part."""

NOT_SETTINGS = {
    "messages": "`messages` is the conversation itself: import it, or set it with the Python API.",
    "llm.completions": "`llm.completions` is a Python function: set it with the Python API.",
    "computer.languages": "`computer.languages` is a list of Python classes: set it with the Python API.",
}
"""Documented names that are no settings, and where they belong."""

MODES: dict[str, dict[str, object]] = {
    "local": {"llm.model": "", "llm.api_base": None, "offline": True},
    "vision": {"llm.model": "gpt-4o", "llm.supports_vision": True, "llm.supports_functions": True},
    "fast": {"llm.model": "gpt-3.5-turbo"},
}
"""What a mode stands for where it is on. What the same place says of these settings itself counts more."""

PROFILE_VERSION = (0, 2, 5)
"""The version of the profile format, as documented."""


@frozen
class Setting:
    """What is known of one setting. ``name`` is dotted; ``kind`` is its Python type."""

    name: str
    kind: Any
    default: Any
    doc: str
    group: str
    scope: Scope
    order: tuple[object, ...] | Literal["limit"] | None
    strictest: Any
    secret: bool
    low: float
    high: float
    note: str

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return "OI_" + self.name.replace(".", "_").upper()

    @property
    def old_names(self) -> tuple[str, ...]:
        """Other spellings in profiles."""
        return tuple(old for old, name in OLD_NAMES.items() if name == self.name)

    def strictness(self, value: Any) -> float:
        """How strict a value of a guard is: more is stricter. Raises ``TypeError`` for a setting without an order."""
        if self.order is None:
            raise TypeError(f"{self.name} is no guard of safety")
        if self.order == LIMIT:
            return -math.inf if value is None else -value
        return self.order.index(value)


@cache
def all_settings() -> Mapping[str, Setting]:
    """Every setting by its dotted name, in the order of the tree."""
    found = {}
    owners: tuple[tuple[str, type[Any]], ...] = (
        *((f"{name}.", section) for name, section in SECTIONS.items()),
        ("", Settings),
    )
    for prefix, owner in owners:
        kinds = get_type_hints(owner)
        for attribute in attrs.fields(owner):
            if attribute.name in SECTIONS and not prefix:
                continue
            name = f"{prefix}{attribute.name}"
            about = dict(attribute.metadata)
            about["group"] = about["group"] or GROUPS.get(prefix.rstrip("."), _OTHER)
            found[name] = Setting(name=name, kind=kinds[attribute.name], default=attribute.default, **about)
    return found


def names() -> list[str]:
    """Every setting's dotted name."""
    return list(all_settings())


def find_setting(name: str) -> Setting | None:
    """The setting of that name, dotted or in an older spelling."""
    return all_settings().get(OLD_NAMES.get(name, name))


def get(settings: Settings, name: str) -> Any:
    """The value of a setting by its dotted name."""
    section, _, key = name.rpartition(".")
    return getattr(getattr(settings, section) if section else settings, key)


def build(values: Mapping[str, Any]) -> Settings:
    """Settings from the values of dotted names; what is absent has its default."""
    inner: dict[str, dict[str, Any]] = {"": {}, **{section: {} for section in SECTIONS}}
    for name, value in values.items():
        section, _, key = name.rpartition(".")
        inner[section][key] = value
    return Settings(**inner[""], **{name: section(**inner[name]) for name, section in SECTIONS.items()})
