"""Profiles and the other files of settings: found, read, followed, and put together with the rest.

A profile is a file in the profiles folder, chosen by its name, or any file of the person's, chosen by its path: YAML or
JSON (``guides/profiles``, version 0.2.5 and older), or Python. A workspace has ``.oi/settings.yaml``, which can only
make safety stricter. A file that cannot be read leaves its last good reading in force; if there was none, the strictest
safety settings stand in for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

import attrs
from attrs import Factory, field, frozen

from oi_engine import paths
from oi_engine.errors import ProfileError, ProfileNotFound
from oi_engine.profiles.files import Parsed, read_file
from oi_engine.profiles.python import read_python
from oi_engine.profiles.template import DEFAULT_PROFILE
from oi_engine.profiles.watch import FileWatcher
from oi_engine.safety.programs import lies_in
from oi_engine.settings.layers import Kind, Layer, Problem, Resolved, environment_layer, resolve, strictest_layer

EXTENSIONS = (".yaml", ".yml", ".json", ".py")
"""Of profiles, in the order in which they are tried."""
WORKSPACE_FILE = Path(".oi", "settings.yaml")

_DEFAULT = "default"


@frozen
class Sources:
    """Where the settings of a session come from. The two mappings have the shape of a profile and are the person's own.

    The profile is the one that ``session``, ``editor`` or ``OI_PROFILE`` names, in this order.
    """

    session: Mapping[str, object] = field(factory=dict, repr=False)
    editor: Mapping[str, object] = field(factory=dict, repr=False)
    environment: Mapping[str, str] = field(default=Factory(lambda: dict(os.environ)), repr=False)
    workspaces: tuple[Path, ...] = ()
    folder: Path = field(factory=paths.profiles_folder)


def list_profiles(folder: Path) -> list[str]:
    """The names of the profiles in a folder, sorted."""
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if path.suffix in EXTENSIONS and path.is_file())


def find_profile(name: str, folder: Path, workspaces: Iterable[Path] = ()) -> Path:
    """The file of a profile: by name in ``folder``, with or without its extension, or by path.

    One that is named by path must not lie in a workspace: whoever changes the workspace would change what the person
    chose, and a Python profile is code besides. Raises ``ProfileError``.
    """
    if "://" in name:
        raise ProfileError(name, "Profiles are not loaded from the network: save it, read it, and name the file.")
    if not _is_path(name):
        for path in _candidates(name, folder):
            if os.path.isfile(path):  # which, other than pathlib, takes any name
                return path
        raise ProfileNotFound(name, _not_found(name, folder))
    path = Path(os.path.expanduser(name)).absolute()
    if not os.path.isfile(path):
        raise ProfileNotFound(str(path), "There is no such file.")
    if path.suffix.lower() not in EXTENSIONS:
        raise ProfileError(str(path), f"A profile ends in {', '.join(EXTENSIONS)}.")
    if not lies_in(path, folder) and any(lies_in(path, workspace) for workspace in workspaces):
        raise ProfileError(
            str(path), f"A profile is not taken from a workspace: read it, and copy it to {folder} to use it."
        )
    return path


def ensure_default(folder: Path) -> Path | None:
    """Make ``default.yaml`` if there is no default profile yet; answers it if it was made. Raises ``OSError``."""
    if any(path.exists() for path in _candidates(_DEFAULT, folder)):
        return None
    path = paths.made(folder) / f"{_DEFAULT}.yaml"
    try:
        # Readable by the person alone, as a key may be put into it; and never in the place of another.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(DEFAULT_PROFILE)
    return path


async def read_profile(path: Path, environ: Mapping[str, str] | None = None) -> Parsed:
    """Read a profile; one in Python is run, with ``environ``. Raises ``ProfileError``."""
    try:
        if path.suffix.lower() == ".py":
            return await read_python(path, environ)
        return await asyncio.to_thread(read_file, path)
    except FileNotFoundError as error:
        raise ProfileNotFound(str(path), "The file is gone.") from error


class LiveSettings:
    """The settings of a session, from all their sources, now and after each change of a file.

    ``sources`` may be given anew with ``change``. All methods belong to one event loop.
    """

    def __init__(self, sources: Sources | None = None) -> None:
        self.sources = sources or Sources()
        self.resolved: Resolved | None = None
        self.layers: tuple[Layer, ...] = ()
        """What ``resolved`` was made of; one session's own layer may be laid over them."""
        self.beside: dict[str, Layer] = {}
        """Profiles that are followed beside the chosen one, by the names that were asked for."""
        self._good: dict[Path | str, Layer] = {}
        self._listener: Callable[[Resolved], object] = lambda _: None
        self._watcher: FileWatcher | None = None
        self._one_at_a_time = asyncio.Lock()

    async def load(self) -> Resolved:
        """Read everything anew. Never raises for what a file holds: that is among the problems."""
        async with self._one_at_a_time:
            sources = self.sources
            layers = [await self._default_layer(sources)]
            if name := _chosen(sources):
                layers.append(await self._profile_layer("profile", name, sources))
            layers.extend([await self._workspace_layer(workspace) for workspace in sources.workspaces])
            layers.append(environment_layer(sources.environment))
            layers.append(Layer("editor", sources.editor, "editor"))
            layers.append(Layer("session", sources.session))
            self.layers = tuple(layer for layer in layers if layer is not None)
            for name in list(self.beside):
                self.beside[name] = await self._profile_layer("profile", name, sources)
            resolved = resolve(self.layers)
            more = (problem for layer in self.beside.values() for problem in resolve([layer]).problems)
            self.resolved = attrs.evolve(resolved, problems=tuple(dict.fromkeys([*resolved.problems, *more])))
            return self.resolved

    async def change(self, sources: Sources) -> Resolved:
        """Go by other sources from now on. The listener is not called for it."""
        self.sources = sources
        resolved = await self.load()
        if self._watcher is not None:
            self._watcher.look()
        return resolved

    async def follow(self, name: str) -> None:
        """Follow a profile beside the chosen one. Raises ``ProfileError`` where it cannot be read now."""
        async with self._one_at_a_time:
            layer = _layer("profile", *await self._read_profile(name, self.sources))
            self._good[f"profile {name}"] = self.beside[name] = layer
        if self._watcher is not None:
            self._watcher.look()

    async def watch(self, listener: Callable[[Resolved], object]) -> Resolved:
        """Load, and from then on call ``listener`` with what holds whenever a change of a file has changed it."""
        self._listener = listener
        self._watcher = FileWatcher(self.files, self._reload)
        await self._watcher.start()
        return await self.load()

    async def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            await self._watcher.close()
            self._watcher = None

    def files(self) -> list[Path]:
        """The files that the settings come from, or would if they were there."""
        sources = self.sources
        found = _candidates(_DEFAULT, sources.folder)
        for name in filter(None, (_chosen(sources), *self.beside)):
            found += (
                [Path(os.path.expanduser(name)).absolute()] if _is_path(name) else _candidates(name, sources.folder)
            )
        return found + [workspace / WORKSPACE_FILE for workspace in sources.workspaces]

    async def _reload(self) -> None:
        before = self.resolved, dict(self.beside)
        after = await self.load()
        if (after, self.beside) != before:
            self._listener(after)

    async def _default_layer(self, sources: Sources) -> Layer | None:
        try:
            await asyncio.to_thread(ensure_default, sources.folder)
        except OSError as error:
            reason = f"No default profile could be made: {error.strerror or error}."
            return Layer("default profile", {}, problems=(Problem(reason, "note", where=str(sources.folder)),))
        if not any(path.is_file() for path in _candidates(_DEFAULT, sources.folder)):
            return None
        return await self._profile_layer("default profile", _DEFAULT, sources)

    async def _profile_layer(self, kind: Kind, name: str, sources: Sources) -> Layer:
        return await self._last_good(kind, f"{kind} {name}", lambda: self._read_profile(name, sources))

    async def _read_profile(self, name: str, sources: Sources) -> tuple[Path, Parsed]:
        path = await asyncio.to_thread(find_profile, name, sources.folder, sources.workspaces)
        return path, await read_profile(path, sources.environment)

    async def _workspace_layer(self, workspace: Path) -> Layer | None:
        path = workspace / WORKSPACE_FILE

        async def read() -> tuple[Path, Parsed]:
            return path, await asyncio.to_thread(read_file, path, trusted=False)

        try:
            return await self._last_good("workspace", path, read)
        except FileNotFoundError:
            return None

    async def _last_good(
        self, kind: Kind, key: Path | str, read: Callable[[], Awaitable[tuple[Path, Parsed]]]
    ) -> Layer:
        """What ``read`` reads, else what it last read, else the strictest there is."""
        try:
            path, parsed = await read()
        except ProfileError as error:
            good = self._good.get(key)
            instead = "what it said before stays in force" if good else "until it can, safety is at its strictest"
            message = f"{error.reason} The {kind} cannot be read: {instead}."
            problem = Problem(message, "error", "", error.path, error.line, error.column)
            return attrs.evolve(good or strictest_layer(kind, error.path), problems=(problem,))
        layer = self._good[key] = _layer(kind, path, parsed)
        return layer


