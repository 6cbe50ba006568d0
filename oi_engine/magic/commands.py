"""The magic commands: what a message asks for, who does it, and how a line may go on.

They are the same wherever messages are written (``usage/terminal/magic-commands``). Whatever is written to a session
goes through ``perform`` first, which has what comes of a command shown in the session's stream, beside what is said::

    ticket = commands.perform(text, session, engine, show) or session.send(text)

The terminal, which shows words of its own, asks ``parse`` of each message, awaits ``run`` in place of that, shows the
Markdown that it answers, and attends the session until it is at rest: ``%%`` has only asked for the run by then.
``offers`` says how a line may go on.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path

from attrs import NOTHING, field, frozen

from oi_engine.errors import InvalidSetting, OiError
from oi_engine.factory import Engine
from oi_engine.magic import changes, files, history
from oi_engine.magic import policy as policies
from oi_engine.messages import Message
from oi_engine.models.budget import dollars
from oi_engine.models.chosen import ChosenModel
from oi_engine.models.model import ModelInfo
from oi_engine.models.preview import Preview, Size, size_of
from oi_engine.models.tokens import CountedText
from oi_engine.safety.redact import redact
from oi_engine.session.aside import Answer
from oi_engine.session.session import Session
from oi_engine.session.state import Ticket, UsageTotals
from oi_engine.settings.tree import Setting, all_settings, find_setting, get, names
from oi_engine.settings.values import described, fit, from_text, shown
from oi_engine.version import __version__

_SHAPE = re.compile(r"%(?P<name>%|[^\s!%]*)(?P<forced>!?)(?P<rest>.*)", re.DOTALL)
_FIXED = frozenset(
    {
        "conversation_history",
        "conversation_history_path",
        "profile",
        "multi_line",
        "computer.python",
        "computer.shell",
        "computer.env_allow",
        "changes.max_file",
        "changes.max_total",
        "changes.keep_days",
    }
)
"""Settings that are read when a conversation begins, so that a change would come too late."""


@frozen
class Magic:
    """A message that is a magic command. ``forced``: an exclamation mark stood behind the name."""

    name: str
    rest: str = ""
    forced: bool = False


ShowSession = Callable[[str], Awaitable[Session]]
"""How a front end goes over to the stored conversation of an id; answers the session that goes on with it."""


@frozen
class Offer:
    """How a line may go on: the whole line, and what it would do."""

    text: str
    help: str


@frozen
class Call:
    """What a command is called with."""

    magic: Magic
    session: Session
    engine: Engine
    show: ShowSession | None

    @property
    def rest(self) -> str:
        """What stood behind the name."""
        return self.magic.rest


@frozen
class Begun:
    """The beginning of a command's argument. ``folder``: where paths start from."""

    text: str
    folder: Path


@frozen
class Command:
    """One command. ``run`` answers Markdown, which may be empty; ``complete`` what its argument may be, with a word on
    each, which is empty where the command's own does."""

    name: str
    arguments: str
    help: str
    run: Callable[[Call], Awaitable[str]]
    complete: Callable[[Begun], Iterator[tuple[str, str]]] = field(default=lambda begun: iter(()))

    @property
    def usage(self) -> str:
        """How it is written."""
        return f"%{self.name} {self.arguments}".rstrip()


