"""``oi-lsp chat`` and ``oi-lsp demo``: puts engine, session, renderer and asker together, and ends them again.

The prompt is waited for: what it does not need is imported in a thread while the person writes (``_get_ready``).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

from attrs import field, frozen
from platformdirs import user_state_path

from oi_engine import paths
from oi_engine.errors import OiError
from oi_engine.factory import Engine, preload
from oi_engine.history.store import Conversation
from oi_engine.models import tour
from oi_engine.models.chosen import Choice
from oi_engine.profiles.live import Sources, ensure_default
from oi_engine.safety.redact import redact
from oi_engine.session.session import Session
from oi_engine.terminal.ask import Asker, Left
from oi_engine.terminal.chat import Chat
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.renderer import Renderer
from oi_engine.terminal.tty_mode import TtyMode
from oi_engine.version import __version__

log = logging.getLogger(__name__)

_LEAVE_SECONDS = 2.0
"""How long leaving in good order may take once the terminal is gone."""

_FIRST_SECONDS = 0.1
"""How long what the person does not see waits, so that the prompt is on the screen before it takes any time."""


@frozen
class ChatOptions:
    """What the command line asks for.

    ``flags``: settings, in the shape of a profile. ``question``: serve it and leave. ``demo``: the tour model, whatever
    is found. ``conversations``: go on with a stored conversation, which the person picks.
    """

    flags: Mapping[str, object] = field(factory=dict, repr=False)
    question: str | None = None
    demo: bool = False
    conversations: bool = False


@frozen
class Surroundings:
    """What the process was started in: which of its ends are terminals, and what they can do."""

    stdin_tty: bool
    stdout_tty: bool
    dumb: bool

    @classmethod
    def now(cls) -> Surroundings:
        """As they are."""
        dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown", "")
        return cls(sys.stdin.isatty(), sys.stdout.isatty(), dumb)

    @property
    def person(self) -> bool:
        """Whether somebody sees questions and can answer them."""
        return self.stdin_tty and self.stdout_tty

    @property
    def rich(self) -> bool:
        """Whether colours and redrawing are of use."""
        return self.stdout_tty and not self.dumb


def chat(options: ChatOptions) -> int:
    """Hold the conversation. Answers the exit status: 0, or 1 where a turn ended in an error."""
    # A terminal that lacks a character shows another; it is no reason to fail.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        return asyncio.run(_chat(options))
    except KeyboardInterrupt:
        return 130
    except OiError as error:
        print(f"oi-lsp: {error}", file=sys.stderr)
        return 2


def show_profiles() -> int:
    """Say where profiles are, and open the folder where there is a desktop. Answers the exit status."""
    folder = paths.profiles_folder()
    try:
        ensure_default(folder)
    except OSError as error:
        print(f"oi-lsp: {folder} cannot be made: {error.strerror or error}", file=sys.stderr)
        return 2
    print(folder)
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    desktop = sys.platform == "darwin" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if sys.stdout.isatty() and desktop and (program := shutil.which(opener)):
        subprocess.run([program, str(folder)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 0


async def _chat(options: ChatOptions) -> int:
    if options.question is not None and not options.question.strip():
        raise OiError("The question is empty.", "Write what you want done.")
    problems: list[str] = []
    here = Path.cwd()
    engine = await Engine.open(Sources(session=options.flags, workspaces=(here,)), problems.append)
    settings = engine.settings
    around = Surroundings.now()
    warming: asyncio.Task[None] | None = None
    with contextlib.ExitStack() as stack:
        tty = tty_modes(around, stack)
        _end_on_signals()
        try:
            asker = _asker(around, tty, multi_line=settings.multi_line)
            session, renderer = await _begin(engine, options, around, asker)
            talk = Chat(
                session,
                renderer,
                asker,
                engine=engine,
                lend_terminal=tty.lent if tty else contextlib.nullcontext,
                echo=not around.stdin_tty,
            )
            _report_logs(talk.say, stack, verbose=settings.verbose)
            stack.enter_context(_signals(talk, tty if around.rich else None))
            for problem in problems:
                talk.say(problem)
            renderer.settle()
            warming = asyncio.create_task(_get_ready(session))
            good = await (talk.converse() if options.question is None else talk.turn(options.question))
        except Left:
            good = True
        except asyncio.CancelledError:
            # The only one who cancels is the signal to leave.
            good = True
        finally:
            if warming is not None:
                warming.cancel()
            await engine.close()
    return 0 if good else 1


def _end_on_signals() -> None:
    """Until ``_signals`` takes over: the signals to end leave in good order, the terminal as it was found."""
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, main.cancel)


async def _get_ready(session: Session) -> None:
    """Have there, while the person reads and writes, what a turn needs: modules and the model."""
    await asyncio.sleep(_FIRST_SECONDS)
    await asyncio.to_thread(_preload)
    # Importing made much that stays; a collection that looked through it all would be felt as a pause.
    gc.freeze()
    gc.enable()
    await session.model.warm_up()


def _preload() -> None:
    import_module("oi_engine.magic.commands")
    import_module("oi_engine.models.worker_client")
    import_module("oi_engine.terminal.prose")
    import_module("rich.syntax")
    preload()


async def _begin(engine: Engine, options: ChatOptions, around: Surroundings, asker: Asker) -> tuple[Session, Renderer]:
    """A new conversation, or the one that the person picks, of which the end is shown; under a greeting."""
    picked = await _picked(engine, asker) if options.conversations else None
    choice = await _choice(engine, options.demo)
    if picked is None:
        session = engine.new_session(cwd=str(Path.cwd()), model=choice)
        renderer = _renderer(around, session.id)
        if options.question is None:
            _greet(renderer, choice, around)
        return session, renderer
    renderer = _renderer(around, picked.id)
    if options.question is None:
        _greet(renderer, choice, around)
    from oi_engine.magic.history import tail
    from oi_engine.terminal.replay import SHOWN, show_end

    # The end of a long conversation is there at once; all of it takes a while.
    show_end(renderer, await asyncio.to_thread(tail, engine.history, picked, SHOWN), picked.length)
    return await engine.reopen(picked.id, model=choice), renderer


async def _picked(engine: Engine, asker: Asker) -> Conversation:
    from oi_engine.terminal.pick import pick

    return await pick(engine.history, asker)


async def _choice(engine: Engine, demo: bool) -> Choice:
    if demo:
        return Choice(tour.NAME, "This is the demo: a script answers, everything else is real.")
    return await engine.choose_model()


def _greet(renderer: Renderer, choice: Choice, around: Surroundings) -> None:
    lines = [f"oi-lsp {__version__} · model: {choice.model}", choice.why]
    if around.person:
        lines.append("Ctrl-C stops what runs, Ctrl-D leaves, %help lists commands.")
    renderer.say("\n".join(lines), "title")


def tty_modes(around: Surroundings, stack: contextlib.ExitStack) -> TtyMode | None:
    """The terminal's modes, which are as they were found once the stack is left."""
    if not around.person:
        return None
    tty = TtyMode(sys.stdin.fileno())
    stack.callback(tty.restore)
    if not around.dumb:
        tty.quiet()
    return tty


