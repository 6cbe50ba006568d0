"""Runs a runtime's process where it can do little harm: bubblewrap on Linux, sandbox-exec on macOS.

``Sandbox`` says what the sandbox allows, and is what an approval is bound to; ``Confinement`` is that for one process
in one folder: ``start_supervised`` puts its command line before the process's own. What is inside sees:

- the file system read-only, but for the workspace and an empty ``/tmp``; keys, browsers' profiles and this program's
  own settings and conversations not at all (``HIDDEN``);
- of the workspace ``.git``, ``.vscode`` and ``.oi`` read-only (``GUARDED``): what is written there is run by others;
- its own processes alone (PID, IPC and UTS namespaces, a new ``/proc`` and ``/dev``), no capability, no further user
  namespace, none of this program's descriptors, no socket under ``/run``, and none elsewhere at which a program listens
  when it is started, but for those in the workspace;
- the network in ``workspace`` unless that is off, and never in ``strict``.

``confined.py`` runs inside first: it sets the limits that the kernel counts for a process; ``supervisor.py`` watches
from outside what all of them use together.

macOS: the profile is written from what is documented of it, and is not tested; there no limits are watched.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from attrs import evolve, frozen

from oi_engine import paths
from oi_engine.computer.guards import MADE
from oi_engine.errors import KernelFailed, OiError
from oi_engine.safety.programs import GUARDED, path_outside
from oi_engine.settings import Settings

OFF = "off"
CONTAINER = "container"
HIDDEN = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".password-store", ".netrc", ".npmrc", ".pypirc"),
    *(".git-credentials", ".config/git/credentials", ".config/gh", ".config/gcloud", ".config/op", ".config/rclone"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".terraform.d", ".vault-token", ".local/share/keyrings"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/vivaldi", ".config/microsoft-edge", ".cache/mozilla", ".cache/google-chrome", ".cache/chromium"),
    *(".var/app", "snap/firefox", "snap/chromium", ".1password", ".config/Bitwarden", ".config/1Password"),
    *(
        ".Xauthority",
        ".ICEauthority",
        ".screen",
        ".emacs.d/server",
        ".colima",
        ".lima",
        ".rd",
        ".orbstack",
        ".minikube",
    ),
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".lesshst"),
    *("Library/Keychains", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox"),
    *("Library/Safari", "Library/Cookies"),
)
"""Of the home folder: what cannot be read. Folders of this program come beside them."""
HIDDEN_SERVICES = ("/var/lib/lxd", "/var/snap/lxd", "/var/lib/incus", "/var/lib/docker", "/var/lib/containerd")
"""Services that give whoever may talk to them the rights of root, and are not in ``/run``."""
UNSET = (
    *("JPY_PARENT_PID", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY"),
    *("WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DOCKER_HOST", "VSCODE_IPC_HOOK", "VSCODE_IPC_HOOK_CLI"),
    *("VSCODE_GIT_IPC_HANDLE", "VSCODE_GIT_ASKPASS_NODE", "VSCODE_GIT_ASKPASS_MAIN", "GIT_ASKPASS", "SSH_ASKPASS"),
)
"""Variables that lead to programs outside, or to nothing inside."""
INSTEAD = {
    "TMPDIR": "/tmp",
    "XDG_CACHE_HOME": "/tmp/.cache",
    "MPLCONFIGDIR": "/tmp/.matplotlib",
    "npm_config_cache": "/tmp/.npm",
}
"""Where programs keep what they would keep in the home folder."""
REMEDY = "Install bubblewrap (`apt-get install bubblewrap`, `dnf install bubblewrap`), version 0.8 or later."

_CONFINED = str(Path(__file__).with_name("confined.py"))
_TRY_SECONDS = 10.0
_NEWEST = (0, 8)
"""The first version of bubblewrap that has all that is used here."""
_TMP_SHARE = 4
"""``/tmp`` and the like are in memory: each has a quarter of the limit on memory."""
_MEMORY = 8192
"""Megabytes that they are a part of where memory has no limit."""


@frozen
class Sandbox:
    """What a sandbox allows. ``level``: ``workspace`` or ``strict``; ``folders``: writable beside the workspace.

    Or ``container``: this program's own (see ``container.py``), which allows what it allows.

    As text it is the name of the level, then a line for each thing that is not as that level has it by itself.
    """

    level: str
    network: bool
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings, *, automatic: bool) -> Sandbox | None:
        """What the settings ask for; ``None`` for no sandbox. ``automatic``: as code that runs unasked gets it."""
        level = settings.sandbox
        if level == OFF and automatic and settings.auto_run == "sandboxed":
            level = "workspace"
        if level == CONTAINER and not settings.sandbox_limits.network:
            # A container has one network for all that is in it, and the model is reached by that.
            level = "workspace"
        if level == OFF:
            return None
        return cls(level, level != "strict" and settings.sandbox_limits.network)

    @classmethod
    def parse(cls, text: str) -> Sandbox:
        """The sandbox that a text stands for. Raises ``ValueError``."""
        level, *lines = text.split("\n")
        if level not in (CONTAINER, "workspace", "strict"):
            raise ValueError(f"{level!r} is no sandbox")
        sandbox = cls(level, level != "strict")
        for line in lines:
            if line in ("network", "no network"):
                sandbox = evolve(sandbox, network=line == "network")
            elif os.path.isabs(line):
                sandbox = evolve(sandbox, folders=(*sandbox.folders, line))
            else:
                raise ValueError(f"{line!r} is nothing that a sandbox allows")
        return sandbox

    def __str__(self) -> str:
        lines = [self.level]
        if self.network != (self.level != "strict"):
            lines.append("network" if self.network else "no network")
        return "\n".join([*lines, *self.folders])

    @property
    def described(self) -> str:
        """In words, for the person."""
        if self.level == CONTAINER:
            return "`container`"
        words = [f"`{self.level}`", "with the network" if self.network else "without network"]
        return ", ".join([*words, *(f"may write to {folder}" for folder in self.folders)])


@frozen
class Allowed:
    """What the person has allowed beside the settings, for a session."""

    network: bool = False
    folders: tuple[str, ...] = ()

    def added_to(self, sandbox: Sandbox) -> Sandbox:
        """The sandbox with it. What a container allows is said where that is started."""
        if sandbox.level == CONTAINER:
            return sandbox
        return evolve(sandbox, network=sandbox.network or self.network, folders=self.folders)

    def with_folder(self, path: str) -> Allowed:
        """And this file or folder. Raises ``OiError`` where it cannot be allowed."""
        real = os.path.realpath(os.path.expanduser(path))
        if "\n" in real or not os.path.exists(real):
            raise OiError(f"{path} is not there.", "Name a file or folder that is.")
        if any(_holds(real, os.path.realpath(home)) for home in _homes()):
            raise OiError(f"{path} holds your whole home folder.", "Name a folder in it.")
        return evolve(self, folders=tuple(dict.fromkeys((*self.folders, real))))

    def __str__(self) -> str:
        return ", ".join([*(["the network"] if self.network else []), *self.folders]) or "nothing"


@frozen
class Confinement:
    """A sandbox for one process. ``shared``: folders (and files) of this program's own that it gets, and whether it may
    write there.

    ``memory`` in megabytes and ``processes`` are bounds on it and all that it starts; ``None``: none. ``held``: whether
    who starts it holds the workspace (``guards``), so that what is made in it can go again.
    """

    sandbox: Sandbox
    folder: str
    memory: int | None = None
    processes: int | None = None
    held: bool = False
    shared: tuple[tuple[str, bool], ...] = ()

    def sharing(self, *folders: tuple[str | os.PathLike[str], bool]) -> Confinement:
        """With these folders, which are made where they are missing."""
        for folder, _ in folders:
            if not os.path.lexists(folder):
                os.makedirs(folder, mode=0o700)
        return evolve(self, shared=(*self.shared, *((os.fspath(folder), writes) for folder, writes in folders)))

    def command(
        self, argv: Iterable[str], *, told: int | None = None, tty: int | None = None, filter_: int | None = None
    ) -> list[str]:
        """The whole command line. ``told``: a descriptor to which the process id inside is written, as a line, just
        before the command begins. ``tty``: a descriptor of the terminal whose foreground the command becomes.
        ``filter_``: one from which the filter of system calls is read (``syscalls``).

        Raises ``KernelFailed`` where the folder cannot be guarded.
        """
        if sys.platform == "darwin":
            return ["sandbox-exec", "-p", self._profile(), *argv]
        network = 1 if self.sandbox.network else None
        options = {"memory": self.memory, "processes": self.processes, "network": network, "told": told, "tty": tty}
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        inner = [sys.executable, "-I", "-S", _CONFINED, *given, "--", *argv]
        filtered = [] if filter_ is None else ["--seccomp", str(filter_)]
        return [
            self._bubblewrap(),
            *self._namespaces(),
            *filtered,
            *self._mounts(),
            "--chdir",
            self.folder,
            "--",
            *inner,
        ]

    @property
    def watched(self) -> list[str]:
        """Options of the supervisor: what it watches."""
        limits = {"--memory": self.memory, "--processes": self.processes}
        return [part for name, value in limits.items() if value is not None for part in (name, str(value))]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment inside."""
        kept = {name: value for name, value in env.items() if name not in UNSET}
        return {**kept, **INSTEAD}

    def _bubblewrap(self) -> str:
        """By its path: a program of that name that code put into the workspace would run outside of any sandbox."""
        found = bubblewrap(self.folder, *self.sandbox.folders)
        if found is None:
            raise KernelFailed("bubblewrap is not installed.", REMEDY)
        return found

    def _namespaces(self) -> list[str]:
        network = [] if self.sandbox.network else ["--unshare-net"]
        unshared = ["--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        rest = ["--unshare-cgroup-try", "--hostname", "sandbox", "--die-with-parent", "--cap-drop", "ALL"]
        return [*unshared, *network, *rest]

    def _mounts(self) -> list[str]:
        """Later ones lie over earlier ones."""
        folder = os.path.realpath(self.folder)
        hidden = hidden_paths()
        workspace = self._workspace(folder)
        options = [*self._system(), *workspace]
        for path in hidden:
            options += _hide(path)
        for path in sockets_outside(folder if workspace else None):
            options += ["--ro-bind", os.devnull, path]
        allowed = [path for path in self.sandbox.folders if os.path.exists(path)]
        for path in allowed:
            options += ["--bind", path, path]
        others = [name for name in guarded(folder) if name != ".git"]
        for path in (f"{folder}/.git/hooks", f"{folder}/.git/config", *(f"{folder}/{name}" for name in others)):
            if path not in allowed and os.path.exists(path):
                options += ["--ro-bind", path, path]
        for path, writes in self.shared:
            options += ["--bind" if writes else "--ro-bind", path, path]
        # Last: until then places for what lies over them are made in these.
        for path in ("/run", "/dev", *filter(os.path.isdir, hidden)):
            options += ["--remount-ro", path]
        return options

    def _system(self) -> list[str]:
        """Everything but the folders that are the person's."""
        size = str((self.memory or _MEMORY) * 1024 * 1024 // _TMP_SHARE)
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for steering in ("sys", "sysrq-trigger", "irq", "bus", "acpi", "scsi", "fs"):
            # Root may write to these without any capability.
            options += ["--ro-bind-try", f"/proc/{steering}", f"/proc/{steering}"]
        for scratch in ("/tmp", "/var/tmp", "/dev/shm"):
            options += ["--size", size, "--tmpfs", scratch]
        # Sockets can be connected to on a read-only file system too.
        options += ["--tmpfs", "/run"]
        if self.sandbox.network:
            for resolver in ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf"):
                options += ["--ro-bind-try", resolver, resolver]
        for system in ("/run/current-system", "/run/opengl-driver"):
            options += ["--ro-bind-try", system, system]
        for path in _programs_in_tmp():
            options += ["--ro-bind", path, path]
        return options

    def _workspace(self, folder: str) -> list[str]:
        homes = map(os.path.realpath, _homes())
        if any(_holds(folder, home) for home in homes) or folder in ("/tmp", "/run", "/var", "/usr", "/etc"):
            # Whoever may write to the home folder may write what its owner runs next.
            return []
        options = ["--bind", folder, folder]
        for name in guarded(folder):
            path = f"{folder}/{name}"
            if os.path.islink(path):
                raise KernelFailed(
                    f"{path} is a link, which the sandbox cannot guard.",
                    "Put a folder in its place, or set `sandbox: off`.",
                )
            if not os.path.lexists(path):
                # Where it is missing code could make it: something must be there to mount over.
                try:
                    os.mkdir(path, MADE if self.held else 0o777)
                except OSError as error:
                    raise KernelFailed(f"{path} cannot be made ({error.strerror}), so it cannot be guarded.") from error
            options += ["--ro-bind", path, path]
        for path in _programs_in(folder):
            options += ["--ro-bind", path, path]
        return options

    def _profile(self) -> str:
        """For sandbox-exec (not tested)."""
        folder = os.path.realpath(self.folder)
        own = [path for path, writes in self.shared if writes]
        writable = [folder, "/private/tmp", "/private/var/folders", "/dev", *self.sandbox.folders, *own]
        rules = ["(version 1)", "(allow default)", "(deny file-write*)"]
        rules += [f"(allow file-write* (subpath {_lisp(path)}))" for path in writable]
        kept = [*(f"{folder}/{name}" for name in guarded(folder)), *_programs_in(folder)]
        rules += [f"(deny file-write* (subpath {_lisp(path)}))" for path in kept]
        rules += [f"(deny file-read* file-write* (subpath {_lisp(path)}))" for path in hidden_paths()]
        rules += [f"(allow file-read* (subpath {_lisp(path)}))" for path, _ in self.shared]
        if not self.sandbox.network:
            rules += ["(deny network*)", "(allow network* (local unix))", "(allow network* (remote unix))"]
        return "\n".join(rules)


def guarded(folder: str) -> list[str]:
    """``GUARDED``, and what has one of these names in other letters, which may be the same to a file system."""
    try:
        there = [name for name in os.listdir(folder) if name.casefold() in GUARDED]
    except OSError:
        there = []
    return sorted({*GUARDED, *there})


def hidden_paths() -> list[str]:
    """What of ``HIDDEN`` and of this program's own folders is there, with links followed."""
    own = (paths.config_folder(), paths.data_folder(), paths.state_folder(), paths.cache_folder())
    wanted = [*(home / name for home in _homes() for name in HIDDEN), *own, *map(Path, HIDDEN_SERVICES)]
    found = (os.path.realpath(path) for path in wanted if os.path.exists(path))
    return sorted(dict.fromkeys(path for path in found if path not in ("/", os.devnull)))


def sockets_outside(workspace: str | None) -> list[str]:
    """Where programs listen now, but for what is in the workspace or out of sight already.

    A read-only file system keeps nobody from connecting to a socket in it.
    """
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            # Num RefCount Protocol Flags Type St Inode Path, see proc(5); a path may hold blanks.
            rows = [line.rstrip("\n").split(None, 7) for line in table]
    except OSError:
        return []
    named = {row[7] for row in rows if len(row) == 8 and row[7].startswith("/")}
    left = ("/run", "/tmp", "/var/tmp", "/dev", "/proc", *hidden_paths(), *([workspace] if workspace else []))
    real = {os.path.realpath(path) for path in named if _is_socket(path)}
    return sorted(path for path in real if not any(_holds(place, path) for place in left))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False  # it was removed, or cannot be reached


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath([folder, path]) == folder


def _homes() -> list[Path]:
    """The person's home folder, by the environment and by the system's word."""
    import pwd  # not on Windows, where there is no sandbox

    return list(dict.fromkeys((Path.home(), Path(pwd.getpwuid(os.getuid()).pw_dir))))


def _hide(path: str) -> list[str]:
    if os.path.isdir(path):
        # It may be passed through, to what of this program's own is shared.
        return ["--perms", "0111", "--tmpfs", path]
    return ["--ro-bind", os.devnull, path]


def _programs_in_tmp() -> list[str]:
    """This program itself, where it lies under a folder that is replaced."""
    own = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, Path(__file__).parents[2])}
    return sorted(path for path in own if path.startswith(("/tmp/", "/run/")))