def parse(text: str) -> Magic | None:
    """The magic command that a message is; ``None`` for a message to the model, which a space before ``%`` makes one.

    What follows ``%`` need not be a command that there is: ``run`` says so then.
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        return None
    if shape["name"] == "%":
        return Magic("%", text[2:].strip())
    return Magic(shape["name"], shape["rest"].strip(), bool(shape["forced"]))


def perform(text: str, session: Session, engine: Engine, show: ShowSession | None = None) -> Ticket | None:
    """Do what a message says, if it is a magic command; ``None`` for one to the model. Answers at once.

    The answer comes through the session's stream (``session.aside``), and so does what keeps it from being done.
    ``show`` is called by what opens another conversation, and must not close this session before it has answered; the
    stream names the session then. Raises ``SessionBusy`` where the session is closed.
    """
    command = parse(text)
    if command is None:
        return None
    if command.name == "%" and command.rest:
        return session.run("shell", command.rest)  # a turn like others, which is seen by itself
    shown: list[str] = []

    async def go_over(conversation_id: str) -> Session:
        assert show is not None
        opened = await show(conversation_id)
        shown.append(opened.id)
        return opened

    async def work() -> Answer:
        said = await run(command, session, engine, None if show is None else go_over)
        return Answer(said, shown[0] if shown else None)

    return session.aside(text, work)


async def run(magic: Magic, session: Session, engine: Engine, show: ShowSession | None = None) -> str:
    """Do what a command says. Answers Markdown for the person, empty where what is to be seen is in the stream.

    ``show`` is called by what opens another conversation. Raises ``OiError``.
    """
    command = COMMANDS.get(magic.name)
    if command is None:
        raise OiError(f"There is no command %{magic.name}.", _instead(magic.name))
    try:
        return await command.run(Call(magic, session, engine, show))
    except OSError as error:
        raise OiError(f"%{magic.name}: {error}.") from error


def offers(text: str, folder: str = ".") -> list[Offer]:
    """Whole lines that ``text``, the beginning of one, may become; none where it is no magic command. Reads the disk.

    ``folder`` is where paths start from: the session's.
    """
    if not text.startswith("%") or text.startswith("%%") or "\n" in text:
        return []
    word, blank, begun = text.partition(" ")
    if not blank:
        fitting = (known for name, known in COMMANDS.items() if name != "%" and name.startswith(word[1:]))
        return [Offer(f"%{known.name}", known.help) for known in fitting]
    command = COMMANDS.get(word[1:].removesuffix("!"))
    if command is None:
        return []
    return [
        Offer(f"{word} {rest}", said or command.help) for rest, said in command.complete(Begun(begun, Path(folder)))
    ]


def complete(text: str) -> list[str]:
    """The same without their help, for paths from the folder that the program was started in."""
    return [offer.text for offer in offers(text)]


def _instead(name: str) -> str:
    close = get_close_matches(name, COMMANDS, n=1)
    meant = f"Did you mean %{close[0]}? " if close else ""
    return (
        f"{meant}%help lists the commands. IPython's own work inside Python code. To send a message that begins with "
        "%, put a space before it."
    )


# --- the conversation ------------------------------------------------------------------------------------------


async def _shell(call: Call) -> str:
    if not call.rest:
        raise OiError("%% runs a shell command, and there is none.", "Write it behind, as in `%% ls`.")
    call.session.run("shell", call.rest)
    return ""


async def _reset(call: Call) -> str:
    call.session.reset()
    return "The conversation begins anew. Variables of the kernels are kept."


async def _undo(call: Call) -> str:
    before = len(call.session.messages)
    call.session.undo()
    taken = before - len(call.session.messages)
    return "Your last message and all that came of it is taken back." if taken else "There is nothing to take back."


async def _save_message(call: Call) -> str:
    return await files.save_messages(call.session, call.rest, overwrite=call.magic.forced)


async def _load_message(call: Call) -> str:
    return await files.load_messages(call.session, call.rest)


async def _markdown(call: Call) -> str:
    return await files.export(call.session, "md", call.rest, overwrite=call.magic.forced)


async def _jupyter(call: Call) -> str:
    return await files.export(call.session, "ipynb", call.rest, overwrite=call.magic.forced)


async def _history(call: Call) -> str:
    return await history.listed(call.session, call.engine.history, call.rest)


async def _open(call: Call) -> str:
    conversation = await history.chosen(call.session, call.engine.history, call.rest)
    if call.show is None:
        raise OiError("Conversations are opened in another way here.", f"Its id is {conversation.id}.")
    if call.session.snapshot.state != "idle":
        raise OiError("A turn is under way.", "Stop it first.")
    opened = await call.show(conversation.id)
    history.keep_list(call.session, opened)
    return f"Opened: {files.quoted(history.title(conversation))}."


# --- the model and the settings --------------------------------------------------------------------------------


async def _tokens(call: Call) -> str:
    said = [Message("user", "message", call.rest)] if call.rest else []
    preview = await call.session.preview(said)
    info, size = preview.info, await preview.size()
    lines = [f"- the next request, {'this message with it' if said else 'before you write more'}: {_sized(size, info)}"]
    if said:
        alone = await size_of(info, [CountedText(call.rest, extra=0)])
        lines.append(f"- this message alone: {_sized(alone, info)}")
    if preview.trimmed:
        lines.append(f"- the whole conversation, of which a part is sent: {_sized(await preview.whole_size(), info)}")
    if preview.window:
        lines.append(f"- the model reads {preview.window:,} tokens")
    now = call.session.snapshot
    lines += [f"- the last turn: {_used(now.turn_usage)}", f"- so far: {_used(now.usage)}"]
    if not size.counted:
        lines.append(f"- an estimate, because {_why_estimated(preview)}")
    return "\n".join(lines)


def _sized(size: Size, info: ModelInfo) -> str:
    """Tokens, and what the provider takes for reading them."""
    price = "no price is known" if info.input_price is None else dollars(info.input_price * size.tokens)
    return (
        f"{size.tokens:,} tokens, {price}" if size.counted else f"about {size.tokens:,} tokens (an estimate), {price}"
    )


def _used(usage: UsageTotals) -> str:
    cost = "no price is known" if usage.cost is None else dollars(usage.cost)
    return f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written, {cost}"


def _why_estimated(preview: Preview) -> str:
    if not preview.info.own_vocabulary:
        return "this model's own tokenizer is not known here"
    if preview.has_images:
        return "each image is taken for as much as the largest costs"
    return "the tokens could not be counted in time"


async def _model(call: Call) -> str:
    if call.rest:
        await _set(call, _setting_named("llm.model"), call.rest)
    model = call.session.model
    if not isinstance(model, ChosenModel):
        return f"Model: `{call.session.settings.llm.model}`"
    if model.choice is None:
        model.choice = await call.engine.choose_model(call.session.settings)
    return f"Model: `{model.choice.model}`. {model.choice.why}"


async def _verbose(call: Call) -> str:
    return await _set(call, _setting_named("verbose"), call.rest or "true")


async def _settings(call: Call) -> str:
    name, _, value = call.rest.partition(" ")
    if not name:
        return "\n".join(_line(setting, call.session) for setting in all_settings().values() if not setting.note)
    setting = _setting_named(name)
    if value.strip():
        return await _set(call, setting, value.strip())
    return f"{_line(setting, call.session)}\n\n{setting.doc}"


async def _set(call: Call, setting: Setting, text: str) -> str:
    """Set a setting for as long as the program runs. Raises ``InvalidSetting`` where it cannot have that value."""
    if setting.secret:
        raise OiError(f"{setting.name} is a secret, and messages are kept.", "Set it in a profile or the environment.")
    if setting.name in _FIXED:
        raise OiError(f"{setting.name} is read when a conversation begins.", "Set it in a profile, or by a flag.")
    asked = from_text(text, setting)
    if not _fits(asked, setting):
        raise InvalidSetting(f"{setting.name} must be {described(setting)}, not {shown(text)}.")
    model = call.session.settings.llm.model
    problems = call.engine.set_in_session(call.session, {setting.name: asked})
    now = call.session.settings
    if setting.name == "verbose":
        logging.getLogger("oi_engine").setLevel(logging.DEBUG if now.verbose else logging.NOTSET)
    if isinstance(call.session.model, ChosenModel) and (now.llm.model != model or setting.name == "llm.model"):
        call.session.model.choice = await call.engine.choose_model(now)
    held = get(now, setting.name) != fit(asked, setting)
    why = [*problems, *(["Something that counts more holds it there: a workspace, or `safe_mode`."] if held else [])]
    return "\n\n".join([_line(setting, call.session), *([setting.note] if setting.note else []), *why])


def _fits(value: object, setting: Setting) -> bool:
    return fit(value, setting) is not NOTHING


def _setting_named(name: str) -> Setting:
    setting = find_setting(name)
    if setting is None:
        close = get_close_matches(name, names(), n=1)
        raise InvalidSetting(
            f"There is no setting {name}.", f"Did you mean {close[0]}?" if close else "`%settings` lists them."
        )
    return setting


def _line(setting: Setting, session: Session) -> str:
    value = get(session.settings, setting.name)
    words = ("set" if value else "not set") if setting.secret else redact(shown(value))
    return f"- `{setting.name}`: {files.quoted(words)}"


async def _policy(call: Call) -> str:
    return await policies.policy(call.session, call.engine.approvals, call.rest)


async def _sandbox(call: Call) -> str:
    return await policies.sandbox(call.session, call.rest)


async def _info(call: Call) -> str:
    session = call.session
    lines = [
        f"- oi-lsp {__version__}, Python {platform.python_version()} at {files.quoted(sys.executable)}",
        f"- {platform.system()} {platform.release()}, {platform.machine()}",
        f"- LiteLLM {metadata.version('litellm')}",
        f"- {await _model(call)}",
        f"- working directory: {files.quoted(session.cwd)}",
        f"- languages: {', '.join(session.computer.languages)}",
        f"- conversation: {session.id}, {len(session.messages):,} messages",
        f"- kept in: {files.quoted(str(call.engine.history)) if call.engine.history else 'nothing is kept'}",
        "",
        "Settings other than the defaults:",
        "",
    ]
    differ = [
        _line(setting, session)
        for setting in all_settings().values()
        if get(session.settings, setting.name) != setting.default
    ]
    return "\n".join(lines + (differ or ["- none"]))


async def _help(call: Call) -> str:
    return "\n".join(f"- `{command.usage}`: {command.help}" for command in COMMANDS.values())


# --- completion ------------------------------------------------------------------------------------------------


def _truth(begun: Begun) -> Iterator[tuple[str, str]]:
    return ((word, "") for word in ("true", "false") if word.startswith(begun.text))


def _setting_words(begun: Begun) -> Iterator[tuple[str, str]]:
    name, blank, value = begun.text.partition(" ")
    if not blank:
        yield from ((known, setting.doc) for known, setting in all_settings().items() if known.startswith(name))
        return
    setting = find_setting(name)
    if setting is None or setting.kind is str:
        return
    for option in ("true", "false", "sandboxed", "off", "ask", "auto", "container", "workspace", "strict"):
        if option.startswith(value) and _fits(from_text(option, setting), setting):
            yield f"{name} {option}", setting.doc


def _paths(begun: Begun) -> Iterator[tuple[str, str]]:
    folder, slash, name = begun.text.rpartition("/")
    try:
        at = begun.folder / Path(f"{folder}{slash}").expanduser()
        with os.scandir(at) as entries:
            found = sorted(entry.name + "/" * entry.is_dir() for entry in entries if entry.name.startswith(name))
    except (OSError, ValueError, RuntimeError):  # nothing is there, no path can be that, nobody has that home
        return
    for entry in found:
        if name or not entry.startswith("."):
            yield f"{folder}{slash}{entry}", ""


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("%", "command", "Run a command in the session's shell.", _shell),
        Command("help", "", "Show these commands.", _help),
        Command("info", "", "Show versions, the model and the settings in force.", _info),
        Command("reset", "", "Begin the conversation anew; variables are kept.", _reset),
        Command("undo", "", "Take back your last message and all that came of it.", _undo),
        Command(
            "changes",
            "[diff/revert [number] [path [hunk]]]",
            "List what runs changed on disk, show the difference, or take it back.",
            lambda call: changes.changes(call.session, call.rest),
            lambda begun: changes.argument(begun.text),
        ),
        Command("history", "[words]", "List stored conversations, or those with these words.", _history),
        Command("open", "number|id", "Open a stored conversation.", _open),
        Command("model", "[name]", "Show the model, or use another.", _model),
        Command(
            "settings", "[name [value]]", "Show settings, or set one until the program ends.", _settings, _setting_words
        ),
        Command("policy", "[revoke ID]", "Show what runs without asking, and take back an approval *here*.", _policy),
        Command("sandbox", "[allow PATH/network]", "Show the sandbox, and allow it more for this session.", _sandbox),
        Command("verbose", "[true/false]", "Log in detail, or no longer.", _verbose, _truth),
        Command(
            "tokens",
            "[prompt]",
            "Count the tokens of the next request and their price; show those of the last turn and so far.",
            _tokens,
        ),
        Command("save_message", "[path]", "Save the messages as JSON (messages.json).", _save_message, _paths),
        Command("load_message", "[path]", "Go on with messages from JSON (messages.json).", _load_message, _paths),
        Command("markdown", "[path]", "Export the conversation as Markdown (Downloads folder).", _markdown, _paths),
        Command(
            "jupyter", "[path]", "Export the conversation as a Jupyter notebook (Downloads folder).", _jupyter, _paths
        ),
    )
}
"""Every command by its name. Those that write a file write over none, unless the name ends in ``!``."""