def _renderer(around: Surroundings, session_id: str) -> Renderer:
    gallery = Gallery(user_state_path("oi-lsp") / "sessions" / session_id)
    if not around.rich:
        from oi_engine.terminal.plain import PlainRenderer

        return PlainRenderer(sys.stdout, gallery, _leave_without_reader())
    from oi_engine.terminal.look import Look, make_console
    from oi_engine.terminal.render import RichRenderer
    from oi_engine.terminal.screen import LiveScreen

    look = Look(make_console(sys.stdout))
    return RichRenderer(look, LiveScreen(sys.stdout, lambda: look.width), gallery)


def _asker(around: Surroundings, tty: TtyMode | None, *, multi_line: bool) -> Asker:
    from oi_engine.terminal.ask_lines import LineAsker, LineReader, PipeAsker

    if tty is None:
        return PipeAsker(LineReader(sys.stdin.fileno()), multi_line)
    if around.dumb:
        return LineAsker(LineReader(sys.stdin.fileno()), sys.stdout, tty, multi_line)
    from oi_engine.terminal.ask_keys import KeyAsker

    return KeyAsker(tty, _history(), multi_line=multi_line)


def _leave_without_reader() -> Callable[[], None]:
    """What is done when nobody reads the output any more (``… | head``): leave, and write nowhere from then on."""
    main = asyncio.current_task()
    assert main is not None

    def leave() -> None:
        _nowhere(sys.stdout.fileno())
        main.cancel()

    return leave


def _nowhere(*descriptors: int) -> None:
    """Have these descriptors lead nowhere: what is written to them is gone, and reading from them ends at once."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _history() -> Path | None:
    """The file of earlier messages, which only its owner can read; ``None`` where there can be none."""
    path = user_state_path("oi-lsp") / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        path.chmod(0o600)
    except OSError as error:
        log.warning("Messages are not kept for next time: %s", error)
        return None
    return path


@contextlib.contextmanager
def _signals(talk: Chat, quiet: TtyMode | None) -> Iterator[None]:
    """Ctrl-C as a signal stops what goes on; the signals to end leave in good order; Ctrl-Z and ``fg`` do no harm."""
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()
    assert main is not None

    def hang_up() -> None:
        # The terminal is gone: putting the screen in order would fail, and its failures could not be shown.
        _nowhere(0, 1, 2)
        main.cancel()
        # Kernels end with this process, however it ends.
        loop.call_later(_LEAVE_SECONDS, os._exit, 128 + signal.SIGHUP)

    def go_on() -> None:
        if quiet is not None:
            quiet.quiet()
        talk.resume()

    loop.add_signal_handler(signal.SIGINT, talk.interrupt)
    loop.add_signal_handler(signal.SIGCONT, go_on)
    loop.add_signal_handler(signal.SIGTERM, main.cancel)
    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGCONT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


class _Reporter(logging.Handler):
    """Shows what is logged as words of the terminal's own, so that it stands in its place on the screen."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record; records of other threads are handed over to the event loop."""
        self._loop.call_soon_threadsafe(self._tell, redact(self.format(record)))

    def _tell(self, text: str) -> None:
        try:
            self._say(text)
        except OSError:
            # Nobody can see it, and a log of that failure would come here again, and so on for ever.
            logging.getLogger().removeHandler(self)


def _report_logs(say: Callable[..., None], stack: contextlib.ExitStack, *, verbose: bool) -> None:
    handler = _Reporter(say)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    root, own = logging.getLogger(), logging.getLogger("oi_engine")
    root.addHandler(handler)
    own.setLevel(logging.DEBUG if verbose else logging.WARNING)
    stack.callback(root.removeHandler, handler)