def _programs_in(folder: str) -> list[str]:
    """This program itself, where it is installed in the workspace: what code changed of it would run outside."""
    packages = Path(__file__).parents[2]
    own = {
        os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, packages / "oi_engine", packages / "oi_lsp")
    }
    return sorted(path for path in own if path != folder and _holds(folder, path) and os.path.isdir(path))


def _lisp(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- what is said of it, and whether there is one --------------------------------------------------------------------


def limit_passed(over: str, confinement: Confinement | None) -> str:
    """What a limit of the sandbox that ended a process was, for the person; ``over`` as ``Supervised.over``."""
    if confinement is None:
        return over
    if over == "memory":
        return f"more than {confinement.memory:,} MB of memory: the sandbox's limit, `sandbox_limits.memory`"
    return f"more than {confinement.processes:,} processes: the sandbox's limit, `sandbox_limits.processes`"


@frozen
class Availability:
    """Whether code can be confined here: ``problem`` says why not, and is empty where it can."""

    problem: str = ""


_looked: dict[str | None, Availability] = {}
"""What the looks have found, by the path of the program."""


def bubblewrap(*folders: str | os.PathLike[str]) -> str | None:
    """The path of the program, looked for outside of ``folders``, once for each ``PATH``."""
    return _bubblewrap_on(os.environ.get("PATH", os.defpath), *(os.fspath(folder) for folder in folders))


@lru_cache(maxsize=64)
def _bubblewrap_on(path: str, *folders: str) -> str | None:
    return shutil.which("bwrap", path=path_outside(path, *folders))


async def look_for_sandbox(*folders: str | os.PathLike[str]) -> Availability:
    """Try the sandbox, which takes some ten milliseconds the first time. ``folders``: those of the workspace."""
    program = bubblewrap(*folders)
    if program not in _looked:
        _looked[program] = await asyncio.to_thread(_try, program)
    return _looked[program]


def known_sandbox(*folders: str | os.PathLike[str]) -> Availability:
    """What the last look for those folders has found."""
    not_yet = Availability("Whether there is a sandbox has not been looked at yet.")
    return _looked.get(bubblewrap(*folders), not_yet)


def _try(program: str | None) -> Availability:
    if sys.platform == "darwin":
        there = shutil.which("sandbox-exec") is not None
        return Availability("" if there else "This system has no sandbox-exec.")
    if sys.platform != "linux":
        return Availability(f"There is no sandbox for {sys.platform} yet.")
    if program is None:
        return Availability(f"bubblewrap is not installed. {REMEDY}")
    confinement = Confinement(Sandbox("strict", network=False), "/")
    try:
        version = _output([program, "--version"])
        found = re.search(r"(\d+)\.(\d+)", version)
        if found is None or (int(found[1]), int(found[2])) < _NEWEST:
            return Availability(f"{version.strip() or 'bubblewrap'} is too old. {REMEDY}")
        _output([program, *confinement.command(["true"])[1:]])
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines()[-1:] or [f"exit status {error.returncode}"]
        return Availability(f"bubblewrap does not work here ({said[0]}): user namespaces may be switched off.")
    except (OSError, subprocess.SubprocessError) as error:
        return Availability(f"bubblewrap does not work here ({error}).")
    return Availability()


def _output(command: list[str]) -> str:
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=_TRY_SECONDS, stdin=subprocess.DEVNULL
    )
    return done.stdout