def _layer(kind: Kind, path: Path, parsed: Parsed) -> Layer:
    problems = (
        Problem(f"{name} is set more than once: this one counts.", "warning", name, str(path), line, column)
        for name, line, column in parsed.repeated
    )
    return Layer(kind, parsed.data, str(path), parsed.positions, tuple(problems))


def _chosen(sources: Sources) -> str:
    """The profile that is chosen; none if it is the default one, which is read anyway."""
    for given in (sources.session.get("profile"), sources.editor.get("profile"), sources.environment.get("OI_PROFILE")):
        if isinstance(given, str) and given.strip():
            name = given.strip()
            return "" if name == _DEFAULT or name in (f"{_DEFAULT}{extension}" for extension in EXTENSIONS) else name
    return ""


def _is_path(name: str) -> bool:
    return name.startswith("~") or "/" in name or os.sep in name


def _candidates(name: str, folder: Path) -> list[Path]:
    if Path(name).suffix in EXTENSIONS:
        return [folder / name]
    return [folder / f"{name}{extension}" for extension in EXTENSIONS]


def _not_found(name: str, folder: Path) -> str:
    there = list_profiles(folder)
    close = get_close_matches(name, [*there, *(Path(other).stem for other in there)], n=1)
    if close:
        return f"There is no profile of that name. Did you mean {close[0]!r}?"
    return f"There is no profile of that name in {folder}, which holds {', '.join(there) or 'none'}."
